-- The whole schema, version 13.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One transcript file: its path, how far it is folded, and the folded state. The cursor
-- (generation, offset, digests) moves only in the transaction that stores the rows it passed.
CREATE TABLE source_file (
    file_id      INTEGER PRIMARY KEY,
    source       TEXT    NOT NULL,
    path         TEXT    NOT NULL UNIQUE,
    archived     INTEGER NOT NULL,
    gone_at_ms   INTEGER,
    dev          INTEGER NOT NULL,
    ino          INTEGER NOT NULL,
    size         INTEGER NOT NULL,
    mtime_ns     INTEGER NOT NULL,
    generation   INTEGER NOT NULL,
    offset       INTEGER NOT NULL,
    open_end     INTEGER NOT NULL,
    next_seq     INTEGER NOT NULL,
    head_bytes   INTEGER NOT NULL,
    head_digest  BLOB    NOT NULL,
    tail_bytes   INTEGER NOT NULL,
    tail_digest  BLOB    NOT NULL,
    chain        BLOB    NOT NULL,
    base         TEXT    NOT NULL,
    thread_id    TEXT,
    fold_version INTEGER NOT NULL,
    head         TEXT    NOT NULL,
    fold         BLOB    NOT NULL
) STRICT;

CREATE INDEX source_file_by_thread ON source_file (thread_id);

-- The thread's current file, and the columns lists are filtered and ordered by.
CREATE TABLE thread (
    thread_id     TEXT PRIMARY KEY,
    file_id       INTEGER NOT NULL REFERENCES source_file (file_id) ON DELETE CASCADE,
    source        TEXT    NOT NULL,
    cwd           TEXT,
    updated_at_ms INTEGER NOT NULL,
    compactions   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX thread_by_file ON thread (file_id);
CREATE INDEX thread_by_update ON thread (updated_at_ms DESC, thread_id);
CREATE INDEX thread_by_cwd ON thread (cwd, updated_at_ms DESC, thread_id);
CREATE INDEX thread_by_compaction ON thread (updated_at_ms DESC, thread_id, compactions)
    WHERE compactions > 0;

-- Up to 64 item rows in one blob; the other columns answer receipts without opening it.
CREATE TABLE item_page (
    file_id    INTEGER NOT NULL REFERENCES source_file (file_id) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    first_seq  INTEGER NOT NULL,
    last_seq   INTEGER NOT NULL,
    items      INTEGER NOT NULL,
    tokens     INTEGER NOT NULL,
    byte_start INTEGER NOT NULL,
    byte_end   INTEGER NOT NULL,
    first_digest BLOB  NOT NULL,
    rows       BLOB    NOT NULL,
    PRIMARY KEY (file_id, generation, first_seq)
) STRICT;

-- The newest state of a file, as observed after a thread touched it.
CREATE TABLE file_observation (
    thread_id      TEXT    NOT NULL,
    path           TEXT    NOT NULL,
    seq            INTEGER NOT NULL,
    at_ms          INTEGER NOT NULL,
    observed_at_ms INTEGER NOT NULL,
    hash           TEXT,
    size           INTEGER NOT NULL,
    mtime_ms       INTEGER NOT NULL,
    late           INTEGER NOT NULL,
    PRIMARY KEY (thread_id, path)
) STRICT, WITHOUT ROWID;

-- Accepted plan, decision and fact updates, in the order they were accepted.
CREATE TABLE semantic_update (
    update_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    thread_id     TEXT    NOT NULL,
    seq           INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    body          TEXT    NOT NULL
) STRICT;

CREATE INDEX semantic_update_by_thread ON semantic_update (thread_id, update_id);

-- One compaction: a summary row, the returned answer, and the data for undo.
CREATE TABLE compaction (
    compaction_id TEXT PRIMARY KEY,
    thread_id     TEXT,
    created_at_ms INTEGER NOT NULL,
    strategy_used TEXT    NOT NULL,
    phase         TEXT    NOT NULL,
    cause         TEXT    NOT NULL,
    tokens_before INTEGER NOT NULL,
    tokens_after  INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    duration_ms   INTEGER NOT NULL,
    undone_at_ms  INTEGER,
    result        BLOB    NOT NULL,
    preimage      BLOB    NOT NULL,
    reason        TEXT    NOT NULL DEFAULT '',
    requests      INTEGER NOT NULL DEFAULT 0,
    tokens_spent  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX compaction_by_thread ON compaction (thread_id, created_at_ms DESC, compaction_id DESC);
CREATE INDEX compaction_by_time ON compaction (created_at_ms DESC, compaction_id DESC);
CREATE INDEX compaction_costs
    ON compaction (thread_id, created_at_ms, requests, tokens_spent, duration_ms, tokens_before);

-- Model usage by UTC day, for budgets and for people.
CREATE TABLE model_usage (
    day           INTEGER NOT NULL,
    provider      TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    purpose       TEXT    NOT NULL,
    requests      INTEGER NOT NULL,
    failures      INTEGER NOT NULL,
    input         INTEGER NOT NULL,
    cached_input  INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    PRIMARY KEY (day, provider, model, purpose)
) STRICT, WITHOUT ROWID;

-- Answers by the digest of the request: after a crash the same request is not paid twice.
CREATE TABLE model_answer (
    digest        TEXT    PRIMARY KEY,
    created_at_ms INTEGER NOT NULL,
    body          BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- Background jobs: one row per key. `body` is the job as JSON; the columns are copies for queries. The core decides
-- inside the transaction that stores the decision.
CREATE TABLE job (
    kind       TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    priority   INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    body       TEXT    NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_by_state ON job (kind, state, priority DESC, updated_ms);

-- Events of jobs, newest last.
CREATE TABLE job_event (
    event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    at_ms    INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    state    TEXT    NOT NULL,
    detail   TEXT    NOT NULL
) STRICT;

CREATE INDEX job_event_by_key ON job_event (kind, subject, event_id);

-- The extraction of each thread. `body` is the memory as JSON, redacted, NULL if there was nothing to learn; the other
-- columns are copies for lists and eligibility. `engine` extracted it; `reason` is why it was not the requested one.
CREATE TABLE memory_thread (
    thread_id       TEXT    PRIMARY KEY,
    next_seq        INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    extracted_at_ms INTEGER NOT NULL,
    updated_at_ms   INTEGER NOT NULL,
    project         TEXT,
    outcome         TEXT    NOT NULL,
    learnings       INTEGER NOT NULL,
    uses            INTEGER NOT NULL,
    last_used_ms    INTEGER,
    body            TEXT,
    engine          TEXT    NOT NULL DEFAULT 'deterministic',
    reason          TEXT
) STRICT, WITHOUT ROWID;

-- Notes to remember, redacted.
CREATE TABLE memory_note (
    note_id TEXT    PRIMARY KEY,
    project TEXT,
    at_ms   INTEGER NOT NULL,
    text    TEXT    NOT NULL,
    origin  TEXT    NOT NULL DEFAULT 'client'
) STRICT, WITHOUT ROWID;

-- Exclusions from memory: threads, projects, entries.
CREATE TABLE memory_exclusion (
    kind    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

-- Usage of each kind of memory file.
CREATE TABLE memory_usage (
    kind    TEXT    PRIMARY KEY,
    uses    INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The newest published sets of memory files. `files` is the published content, `found` the content with a person's
-- changes when the next set was made; `edits` are all their changes so far.
CREATE TABLE memory_generation (
    generation INTEGER PRIMARY KEY,
    at_ms      INTEGER NOT NULL,
    input      TEXT    NOT NULL,
    threads    INTEGER NOT NULL,
    handbook   TEXT    NOT NULL,
    edits      TEXT    NOT NULL,
    files      TEXT    NOT NULL,
    found      TEXT
) STRICT;

-- Passages of the newest generation, and the index of their words.
CREATE TABLE memory_passage (
    passage    INTEGER PRIMARY KEY,
    path       TEXT    NOT NULL,
    line_start INTEGER NOT NULL,
    line_end   INTEGER NOT NULL,
    project    TEXT,
    thread_id  TEXT,
    at_ms      INTEGER NOT NULL,
    text       TEXT    NOT NULL
) STRICT;

CREATE VIRTUAL TABLE memory_text USING fts5(
    pieces, names,
    content = '', contentless_delete = 1, prefix = '3',
    tokenize = 'unicode61 remove_diacritics 2'
);

-- The watcher of each thread. `body` is its state as JSON.
CREATE TABLE policy_watcher (
    thread_id  TEXT    PRIMARY KEY,
    updated_ms INTEGER NOT NULL,
    body       TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- Settings of policies at the time of a decision, by the digest of their JSON, so that it can be reproduced.
CREATE TABLE policy_settings (
    digest TEXT PRIMARY KEY,
    body   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Decisions, including those of shadow policies, newest last. `body` is the situation and the decision, `compaction_id`
-- or `not_made` its result.
CREATE TABLE policy_decision (
    decision_id INTEGER PRIMARY KEY AUTOINCREMENT,
    thread_id   TEXT    NOT NULL,
    policy      TEXT    NOT NULL,
    settings    TEXT    NOT NULL,
    shadow      INTEGER NOT NULL,
    at_ms       INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    turn        INTEGER NOT NULL,
    action      TEXT    NOT NULL,
    tier        TEXT,
    body        TEXT    NOT NULL,
    compaction_id TEXT,
    not_made    TEXT
) STRICT;

CREATE INDEX policy_decision_by_thread ON policy_decision (thread_id, decision_id);

-- The consolidation agent's last input and output (`baseline`, JSON, NULL before its first success and after something
-- was forgotten), and the result of its last run.
CREATE TABLE memory_agent (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    baseline TEXT,
    outcome  TEXT    NOT NULL,
    detail   TEXT    NOT NULL,
    mode     TEXT    NOT NULL,
    turns    INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL
) STRICT;

-- Age of the database when a row was created or last written. Deletion by age compares it with the current age
-- (`lived_ms` in `meta`), never with a clock that can be set.
CREATE TABLE age (
    kind     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    lived_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX age_by_time ON age (kind, lived_ms);

CREATE TRIGGER compaction_ages AFTER INSERT ON compaction BEGIN
    DELETE FROM age WHERE kind = 'compaction' AND subject = new.compaction_id;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('compaction', new.compaction_id,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER compaction_goes AFTER DELETE ON compaction BEGIN
    DELETE FROM age WHERE kind = 'compaction' AND subject = old.compaction_id;
END;

CREATE TRIGGER policy_decision_ages AFTER INSERT ON policy_decision BEGIN
    DELETE FROM age WHERE kind = 'policy_decision' AND subject = new.decision_id;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('policy_decision', new.decision_id,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER policy_decision_goes AFTER DELETE ON policy_decision BEGIN
    DELETE FROM age WHERE kind = 'policy_decision' AND subject = old.decision_id;
END;

CREATE TRIGGER policy_watcher_ages AFTER INSERT ON policy_watcher BEGIN
    DELETE FROM age WHERE kind = 'policy_watcher' AND subject = new.thread_id;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('policy_watcher', new.thread_id,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER policy_watcher_ages_anew AFTER UPDATE ON policy_watcher BEGIN
    DELETE FROM age WHERE kind = 'policy_watcher' AND subject = new.thread_id;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('policy_watcher', new.thread_id,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER policy_watcher_goes AFTER DELETE ON policy_watcher BEGIN
    DELETE FROM age WHERE kind = 'policy_watcher' AND subject = old.thread_id;
END;

CREATE TRIGGER job_ages AFTER INSERT ON job BEGIN
    DELETE FROM age WHERE kind = 'job' AND subject = new.kind || '/' || new.subject;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('job', new.kind || '/' || new.subject,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER job_goes AFTER DELETE ON job BEGIN
    DELETE FROM age WHERE kind = 'job' AND subject = old.kind || '/' || old.subject;
END;

-- A running agent's newest report of a thread's context window. `body` is the report as JSON.
CREATE TABLE agent_gauge (
    thread_id TEXT    PRIMARY KEY,
    at_ms     INTEGER NOT NULL,
    body      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- The tables of a database of version 9 that are salvaged, with rows.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE semantic_update (
    update_id     INTEGER PRIMARY KEY AUTOINCREMENT,
    thread_id     TEXT    NOT NULL,
    seq           INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    body          TEXT    NOT NULL
) STRICT;
INSERT INTO semantic_update VALUES (7, 't', 3, 11, '{"kind":"fact"}');

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
INSERT INTO compaction VALUES ('cmp_1', 't', 12, 'checkpoint', 'standalone', 'manual', 900, 90, 5, 2, 13,
    x'7b7d', x'01', 'context_limit', 2, 30);

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
INSERT INTO model_usage VALUES (20000, 'p', 'm', 'summary', 4, 1, 100, 50, 25);

CREATE TABLE job (
    kind       TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    priority   INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    body       TEXT    NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
INSERT INTO job VALUES ('compact', 'cmp_2', 'queued', 1, 15, '{}');

CREATE TABLE memory_note (
    note_id TEXT    PRIMARY KEY,
    project TEXT,
    at_ms   INTEGER NOT NULL,
    text    TEXT    NOT NULL,
    origin  TEXT    NOT NULL DEFAULT 'client'
) STRICT, WITHOUT ROWID;
INSERT INTO memory_note VALUES ('n1', '/w', 16, 'Never.', 'client'), ('n2', NULL, 25, 'Always.', 'person');

CREATE TABLE memory_exclusion (
    kind    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;
INSERT INTO memory_exclusion VALUES ('thread', 'gone', 17);

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
INSERT INTO memory_generation VALUES (2, 19, 'i', 1, '{}', '{}', '{"MEMORY.md":"x"}', NULL);

CREATE TABLE policy_watcher (
    thread_id  TEXT    PRIMARY KEY,
    updated_ms INTEGER NOT NULL,
    body       TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO policy_watcher VALUES ('t', 22, '{}');

CREATE TABLE policy_settings (digest TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO policy_settings VALUES ('s', '{}');

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
    body        TEXT    NOT NULL
) STRICT;
INSERT INTO policy_decision VALUES (3, 't', 'p', 's', 0, 23, 4, 1, 'wait', NULL, '{}');

PRAGMA user_version = 9;
PRAGMA application_id = 1818772546;

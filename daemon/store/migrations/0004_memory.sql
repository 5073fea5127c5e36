-- What was extracted from each thread that was looked at. `body` is the memory as JSON, redacted, NULL where
-- there was nothing to learn; the other columns are copies that lists and eligibility need.
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
    body            TEXT
) STRICT, WITHOUT ROWID;

-- Notes that were asked to be remembered, redacted.
CREATE TABLE memory_note (
    note_id TEXT    PRIMARY KEY,
    project TEXT,
    at_ms   INTEGER NOT NULL,
    text    TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- What is not to be remembered: threads, projects, entries.
CREATE TABLE memory_exclusion (
    kind    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    at_ms   INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

-- Times the kinds of memory file were used.
CREATE TABLE memory_usage (
    kind    TEXT    PRIMARY KEY,
    uses    INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Published sets of memory files, the newest few. `files` is as it was published, `found` as a person had
-- changed it when the next one was made; `edits` are all their changes so far.
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

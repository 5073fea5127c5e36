-- Background jobs: one row a key. `body` is the job as JSON; the columns are copies of it that queries
-- select by. Decisions are made in the core, inside the transaction that stores them.
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

-- What happened to jobs, newest last.
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

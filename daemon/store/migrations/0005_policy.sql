-- The watcher of each thread: where it is in its sequence. `body` is the state as JSON.
CREATE TABLE policy_watcher (
    thread_id  TEXT    PRIMARY KEY,
    updated_ms INTEGER NOT NULL,
    body       TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- Policies as they were when they decided, by the digest of their JSON: a decision can be made again.
CREATE TABLE policy_settings (
    digest TEXT PRIMARY KEY,
    body   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Decisions, those of shadow policies included, newest last. `body` is the situation and the decision.
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

CREATE INDEX policy_decision_by_thread ON policy_decision (thread_id, decision_id);

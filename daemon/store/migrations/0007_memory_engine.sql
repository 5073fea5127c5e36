-- Which engine read a thread, and why it was not the one that was asked for.
ALTER TABLE memory_thread ADD COLUMN engine TEXT NOT NULL DEFAULT 'deterministic';
ALTER TABLE memory_thread ADD COLUMN reason TEXT;

-- What the consolidation agent last saw and published (`baseline`, JSON, NULL before its first success and
-- after something was forgotten), and how its last run ended.
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

-- What a running agent last reported of a thread's window. `body` is the report as JSON.
CREATE TABLE agent_gauge (
    thread_id TEXT    PRIMARY KEY,
    at_ms     INTEGER NOT NULL,
    body      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

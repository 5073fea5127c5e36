-- What models cost, by UTC day: the budgets' memory, and what a person is told.
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

-- Answers by the digest of what was asked: after a crash the same request is not paid twice.
CREATE TABLE model_answer (
    digest        TEXT    PRIMARY KEY,
    created_at_ms INTEGER NOT NULL,
    body          BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- The index of the archive, in a separate database file. It has the positions in the packs, and can be rebuilt from the
-- packs' contents tables.

-- A file of the archive: compressed chunks.
CREATE TABLE pack (
    pack       INTEGER PRIMARY KEY,
    bytes      INTEGER NOT NULL,
    text_bytes INTEGER NOT NULL,
    -- When it was last read whole, Unix milliseconds; 0 before the first time.
    checked_ms INTEGER NOT NULL,
    damaged    INTEGER NOT NULL
) STRICT;

CREATE TABLE chunk (
    chunk  INTEGER PRIMARY KEY,
    digest BLOB    NOT NULL UNIQUE,
    pack   INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    bytes  INTEGER NOT NULL
) STRICT;

CREATE INDEX chunk_by_pack ON chunk (pack);

-- An archived text. It contains `source_bytes` of its transcript; the first `checked_bytes` of these equal the ingested
-- lines, proved by `checked_chain`. The generation of a replaced file is negative.
CREATE TABLE transcript (
    transcript    INTEGER PRIMARY KEY,
    path          TEXT    NOT NULL,
    generation    INTEGER NOT NULL,
    thread_id     TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    cwd           TEXT,
    first_seq     INTEGER NOT NULL,
    source_bytes  INTEGER NOT NULL,
    text_bytes    INTEGER NOT NULL,
    checked_bytes INTEGER NOT NULL,
    checked_chain BLOB    NOT NULL,
    -- 0 if not, else one more than the version of the rules that redacted it.
    redacted      INTEGER NOT NULL,
    updated_ms    INTEGER NOT NULL,
    lived_ms      INTEGER NOT NULL,
    UNIQUE (path, generation)
) STRICT;

CREATE INDEX transcript_by_thread ON transcript (thread_id);

-- A chunk's position in a text.
CREATE TABLE piece (
    transcript   INTEGER NOT NULL REFERENCES transcript (transcript) ON DELETE CASCADE,
    offset       INTEGER NOT NULL,
    lines_before INTEGER NOT NULL,
    chunk        INTEGER NOT NULL,
    PRIMARY KEY (transcript, offset)
) STRICT, WITHOUT ROWID;

CREATE INDEX piece_by_chunk ON piece (chunk);

-- Evicted texts with their size at that time: they are archived again when they grow, or when the bounds are wider.
CREATE TABLE evicted (
    path         TEXT    PRIMARY KEY,
    source_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The index of the archive, in a database file of its own. It says where things stand in the packs, and can be made
-- anew from what these say of themselves.

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

-- An archived text. `source_bytes` of its transcript are in it; the first `checked_bytes` of these are the lines that
-- were ingested, as `checked_chain` proves. The generation of one that was replaced since is negative.
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
    redacted      INTEGER NOT NULL,
    updated_ms    INTEGER NOT NULL,
    lived_ms      INTEGER NOT NULL,
    UNIQUE (path, generation)
) STRICT;

CREATE INDEX transcript_by_thread ON transcript (thread_id);

-- A chunk's place in a text.
CREATE TABLE piece (
    transcript   INTEGER NOT NULL REFERENCES transcript (transcript) ON DELETE CASCADE,
    offset       INTEGER NOT NULL,
    lines_before INTEGER NOT NULL,
    chunk        INTEGER NOT NULL,
    PRIMARY KEY (transcript, offset)
) STRICT, WITHOUT ROWID;

CREATE INDEX piece_by_chunk ON piece (chunk);

-- Texts that went because the archive was full or they were too old, as they were then: they come back when they grow.
CREATE TABLE evicted (
    path         TEXT    PRIMARY KEY,
    source_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The full-text index, in a separate database file: a projection of the transcripts, rebuilt whenever its version
-- differs. It contains no text: `item_text` has words only.

-- How far a transcript is indexed. `dropped` ones are being deleted in batches.
CREATE TABLE indexed_file (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    path        TEXT    NOT NULL,
    thread_id   TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    cwd         TEXT,
    generation  INTEGER NOT NULL,
    next_seq    INTEGER NOT NULL,
    last_seq    INTEGER NOT NULL,
    last_digest BLOB    NOT NULL,
    at_ms       INTEGER NOT NULL,
    items       INTEGER NOT NULL,
    dropped     INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX indexed_file_by_path ON indexed_file (path) WHERE dropped = 0;

-- One indexed item. Its number rises with time, so that the index can be read newest first.
CREATE TABLE indexed_item (
    item   INTEGER PRIMARY KEY,
    file   INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    kind   INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    at_ms  INTEGER NOT NULL
) STRICT;

CREATE INDEX indexed_item_by_file ON indexed_item (file);

-- `scope` has one word each for source, kind, folder and thread, so that filters are matched like words.
CREATE VIRTUAL TABLE item_text USING fts5(
    pieces, names, scope,
    content = '', contentless_delete = 1, prefix = '3',
    tokenize = 'unicode61 remove_diacritics 2'
);

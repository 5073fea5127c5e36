-- The full-text index, in a database file of its own: a projection of the transcripts, made anew whenever its
-- version differs. It holds no text of its own: `item_text` keeps words without what they stood in.

-- How far a transcript is indexed. `dropped` ones are being deleted, a piece at a time.
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

-- One indexed item. Its number rises with its time, so that newest first is the order of the index.
CREATE TABLE indexed_item (
    item   INTEGER PRIMARY KEY,
    file   INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    kind   INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    at_ms  INTEGER NOT NULL
) STRICT;

CREATE INDEX indexed_item_by_file ON indexed_item (file);

-- `scope` holds a word each for source, kind, folder and thread: filters are found like words.
CREATE VIRTUAL TABLE item_text USING fts5(
    pieces, names, scope,
    content = '', contentless_delete = 1, prefix = '3',
    tokenize = 'unicode61 remove_diacritics 2'
);

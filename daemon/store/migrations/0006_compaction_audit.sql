-- Why each compaction was made and what models cost: a list tells it without reading the bodies. Empty
-- and 0 in rows older than this; `cause` says then who asked.
ALTER TABLE compaction ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE compaction ADD COLUMN requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE compaction ADD COLUMN tokens_spent INTEGER NOT NULL DEFAULT 0;

-- How often the agent compacted each thread: `daemon/status` asks for the newest such threads, and no head is read.
ALTER TABLE thread ADD COLUMN compactions INTEGER NOT NULL DEFAULT 0;

UPDATE thread SET compactions = coalesce((
    SELECT json_extract(head, '$.compactions') FROM source_file AS f
    WHERE f.file_id = thread.file_id AND json_valid(head)
), 0);

CREATE INDEX thread_by_compaction ON thread (updated_at_ms DESC, thread_id, compactions)
    WHERE compactions > 0;

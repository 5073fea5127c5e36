-- How long the database had been in use when a row was made or last written: what is removed by age is aged by
-- that (`lived_ms` in `meta`), never by a clock that can be set.
CREATE TABLE age (
    kind     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    lived_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX age_by_time ON age (kind, lived_ms);

CREATE TRIGGER compaction_ages AFTER INSERT ON compaction BEGIN
    DELETE FROM age WHERE kind = 'compaction' AND subject = new.compaction_id;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('compaction', new.compaction_id,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER compaction_goes AFTER DELETE ON compaction BEGIN
    DELETE FROM age WHERE kind = 'compaction' AND subject = old.compaction_id;
END;

CREATE TRIGGER policy_decision_ages AFTER INSERT ON policy_decision BEGIN
    DELETE FROM age WHERE kind = 'policy_decision' AND subject = new.decision_id;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('policy_decision', new.decision_id,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER policy_decision_goes AFTER DELETE ON policy_decision BEGIN
    DELETE FROM age WHERE kind = 'policy_decision' AND subject = old.decision_id;
END;

CREATE TRIGGER policy_watcher_ages AFTER INSERT ON policy_watcher BEGIN
    DELETE FROM age WHERE kind = 'policy_watcher' AND subject = new.thread_id;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('policy_watcher', new.thread_id,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER policy_watcher_ages_anew AFTER UPDATE ON policy_watcher BEGIN
    DELETE FROM age WHERE kind = 'policy_watcher' AND subject = new.thread_id;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('policy_watcher', new.thread_id,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER policy_watcher_goes AFTER DELETE ON policy_watcher BEGIN
    DELETE FROM age WHERE kind = 'policy_watcher' AND subject = old.thread_id;
END;

CREATE TRIGGER job_ages AFTER INSERT ON job BEGIN
    DELETE FROM age WHERE kind = 'job' AND subject = new.kind || '/' || new.subject;
    INSERT INTO age (kind, subject, lived_ms) VALUES ('job', new.kind || '/' || new.subject,
        coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'lived_ms'), 0));
END;

CREATE TRIGGER job_goes AFTER DELETE ON job BEGIN
    DELETE FROM age WHERE kind = 'job' AND subject = old.kind || '/' || old.subject;
END;

-- Rows of before count from now.
INSERT INTO age SELECT 'compaction', compaction_id, 0 FROM compaction;
INSERT INTO age SELECT 'policy_decision', decision_id, 0 FROM policy_decision;
INSERT INTO age SELECT 'policy_watcher', thread_id, 0 FROM policy_watcher;
INSERT INTO age SELECT 'job', kind || '/' || subject, 0 FROM job;

-- What a decision led to: the compaction, or why a client that was asked made none.
ALTER TABLE policy_decision ADD COLUMN compaction_id TEXT;
ALTER TABLE policy_decision ADD COLUMN not_made TEXT;

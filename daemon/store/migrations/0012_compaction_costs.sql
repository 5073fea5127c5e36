-- The sums of all compactions, without a look at their bodies.
CREATE INDEX compaction_costs
    ON compaction (thread_id, created_at_ms, requests, tokens_spent, duration_ms, tokens_before);

-- Whose words a note is: 'person', 'agent', 'tool' or 'client'. Notes of before came from a person or from an
-- agent, and nothing tells which: they wait until a person confirms them.
ALTER TABLE memory_note ADD COLUMN origin TEXT NOT NULL DEFAULT 'client';

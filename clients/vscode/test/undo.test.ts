// What a person reads after an undo.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { CompactionUndoResult } from "@longhaul/client";
import { undoneWords } from "../src/words";

const undone = { compaction_id: "cmp_1", history: [{}, {}], thread_id: "t1", seq: 747 } as unknown as CompactionUndoResult;
const COMMAND = "longhaul continue t1 --as-of 747 --max-tokens 16000";

test("an agent with a history of its own comes with what to type in its open session", () => {
  for (const [source, words] of [
    ["claude", "Claude Code keeps its own history, which is unchanged. If the longhaul plugin compacted the open session, type /compact undo in it."],
    ["codex", "If the session is open in Codex, run `longhaul undo cmp_1`."],
    ["gemini", "Gemini CLI keeps its own history"],
    ["new-agent", "The agent keeps its own history"],
  ] as const) {
    const told = undoneWords({ ...undone, reach: "not_agent", source });
    assert.ok(told.words.includes(words) && told.words.endsWith(COMMAND), told.words);
    assert.equal(told.command, COMMAND);
  }
});

test("a thread of ours has its history back and needs no command", () => {
  const told = undoneWords({ ...undone, reach: "thread", restored_seq: 750 });
  assert.deepEqual(told, { words: "Undone: the old history of 2 items is in use again since #750." });
});

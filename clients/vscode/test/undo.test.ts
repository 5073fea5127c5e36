// The message after an undo.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { CompactionUndoResult } from "@longhaul/client";
import { undoneWords } from "../src/words";

const undone = { compaction_id: "cmp_1", history: [{}, {}], thread_id: "t1", seq: 747 } as unknown as CompactionUndoResult;
const COMMAND = "longhaul continue t1 --as-of 747 --max-tokens 16000";

test("for an agent with its own history, the message says what to type in its session", () => {
  for (const [source, words] of [
    ["claude", "Claude Code keeps its own history, which is unchanged. If the longhaul plugin compacted the open session, type /compact undo in it."],
    ["codex", "If the session is open in Codex, run `longhaul undo cmp_1`."],
    ["gemini", "Gemini CLI keeps its own history"],
    ["new-agent", "The agent keeps its own history"],
  ] as const) {
    const result = undoneWords({ ...undone, reach: "not_agent", source });
    assert.ok(result.words.includes(words) && result.words.endsWith(COMMAND), result.words);
    assert.equal(result.command, COMMAND);
  }
});

test("a thread of ours has its history back, without a command", () => {
  const result = undoneWords({ ...undone, reach: "thread", restored_seq: 750 });
  assert.deepEqual(result, { words: "Undone: the old history of 2 items is in use again since #750." });
});

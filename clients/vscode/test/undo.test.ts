// Which compaction an undo is of, and the message after it.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { CompactionUndoResult, ThreadBillResult } from "@longhaul/client";
import { compactionToUndo } from "../src/undo";
import { undoneWords } from "../src/words";

const undone = { compaction_id: "cmp_1", history: [{}, {}], handles: [], complete: true, thread_id: "t1", seq: 747 } as unknown as CompactionUndoResult;
const COMMAND = "longhaul continue t1 --as-of 747 --max-tokens 16000";

test("for an agent with its own history, the message says what to type in its session", () => {
  for (const [agent, session_hint, words] of [
    ["Claude Code", "Type /compact undo in it.", "Claude Code keeps its own history, which is unchanged. Type /compact undo in it."],
    ["Gemini CLI", undefined, "Gemini CLI keeps its own history, which is unchanged. To continue"],
    [undefined, undefined, "The agent keeps its own history"],
  ] as const) {
    const result = undoneWords({ ...undone, reach: "not_agent", agent, session_hint });
    assert.ok(result.words.includes(words) && result.words.endsWith(COMMAND), result.words);
    assert.equal(result.command, COMMAND);
  }
});

test("a thread of ours has its history back, without a command", () => {
  const result = undoneWords({ ...undone, reach: "thread", restored_seq: 750 });
  assert.deepEqual(result, { words: "Undone: the old history of 2 items is in use again since #750." });
});

test("a history that is too large for one answer is measured by its handles", () => {
  const handles = [{ tokens: 200_000 }, { tokens: 50_000 }] as CompactionUndoResult["handles"];
  const result = undoneWords({ ...undone, history: [], handles, complete: false, reach: "thread" });
  assert.deepEqual(result, { words: "Undone: the old history of 250k tokens is in use again." });
});

test("an undo is of the compaction that the daemon names, not of a newer view that was only printed", () => {
  const compactions = ["cmp_used", "cmp_printed"].map((compaction_id) => ({ summary: { compaction_id } }));
  const bill = { compactions, undo_next: "cmp_used" } as unknown as ThreadBillResult;
  assert.equal(compactionToUndo(bill)?.compaction_id, "cmp_used");
  assert.equal(compactionToUndo(bill, "cmp_printed")?.compaction_id, "cmp_printed", "it was just made");
  assert.equal(compactionToUndo({ ...bill, undo_next: undefined }), undefined, "all are undone");
});

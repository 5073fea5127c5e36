// The picker's rows and the changes they make.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { CheckpointChoicesResult, CompactionPreviewResult } from "@longhaul/client";
import { changes, choiceRows } from "../src/choice";

const choices = [
  { choice_id: "a1", thread_id: "t", action: "pin", text: "Keep the\nAPI.", tokens: 9, created_at: 1 },
  { choice_id: "b2", thread_id: "t", action: "drop", text: "old plan", tokens: 0, created_at: 2 },
] as CheckpointChoicesResult["choices"];
const preview = {
  lines: [
    { part: "REPORTS", text: "It retries.", tokens: 4, handle: "#3" },
    { part: "CHANGED_FILES", text: "src/a.rs (edited)", tokens: 5 },
  ],
  shortened: [],
  dropped: [{ handle: "t#7.abc", kind: "tool_output", tokens: 90, seq: 7, excerpt: "" }],
} as unknown as CompactionPreviewResult;

test("rows in the view are checked", () => {
  const rows = choiceRows(choices, preview);
  assert.deepEqual(rows.map((row) => row.picked), [true, false, true, true, false]);
  assert.deepEqual(rows.map((row) => row.label), ["Keep the API.", "old plan", "It retries.", "src/a.rs (edited)", "tool output"]);
});

test("only changed rows are written, removals first", () => {
  const rows = choiceRows(choices, preview);
  assert.deepEqual(changes(rows, rows.filter((row) => row.picked)), []);
  const picked = rows.filter((_, at) => [1, 3, 4].includes(at));
  assert.deepEqual(changes(rows, picked), [
    { change: "remove", choice_id: "a1" },
    { change: "remove", choice_id: "b2" },
    { change: "drop", text: "It retries." },
    { change: "pin", handle: "t#7.abc" },
  ]);
});

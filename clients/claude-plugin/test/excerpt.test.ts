import assert from "node:assert/strict";
import { test } from "node:test";

import type { SessionAppendInput } from "claude-code";
import { excerpted, WHOLE_MAX } from "../hooks/excerpt";

function appended(content: unknown, more: Partial<SessionAppendInput> = {}, of: object = {}): SessionAppendInput {
  const block = { type: "tool_result", tool_use_id: "toolu_01ab", content, is_error: false, ...of };
  return { door: "tool-result", origin: { kind: "tool", tool: "Bash" }, message: { type: "user", content: [block] }, ...more };
}

const LONG = `first\n${"x".repeat(WHOLE_MAX)}\nlast`;

test("of a long output both ends stay, and the handle that brings back all of it", () => {
  const { e, leftOut } = excerpted(appended(LONG));
  const [block] = e.message.content as { content: string; tool_use_id: string }[];
  const text = block?.content ?? "";
  assert.ok(text.startsWith("first\n") && text.endsWith("\nlast") && text.length < 4_200, text);
  assert.ok(text.includes("expand with handle #toolu_01ab"), text);
  assert.equal(leftOut, LONG.length - text.length);
  assert.equal(block?.tool_use_id, "toolu_01ab");
});

test("whatever is not a command's own long output stays as it is, the same object", () => {
  const others: SessionAppendInput[] = [
    appended("x".repeat(WHOLE_MAX)),
    appended(LONG, {}, { is_error: true }),
    appended([{ type: "text", text: LONG }]),
    appended(LONG, { origin: { kind: "tool", tool: "Read" } }),
    appended(LONG, { door: "prompt" }),
    appended(LONG, { message: { type: "user", content: LONG } }),
    appended(LONG, {}, { type: "text" }),
    appended(LONG, { message: { type: "user", content: [null, 7] } }),
  ];
  for (const other of others) assert.equal(excerpted(other).e, other);
});

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

test("what a server gives is an excerpt as well, part by part, but never what ours brings back", () => {
  const of = (tool: string, content: unknown) => excerpted(appended(content, { origin: { kind: "tool", tool } }));
  const picture = { type: "image", source: {} };
  const parts = [{ type: "text", text: LONG }, picture, { type: "text", text: "short" }];
  const { e, leftOut } = of("mcp__memo__notes", parts);
  const [block] = e.message.content as { content: { text?: string }[] }[];
  const [long, kept, short] = block?.content ?? [];
  assert.ok(long?.text?.includes("expand with handle #toolu_01ab") && leftOut > 10_000, long?.text);
  assert.deepEqual([kept, short?.text], [picture, "short"]);
  assert.ok(of("mcp__memo__notes", LONG).leftOut > 0, "one text");
  for (const ours of ["mcp__longhaul__expand", "mcp__plugin_longhaul_longhaul__history"]) {
    assert.equal(of(ours, parts).leftOut, 0, ours);
  }
});

test("a file that is read from its beginning is an excerpt, a part that was asked for is not", () => {
  const read = (content: string) => excerpted(appended(content, { origin: { kind: "tool", tool: "Read" } }));
  const lines = (from: number) => Array.from({ length: 900 }, (_, at) => `${from + at}\tline ${from + at} of a file`).join("\n");
  const { e, leftOut } = read(lines(1));
  const [block] = e.message.content as { content: string }[];
  assert.ok(leftOut > 0 && block?.content.includes("Read with offset and limit shows a part"), block?.content);
  for (const first of [2, 10, 1_000]) assert.equal(read(lines(first)).leftOut, 0, `from ${first}`);
});

test("whatever has another whole copy nowhere stays as it is, the same object", () => {
  const others: SessionAppendInput[] = [
    appended("x".repeat(WHOLE_MAX)),
    appended(LONG, {}, { is_error: true }),
    appended(LONG, { origin: { kind: "tool", tool: "WebFetch" } }),
    appended(LONG, { origin: { kind: "tool", tool: "Agent" } }),
    appended(LONG, { origin: { kind: "tool", tool: "mcpish" } }),
    appended(LONG, { door: "prompt" }),
    appended(LONG, { message: { type: "user", content: LONG } }),
    appended(LONG, {}, { type: "text" }),
    appended(LONG, { message: { type: "user", content: [null, 7] } }),
  ];
  for (const other of others) assert.equal(excerpted(other).e, other);
});

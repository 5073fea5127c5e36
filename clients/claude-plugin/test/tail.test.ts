import assert from "node:assert/strict";
import { test } from "node:test";

import type { SessionMessage } from "claude-code";
import { BRIEFING_OPENING, excerpt, restored, tail, weight } from "../hooks/tail";

const message = (role: "user" | "assistant", text: string): SessionMessage => ({ role, text, toolUses: [], handle: text });
const call = (...ids: string[]): SessionMessage => ({
  role: "assistant",
  text: "",
  toolUses: ids.map((id) => ({ tool_use_id: id, tool: "Bash", input: { command: id } })),
  handle: `call ${ids.join()}`,
});
const result = (id: string, text = "ok"): SessionMessage => ({
  role: "user",
  text: "",
  toolUses: [],
  toolResults: [{ tool_use_id: id, text, isError: false }],
  handle: `result ${id}`,
});
/** The messages by their handles, results of a tool by the ids of their calls: these are written anew. */
const handles = (messages: SessionMessage[]) =>
  messages.map(({ handle, toolResults }) => toolResults?.map((it) => `result ${it.tool_use_id}`).join() ?? handle);

/** Checks what a provider requires: every call has its result, every result its call. */
function assertPaired(messages: SessionMessage[]) {
  const calls = messages.flatMap((message) => message.toolUses.map((use) => use.tool_use_id)).sort();
  const answers = messages.flatMap((message) => (message.toolResults ?? []).map((it) => it.tool_use_id)).sort();
  assert.deepEqual(calls, answers);
}

test("the newest messages that fit stay, whole and in order", () => {
  const messages = [message("user", "long ago ".repeat(100)), message("assistant", "done"), message("user", "go on"), call("a"), result("a")];
  assert.deepEqual(handles(tail(messages, 50)), ["done", "go on", "call a", "result a"]);
  assert.deepEqual(handles(tail(messages, 100_000)), handles(messages));
  assert.deepEqual(tail([], 100), []);
});

test("no cut at any budget parts a call from its result", () => {
  const messages = [
    message("user", "begin"),
    call("a", "b"),
    result("a"),
    result("b", "x".repeat(400)),
    message("assistant", "thinking"),
    call("c"),
    call("d"),
    result("c", "y".repeat(200)),
    result("d"),
    call("e"),
    result("e"),
  ];
  for (let budget = 0; budget < 300; budget += 1) {
    const kept = tail(messages, budget);
    assertPaired(kept);
    const tokens = kept.reduce((sum, message) => sum + weight(message), 0);
    assert.ok(tokens <= budget, `${tokens} of ${budget}`);
  }
});

test("a call that was never answered goes, and an answer without its call", () => {
  assert.deepEqual(handles(tail([message("user", "go"), call("a"), message("user", "stop")], 100)), ["go", "stop"]);
  assert.deepEqual(handles(tail([result("gone"), message("user", "go")], 100)), ["go"]);
  // Of two calls in one message one is unanswered: the message goes, and the other's answer with it.
  assert.deepEqual(handles(tail([message("user", "go"), call("a", "b"), result("a")], 100)), ["go"]);
});

test("what a resumed session lists twice stays once", () => {
  const messages = [message("user", "go"), call("a"), call("a"), result("a"), result("a")];
  assert.deepEqual(handles(tail(messages, 1_000)), ["go", "call a", "result a"]);
});

test("an older briefing is never kept beside the new one", () => {
  const old = message("user", `${BRIEFING_OPENING} Below is …`);
  assert.deepEqual(handles(tail([old, call("a"), result("a")], 10_000)), ["call a", "result a"]);
});

test("one exchange that is too large keeps its call, and both ends of its result", () => {
  const messages = [message("user", "dump it"), call("a"), result("a", `begin ${"z".repeat(400_000)} end`)];
  const kept = tail(messages, 4_000);
  assertPaired(kept);
  assert.equal(kept[0]?.handle, "call a");
  const text = kept[1]?.toolResults?.[0]?.text ?? "";
  assert.match(text, /^begin z+\n\[longhaul left out \d+ characters; .*\]\nz+ end$/);
  assert.equal(kept[1]?.handle, undefined, "the engine must take the built message, not its own");
  assert.ok(kept.reduce((sum, message) => sum + weight(message), 0) <= 4_000);
});

test("an excerpt never cuts a character apart", () => {
  for (let length = 4; length < 40; length += 1) {
    const cut = excerpt("😀".repeat(200), length);
    assert.ok(cut.isWellFormed(), cut);
  }
});

test("a result is written anew, as it was: behind its old call a resumed session would find the whole history", () => {
  const exchange = [message("user", "go"), call("a"), result("a")];
  const kept = tail(exchange, 10_000);
  assert.deepEqual(kept.map((message) => message.handle), ["go", "call a", undefined]);
  const { handle, ...written } = exchange[2] as SessionMessage;
  assert.deepEqual(kept[2], written);
});

test("the replaced history comes before newer messages, and messages kept after the briefing appear once", () => {
  const briefing = message("user", `${BRIEFING_OPENING} B`);
  const old = [message("user", "first"), call("a"), result("a"), message("user", "go on"), call("b"), result("b"), message("assistant", "done")];
  const stayed = [old[3], call("b"), result("b"), message("assistant", "done "), message("assistant", "done")] as SessionMessage[];
  const since = [message("user", "go on"), call("c"), result("c"), call("d")];
  const whole = restored(old, [briefing, ...stayed, ...since]);
  assert.deepEqual(handles(whole), [...handles(old), "go on", "call c", "result c"]);
  assertPaired(whole);
  // Nothing stayed: words like old ones are new.
  assert.deepEqual(handles(restored(old, [briefing, message("user", "go on"), message("assistant", "yes")])), [...handles(old), "go on", "yes"]);
  assert.deepEqual(handles(restored(old, [briefing])), handles(old));
});

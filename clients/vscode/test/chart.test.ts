// The chart: its content, and that it escapes untrusted text.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { ContextUsageResult, ThreadBillResult, ThreadSummary } from "@longhaul/client";
import { note, page, parts } from "../src/chart";
import { itemsAsText } from "../src/item";
import { LonghaulError } from "@longhaul/client";
import { absence, ago, billLines, checkedWords, coldCache, eventWords, forecast, level, tokens } from "../src/words";

const thread = { title: 'Rename <parse> & "more"', thread_id: "t" } as ThreadSummary;
const usage: ContextUsageResult = {
  tokens: { used: 200_000, estimated: 190_000, overhead: 9_000 },
  by_kind: { user: 1_000, tool_outputs: 180_000, instructions_and_tools: 9_000, something_new: 2_000, not_attributed: 8_000 },
  window: { tokens: 272_000, source: "transcript", effective: 258_400, trigger: 244_800, trigger_source: "default", is_known: true, percent_used: 76, percent_remaining: 24 },
  timeline: {
    turns: 12,
    points: [{ seq: 1, turn: 0, tokens: 0 }, { seq: 50, turn: 6, tokens: 240_000 }, { seq: 51, turn: 6, tokens: 20_000 }, { seq: 99, turn: 12, tokens: 200_000 }],
    compactions: [{ seq: 51, before: 240_000, after: 20_000 }],
  },
  warnings: [{ kind: "over_trigger", message: "over the <trigger>" }],
};

test("the chart shows how full the window is, what fills it, and compactions", () => {
  const html = page(thread, usage, undefined, "abc");
  for (const part of ["<b>76</b>%", "44.8k until compaction", "tool outputs", "something new", "compacted: 240k → 20.0k", "compaction at 245k", "compacted once", "12 turns"]) {
    assert.ok(html.includes(part), part);
  }
  assert.deepEqual(parts(usage).map((part) => part.name), ["tool outputs", "instructions and tools", "not attributed", "something new", "user"]);
});

test("a window of unknown size has no percentage", () => {
  const window = { tokens: 272_000, source: "fallback", effective: 258_400, trigger_source: "fallback", is_known: false };
  const unknown = { ...usage, window };
  const html = page(thread, unknown, undefined, "abc");
  assert.ok(html.includes("the model&#39;s window is unknown") || html.includes("the model's window is unknown"), html);
  assert.ok(!html.includes("</b>%") && !html.includes("272k"), html);
  assert.equal(level(unknown), "calm");
});

test("texts are escaped, and only one style is allowed", () => {
  const html = page(thread, usage, undefined, "abc") + note("<b>", "abc");
  assert.ok(!/<parse>|<trigger>|<p class="next"><b>/.test(html));
  assert.ok(html.includes("default-src 'none'; style-src 'nonce-abc'"));
  assert.ok(!/ style=|<script/.test(html));
});

test("numbers and forecasts are formatted", () => {
  assert.deepEqual([tokens(999), tokens(12_345), tokens(244_800), tokens(2e6)], ["999", "12.3k", "245k", "2.0M"]);
  assert.deepEqual([ago(0, 5_000), ago(0, 7_200_000)], ["just now", "2 h ago"]);
  assert.equal(forecast(usage, { forecast: { tokens_per_turn: 9, next_tier: "tier_2", turns_to_next_tier: 3 } }), "may compact in ~3 turns");
  assert.equal(forecast(usage, { decision: { action: "compact" } }), "compact now");
  assert.equal(forecast(usage, { forecast: { tokens_per_turn: 9, next_tier: "tier_2", turns_to_next_tier: 1_654 } }), "44.8k until compaction");
  assert.equal(level(usage), "near");
});

test("a problem is shown with what to do about it", () => {
  const absent = new LonghaulError("not_running", "no daemon answers on /run/v1.sock");
  const old = new LonghaulError("too_new", "the running daemon speaks protocol 1, this client protocol 2");
  assert.match(absence(undefined), /start Codex or Claude Code once/);
  assert.match(absence(absent), /Start the Daemon/);
  assert.match(absence(old), /speaks protocol 1.*: restart the daemon/);
});

test("items are readable, whatever their shape", () => {
  const items = [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }, { type: "web", q: 1 }, null];
  const text = itemsAsText(items);
  assert.ok(text.includes("message · user\n\nhi") && text.includes('"q": 1'));
});

test("the cost of a compaction is shown beside the agent's own, and a cold cache with both prices", () => {
  const summary = { compaction_id: "c", created_at: 0, strategy_used: "checkpoint", phase: "mid_turn", trigger: "auto", tokens: { before: 182_000, after: 4_000 }, seq: 9, duration_ms: 12 };
  const bill = {
    thread_id: "t",
    compactions: [{ summary, in_force_seq: 10, after: { actions: 3, edited: true, files_reread: 2, files_reread_paths: ["a", "b"] } }],
    agent: { source: "thread", compactions: 2, input_tokens: 156_000, duration_ms: 96_000 },
    agent_compactions: [],
    resume: { idle_ms: 10_800_000, cache_lifetime_ms: 300_000, cache_lifetime_source: "default", is_cold: true, history_tokens: 182_000, briefing_tokens: 6_100 },
  } as unknown as ThreadBillResult;
  assert.deepEqual(billLines(bill), [
    "last compaction: no request, 12 ms",
    "the agent's own: 156k tokens in, 1 min (this thread)",
    "first edit after 3 actions, 2 files read again",
  ]);
  assert.deepEqual(billLines({ ...bill, agent: { source: "unknown", compactions: 0 } }).at(1), "the agent's own: unknown");
  const html = page(thread, usage, undefined, "abc", bill);
  assert.ok(html.includes("what compacting costs") && html.includes("resuming sends 182k tokens uncached, a continuation about 6.1k"), html);
  assert.equal(coldCache({ ...bill.resume!, is_cold: false }), undefined);
});

test("policy decisions and crossed limits have a text, other events have none", () => {
  const event = (kind: string, data: unknown) => eventWords({ seq: 1, at: 0, kind, data });
  const decided = { thread_id: "t", action: "compact", tier: "asap", percent_remaining: 12 };
  assert.equal(event("policy_decided", decided), "The policy decided: compact at asap, 12 % left");
  assert.equal(event("policy_decided", { action: "wait", tier: null, percent_remaining: null }), "The policy decided: wait");
  const crossed = { thread_id: "t", tokens: 180_000, limit: 180_000, window: 200_000, percent_remaining: 10 };
  assert.equal(event("limit_crossed", crossed), "Compaction limit reached: 180k of 200k tokens, 10 % left");
  assert.equal(event("thread_updated", { thread_id: "t" }), undefined);
});

test("changes of the working tree are listed", () => {
  const checked = { unchanged: 1, changed: ["a.rs"], gone: [], unverified: 2, facts_valid: 0, facts_suspect: ["port"] };
  const words = "Working tree: 1 file unchanged; changed since: a.rs; suspect facts: port.";
  assert.equal(checkedWords(checked), words);
  assert.equal(checkedWords(undefined), undefined);
});

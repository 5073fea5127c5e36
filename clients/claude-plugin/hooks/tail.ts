// Selects the last messages, which stay unchanged after the briefing.
//
// A provider rejects a tool result without its call and a call without its result, so both stay or both go. A message
// keeps the engine's handle, with which the engine inserts its own, whole message. A result does not: the engine would
// attach its own result to the call from before the compaction, and a resumed session would continue from there, with
// the whole history again.

import type { SessionMessage, ToolResultSummary } from "claude-code";

/** Beginning of our briefings: the next one replaces an earlier one in the history. */
export const BRIEFING_OPENING = "The conversation so far was compacted.";

const BYTES_PER_TOKEN = 4;
/** Maximum share of the budget of one shortened result, in percent. */
const SHORTENED_PERCENT = 50;

/** The newest messages that fit. If one exchange alone is too large, its results are shortened. */
export function tail(messages: readonly SessionMessage[], maxTokens: number): SessionMessage[] {
  let from = messages.length;
  let newest = messages.length;
  let tokens = 0;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined || message.text.startsWith(BRIEFING_OPENING)) break;
    tokens += weight(message);
    const isStart = message.role === "user" ? !hasResults(message) : messages[at - 1]?.role !== "assistant";
    if (isStart && newest === messages.length) newest = at;
    if (tokens > maxTokens && newest < messages.length) break;
    if (isStart && tokens <= maxTokens) from = at;
  }
  const whole = paired(unrepeated(messages.slice(from)));
  return whole.length > 0 ? whole.map(rewritten) : shortened(paired(unrepeated(messages.slice(newest))), maxTokens);
}

/** Our briefing at the beginning of the history, if any. */
export function briefing(messages: readonly SessionMessage[]): string | undefined {
  return messages.findLast(isBriefing)?.text;
}

/** The history that a briefing replaced, then what came since; messages kept after the briefing appear once. */
export function restored(old: readonly SessionMessage[], messages: readonly SessionMessage[]): SessionMessage[] {
  const since = messages.slice(messages.findLastIndex(isBriefing) + 1);
  let next = 0;
  const first = since.findIndex((message) => {
    // A repetition: a resumed session lists some messages twice.
    const found = old.findIndex((known, at) => at >= next - 1 && isSame(known, message));
    if (found >= 0) next = found + 1;
    return found < 0;
  });
  // The kept messages reached to the end; similar later messages are new.
  const stayed = next < old.length ? 0 : first < 0 ? since.length : first;
  return paired(unrepeated([...old, ...since.slice(stayed)])).map(rewritten);
}

function isBriefing(message: SessionMessage): boolean {
  return message.role === "user" && message.text.startsWith(BRIEFING_OPENING);
}

function isSame(known: SessionMessage, message: SessionMessage): boolean {
  const [theirs, ours] = [ids(known), ids(message)];
  if (ours.length > 0) return ours.every((id) => theirs.includes(id));
  return theirs.length === 0 && known.role === message.role && known.text.trim() === message.text.trim();
}

/** The ids of a message's calls and results. */
function ids(message: SessionMessage): string[] {
  return [
    ...message.toolUses.map((use) => `call ${use.tool_use_id}`),
    ...results(message).map((result) => `result ${result.tool_use_id}`),
  ];
}

/** The messages without those that a resumed session lists twice, before and after a briefing. */
function unrepeated(messages: SessionMessage[]): SessionMessage[] {
  const seen = new Set<string>();
  return messages.filter((message) => {
    const held = ids(message);
    const isRepeated = held.length > 0 && held.every((id) => seen.has(id));
    held.forEach((id) => seen.add(id));
    return !isRepeated;
  });
}

/** Tokens of a message, as the daemon estimates them. */
export function weight(message: SessionMessage): number {
  const inputs = message.toolUses.map((use) => JSON.stringify(use.input ?? {}).length + use.tool.length);
  const results = (message.toolResults ?? []).map((result) => result.text.length);
  const bytes = [message.text.length, ...inputs, ...results].reduce((sum, length) => sum + length, 0);
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

function hasResults(message: SessionMessage): boolean {
  return (message.toolResults ?? []).length > 0;
}

/** Drops messages whose calls or results are not all included. */
function paired(messages: SessionMessage[]): SessionMessage[] {
  const calls = new Set(messages.flatMap((message) => message.toolUses.map((use) => use.tool_use_id)));
  const answered = new Set(messages.flatMap((message) => results(message).map((result) => result.tool_use_id)));
  const isWhole = (message: SessionMessage) =>
    message.toolUses.every((use) => answered.has(use.tool_use_id)) &&
    results(message).every((result) => calls.has(result.tool_use_id));
  const kept = messages.filter(isWhole);
  // A dropped message may have been the other half of a kept one.
  return kept.length === messages.length ? kept : paired(kept);
}

function results(message: SessionMessage): readonly ToolResultSummary[] {
  return message.toolResults ?? [];
}

/** The message, without its handle if it has results. */
function rewritten(message: SessionMessage): SessionMessage {
  return hasResults(message) ? withResults(message, (text) => text) : message;
}

function withResults(message: SessionMessage, written: (text: string) => string): SessionMessage {
  const toolResults = results(message).map(({ tool_use_id, text, isError }) => ({
    tool_use_id,
    isError,
    text: written(text),
  }));
  return { role: message.role, text: message.text, toolUses: [], toolResults };
}

/** The messages with the middle of long results cut out; none if that is not enough. */
function shortened(messages: SessionMessage[], maxTokens: number): SessionMessage[] {
  const count = messages.reduce((sum, message) => sum + results(message).length, 0);
  const share = Math.floor((maxTokens * BYTES_PER_TOKEN * SHORTENED_PERCENT) / 100 / Math.max(count, 1));
  const cut = messages.map((message): SessionMessage => {
    if (!hasResults(message)) return message;
    return withResults(message, (text) => excerpt(text, share));
  });
  const tokens = cut.reduce((sum, message) => sum + weight(message), 0);
  return tokens <= maxTokens ? cut : [];
}

/** Both ends of a text, with a note of what is missing. */
export function excerpt(
  text: string,
  maxLength: number,
  words = (left: number) => `left out ${left} characters; search them with \`longhaul search\``,
): string {
  if (text.length <= maxLength) return text;
  const end = Math.max(0, Math.floor(maxLength / 2));
  // Do not cut a pair of surrogates.
  const head = text.slice(0, end).replace(/[\uD800-\uDBFF]$/, "");
  const rest = text.slice(text.length - end).replace(/^[\uDC00-\uDFFF]/, "");
  const left = text.length - head.length - rest.length;
  return `${head}\n[longhaul ${words(left)}]\n${rest}`;
}

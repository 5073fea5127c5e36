// The last messages, which stay as they are behind the briefing.
//
// A provider refuses a tool result without its call and a call without its result, so both stay or both go. A message
// keeps the engine's handle, by which the engine puts its own, whole message there, but for a result: the engine
// writes one of its own behind the call of before the compaction, so that a resumed session would go on from there
// and hold the whole history once more.

import type { SessionMessage, ToolResultSummary } from "claude-code";

/** How a briefing of ours begins: one in the history is replaced by the next, never kept beside it. */
export const BRIEFING_OPENING = "The conversation so far was compacted.";

const BYTES_PER_TOKEN = 4;
/** The share of the budget that one shortened result may take, in percent. */
const SHORTENED_PERCENT = 50;

/** The newest messages that fit. Where one exchange is too large alone, its results are shortened. */
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

/** The briefing of ours that stands for the history, if one does. */
export function briefing(messages: readonly SessionMessage[]): string | undefined {
  return messages.findLast(isBriefing)?.text;
}

/** What a briefing replaced, and behind it what came since; what stayed behind the briefing stands once. */
export function restored(old: readonly SessionMessage[], messages: readonly SessionMessage[]): SessionMessage[] {
  const since = messages.slice(messages.findLastIndex(isBriefing) + 1);
  let next = 0;
  const first = since.findIndex((message) => {
    // The one before once more: a resumed session lists some twice.
    const found = old.findIndex((known, at) => at >= next - 1 && isSame(known, message));
    if (found >= 0) next = found + 1;
    return found < 0;
  });
  // What stayed reached to the end; words that only look like an old message are new ones.
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

/** Which calls and which results a message holds. */
function ids(message: SessionMessage): string[] {
  return [
    ...message.toolUses.map((use) => `call ${use.tool_use_id}`),
    ...results(message).map((result) => `result ${result.tool_use_id}`),
  ];
}

/** The messages without what a resumed session lists twice: kept once behind a briefing, and once before it. */
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

/** The messages without those whose calls or results are not all among them. */
function paired(messages: SessionMessage[]): SessionMessage[] {
  const calls = new Set(messages.flatMap((message) => message.toolUses.map((use) => use.tool_use_id)));
  const answered = new Set(messages.flatMap((message) => results(message).map((result) => result.tool_use_id)));
  const isWhole = (message: SessionMessage) =>
    message.toolUses.every((use) => answered.has(use.tool_use_id)) &&
    results(message).every((result) => calls.has(result.tool_use_id));
  const kept = messages.filter(isWhole);
  // What went may have been the other half of what is still there.
  return kept.length === messages.length ? kept : paired(kept);
}

function results(message: SessionMessage): readonly ToolResultSummary[] {
  return message.toolResults ?? [];
}

/** The message, without its handle where it holds results. */
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

/** The same messages with long results cut in their middle; none where that is not enough. */
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

/** Both ends of a text, and what is missing between them. */
export function excerpt(
  text: string,
  maxLength: number,
  words = (left: number) => `left out ${left} characters; search them with \`longhaul search\``,
): string {
  if (text.length <= maxLength) return text;
  const end = Math.max(0, Math.floor(maxLength / 2));
  // A pair of surrogates that is cut apart is no text any more.
  const head = text.slice(0, end).replace(/[\uD800-\uDBFF]$/, "");
  const rest = text.slice(text.length - end).replace(/^[\uDC00-\uDFFF]/, "");
  const left = text.length - head.length - rest.length;
  return `${head}\n[longhaul ${words(left)}]\n${rest}`;
}

// Formats numbers, times and forecasts.

import type { AgentCost, BlockedThread, CheckedTree, CompactionUndoResult, ContextUsageResult, Event, LonghaulError, ResumePrice, ThreadBillResult, ThreadSummary } from "@longhaul/client";
import type { Policy } from "./context";

/** Tokens, to three digits. */
export function tokens(count: number): string {
  const units: Array<[number, string]> = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [size, unit] of units) {
    if (count >= size) return `${(count / size).toFixed(count / size < 100 ? 1 : 0)}${unit}`;
  }
  return String(count);
}

export function ago(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1000);
  const units: Array<[number, string]> = [[86_400, "d"], [3_600, "h"], [60, "min"]];
  for (const [size, unit] of units) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  return "just now";
}

/** Maximum characters of a name: a title is often the whole first request. */
const NAME_LETTERS = 60;

export function nameOf(thread: ThreadSummary): string {
  const name = thread.title || thread.cwd || thread.thread_id;
  return name.length > NAME_LETTERS ? `${name.slice(0, NAME_LETTERS).trimEnd()}…` : name;
}

/** Why there is nothing to show, and what to do about it. */
export function absence(problem: LonghaulError | undefined): string {
  if (!problem) return "No thread is known yet: start Codex or Claude Code once.";
  if (problem.failure === "not_running") return "The daemon is not running: run Longhaul: Start the Daemon.";
  return problem.hint ? `${problem.message}: ${problem.hint}` : problem.message;
}

/** Beyond this many turns, the remaining room is more useful. */
const TURNS_SHOWN_MAX = 100;

/** The daemon's forecast, or the room until the trigger. */
export function forecast(usage: ContextUsageResult, policy: Policy | undefined): string {
  if (policy?.decision?.action === "compact") return "compact now";
  const next = policy?.forecast;
  if (next?.turns_to_next_tier !== undefined && next.turns_to_next_tier < TURNS_SHOWN_MAX) return `may compact in ~${next.turns_to_next_tier} turns`;
  if (next?.turns_left !== undefined && next.turns_left < TURNS_SHOWN_MAX) return `full in ~${next.turns_left} turns`;
  const trigger = usage.window.trigger;
  if (!trigger) return usage.window.is_known ? "automatic compaction is off" : "the model's window is unknown";
  const room = trigger - usage.tokens.used;
  return room > 0 ? `${tokens(room)} until compaction` : "compaction is due";
}

/** How full the window is; the used tokens if its size is unknown. */
export function fill(usage: ContextUsageResult): { percent?: number; words: string } {
  const { window } = usage;
  const used = tokens(usage.tokens.used);
  return window.is_known ? { percent: window.percent_used ?? undefined, words: `${used} of ${tokens(window.effective)} usable` } : { words: used };
}

/** How urgent it is: the share of the trigger that is used. */
export function level(usage: ContextUsageResult): "calm" | "near" | "due" {
  if (!usage.window.trigger && !usage.window.is_known) return "calm";
  const share = usage.tokens.used / Math.max(1, usage.window.trigger ?? usage.window.effective);
  return share >= 1 ? "due" : share >= 0.8 ? "near" : "calm";
}

function duration(ms: number): string {
  const units: Array<[number, string]> = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"]];
  for (const [size, unit] of units) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return `${ms} ms`;
}

/** The recorded cost of a compaction by the agent itself; never a guess. */
function agentsOwn(agent: AgentCost): string {
  if (agent.source === "unknown") return "the agent's own: unknown";
  const parts: string[] = [];
  if (typeof agent.input_tokens === "number") parts.push(`${tokens(agent.input_tokens)} tokens in`);
  if (typeof agent.output_tokens === "number") parts.push(`${tokens(agent.output_tokens)} out`);
  if (typeof agent.duration_ms === "number") parts.push(duration(agent.duration_ms));
  return `the agent's own: ${parts.join(", ")} (${agent.source === "thread" ? "this thread" : "this model"})`;
}

/** Our newest compaction that the agent used, and the agent's own, in one line each. */
export function billLines(bill: ThreadBillResult | undefined): string[] {
  const last = bill?.compactions.at(-1);
  if (!bill || !last) return [];
  const { cost, duration_ms } = last.summary;
  const requests = cost?.requests ? `${cost.requests} requests, ${tokens(cost.tokens)} tokens` : "no request";
  const after = last.after;
  const edit = after && (after.edited ? `first edit after ${after.actions} actions` : `no edit in ${after.actions} actions`);
  const since = after ? [`${edit}, ${after.files_reread} files read again`] : [];
  return [`last compaction: ${requests}, ${duration(duration_ms)}`, agentsOwn(bill.agent), ...since];
}

/** Both prices of continuing a thread with an expired cache; undefined while the cache is warm. */
export function coldCache(resume: ResumePrice | null | undefined): string | undefined {
  if (!resume?.is_cold) return undefined;
  const history = `resuming sends ${tokens(resume.history_tokens)} tokens uncached`;
  return `Cold cache (${duration(resume.idle_ms)} idle): ${history}, a continuation about ${tokens(resume.briefing_tokens)}`;
}

/** Describes a policy decision or a crossed limit; undefined for other events. */
export function eventWords(event: Event): string | undefined {
  const data = event.data as Record<string, unknown>;
  const left = typeof data["percent_remaining"] === "number" ? `, ${data["percent_remaining"]} % left` : "";
  switch (event.kind) {
    case "policy_decided": {
      const tier = typeof data["tier"] === "string" ? ` at ${data["tier"].replaceAll("_", " ")}` : "";
      return `The policy decided: ${String(data["action"]).replaceAll("_", " ")}${tier}${left}`;
    }
    case "limit_crossed": {
      const size = `${tokens(Number(data["tokens"]))} of ${tokens(Number(data["window"]))} tokens`;
      return `Compaction limit reached: ${size}${left}`;
    }
    default:
      return undefined;
  }
}

/** Why a thread cannot continue by itself. */
export function blockedWords(blocked: BlockedThread | null | undefined): string {
  switch (blocked?.cause) {
    case "context_full":
      return `window full, ${blocked.failures} times in a row`;
    case "compaction":
      return "its agent could not compact it";
    default:
      return "its newest turns failed";
  }
}

/** Describes how the working tree differs from the thread's knowledge. */
export function checkedWords(checked: CheckedTree | null | undefined): string | undefined {
  if (!checked) return undefined;
  const named = (what: string, names: string[]) => (names.length > 0 ? [`${what}: ${names.join(", ")}`] : []);
  const found = [
    ...named("changed since", checked.changed),
    ...named("gone", checked.gone),
    ...named("suspect facts", checked.facts_suspect),
  ];
  const same = `${checked.unchanged} ${checked.unchanged === 1 ? "file" : "files"} unchanged`;
  return `Working tree: ${[same, ...found].join("; ")}.`;
}

/** Where an undo took effect, what to do in the open session, and the command that continues from before it. */
export function undoneWords(undone: CompactionUndoResult): { words: string; command?: string } {
  // A history that is too large for one answer has only handles.
  const all = undone.handles.reduce((sum, handle) => sum + handle.tokens, 0);
  const items = undone.complete ? `${undone.history.length} items` : `${tokens(all)} tokens`;
  if (undone.reach !== "not_agent") {
    const since = typeof undone.restored_seq === "number" ? ` since #${undone.restored_seq}` : "";
    return { words: `Undone: the old history of ${items} is in use again${since}.` };
  }
  const kept = `Undone in longhaul's records (${items}). ${undone.agent ?? "The agent"} keeps its own history, which is unchanged.`;
  const words = undone.session_hint ? `${kept} ${undone.session_hint}` : kept;
  if (!undone.thread_id || typeof undone.seq !== "number") return { words };
  const command = `longhaul continue ${undone.thread_id} --as-of ${undone.seq} --max-tokens 16000`;
  return { words: `${words} To continue from before the compaction in a new thread: ${command}`, command };
}

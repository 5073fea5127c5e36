// Numbers, times and forecasts as people read them.

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

/** Letters of a name that are shown: a title is often the whole first request. */
const NAME_LETTERS = 60;

export function nameOf(thread: ThreadSummary): string {
  const name = thread.title || thread.cwd || thread.thread_id;
  return name.length > NAME_LETTERS ? `${name.slice(0, NAME_LETTERS).trimEnd()}…` : name;
}

/** Why nothing is shown, and what to do about it. */
export function absence(problem: LonghaulError | undefined): string {
  if (!problem) return "No thread is known yet: start Codex or Claude Code once.";
  if (problem.failure === "not_running") return "The daemon does not run: Longhaul: Start the Daemon.";
  return problem.hint ? `${problem.message}: ${problem.hint}` : problem.message;
}

/** Turns that far ahead are nobody's plan: the room that is left says more. */
const TURNS_TOLD = 100;

/** What comes next: the daemon's forecast, or how much room there is until the trigger. */
export function forecast(usage: ContextUsageResult, policy: Policy | undefined): string {
  if (policy?.decision?.action === "compact") return "compact now";
  const next = policy?.forecast;
  if (next?.turns_to_next_tier !== undefined && next.turns_to_next_tier < TURNS_TOLD) return `may compact in ~${next.turns_to_next_tier} turns`;
  if (next?.turns_left !== undefined && next.turns_left < TURNS_TOLD) return `full in ~${next.turns_left} turns`;
  const trigger = usage.window.trigger;
  if (!trigger) return usage.window.is_known ? "automatic compaction is off" : "the model's window is not known";
  const room = trigger - usage.tokens.used;
  return room > 0 ? `${tokens(room)} until compaction` : "compaction is due";
}

/** How full the window is; where it is not known, how much is in it. */
export function fill(usage: ContextUsageResult): { percent?: number; words: string } {
  const { window } = usage;
  const used = tokens(usage.tokens.used);
  return window.is_known ? { percent: window.percent_used ?? undefined, words: `${used} of ${tokens(window.tokens)}` } : { words: used };
}

/** How urgent it is: the share of the trigger that is used. */
export function level(usage: ContextUsageResult): "calm" | "near" | "due" {
  if (!usage.window.trigger && !usage.window.is_known) return "calm";
  const share = usage.tokens.used / Math.max(1, usage.window.trigger ?? usage.window.effective);
  return share >= 1 ? "due" : share >= 0.8 ? "near" : "calm";
}

function took(ms: number): string {
  const units: Array<[number, string]> = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"]];
  for (const [size, unit] of units) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return `${ms} ms`;
}

/** What a compaction by the agent itself takes, as it is recorded; never a guess. */
function agentsOwn(agent: AgentCost): string {
  if (agent.source === "unknown") return "the agent's own: not known";
  const parts: string[] = [];
  if (typeof agent.input_tokens === "number") parts.push(`${tokens(agent.input_tokens)} tokens in`);
  if (typeof agent.output_tokens === "number") parts.push(`${tokens(agent.output_tokens)} out`);
  if (typeof agent.duration_ms === "number") parts.push(took(agent.duration_ms));
  return `the agent's own: ${parts.join(", ")} (${agent.source === "thread" ? "this thread" : "this model"})`;
}

/** The newest compaction of ours that the agent took beside the agent's own, in one line each. */
export function billLines(bill: ThreadBillResult | undefined): string[] {
  const last = bill?.compactions.at(-1);
  if (!bill || !last) return [];
  const { cost, duration_ms } = last.summary;
  const requests = cost?.requests ? `${cost.requests} requests, ${tokens(cost.tokens)} tokens` : "no request";
  const after = last.after;
  const edit = after && (after.edited ? `first edit after ${after.actions} actions` : `no edit in ${after.actions} actions`);
  const since = after ? [`${edit}, ${after.files_reread} files read again`] : [];
  return [`last compaction: ${requests}, ${took(duration_ms)}`, agentsOwn(bill.agent), ...since];
}

/** Both prices of going on with a thread whose provider's cache has expired; undefined while it is warm. */
export function coldCache(resume: ResumePrice | null | undefined): string | undefined {
  if (!resume?.is_cold) return undefined;
  const history = `resuming sends ${tokens(resume.history_tokens)} tokens uncached`;
  return `Cold cache (${took(resume.idle_ms)} idle): ${history}, a continuation about ${tokens(resume.briefing_tokens)}`;
}

/** What the policy decided, or that a limit was crossed; undefined for events of other kinds. */
export function eventWords(event: Event): string | undefined {
  const data = event.data as Record<string, unknown>;
  const left = typeof data["percent_remaining"] === "number" ? `, ${data["percent_remaining"]} % left` : "";
  switch (event.kind) {
    case "policy_decided": {
      const tier = typeof data["tier"] === "string" ? ` at ${data["tier"].replaceAll("_", " ")}` : "";
      return `The policy decided: ${String(data["action"]).replaceAll("_", " ")}${tier}${left}`;
    }
    case "limit_crossed": {
      const held = `${tokens(Number(data["tokens"]))} of ${tokens(Number(data["window"]))} tokens`;
      return `As much as it is compacted at: ${held}${left}`;
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

/** What `thread/continue` found of the working tree that is not as the thread knows it. */
export function checkedWords(checked: CheckedTree | null | undefined): string | undefined {
  if (!checked) return undefined;
  const named = (what: string, names: string[]) => (names.length > 0 ? [`${what}: ${names.join(", ")}`] : []);
  const found = [
    ...named("changed since", checked.changed),
    ...named("gone", checked.gone),
    ...named("suspect facts", checked.facts_suspect),
  ];
  const same = `${checked.unchanged} ${checked.unchanged === 1 ? "file is" : "files are"} as the thread left them`;
  return `Checked now: ${[same, ...found].join("; ")}.`;
}

/** Agents by the source of their threads, and how their open session takes a compaction back. */
const AGENTS: Record<string, { name: string; open: (undone: CompactionUndoResult) => string }> = {
  claude: { name: "Claude Code", open: () => "If the longhaul plugin compacted the open session, type /compact undo in it." },
  codex: { name: "Codex", open: ({ compaction_id }) => `If the session is open in Codex, run \`longhaul undo ${compaction_id}\`.` },
  gemini: { name: "Gemini CLI", open: () => "" },
  opencode: { name: "OpenCode", open: () => "" },
};

/** Where an undo reached, what to do in the open session, and the command that goes on from before the compaction. */
export function undoneWords(undone: CompactionUndoResult): { words: string; command?: string } {
  const items = `${undone.history.length} items`;
  if (undone.reach !== "not_agent") {
    const since = typeof undone.restored_seq === "number" ? ` since #${undone.restored_seq}` : "";
    return { words: `Undone: the old history of ${items} is back in force${since}.` };
  }
  const agent = AGENTS[undone.source ?? ""];
  const kept = `Undone in longhaul's records (${items}). ${agent?.name ?? "The agent"} keeps a history of its own and does not change.`;
  const open = agent?.open(undone);
  const words = open ? `${kept} ${open}` : kept;
  if (!undone.thread_id || typeof undone.seq !== "number") return { words };
  const command = `longhaul continue ${undone.thread_id} --as-of ${undone.seq} --max-tokens 16000`;
  return { words: `${words} To go on from before the compaction in a new thread: ${command}`, command };
}

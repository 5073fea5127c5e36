// Answers Claude Code's compactions from the longhaul daemon: a briefing of the whole session instead of a model's
// summary, and the last messages unchanged.
//
// Between two turns it applies the policy (`policy.mode = "auto"`): it asks the daemon once when a turn is over, makes
// at most one compaction, and reports the outcome.
//
// In the middle of a turn (`policy.mid_turn`) it asks whenever tools have ended. The engine compacts there only at its
// limit, so the plugin lowers the limit below the present fill and puts it back when the engine asks for the compaction,
// which follows at once.
//
// Older engines follow `$` only into functions of this file, so everything that takes it is here.
//
// On any problem (no daemon, no answer in time, a transcript not read to its end) the agent compacts by itself:
// `next(e)`. It is never left without a compaction, nor with a worse one than its own.

import type { EngineInterface, Register, SessionCompactInput } from "claude-code";

import { type Answer, PROTOCOL, type Turn, read, readTurn } from "./answer";
import { excerpted } from "./excerpt";
import { excerpts, program } from "./program";
import { briefing, restored, tail } from "./tail";

/** Timeout of the program in milliseconds; its own is shorter. A compaction by the agent takes many seconds. */
const DEADLINE_MS = 2_000;
/** The timeout between two turns, when the person is not waiting: a policy may ask a judge first. */
const TURN_DEADLINE_MS = 40_000;
/** The same in the middle of a turn, which waits. */
const STEP_DEADLINE_MS = 5_000;
/** How often a policy that does not answer is asked in a turn. */
const UNANSWERED_MAX = 3;
/** The context that our hook adds after a compaction; the briefing already has it. */
const HOOK_CONTEXT = '<longhaul_context about="compaction">';
/** The only word after `/compact` that restores the history that a briefing replaced. */
const UNDO = "undo";
/** Keys of the outcome and of what excerpts saved, for `longhaul doctor`. */
const RECORD = "compactions";
const EXCERPTS = "excerpts";

/** The engine's limit before the plugin lowered it: its window, and the share at which it compacts. */
type Limit = { window: string | undefined; percent: string | undefined };

/** A compaction in the middle of a turn that the policy wants: the limit to put back, and the outcome. */
type Wanted = { limit: Limit | undefined; made: boolean; reason?: string };

export const register: Register = (on) => {
  // Whether the compaction before the next session start was ours.
  let isOurs = false;
  // The transcript, for versions without `$.session.info`.
  let transcript = "";
  // Whether the policy requested the compaction that the engine asks about.
  let isByPolicy = false;
  // Whether the policy may act in the middle of a turn; undefined until it has answered.
  let isMidTurn: boolean | undefined;
  // How often it was asked in this turn and did not answer, as before the session's first lines are written.
  let unanswered = 0;
  // The compaction in the middle of this turn that the policy wants.
  let wanted: Wanted | undefined;

  on("session.compact", async ($, e, next) => {
    const begun = Date.now();
    const isWanted = wanted?.limit !== undefined && e.trigger === "auto" && e.agentId === undefined;
    if (wanted?.limit !== undefined && isWanted) wanted.limit = await raise($, wanted.limit);
    const isUndo = e.trigger === "manual" && e.instructions?.trim().toLowerCase() === UNDO;
    const answer = await ask($, e, transcript, isUndo ? briefing(e.messages) : undefined);
    const ms = Date.now() - begun;
    if (isUndo) {
      // A summary would be the opposite of an undo.
      const left = "declined" in answer ? answer.declined : "the installed longhaul cannot";
      if (!("restored" in answer)) {
        tell($, `longhaul restored nothing: ${left}`);
        return { skip: `longhaul restored nothing: ${left}` };
      }
      isOurs = true;
      const messages = restored(answer.restored, e.messages);
      tell($, `longhaul restored the history that its briefing replaced: ${messages.length} messages`);
      return { messages };
    }
    isOurs = "text" in answer && e.trigger !== "precompute" && e.agentId === undefined;
    if ("declined" in answer) {
      // A model's summary would cost what the policy is meant to save.
      if (isByPolicy && e.trigger === "plugin") return { skip: answer.declined };
      if (wanted !== undefined && isWanted) {
        wanted.reason = answer.declined;
        return { skip: answer.declined };
      }
      void record($, { outcome: "left", reason: answer.declined, ms });
      tell($, `longhaul left this compaction to Claude Code: ${answer.declined}`);
      return next(e);
    }
    if ("restored" in answer) return next(e);
    if (e.trigger === "precompute") return { skip: "longhaul answers in time when it is needed" };
    void record($, { outcome: "answered", ms });
    if (wanted !== undefined && isWanted) wanted.made = true;
    const kept = tail(e.messages, answer.tailTokens);
    tell($, `longhaul compacted without a model, in ${ms} ms; the last ${kept.length} messages stay`);
    return { messages: [{ role: "user", text: answer.text, toolUses: [] }, ...kept] };
  });

  on("classic.PostToolBatch", async ($, e, next) => {
    const result = await next(e);
    if (e.agent_id !== undefined) return result;
    wanted = await settle($, wanted, transcript);
    if (isMidTurn === false || unanswered >= UNANSWERED_MAX) return result;
    const due = await dueNow($, transcript);
    isMidTurn = due?.midTurn ?? isMidTurn;
    // One that took all the time it has would hold up the turn again.
    if (due === undefined) unanswered = UNANSWERED_MAX;
    else if (due.midTurn === undefined) unanswered += 1;
    if (due?.compact) wanted = await lowered($);
    return result;
  });

  on("turn.complete", async ($, e, next) => {
    const result = await next(e);
    if (e.agentId !== undefined) return result;
    wanted = await settle($, wanted, transcript);
    unanswered = 0;
    // An aborted turn continues with the person's next message.
    if (e.isAborted) return result;
    const due = await act($, e.answer, transcript, async () => {
      isByPolicy = true;
      try {
        return await $.session.compact();
      } finally {
        isByPolicy = false;
      }
    });
    isMidTurn = due?.midTurn ?? isMidTurn;
    return result;
  });

  // The engine calls such a hook for every message, so omit it when it has nothing to do.
  if (excerpts) {
    on("session.append", async ($, e, next) => {
      const { e: shorter, leftOut } = excerpted(e);
      if (leftOut > 0) {
        tell($, `longhaul left out ${leftOut} characters of the result of ${e.origin?.tool ?? "a tool"}`);
        await count($, leftOut);
      }
      return next(shorter);
    });
  }

  on("classic.SessionStart", async ($, e, next) => {
    transcript = e.transcript_path;
    const result = await next(e);
    if (e.source !== "compact" || !isOurs) return result;
    isOurs = false;
    const contexts = result?.additionalContext?.filter((text) => !text.startsWith(HOOK_CONTEXT));
    return contexts === undefined ? result : { ...result, additionalContext: contexts };
  });
};

/** Asks the daemon for the replacement of the conversation. */
async function ask(
  $: EngineInterface,
  e: SessionCompactInput,
  transcript: string,
  undone: string | undefined,
): Promise<Answer> {
  try {
    const of = { agent_id: e.agentId, trigger: e.trigger, instructions: e.instructions, briefing: undone };
    const ended = await runHook($, "SessionCompact", of, transcript, DEADLINE_MS);
    return read(ended.exitCode, ended.stdout);
  } catch (error) {
    return { declined: `longhaul could not be run: ${words(error)}` };
  }
}

/** Asks whether to compact now, compacts once, and reports the outcome. */
async function act(
  $: EngineInterface,
  lastMessage: string,
  transcript: string,
  compact: () => Promise<{ skip?: string }>,
): Promise<Turn | undefined> {
  try {
    const last = { last_assistant_message: lastMessage };
    const due = readTurn(await runHook($, "TurnComplete", last, transcript, TURN_DEADLINE_MS));
    if (due.text !== undefined) tell($, due.text);
    if (due.compact) await report($, await attempt(compact), transcript);
    return due;
  } catch {
    // Without the program there is no policy; the next compaction reports the problem.
    return undefined;
  }
}

/** Asks whether to compact in the middle of the turn; undefined if the program fails or takes too long. */
async function dueNow($: EngineInterface, transcript: string): Promise<Turn | undefined> {
  try {
    const due = readTurn(await runHook($, "ToolsComplete", {}, transcript, STEP_DEADLINE_MS));
    if (due.text !== undefined) tell($, due.text);
    return due;
  } catch {
    return undefined;
  }
}

/** Lowers the engine's limit below the present fill, so that it compacts before its next request. */
async function lowered($: EngineInterface): Promise<Wanted> {
  const { window, tokens } = await contextUsage($);
  let limit: Limit | undefined;
  try {
    if (window === undefined || tokens === undefined) throw new Error("Claude Code does not say how full its window is");
    limit = {
      window: await $.env.get("CLAUDE_CODE_AUTO_COMPACT_WINDOW"),
      percent: await $.env.get("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"),
    };
    // Without a window of its own the engine compacts only when a provider refuses.
    const own = limit.window === undefined ? await $.env.set("CLAUDE_CODE_AUTO_COMPACT_WINDOW", String(window)) : undefined;
    const percent = Math.max(1, Math.floor((100 * tokens) / window));
    const set = await $.env.set("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", String(percent));
    const denied = own?.deny ?? set?.deny;
    if (denied !== undefined) throw new Error(denied);
    return { limit, made: false };
  } catch (error) {
    if (limit !== undefined) await raise($, limit);
    return { limit: undefined, made: false, reason: words(error) };
  }
}

/** Puts the engine's limit back. */
async function raise($: EngineInterface, limit: Limit): Promise<undefined> {
  try {
    await $.env.set("CLAUDE_CODE_AUTO_COMPACT_WINDOW", limit.window);
    await $.env.set("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", limit.percent);
  } catch {
    // This version did not let the plugin lower it either.
  }
}

/** Reports the outcome of the compaction that the policy wanted in the middle of a turn. */
async function settle($: EngineInterface, wanted: Wanted | undefined, transcript: string): Promise<undefined> {
  if (wanted === undefined) return;
  if (wanted.limit !== undefined) await raise($, wanted.limit);
  const { made, reason } = wanted;
  const notMade = made ? undefined : (reason ?? "Claude Code did not compact (is auto-compact on? /config)");
  try {
    await report($, notMade, transcript);
  } catch {
    // As in `act`.
  }
}

/** Reports the outcome of a compaction of the policy, and tells the person why it was not made. */
async function report($: EngineInterface, notMade: string | undefined, transcript: string): Promise<void> {
  const ended = { not_made: notMade };
  const told = readTurn(await runHook($, "CompactionEnded", ended, transcript, TURN_DEADLINE_MS));
  if (notMade !== undefined) tell($, told.text ?? `longhaul did not compact: ${notMade}`);
}

/** Why nothing was compacted; undefined if it was. */
async function attempt(compact: () => Promise<{ skip?: string }>): Promise<string | undefined> {
  try {
    return (await compact()).skip;
  } catch (error) {
    return words(error);
  }
}

/** Runs `longhaul hook EVENT` with the engine's data on the session. */
async function runHook(
  $: EngineInterface,
  event: string,
  more: Record<string, unknown>,
  transcript: string,
  timeoutMs: number,
): Promise<{ exitCode: number; stdout: string }> {
  const [path, context] = await Promise.all([transcriptPath($, transcript), contextUsage($)]);
  const payload = {
    hook_event_name: event,
    protocol: PROTOCOL,
    transcript_path: path,
    context_window: context.window,
    context_tokens: context.tokens,
    ...more,
  };
  const command = [...program, "hook", event, "--agent", "claude"];
  return $.process.run(command, { stdin: JSON.stringify(payload), timeoutMs });
}

async function transcriptPath($: EngineInterface, fallback: string): Promise<string> {
  try {
    return (await $.session.info()).transcriptPath;
  } catch {
    return fallback;
  }
}

/** Tokens of the model's window and of the last request; empty if this version does not report them. */
async function contextUsage($: EngineInterface): Promise<{ window?: number; tokens?: number }> {
  try {
    return (await $.session.usage()).context;
  } catch {
    return {};
  }
}

/** A dim line for the person; the model does not read it. */
function tell($: EngineInterface, line: string): void {
  try {
    $.ui.log(line);
  } catch {
    // This version has no such lines.
  }
}

/** Records the outcome of the last compaction for `longhaul doctor`; ignores a store that cannot be written. */
async function record($: EngineInterface, last: Record<string, unknown>): Promise<void> {
  try {
    await $.store.set(RECORD, { protocol: PROTOCOL, at_ms: Date.now(), ...last });
  } catch {
    // The record is optional.
  }
}

/** Adds an excerpt to the counts for `longhaul doctor`. */
async function count($: EngineInterface, leftOut: number): Promise<void> {
  try {
    const { results = 0, characters = 0 } = ((await $.store.get(EXCERPTS)) ?? {}) as { results?: number; characters?: number };
    await $.store.set(EXCERPTS, { results: results + 1, characters: characters + leftOut });
  } catch {
    // As for `record`.
  }
}

/** Describes an error. */
function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Answers Claude Code's compactions from the longhaul daemon: a briefing of the whole session instead of a model's
// summary, and the last messages unchanged.
//
// Between two turns it applies the policy (`policy.mode = "auto"`): it asks the daemon once when a turn is over, makes
// at most one compaction, and reports the outcome.
//
// Older engines follow `$` only into functions of this file, so everything that takes it is here.
//
// On any problem (no daemon, no answer in time, a transcript not read to its end) the agent compacts by itself:
// `next(e)`. It is never left without a compaction, nor with a worse one than its own.

import type { EngineInterface, Register, SessionCompactInput } from "claude-code";

import { type Answer, PROTOCOL, read, readTurn } from "./answer";
import { excerpted } from "./excerpt";
import { excerpts, program } from "./program";
import { briefing, restored, tail } from "./tail";

/** Timeout of the program in milliseconds; its own is shorter. A compaction by the agent takes many seconds. */
const DEADLINE_MS = 2_000;
/** The timeout between two turns, when the person is not waiting: a policy may ask a judge first. */
const TURN_DEADLINE_MS = 40_000;
/** The context that our hook adds after a compaction; the briefing already has it. */
const HOOK_CONTEXT = '<longhaul_context about="compaction">';
/** The only word after `/compact` that restores the history that a briefing replaced. */
const UNDO = "undo";
/** Key of the outcome, for `longhaul doctor`. */
const RECORD = "compactions";

export const register: Register = (on) => {
  // Whether the compaction before the next session start was ours.
  let isOurs = false;
  // The transcript, for versions without `$.session.info`.
  let transcript = "";
  // Whether the policy requested the compaction that the engine asks about.
  let isByPolicy = false;

  on("session.compact", async ($, e, next) => {
    const begun = Date.now();
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
      void record($, { outcome: "left", reason: answer.declined, ms });
      tell($, `longhaul left this compaction to Claude Code: ${answer.declined}`);
      return next(e);
    }
    if ("restored" in answer) return next(e);
    if (e.trigger === "precompute") return { skip: "longhaul answers in time when it is needed" };
    void record($, { outcome: "answered", ms });
    const kept = tail(e.messages, answer.tailTokens);
    tell($, `longhaul compacted without a model, in ${ms} ms; the last ${kept.length} messages stay`);
    return { messages: [{ role: "user", text: answer.text, toolUses: [] }, ...kept] };
  });

  on("turn.complete", async ($, e, next) => {
    const result = await next(e);
    // An aborted turn continues with the person's next message.
    if (e.agentId === undefined && !e.isAborted) {
      await act($, e.answer, transcript, async () => {
        isByPolicy = true;
        try {
          return await $.session.compact();
        } finally {
          isByPolicy = false;
        }
      });
    }
    return result;
  });

  // The engine calls such a hook for every message, so omit it when it has nothing to do.
  if (excerpts) {
    on("session.append", async ($, e, next) => {
      const { e: shorter, leftOut } = excerpted(e);
      if (leftOut > 0) tell($, `longhaul left out ${leftOut} characters of the result of ${e.origin?.tool ?? "a tool"}`);
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
): Promise<void> {
  try {
    const last = { last_assistant_message: lastMessage };
    const due = readTurn(await runHook($, "TurnComplete", last, transcript, TURN_DEADLINE_MS));
    if (due.text !== undefined) tell($, due.text);
    if (!due.compact) return;
    const notMade = await attempt(compact);
    const ended = { not_made: notMade };
    const reported = readTurn(await runHook($, "CompactionEnded", ended, transcript, TURN_DEADLINE_MS));
    if (notMade !== undefined) tell($, reported.text ?? `longhaul did not compact: ${notMade}`);
  } catch {
    // Without the program there is no policy; the next compaction reports the problem.
  }
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

/** Describes an error. */
function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

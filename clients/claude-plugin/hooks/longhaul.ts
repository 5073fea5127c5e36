// Answers Claude Code's compactions from the longhaul daemon: a briefing of the whole session in place of a summary
// that a model would write, and the last messages as they are.
//
// Between two turns it carries out what the policy decides (`policy.mode = "auto"`): the daemon is asked once when a
// turn is over, asks for one compaction at most, and is told what became of it.
//
// Older engines follow `$` into functions of this file alone: whatever takes it stands here.
//
// Whatever is wrong (no daemon, no answer in time, a transcript the daemon has not read to its end), the agent goes its
// own way: `next(e)`. It is never left without a compaction, and never with a worse one than it would make itself.

import type { EngineInterface, Register, SessionCompactInput } from "claude-code";

import { type Answer, PROTOCOL, read, readTurn } from "./answer";
import { excerpted } from "./excerpt";
import { excerpts, program } from "./program";
import { briefing, restored, tail } from "./tail";

/** Milliseconds for the program, which limits itself to less: the agent's own way takes many seconds. */
const DEADLINE_MS = 2_000;
/** The same between two turns, when nobody waits: a policy may ask a judge first. */
const TURN_DEADLINE_MS = 40_000;
/** What our classic hook puts before the model after a compaction; the briefing holds it already. */
const HOOK_CONTEXT = '<longhaul_context about="compaction">';
/** What the person writes behind `/compact`, alone, for the history that a briefing replaced. */
const UNDO = "undo";
/** Where `longhaul doctor` reads how it went. */
const RECORD = "compactions";

export const register: Register = (on) => {
  // Whether the compaction that the next session start is about was ours.
  let isOurs = false;
  // Where the session is written, as versions tell it that have no `$.session.info`.
  let transcript = "";
  // Whether the compaction that the engine asks about is one that the policy wants.
  let isByPolicy = false;

  on("session.compact", async ($, e, next) => {
    const begun = Date.now();
    const isUndo = e.trigger === "manual" && e.instructions?.trim().toLowerCase() === UNDO;
    const answer = await ask($, e, transcript, isUndo ? briefing(e.messages) : undefined);
    const ms = Date.now() - begun;
    if (isUndo) {
      // A summary would be the contrary of what was asked.
      const left = "declined" in answer ? answer.declined : "the installed longhaul cannot";
      if (!("restored" in answer)) {
        tell($, `longhaul put nothing back: ${left}`);
        return { skip: `longhaul put nothing back: ${left}` };
      }
      isOurs = true;
      const messages = restored(answer.restored, e.messages);
      tell($, `longhaul put the history back that its briefing replaced: ${messages.length} messages`);
      return { messages };
    }
    isOurs = "text" in answer && e.trigger !== "precompute" && e.agentId === undefined;
    if ("declined" in answer) {
      // Nobody waits for it: a model's summary would cost what the policy is to spare.
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
    // A turn that was broken off goes on with the person's next words.
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

  // A hook there is asked about every message: it is none where it has nothing to do.
  if (excerpts) {
    on("session.append", async ($, e, next) => {
      const { e: shorter, leftOut } = excerpted(e);
      if (leftOut > 0) tell($, `longhaul left out ${leftOut} characters of what ${e.origin?.tool ?? "a tool"} gave`);
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

/** Asks the daemon for what takes the place of the conversation. */
async function ask(
  $: EngineInterface,
  e: SessionCompactInput,
  transcript: string,
  undone: string | undefined,
): Promise<Answer> {
  try {
    const of = { agent_id: e.agentId, trigger: e.trigger, instructions: e.instructions, briefing: undone };
    const ended = await asked($, "SessionCompact", of, transcript, DEADLINE_MS);
    return read(ended.exitCode, ended.stdout);
  } catch (error) {
    return { declined: `longhaul could not be run: ${words(error)}` };
  }
}

/** Asks whether to compact now, has it done once, and tells what became of it. */
async function act(
  $: EngineInterface,
  said: string,
  transcript: string,
  compact: () => Promise<{ skip?: string }>,
): Promise<void> {
  try {
    const last = { last_assistant_message: said };
    const due = readTurn(await asked($, "TurnComplete", last, transcript, TURN_DEADLINE_MS));
    if (due.text !== undefined) tell($, due.text);
    if (!due.compact) return;
    const notMade = await attempt(compact);
    const ended = { not_made: notMade };
    const told = readTurn(await asked($, "CompactionEnded", ended, transcript, TURN_DEADLINE_MS));
    if (notMade !== undefined) tell($, told.text ?? `longhaul did not compact: ${notMade}`);
  } catch {
    // No program, no policy: the session goes on, and its compactions say what is wrong.
  }
}

/** Why nothing was compacted; nothing where it was. */
async function attempt(compact: () => Promise<{ skip?: string }>): Promise<string | undefined> {
  try {
    return (await compact()).skip;
  } catch (error) {
    return words(error);
  }
}

/** Runs `longhaul hook EVENT` on what the engine tells of the session. */
async function asked(
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

async function transcriptPath($: EngineInterface, told: string): Promise<string> {
  try {
    return (await $.session.info()).transcriptPath;
  } catch {
    return told;
  }
}

/** Tokens of the model's window, and of the last request in it; nothing where this version does not say. */
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
    // A version without such lines.
  }
}

/** Keeps how the last compaction went, for `longhaul doctor`; a store that cannot be written changes nothing. */
async function record($: EngineInterface, last: Record<string, unknown>): Promise<void> {
  try {
    await $.store.set(RECORD, { protocol: PROTOCOL, at_ms: Date.now(), ...last });
  } catch {
    // The compaction is what counts.
  }
}

/** What went wrong, in words. */
function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Answers Claude Code's compactions from the longhaul daemon: a briefing of the whole session in place of a summary
// that a model would write, and the last messages as they are.
//
// Whatever is wrong (no daemon, no answer in time, a transcript the daemon has not read to its end), the agent goes its
// own way: `next(e)`. It is never left without a compaction, and never with a worse one than it would make itself.

import type { EngineInterface, Register, SessionCompactInput } from "claude-code";

import { type Answer, PROTOCOL, read } from "./answer";
import { program } from "./program";
import { tail } from "./tail";

/** Milliseconds for the program, which limits itself to less: the agent's own way takes many seconds. */
const DEADLINE_MS = 2_000;
/** What our classic hook puts before the model after a compaction; the briefing holds it already. */
const HOOK_CONTEXT = '<longhaul_context about="compaction">';
/** Where `longhaul doctor` reads how it went. */
const RECORD = "compactions";

export const register: Register = (on) => {
  // Whether the compaction that the next session start is about was ours.
  let isOurs = false;
  // Where the session is written, as versions tell it that have no `$.session.info`.
  let transcript = "";

  on("session.compact", async ($, e, next) => {
    const begun = Date.now();
    const answer = await ask($, e, transcript);
    const ms = Date.now() - begun;
    isOurs = "text" in answer && e.trigger !== "precompute" && e.agentId === undefined;
    if ("declined" in answer) {
      void record($, { outcome: "left", reason: answer.declined, ms });
      tell($, `longhaul left this compaction to Claude Code: ${answer.declined}`);
      return next(e);
    }
    if (e.trigger === "precompute") return { skip: "longhaul answers in time when it is needed" };
    void record($, { outcome: "answered", ms });
    const kept = tail(e.messages, answer.tailTokens);
    tell($, `longhaul compacted without a model, in ${ms} ms; the last ${kept.length} messages stay`);
    return { messages: [{ role: "user", text: answer.text, toolUses: [] }, ...kept] };
  });

  on("classic.SessionStart", async ($, e, next) => {
    transcript = e.transcript_path;
    const result = await next(e);
    if (e.source !== "compact" || !isOurs) return result;
    isOurs = false;
    const contexts = result?.additionalContext?.filter((text) => !text.startsWith(HOOK_CONTEXT));
    return contexts === undefined ? result : { ...result, additionalContext: contexts };
  });
};

/** Asks the daemon, through the program, about the conversation as it stands. */
async function ask($: EngineInterface, e: SessionCompactInput, transcript: string): Promise<Answer> {
  try {
    const [path, window] = await Promise.all([transcriptPath($, transcript), contextWindow($)]);
    const payload = {
      hook_event_name: "SessionCompact",
      protocol: PROTOCOL,
      transcript_path: path,
      agent_id: e.agentId,
      trigger: e.trigger,
      instructions: e.instructions,
      context_window: window,
    };
    const command = [...program, "hook", "SessionCompact", "--agent", "claude"];
    const ended = await $.process.run(command, { stdin: JSON.stringify(payload), timeoutMs: DEADLINE_MS });
    return read(ended.exitCode, ended.stdout);
  } catch (error) {
    return { declined: `longhaul could not be run: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function transcriptPath($: EngineInterface, told: string): Promise<string> {
  try {
    return (await $.session.info()).transcriptPath;
  } catch {
    return told;
  }
}

/** Tokens of the model's window; nothing where this version does not tell. */
async function contextWindow($: EngineInterface): Promise<number | undefined> {
  try {
    return (await $.session.usage()).context.window;
  } catch {
    return undefined;
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

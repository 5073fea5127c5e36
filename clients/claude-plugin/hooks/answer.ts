// Parses the answer of `longhaul hook SessionCompact`, which may come from another version.

import type { SessionMessage } from "claude-code";

/** The version of the payload and of the answer. */
export const PROTOCOL = 1;

/** A briefing to replace the history, the history to replace a briefing, or why there is neither. */
export type Answer = { text: string; tailTokens: number } | { restored: SessionMessage[] } | { declined: string };

const UPDATE = "run `longhaul install claude` to bring the two together";

/** Parses the program's output. */
export function read(exitCode: number, stdout: string): Answer {
  const line = stdout.trim();
  if (line === "") {
    const why = exitCode === 0 ? "knows nothing of compactions" : `ended with exit code ${exitCode}`;
    return { declined: `the installed longhaul ${why}; ${UPDATE}` };
  }
  const answer = object(line);
  if (answer === undefined) return { declined: `the installed longhaul gave no JSON; ${UPDATE}` };
  if (typeof answer["declined"] === "string") return { declined: answer["declined"] };
  if (answer["protocol"] !== PROTOCOL) {
    const theirs = JSON.stringify(answer["protocol"]) ?? "none";
    return { declined: `the plugin speaks version ${PROTOCOL}, the installed longhaul ${theirs}; ${UPDATE}` };
  }
  const { restored, text, tail_tokens: tailTokens } = answer;
  if (Array.isArray(restored)) return { restored: restored as SessionMessage[] };
  if (typeof text !== "string" || text.trim() === "" || typeof tailTokens !== "number") {
    return { declined: `the installed longhaul gave no briefing; ${UPDATE}` };
  }
  return { text, tailTokens };
}

/** What to do now, whether to ask in the middle of a turn (unknown without an answer), the message for the person. */
export type Turn = { compact: boolean; midTurn: boolean | undefined; text?: string };

/** Parses the program's output for a turn; invalid output means do nothing. */
export function readTurn({ stdout }: { stdout: string }): Turn {
  const answer = object(stdout.trim());
  if (answer?.["protocol"] !== PROTOCOL) return { compact: false, midTurn: undefined };
  const { text, mid_turn: midTurn } = answer;
  const turn = { compact: answer["compact"] === true, midTurn: typeof midTurn === "boolean" ? midTurn : undefined };
  return typeof text === "string" ? { ...turn, text } : turn;
}

function object(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

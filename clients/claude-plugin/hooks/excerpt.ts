// Long output of a command enters the history as an excerpt: its ends, and the handle that brings the rest back.
//
// Before the first request that holds it, so that no provider's cache is hurt. The engine writes the whole output beside
// the excerpt into the transcript, where the daemon reads it; what is written otherwise (a failed command, a result
// with pictures, tools of other kinds) stays as it is.

import type { SessionAppendInput, ToolResultBlock } from "claude-code";

import { excerpt } from "./tail";

/** Characters of an output that stays whole: 4,000 tokens. */
export const WHOLE_MAX = 16_000;
/** Characters that stay of a longer one, half at each end. */
const KEPT = 4_000;
/** The tool whose whole output the engine keeps in the transcript. */
const SHELL = "Bash";

/** The message with an excerpt in place of a long output, and the characters that are left out; 0 where it stays. */
export function excerpted(e: SessionAppendInput): { e: SessionAppendInput; leftOut: number } {
  const { message } = e;
  if (e.door !== "tool-result" || e.origin?.tool !== SHELL || !Array.isArray(message.content)) return { e, leftOut: 0 };
  let leftOut = 0;
  const content = message.content.map((block) => {
    if (!isLong(block)) return block;
    const handle = `#${block.tool_use_id}`;
    const text = excerpt(block.content, KEPT, (left) => `left out ${left} characters; tool expand with handle ${handle} brings all back`);
    leftOut += block.content.length - text.length;
    return { ...block, content: text };
  });
  return leftOut === 0 ? { e, leftOut } : { e: { ...e, message: { ...message, content } }, leftOut };
}

function isLong(block: unknown): block is ToolResultBlock {
  const { type, content, is_error } = (block ?? {}) as Partial<ToolResultBlock>;
  return type === "tool_result" && is_error !== true && typeof content === "string" && content.length > WHOLE_MAX;
}

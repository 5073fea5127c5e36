// Replaces a long tool result in the history by an excerpt: its ends, and the handle of the rest.
//
// It happens before the first request with the result, so that the provider's cache stays valid. The engine writes the
// whole result and the excerpt to the transcript, where the daemon reads it. That was observed for commands, read files
// and MCP servers; all other results (a page, a sub-agent's report, pictures, a failure) stay as they are.

import type { SessionAppendInput, TextBlock, ToolResultBlock } from "claude-code";

import { excerpt } from "./tail";

/** Maximum characters of a result that stays whole: 4,000 tokens. */
export const WHOLE_MAX = 16_000;
/** Characters to keep of a longer one, half at each end. */
const KEPT = 4_000;
const SHELL = "Bash";
const READ = "Read";
const SERVERS = "mcp__";
/** Our own server, whose answers restore what was left out; a plugin's server has the plugin's name as a prefix. */
const OURS = "longhaul";
/** Beginning of the text of a file that was read from its first line. */
const FIRST_LINE = /^\s*1[\t→]/;

/** The message with an excerpt for a long result, and the number of characters left out; 0 if it is unchanged. */
export function excerpted(e: SessionAppendInput): { e: SessionAppendInput; leftOut: number } {
  const { message } = e;
  const tool = e.origin?.tool ?? "";
  if (e.door !== "tool-result" || !isShortened(tool) || !Array.isArray(message.content)) return { e, leftOut: 0 };
  let leftOut = 0;
  const content = message.content.map((block) => {
    if (!isResult(block)) return block;
    const shorter = (text: string): string => {
      if (!isLong(text, tool)) return text;
      const short = excerpt(text, KEPT, (left) => words(left, tool, block.tool_use_id));
      leftOut += text.length - short.length;
      return short;
    };
    if (typeof block.content === "string") return { ...block, content: shorter(block.content) };
    if (!Array.isArray(block.content)) return block;
    return { ...block, content: block.content.map((part) => (isText(part) ? { ...part, text: shorter(part.text) } : part)) };
  });
  return leftOut === 0 ? { e, leftOut } : { e: { ...e, message: { ...message, content } }, leftOut };
}

function isShortened(tool: string): boolean {
  return tool === SHELL || tool === READ || (tool.startsWith(SERVERS) && !tool.split("__")[1]?.includes(OURS));
}

/** Keeps parts of a file that the agent requested by position. */
function isLong(text: string, tool: string): boolean {
  return text.length > WHOLE_MAX && (tool !== READ || FIRST_LINE.test(text));
}

function words(left: number, tool: string, call: string): string {
  const parts = tool === READ ? "Read with offset and limit shows a part, " : "";
  return `left out ${left} characters; ${parts}tool expand with handle #${call} brings all back`;
}

function isResult(block: unknown): block is ToolResultBlock {
  const { type, is_error } = (block ?? {}) as Partial<ToolResultBlock>;
  return type === "tool_result" && is_error !== true;
}

function isText(part: unknown): part is TextBlock {
  const { type, text } = (part ?? {}) as Partial<TextBlock>;
  return type === "text" && typeof text === "string";
}

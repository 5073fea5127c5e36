// A chat program that never overflows its model's window, however long the chat and however large the files
// its tool reads. Copy it, and replace the model and the tools in the last two functions.
//
//   longhaul up
//   OPENAI_API_KEY=… node dist/examples/chat.js [MODEL [TOKENS OF ITS WINDOW]]
//
// Type a line and read the answer. Started again in the same folder, the chat continues.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

import { Conversation } from "../src"; // yours: "@longhaul/client"
import type { Item } from "../src";

const [name = "gpt-5", window = "272000"] = process.argv.slice(2);
const base = process.env["OPENAI_BASE_URL"] ?? "https://api.openai.com/v1";
const instructions = "You are a helpful assistant. Read files with the tool read_file before you talk about them.";
const tools = [
  {
    type: "function",
    name: "read_file",
    description: "Reads a text file of the working folder.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];

const chat = new Conversation({
  name: "chat-example",
  version: "1.0.0",
  key: `chat in ${process.cwd()}`,
  cwd: process.cwd(),
  model: { name, window: Number(window) },
});

async function main(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === "") continue;
    await chat.add({ type: "message", role: "user", content: line });
    try {
      console.log(await answer());
    } catch (error) {
      console.error(`the model did not answer: ${(error as Error).message}`);
    }
    await chat.endTurn();
  }
  const lost = await chat.close();
  if (lost) console.error(`(the end of this chat was not saved: ${lost.message})`);
}

/** Calls the model and its tools until it is done; returns its last message. */
async function answer(): Promise<string> {
  for (;;) {
    const { items, compaction, trouble } = await chat.prompt();
    if (compaction) console.error(`(compacted ${compaction.tokens.before} tokens to ${compaction.tokens.after})`);
    if (trouble) console.error(`(continuing without longhaul: ${trouble.message}; ${trouble.hint})`);
    const output = await ask(items);
    // Add calls and outputs together, so that a crash in between leaves no call without its output.
    const calls = output.filter((item) => item["type"] === "function_call");
    const outputs = calls.map(async (call) => ({
      type: "function_call_output",
      call_id: call["call_id"],
      output: await run(JSON.parse(call["arguments"] as string)),
    }));
    await chat.add(...output, ...(await Promise.all(outputs)));
    if (calls.length === 0) return output.map(words).join("");
  }
}

function words(item: Item): string {
  const parts = item["type"] === "message" ? (item["content"] as Array<{ text?: string }>) : [];
  return parts.map((part) => part.text ?? "").join("");
}

/** A request to the model; `input` has everything it needs. */
async function ask(input: Item[]): Promise<Item[]> {
  const response = await fetch(`${base}/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${process.env["OPENAI_API_KEY"]}` },
    body: JSON.stringify({ model: name, instructions, tools, input, store: false }),
  });
  const body = (await response.json()) as { output: Item[]; error?: { code: string; message: string } };
  if (!response.ok) throw new Error(`${body.error?.code}: ${body.error?.message}`);
  return body.output;
}

/** The only tool. The model also reads its errors. */
async function run({ path }: { path: string }): Promise<string> {
  return readFile(path, "utf8").catch((error: Error) => error.message);
}

void main();

// How soon the plugin answers a compaction: `cargo xtask bench plugin` runs this on the hook as the engine loads it.
//
// Each round writes what a turn in flight has just written, a call with its result, and compacts at once. So the time
// has all that an agent waits for: the program's start, the daemon's reading of the newest lines, the briefing, and
// the choice of the messages that stay.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { stdin } from "node:process";

import type { EngineInterface, On, SessionCompactInput, SessionCompactResult, SessionMessage } from "claude-code";
import { BRIEFING_OPENING } from "../hooks/tail";
import { register } from "../hooks/longhaul";

/** Bytes of the result that a round adds. */
const RESULT_BYTES = 4_096;
const WARM_UP = 10;

type Asked = { transcripts: string[]; rounds: number; window: number };
type Line = { type?: string; uuid?: string; sessionId?: string; cwd?: string; message?: { role?: string; content?: unknown } };
type Block = { type: string; text?: string; id?: string; name?: string; input?: Record<string, unknown>; tool_use_id?: string; content?: unknown; is_error?: boolean };
type Compact = ($: EngineInterface, e: SessionCompactInput, next: () => Promise<{ skip: string }>) => Promise<SessionCompactResult>;

async function main(): Promise<void> {
  const asked = JSON.parse(await text()) as Asked;
  for (const transcript of asked.transcripts) {
    console.log(JSON.stringify(await measured(transcript, asked)));
  }
}

async function measured(transcript: string, { rounds, window }: Asked): Promise<Record<string, unknown>> {
  const lines = read(transcript);
  const messages = lines.flatMap(shown);
  const compact = hook();
  const [ms, disk]: [number[], number[]] = [[], []];
  let [kept, left, answered, bytes] = [0, 0, 0, 0];
  for (let round = 0; round < WARM_UP + rounds; round += 1) {
    const added = exchange(lines);
    appendFileSync(transcript, added.map((line) => `${JSON.stringify(line)}\n`).join(""));
    lines.push(...added);
    messages.push(...added.flatMap(shown));
    const begun = performance.now();
    const made = await compact(engine(transcript, window), { trigger: "auto", messages }, async () => ({ skip: "left" }));
    const took = performance.now() - begun;
    if (round >= WARM_UP) {
      ms.push(took);
      disk.push(durable(`${transcript}.disk`));
    }
    if (!("messages" in made) || !made.messages[0]?.text.startsWith(BRIEFING_OPENING)) {
      left += 1;
      continue;
    }
    kept = made.messages.length;
    if (round < WARM_UP) continue;
    answered += 1;
    // A request for a summary has the whole history.
    bytes += Buffer.byteLength(JSON.stringify(messages));
  }
  return { transcript, messages: messages.length, kept, left, answered, bytes, ms, disk };
}

/** Milliseconds until one page is on the disk: a receipt is, before an answer is given. */
function durable(file: string): number {
  const descriptor = openSync(file, "a");
  const begun = performance.now();
  writeSync(descriptor, Buffer.alloc(4_096));
  fsyncSync(descriptor);
  const took = performance.now() - begun;
  closeSync(descriptor);
  return took;
}

/** The hook that the plugin registers. */
function hook(): Compact {
  const hooks = new Map<string, unknown>();
  register(((event: string, of: unknown) => hooks.set(event, of)) as unknown as On);
  return hooks.get("session.compact") as Compact;
}

/** An engine that runs programs and knows its session. */
function engine(transcriptPath: string, window: number): EngineInterface {
  return {
    process: { run },
    session: {
      info: async () => ({ transcriptPath }),
      usage: async () => ({ context: { window } }),
      compact: async () => ({}),
    },
    env: { get: async () => undefined, set: async () => ({}) },
  store: { get: async () => undefined, set: async () => {} },
    ui: { log: (told) => void (told.includes("left this compaction") && console.error(told)) },
  };
}

const run: EngineInterface["process"]["run"] = ([program = "", ...rest], init) =>
  new Promise((resolve, reject) => {
    const child = spawn(program, rest, { stdio: ["pipe", "pipe", "pipe"] });
    const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on("data", (bytes: Buffer) => stdout.push(bytes));
    child.stderr.on("data", (bytes: Buffer) => stderr.push(bytes));
    child.on("error", reject);
    child.on("close", (exitCode) =>
      resolve({ exitCode: exitCode ?? 1, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
    );
    child.stdin.end(init?.stdin);
  });

/** The lines of a transcript that are whole. */
function read(transcript: string): Line[] {
  return readFileSync(transcript, "utf8").split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as Line];
    } catch {
      return [];
    }
  });
}

/** What the engine lists of a line. */
function shown(line: Line): SessionMessage[] {
  const { role, content } = line.message ?? {};
  if ((role !== "user" && role !== "assistant") || line.uuid === undefined) return [];
  const blocks: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : ((content ?? []) as Block[]);
  const of = (type: string) => blocks.filter((block) => block.type === type);
  return [{
    role,
    text: of("text").map((block) => block.text).join("\n"),
    toolUses: of("tool_use").map(({ id = "", name = "", input = {} }) => ({ tool_use_id: id, tool: name, input })),
    toolResults: of("tool_result").map(({ tool_use_id = "", content: result, is_error }) => ({
      tool_use_id,
      text: typeof result === "string" ? result : JSON.stringify(result),
      isError: is_error === true,
    })),
    handle: line.uuid,
  }];
}

/** A call and its result, behind the last line of the conversation. */
function exchange(lines: readonly Line[]): Line[] {
  const last = lines.findLast(({ uuid }) => uuid !== undefined);
  const [call, uuid] = [`toolu_${randomUUID()}`, randomUUID()];
  const line = (of: Record<string, unknown>) => ({
    isSidechain: false, sessionId: last?.sessionId, cwd: last?.cwd, version: "2.1.330", timestamp: new Date().toISOString(), ...of,
  });
  const use = { type: "tool_use", id: call, name: "Bash", input: { command: "cat notes.txt" } };
  const result = { type: "tool_result", tool_use_id: call, content: "a line of notes\n".repeat(RESULT_BYTES / 16) };
  return [
    line({ type: "assistant", uuid, parentUuid: last?.uuid, message: { role: "assistant", model: "claude-opus-4-7", content: [use] } }),
    line({ type: "user", uuid: randomUUID(), parentUuid: uuid, message: { role: "user", content: [result] } }),
  ] as Line[];
}

async function text(): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stdin) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

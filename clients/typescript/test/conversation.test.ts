// `examples/chat.ts` over 200 turns with a small window, while the daemon is killed, absent and restarted.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { Conversation } from "../src";
import type { Item, LonghaulError } from "../src";
import { binaries, Daemon } from "./daemon";
import { halves, Model } from "./model";

const skip = !binaries() && "longhauld is not built";

const WINDOW = 8_000;
const TURNS = 220;
const FIRST = "Let us port the parser of Zanzibar to Rust, keeping its error codes E17 and E42.";

const message = (text: string): Item => ({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });

/** Every third request reads a file, some larger than the window; all others get a long answer. */
function script(input: Item[], times: number): Item[] {
  const isAnswered = input.at(-1)?.["type"] === "function_call_output";
  if (isAnswered || times % 3 !== 0) return [message(`Answer ${times}: done as asked. ${"It holds so far. ".repeat(12)}`)];
  const call = { type: "function_call", call_id: `call-${times}`, name: "read_file" };
  return [{ ...call, arguments: JSON.stringify({ path: times % 2 ? "large.txt" : "small.txt" }) }];
}

/** The example as a process: one line in, one line out. */
class Chat {
  readonly #process: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  remarks = "";

  constructor(daemon: Daemon, base: string, folder: string) {
    this.#process = spawn(process.execPath, [path.join(__dirname, "../examples/chat.js"), "mock", String(WINDOW)], {
      cwd: folder,
      env: { ...daemon.environment, OPENAI_BASE_URL: base, OPENAI_API_KEY: "none" },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#process.stderr!.on("data", (chunk: Buffer) => (this.remarks += chunk.toString()));
    this.#answers = createInterface({ input: this.#process.stdout! })[Symbol.asyncIterator]();
  }

  async send(words: string): Promise<string> {
    this.#process.stdin!.write(`${words}\n`);
    const answer = await this.#answers.next();
    assert.ok(!answer.done, `the program ended: ${this.remarks}`);
    return answer.value;
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.stdin!.end();
    await ended;
  }
}

test("a chat of 220 turns never overflows a window of 8,000 tokens", { skip }, async () => {
  const daemon = new Daemon();
  const model = new Model(WINDOW, script);
  const base = await model.start();
  const folder = path.join(daemon.home, "project");
  fs.mkdirSync(folder);
  fs.writeFileSync(path.join(folder, "large.txt"), "fn parse(line: &str) -> Result<Ast, Code>;\n".repeat(2_000));
  fs.writeFileSync(path.join(folder, "small.txt"), "E17 = unclosed bracket\n".repeat(40));
  daemon.start();
  await (await daemon.client()).close();
  let chat = new Chat(daemon, base, folder);
  try {
    for (let turn = 0; turn < TURNS; turn += 1) {
      // The daemon is killed in the middle of a turn and restarted.
      if (turn === 70) {
        await daemon.stop("SIGKILL");
        daemon.start();
      }
      // The daemon is absent for some turns: the chat continues with its local items.
      if (turn === 120) await daemon.stop("SIGKILL");
      if (turn === 123) daemon.start();
      // The program itself is restarted.
      if (turn === 160) {
        await chat.end();
        assert.match(chat.remarks, /continuing without longhaul/);
        chat = new Chat(daemon, base, folder);
      }
      const words = turn === 0 ? FIRST : `Request ${turn}: now handle case ${turn * 7} as well. ${"Mind the tests. ".repeat(6)}`;
      const answer = await chat.send(words.trim());
      assert.match(answer, /^Answer/);
      const { input } = model.requests.at(-1)!;
      const sent = JSON.stringify(input);
      assert.ok(sent.includes(FIRST), `turn ${turn}: the first request is missing: ${sent}`);
      assert.ok(sent.includes(words.trim()), `turn ${turn}: the last message is missing`);
      assert.deepEqual(halves(input), [], `turn ${turn}: an incomplete pair`);
    }
    assert.equal(model.refused, 0, `largest: ${Math.max(...model.requests.map(({ tokens }) => tokens))}`);
    await chat.end();
    await checkTranscript(daemon, folder);
  } finally {
    model.stop();
    await chat.end();
    await daemon.remove();
  }
});

/** The transcript has every message of the person once, in order. */
async function checkTranscript(daemon: Daemon, folder: string): Promise<void> {
  const client = await daemon.client();
  const [thread] = (await client.call("thread/list", { source: "longhaul", cwd: folder })).threads;
  client.close();
  const lines = fs.readFileSync(thread!.path, "utf8").trimEnd().split("\n");
  const messages = lines.map((line) => JSON.parse(line)).filter(({ payload }) => payload.role === "user");
  const numbers = messages.map(({ payload }) => Number(/^Request (\d+)/.exec(payload.content[0].text)?.[1] ?? 0));
  assert.deepEqual(numbers, Array.from({ length: TURNS }, (_, turn) => turn));
  assert.ok(lines.some((line) => line.includes('"type":"compacted"')));
}

test("without a daemon a conversation continues, says why, and is saved once there is one", { skip }, async () => {
  const daemon = new Daemon();
  const options = { name: "test", version: "1", socket: daemon.socket, key: "k", cwd: daemon.home, patienceMs: 300 };
  const chat = new Conversation({ ...options, model: { name: "m", window: WINDOW } });
  const again = new Conversation({ ...options, model: { name: "m", window: WINDOW } });
  try {
    await chat.add({ type: "message", role: "user", content: "One." });
    await chat.add({ type: "message", role: "assistant", content: "Two." });
    const alone = await chat.prompt();
    assert.equal(alone.items.length, 2);
    assert.equal(alone.trouble?.kind, "not_running");
    assert.equal(alone.trouble?.retry, "reconnect");

    daemon.start();
    await (await daemon.client()).close();
    await untilSaved(chat);
    await assert.rejects(chat.add({ type: "no such item" }), { kind: "invalid_params" });
    await chat.add({ type: "message", role: "user", content: "Three." });
    assert.deepEqual((await chat.prompt()).items, (await again.prompt()).items);
    assert.equal((await again.prompt()).items.length, 3);
  } finally {
    await chat.close();
    await again.close();
    await daemon.remove();
  }
});

test("a refused item takes no other with it, and a long history is saved in parts", { skip }, async () => {
  const daemon = new Daemon();
  const options = { name: "test", version: "1", socket: daemon.socket, cwd: daemon.home, patienceMs: 60_000, model: { name: "m", window: 1e8 } };
  const conversation = (key: string) => new Conversation({ ...options, key });
  const [refusing, long, oversized] = [conversation("refusing"), conversation("long"), conversation("oversized")];
  try {
    await oversized.add(message("b".repeat(17 << 20)));
    await refusing.add(message("First."));
    await refusing.add(message("Same."), message("a".repeat(5 << 20)), message("Same."));
    for (let at = 0; at < 9; at += 1) {
      const image_url = `data:image/png;base64,${at}${"A".repeat(2 << 20)}`;
      await long.add({ type: "message", role: "user", content: [{ type: "input_image", image_url }] });
    }
    daemon.start();
    await (await daemon.client()).close();
    await assert.rejects(oversized.close(), {
      failure: "too_large",
      hint: "it was left out of the conversation: message assistant",
    });
    await assert.rejects(refusing.close(), (error: LonghaulError) => {
      assert.equal(error.kind, "limit_exceeded");
      assert.match(error.hint!, /"text":"aaaa/);
      return true;
    });
    const saved = conversation("refusing");
    const { items } = await saved.prompt();
    await saved.close();
    assert.deepEqual(items.map((item) => (item["content"] as Item[])[0]!["text"]), ["First.", "Same.", "Same."]);

    assert.equal(await long.close(), undefined);
    const savedLong = conversation("long");
    const prompt = await savedLong.prompt();
    await savedLong.close();
    assert.equal(prompt.items.length, 9, "more than a message carries");
    assert.equal(prompt.trouble, undefined);
  } finally {
    await daemon.remove();
  }
});

test("a daemon that lost its state gets the whole conversation again", { skip }, async () => {
  const daemon = new Daemon();
  daemon.start();
  await (await daemon.client()).close();
  const options = { name: "test", version: "1", socket: daemon.socket, key: "lost", cwd: daemon.home, patienceMs: 300 };
  const chat = new Conversation({ ...options, model: { name: "m", window: WINDOW } });
  try {
    await chat.add(message("One."), message("Two."));
    await daemon.stop("SIGKILL");
    fs.rmSync(path.join(daemon.home, "state"), { recursive: true });
    // Marks of turns are no items.
    for (let turn = 0; turn < 2; turn += 1) await chat.endTurn();
    daemon.start();
    await untilSaved(chat);
    assert.equal((await chat.prompt()).items.length, 2);
  } finally {
    await chat.close();
    await daemon.remove();
  }
});

test("settings are sent once, and again after a compaction, which can be undone", { skip }, async () => {
  const daemon = new Daemon();
  daemon.start();
  await (await daemon.client()).close();
  const settings = () => ({ environment: { folders: [{ cwd: daemon.home }], current_date: "2026-11-22" } });
  const options = { name: "test", version: "1", socket: daemon.socket, key: "s", cwd: daemon.home, settings };
  const chat = new Conversation({ ...options, model: { name: "m", window: WINDOW } });
  const mentions = (items: Item[]) => JSON.stringify(items).split("2026-11-22").length - 1;
  try {
    let prompt = await chat.prompt();
    for (let turn = 0; !prompt.compaction; turn += 1) {
      assert.ok(turn < 60, "never compacted");
      await chat.add({ type: "message", role: "user", content: `Request ${turn}.` });
      await chat.add(message("It is done. ".repeat(60)));
      prompt = await chat.prompt();
      assert.equal(mentions(prompt.items), 1, `turn ${turn}`);
    }
    await chat.add(message("Done."));
    await chat.add({ type: "message", role: "user", content: "And on." });
    assert.equal(mentions((await chat.prompt()).items), 1);
    await chat.undo(prompt.compaction);
    const client = await daemon.client();
    const { items } = await client.call("history/get", { thread_id: chat.threadId! });
    client.close();
    assert.ok(items.length > prompt.items.length + 10);
    assert.match(JSON.stringify(items.at(-1)), /And on/);
  } finally {
    await chat.close();
    await daemon.remove();
  }
});

async function untilSaved(chat: Conversation): Promise<void> {
  for (const end = Date.now() + 20_000; Date.now() < end; ) {
    if (!(await chat.prompt()).trouble) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("never saved");
}

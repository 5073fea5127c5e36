// The client against a scripted daemon: versions, cancellation, back-off, bounds.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";

import { Client, defaultSocket } from "../src";
import { hello, scripted } from "./scripted";
import type { Answer } from "./scripted";

const me = { name: "test", version: "1" };

function refusal(kind: string, retry: string, more: object = {}): object {
  return { error: { code: 1, message: kind, data: { kind, retry, ...more } } };
}

test("a daemon of another version is not reported as absent", async () => {
  const disagree = (end: string): Answer => () => refusal("version_unsupported", "never", { detail: { disagreement: end } });
  for (const [end, failure] of [["client_too_old", "too_old"], ["daemon_too_old", "too_new"]] as const) {
    const daemon = await scripted({ initialize: disagree(end) });
    await assert.rejects(Client.connect({ ...me, socket: daemon.socket }), { failure, retry: "never" });
    daemon.end();
  }
  const newer = await scripted({}, "v2.sock");
  await assert.rejects(Client.connect({ ...me, socket: newer.socket }), { failure: "too_old" });
  newer.end();
});

test("connecting waits while the daemon's backlog is full", async () => {
  const daemon = await scripted({ initialize: hello, "thread/list": () => ({ result: { threads: [] } }) }, "v1.sock", 1);
  const refused: string[] = [];
  // All in one turn of the event loop, in which the daemon accepts no connection.
  const queue = Array.from({ length: 8 }, () => net.connect(daemon.socket));
  for (const queued of queue) queued.on("error", (error: NodeJS.ErrnoException) => refused.push(error.code ?? ""));
  const client = await Client.connect({ ...me, socket: daemon.socket });
  assert.deepEqual((await client.call("thread/list", {})).threads, []);
  if (process.platform === "linux") assert.equal(refused[0], "EAGAIN");
  client.close();
  for (const queued of queue) queued.destroy();
  daemon.end();
});

test("connecting to a full backlog times out", { skip: process.platform !== "linux" }, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "lh-full-"));
  const socket = path.join(folder, "v1.sock");
  // It listens but accepts no connection.
  const busy = `require("net").createServer().listen({ path: ${JSON.stringify(socket)}, backlog: 1 }, () => {
    require("fs").writeSync(1, "listening");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  })`;
  const daemon = spawn(process.execPath, ["-e", busy], { stdio: ["ignore", "pipe", "inherit"] });
  const queue: net.Socket[] = [];
  try {
    await once(daemon.stdout, "data");
    const refused = new Promise((resolve) => {
      for (let at = 0; at < 8; at++) queue.push(net.connect(socket).on("error", resolve));
    });
    assert.equal(((await refused) as NodeJS.ErrnoException).code, "EAGAIN");
    await assert.rejects(Client.connect({ ...me, socket, connectTimeoutMs: 30 }), { failure: "timeout" });
  } finally {
    daemon.kill("SIGKILL");
    for (const queued of queue) queued.destroy();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test("an error with backoff is retried", async () => {
  const busy: Answer = (_params, times) =>
    times < 3 ? refusal("store_busy", "backoff", { retry_after_ms: 1 }) : { result: { threads: [] } };
  const daemon = await scripted({ initialize: hello, "thread/list": busy });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  assert.deepEqual(await client.call("thread/list", {}), { threads: [] });
  assert.equal(daemon.times.get("thread/list"), 3);
  client.close();
  daemon.end();
});

test("a call is cancelled or times out; late answers are ignored", async () => {
  const daemon = await scripted({ initialize: hello, "thread/list": () => undefined });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  const abort = new AbortController();
  const call = client.call("thread/list", {}, { signal: abort.signal });
  abort.abort();
  await assert.rejects(call, { failure: "cancelled" });
  await assert.rejects(client.call("thread/list", {}, { timeoutMs: 20 }), { failure: "timeout", retry: "backoff" });
  assert.deepEqual(await client.request("daemon/status", {}), {});
  client.close();
  await assert.rejects(client.call("thread/list", {}), { failure: "closed" });
  daemon.end();
});

test("a call waits as long as the daemon may work", async () => {
  const daemon = await scripted({ initialize: hello, "compaction/run": () => ({ result: {} }), "memory/run": () => ({ result: {} }) });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  const timers = globalThis.setTimeout;
  const waits = async (method: string, params: unknown) => {
    const limits: number[] = [];
    const recorded = (work: () => void, ms?: number) => (limits.push(ms ?? 0), timers(work, ms));
    globalThis.setTimeout = recorded as unknown as typeof setTimeout;
    await client.request(method, params).finally(() => (globalThis.setTimeout = timers));
    return Math.round(Math.max(0, ...limits) / 1_000);
  };
  assert.equal(await waits("compaction/run", {}), 135);
  assert.equal(await waits("compaction/run", { deadline_ms: 600_000 }), 615);
  assert.equal(await waits("compaction/run", { deadline_ms: Number.MAX_SAFE_INTEGER }), 0);
  assert.equal(await waits("memory/run", {}), 0);
  client.close();
  daemon.end();
});

/** Breaks the connection at the first call. */
const breaks: Answer = (_params, times, socket) => (times === 1 ? void socket.destroy() : { result: { threads: [] } });

test("a broken connection loses no request, and events before the answer to subscribe are kept", async () => {
  const event = { jsonrpc: "2.0", method: "event", params: { subscription: "s", result: { seq: 8, at: 0, kind: "thread_updated", data: {} } } };
  const begins: Answer = (_params, _times, socket) => {
    socket.write(`${JSON.stringify(event)}\n`);
    return { result: { subscription: "s", seq: 7 } };
  };
  const daemon = await scripted({ initialize: hello, "thread/list": breaks, "event/subscribe": begins });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  assert.deepEqual(await client.call("thread/list", {}), { threads: [] });
  for await (const { seq } of await client.subscribe()) {
    assert.equal(seq, 8);
    break;
  }
  client.close();
  daemon.end();
});

test("events that come with the answer to subscribe are kept, also of two subscriptions begun at once", async () => {
  const lines = (id: string, count: number) =>
    Array.from({ length: count }, (_, at) => ({ jsonrpc: "2.0", method: "event", params: { subscription: id, result: { seq: at + 1, at: 0, kind: "thread_updated", data: {} } } }));
  const answers: object[] = [];
  const daemon = await scripted({ initialize: hello, "event/subscribe": (_params, times, socket, id) => {
    answers.push({ jsonrpc: "2.0", id, result: { subscription: `s${times}`, seq: 0 } }, ...lines(`s${times}`, 100));
    if (times === 2) socket.write(answers.map((line) => `${JSON.stringify(line)}\n`).join(""));
    return undefined;
  } });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  const subscriptions = await Promise.all([client.subscribe(), client.subscribe()]);
  for (const subscription of subscriptions) {
    const seqs: number[] = [];
    setTimeout(() => subscription.close(), 100);
    for await (const { seq } of subscription) seqs.push(seq);
    assert.deepEqual(seqs, Array.from({ length: 100 }, (_, at) => at + 1));
  }
  client.close();
  daemon.end();
});

test("half of a surrogate pair, which the daemon would refuse, is replaced", async () => {
  const echo: Answer = (params) => ({ result: params });
  const daemon = await scripted({ initialize: hello, "memory/add_note": echo });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  const sent = async (text: string) => ((await client.request("memory/add_note", { text })) as { text: string }).text;
  for (const [text, expected] of [
    ["half 😀".slice(0, 6), "half \ufffd"],
    ["\ud83d\ud83d\ude00\\\udfff", "\ufffd😀\\\ufffd"],
    ["words: \\ud83d \\\\ud83d", "words: \\ud83d \\\\ud83d"],
  ] as const) {
    assert.equal(await sent(text), expected);
  }
  client.close();
  daemon.end();
});

test("a client that is closed while it connects again leaves no connection open", async () => {
  let finish = () => undefined as void;
  const slow: Answer = (_params, times, socket, id) => {
    if (times === 1) return hello(undefined, 1, socket, id);
    finish = () => void socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...hello(undefined, 1, socket, id) })}\n`);
    server = socket;
    connecting();
    return undefined;
  };
  let server: net.Socket | undefined;
  let connecting = () => undefined as void;
  const began = new Promise<void>((resolve) => (connecting = resolve));
  const daemon = await scripted({ initialize: slow, "thread/list": breaks });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  const call = assert.rejects(client.call("thread/list", {}), { failure: "closed" });
  await began;
  client.close();
  const ended = once(server!, "close");
  finish();
  await Promise.all([call, ended]);
  daemon.end();
});

test("a call without a limit that ends every daemon is given up", async () => {
  const daemon = await scripted({ initialize: hello, "archive/verify": (_params, _times, socket) => void socket.destroy() });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  await assert.rejects(client.call("archive/verify", {}), { failure: "broken" });
  assert.equal(daemon.times.get("archive/verify"), 5);
  client.close();
  daemon.end();
});

test("sent and received messages are bounded", async () => {
  const flood: Answer = (_params, _times, socket) => void socket.write(Buffer.alloc(17 * 1024 * 1024, "x"));
  const daemon = await scripted({ initialize: hello, "thread/list": flood });
  const client = await Client.connect({ ...me, socket: daemon.socket });
  const items = ["x".repeat(17 * 1024 * 1024)];
  await assert.rejects(client.call("context/estimate", { items }), { failure: "too_large" });
  await assert.rejects(client.call("thread/list", {}), { failure: "unreadable" });
  client.close();
  daemon.end();
});

test("the socket is found by the protocol's rule", () => {
  assert.equal(defaultSocket({ LONGHAUL_SOCKET: "/x.sock", XDG_RUNTIME_DIR: "/run" }), "/x.sock");
  assert.equal(defaultSocket({ XDG_RUNTIME_DIR: "/run/user/1" }), "/run/user/1/longhaul/v1.sock");
  assert.equal(defaultSocket({ HOME: "/home/ada", XDG_RUNTIME_DIR: "run" }), "/home/ada/.local/state/longhaul/run/v1.sock");
});

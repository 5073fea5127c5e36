// Replays every exchange of protocol/examples with this client against a real daemon.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as net from "node:net";
import * as path from "node:path";
import { test } from "node:test";

import { Client, LonghaulError } from "../src";
import { binaries, Daemon, ingested, ROOT } from "./daemon";
import { Bindings, sample } from "./placeholders";
import { hello, scripted } from "./scripted";
import type { Answer } from "./scripted";

interface Example {
  order: number;
  method: string | null;
  exchanges: Array<{ name: string; request: any; response: any }>;
}

/** They need a job that only the daemon can create: a scripted daemon answers them here. */
const OF_WORKERS = ["job/claim", "job/heartbeat", "job/ask", "job/complete", "job/fail"];

const FOLDER = path.join(ROOT, "protocol/examples");

/** All but those of workers, in replay order. */
function examples(): Example[] {
  const examples = names(FOLDER).map(read).filter(({ method }) => !OF_WORKERS.includes(method ?? ""));
  return examples.sort((a, b) => a.order - b.order);
}

function read(name: string): Example {
  return JSON.parse(fs.readFileSync(path.join(FOLDER, `${name}.json`), "utf8"));
}

function names(folder: string): string[] {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return names(file);
    return file.endsWith(".json") ? [path.relative(FOLDER, file).replace(/\.json$/, "")] : [];
  });
}

test("every example is answered as documented", { skip: !binaries() && "longhauld is not built" }, async () => {
  const daemon = new Daemon();
  daemon.start();
  try {
    const first = await daemon.client();
    await ingested(first);
    first.close();
    const bindings = new Bindings();
    bindings.mismatch("$NEW_FILE", path.join(daemon.home, "restored.jsonl"));
    let replayed = 0;
    for (const example of examples()) replayed += await replay(daemon, example, bindings);
    assert.ok(replayed > 80, `replayed ${replayed}`);
  } finally {
    await daemon.remove();
  }
});

test("a worker's methods are called and their answers read", async () => {
  for (const name of OF_WORKERS) {
    const { method, exchanges } = read(name);
    const played = exchanges.map(({ response }) => {
      const { result, error } = sample(response) as { result?: unknown; error?: unknown };
      return error ? { error } : { result };
    });
    let next = 0;
    const play: Answer = () => played[next++];
    const methods = exchanges.map(({ request }) => [request.method, play]);
    const daemon = await scripted({ initialize: hello, ...Object.fromEntries(methods) });
    const client = await Client.connect({ name: "examples", version: "1", socket: daemon.socket });
    try {
      for (const [index, { name: what, request }] of exchanges.entries()) {
        const { id, jsonrpc, ...answer } = await ask(client, sample(request));
        assert.deepEqual(answer, played[index], `${method}: ${what}`);
      }
    } finally {
      client.close();
      daemon.end();
    }
  }
});

/** Replays one file on one connection. The handshake and invalid requests go over a bare socket. */
async function replay(daemon: Daemon, example: Example, bindings: Bindings): Promise<number> {
  const isBare = !example.method || example.method === "initialize";
  const options = { name: "examples", version: "1", socket: daemon.socket };
  const client = isBare ? undefined : await Client.connect(options);
  const socket = net.connect(daemon.socket);
  for (const exchange of example.exchanges) {
    const request: any = bindings.fill(exchange.request);
    const answer = client ? await ask(client, request) : await sendRaw(socket, request);
    const expected = client ? { ...exchange.response, id: "$ANY" } : exchange.response;
    const mismatch = bindings.mismatch(expected, answer);
    assert.equal(mismatch, undefined, `${example.method}: ${exchange.name}`);
  }
  socket.destroy();
  client?.close();
  return example.exchanges.length;
}

/** The answer in its wire form. */
async function ask(client: Client, request: any): Promise<any> {
  const frame = { jsonrpc: "2.0", id: request.id };
  try {
    return { ...frame, result: await client.request(request.method, request.params) };
  } catch (error) {
    assert.ok(error instanceof LonghaulError, String(error));
    assert.equal(error.failure, "refused", error.message);
    return { ...frame, error: error.wire };
  }
}

function sendRaw(socket: net.Socket, request: unknown): Promise<any> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("data", (data) => resolve(JSON.parse(data.toString("utf8"))));
    socket.write(`${JSON.stringify(request)}\n`);
  });
}

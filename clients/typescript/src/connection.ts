// One connection: lines in both directions, answers matched to requests by id.
//
// It is opened once, with a handshake, and carries any number of concurrent requests. When it ends, all waiting requests
// fail with the same error; `client.ts` decides whether to send them again.

import * as net from "node:net";

import { LonghaulError, refused, refusedHandshake } from "./errors";
import { Lines } from "./lines";
import { pause } from "./pause";
import { LIMITS, REVISIONS } from "./protocol.generated";
import type { EventNotificationParams, InitializeResult, WireError } from "./protocol.generated";
import { refuseForeignSocket, unreachable } from "./socket";

/** Bytes of a message around its params. */
const ENVELOPE_BYTES = 256;

const FULL_QUEUE_RETRY_MS = 5;
/** Half of a surrogate pair in JSON, as where a text was cut. The daemon refuses it: it is no Unicode. Pairs are not escaped. */
const HALF_PAIR = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

export interface Opening {
  socket: string;
  name: string;
  version: string;
  connectTimeoutMs: number;
  onEvent: (event: EventNotificationParams) => void;
}

interface Waiting {
  onResult: ((result: unknown) => void) | undefined;
  resolve: (result: unknown) => void;
  reject: (error: LonghaulError) => void;
}

export class Connection {
  #nextId = 1;
  readonly #waiting = new Map<string, Waiting>();
  #ended: LonghaulError | undefined;
  #onEnd: Array<(error: LonghaulError) => void> = [];
  /** The result of the handshake. */
  session!: InitializeResult;

  private constructor(
    private readonly stream: net.Socket,
    private readonly onEvent: Opening["onEvent"],
  ) {
    const lines = new Lines(LIMITS.frame_bytes_max);
    stream.on("data", (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) this.#read(line);
      } catch (error) {
        this.end(new LonghaulError("unreadable", `the daemon's answer is invalid: ${String(error)}`));
      }
    });
    stream.on("error", (error) => this.end(broken(error.message)));
    stream.on("close", () => this.end(broken("closed by the daemon")));
  }

  /** Connects and negotiates a version. */
  static async open(options: Opening): Promise<Connection> {
    refuseForeignSocket(options.socket);
    const stream = await connect(options.socket, options.connectTimeoutMs);
    const connection = new Connection(stream, options.onEvent);
    const { connectTimeoutMs, name, version } = options;
    const late = new LonghaulError("timeout", `the daemon did not answer initialize within ${connectTimeoutMs} ms`);
    const timer = setTimeout(() => connection.end(late), connectTimeoutMs);
    try {
      const hello = { client: { name, version }, protocol: { ...REVISIONS } };
      connection.session = (await connection.send("initialize", hello).answer) as InitializeResult;
      return connection;
    } catch (error) {
      connection.end(broken("the handshake failed"));
      throw refusedHandshake(error);
    } finally {
      clearTimeout(timer);
    }
  }

  get isOpen(): boolean {
    return this.#ended === undefined;
  }

  /** Unanswered requests. */
  get inFlight(): number {
    return this.#waiting.size;
  }

  /** Calls `listener` once, when the connection has ended. */
  whenEnded(listener: (error: LonghaulError) => void): void {
    if (this.#ended) listener(this.#ended);
    else this.#onEnd.push(listener);
  }

  /** Writes a request. After `forget` its answer is ignored. `onResult` is called before the next message is read. */
  send(method: string, params: unknown, onResult?: (result: unknown) => void): { answer: Promise<unknown>; forget: () => void } {
    if (this.#ended) throw this.#ended;
    const id = String(this.#nextId++);
    const request = JSON.stringify({ jsonrpc: "2.0", id, method, params: params ?? {} });
    const line = Buffer.from(`${request.replace(HALF_PAIR, "$1\ufffd")}\n`);
    const max = LIMITS.frame_bytes_max - ENVELOPE_BYTES;
    if (line.length > max) {
      throw new LonghaulError("too_large", `the request is too large: ${line.length} bytes, at most ${max}`);
    }
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { onResult, resolve, reject }));
    // Nothing awaits it once the caller has given up.
    answer.catch(() => undefined);
    this.stream.write(line);
    return { answer, forget: () => this.#waiting.delete(id) };
  }

  /** Ends the connection; waiting requests fail with `error`. */
  end(error: LonghaulError): void {
    if (this.#ended) return;
    this.#ended = error;
    this.stream.destroy();
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
    for (const listener of this.#onEnd.splice(0)) listener(error);
  }

  #read(line: string): void {
    const message = JSON.parse(line) as {
      id?: string | null;
      method?: string;
      params?: unknown;
      result?: unknown;
      error?: WireError;
    };
    if (message.method === "event") {
      this.onEvent(message.params as EventNotificationParams);
      return;
    }
    const waiting = this.#waiting.get(String(message.id));
    if (!waiting) return; // Its caller has given up.
    this.#waiting.delete(String(message.id));
    if (message.error) return waiting.reject(refused(message.error));
    waiting.onResult?.(message.result);
    waiting.resolve(message.result);
  }
}

/** Retries while the daemon's backlog is full: Linux refuses connections then with `EAGAIN`. */
async function connect(socket: string, timeoutMs: number): Promise<net.Socket> {
  const late = new LonghaulError("timeout", `the daemon did not accept the connection within ${timeoutMs} ms`);
  for (const deadline = Date.now() + timeoutMs; ; ) {
    try {
      return await connectOnce(socket, deadline - Date.now(), late);
    } catch (error) {
      if (error === late) throw late;
      const refusal = error as NodeJS.ErrnoException;
      if (refusal.code !== "EAGAIN") throw unreachable(socket, refusal);
      if (Date.now() >= deadline) throw late;
    }
    await pause(FULL_QUEUE_RETRY_MS);
  }
}

function connectOnce(socket: string, timeoutMs: number, late: LonghaulError): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const stream = net.connect(socket);
    const timer = setTimeout(() => {
      stream.destroy();
      reject(late);
    }, timeoutMs);
    const failed = (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(error);
    };
    stream.once("error", failed);
    stream.once("connect", () => {
      clearTimeout(timer);
      stream.off("error", failed);
      resolve(stream);
    });
  });
}

function broken(why: string): LonghaulError {
  return new LonghaulError("broken", `the connection to the daemon broke: ${why}`);
}

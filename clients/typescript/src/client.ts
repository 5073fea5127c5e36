// Calls methods by name, and reconnects as needed.
//
// Owns at most one connection, open or being opened, which all calls share. A call is a loop: get a connection, send,
// await the answer. If the daemon restarts in between, unanswered requests are sent again on the next connection, except
// for the few methods that must not run twice (`NOT_TWICE`): those fail with `broken`. After an error with
// `retry: "backoff"` a call waits and tries again, within its timeout. Subscriptions resume where they stopped.

import { Connection } from "./connection";
import { LonghaulError } from "./errors";
import { backoffMs, pause, within } from "./pause";
import type { CallLimits } from "./pause";
import { LIMITS } from "./protocol.generated";
import type { EventNotificationParams, EventSubscribeParams, EventSubscribeResult } from "./protocol.generated";
import type { InitializeResult, Methods } from "./protocol.generated";
import { defaultSocket } from "./socket";
import { startDaemon } from "./start";
import { Subscription } from "./subscription";
import { limitMs } from "./time-limit";

const CONNECT_TIMEOUT_MS = 5_000;
/** Milliseconds without a daemon before calls fail. */
const ABSENCE_MS = 10_000;
/** Maximum unanswered calls. */
const CALLS_MAX = 1024;
/** Maximum retries of a call after an error with `retry: "backoff"`, and of one without a limit. */
const WAITS_MAX = 4;
/** Maximum milliseconds between attempts to connect: for a call, and for subscriptions only. */
const CALL_BACKOFF_MS = 500;
const IDLE_BACKOFF_MS = 30_000;
/** Maximum events kept for subscriptions that have not been answered yet. */
const EARLY_EVENTS_MAX = 64;

/** Methods that must not run twice. */
const NOT_TWICE = new Set(["daemon/shutdown", "message_history/append", "memory/add_note", "memory/review_note", "policy/step", "job/claim", "thread/continue"]);

export interface ConnectOptions {
  /** Name and version of your program; the daemon logs them. */
  name: string;
  version: string;
  /** Path of the socket. Default: from the environment. */
  socket?: string;
  /** Whether a call may start the daemon with `longhaul up`; a path names the `longhaul` to run. Default: false. `LONGHAUL_AUTOSTART=0` overrides it. */
  start?: boolean | string;
  /**
   * Timeout of every call in milliseconds. Default: 60,000; for a compaction its deadline and 15 s more; none for
   * `memory/run`, `archive/verify` and `archive/restore`.
   */
  requestTimeoutMs?: number;
  /** Timeout for opening a connection in milliseconds. Default: 5,000. */
  connectTimeoutMs?: number;
}

export interface CallOptions {
  /** Cancels the call. The daemon may still complete it; the answer is ignored. */
  signal?: AbortSignal;
  /** Timeout of this call in milliseconds. */
  timeoutMs?: number;
}

type Settings = Required<Omit<ConnectOptions, "start" | "requestTimeoutMs">> & {
  start: string | undefined;
  requestTimeoutMs: number | undefined;
};

export class Client {
  readonly #settings: Settings;
  #connection: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  #session!: InitializeResult;
  #calls = 0;
  #isClosed = false;
  readonly #subscriptions = new Set<Subscription>();
  readonly #early: EventNotificationParams[] = [];
  #isResuming = false;

  private constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Connects to the daemon and negotiates a version. Fails at once if no daemon is running and none may be started. */
  static async connect(options: ConnectOptions): Promise<Client> {
    const socket = options.socket ?? defaultSocket();
    if (!socket) {
      throw new LonghaulError("no_socket", "no socket is given and there is no home folder to find one in");
    }
    const start = typeof options.start === "string" ? options.start : options.start ? "longhaul" : undefined;
    const client = new Client({
      name: options.name,
      version: options.version,
      socket,
      start,
      requestTimeoutMs: options.requestTimeoutMs,
      connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    });
    await client.#connect({ mayStart: true, giveUpAt: 0 });
    return client;
  }

  /** The result of the last handshake. */
  get session(): InitializeResult {
    return this.#session;
  }

  /** Whether the daemon has a method. */
  has(method: string): boolean {
    return this.session.methods.includes(method);
  }

  get isConnected(): boolean {
    return this.#connection?.isOpen ?? false;
  }

  /** Calls a method and waits for its answer. */
  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options: CallOptions = {},
  ): Promise<Methods[M]["result"]> {
    return this.request(method, params, options) as Promise<Methods[M]["result"]>;
  }

  /** Calls a method without types, such as one of a newer daemon; see `has`. */
  async request(method: string, params: unknown, options: CallOptions = {}): Promise<unknown> {
    if (this.#calls >= CALLS_MAX) throw new LonghaulError("too_many", `more than ${CALLS_MAX} calls are waiting for answers`);
    const timeoutMs = options.timeoutMs ?? this.#settings.requestTimeoutMs ?? limitMs(method, params);
    const limits = { method, timeoutMs, deadline: Date.now() + timeoutMs, signal: options.signal };
    this.#calls += 1;
    try {
      return await this.#attempts(params, limits);
    } finally {
      this.#calls -= 1;
    }
  }

  async #attempts(params: unknown, limits: CallLimits): Promise<unknown> {
    const giveUpAt = Math.min(limits.deadline, Date.now() + ABSENCE_MS);
    for (let waits = 0; ; ) {
      try {
        const connection = await within(this.#connect({ mayStart: true, giveUpAt }), limits);
        return await this.#send(connection, params, limits);
      } catch (error) {
        if (!(error instanceof LonghaulError) || !maySendAgain(error, limits.method)) throw error;
        // A call without a limit must not go on ending daemon after daemon.
        const isBounded = error.retry === "backoff" || limits.deadline === Infinity;
        if (isBounded && waits >= WAITS_MAX) throw error;
        const ms = error.retryAfterMs ?? backoffMs(waits, CALL_BACKOFF_MS);
        if (Date.now() + ms >= limits.deadline) throw error;
        waits += 1;
        await within(pause(ms), limits);
      }
    }
  }

  async #send(connection: Connection, params: unknown, limits: CallLimits): Promise<unknown> {
    while (connection.isOpen && connection.inFlight >= LIMITS.inflight_per_connection_max) {
      await within(pause(5), limits);
    }
    const sent = connection.send(limits.method, params);
    try {
      return await within(sent.answer, limits);
    } finally {
      sent.forget();
    }
  }

  /** Subscribes to events; see `Subscription`. It continues after a restart of the daemon. */
  async subscribe(params: EventSubscribeParams = {}): Promise<Subscription> {
    const subscription = new Subscription(params, (ended) => this.#unsubscribe(ended));
    const connection = await this.#connect({ mayStart: true, giveUpAt: Date.now() + ABSENCE_MS });
    await this.#start(subscription, connection, params);
    return subscription;
  }

  /** Closes the connection and all subscriptions. */
  close(): void {
    this.#isClosed = true;
    for (const subscription of [...this.#subscriptions]) subscription.close();
    this.#connection?.end(new LonghaulError("closed", "the client was closed"));
  }

  /** The open connection, or a new one. Tries to connect until `giveUpAt`. */
  async #connect(wish: { mayStart: boolean; giveUpAt: number }): Promise<Connection> {
    for (;;) {
      if (this.#isClosed) throw new LonghaulError("closed", "the client was closed");
      if (this.#connection?.isOpen) return this.#connection;
      const shared = this.#opening;
      if (!shared) return (this.#opening = this.#open(wish).finally(() => (this.#opening = undefined)));
      try {
        return await shared;
      } catch (error) {
        // The caller that started it gave up earlier.
        if (Date.now() >= wish.giveUpAt) throw error;
      }
    }
  }

  async #open(wish: { mayStart: boolean; giveUpAt: number }): Promise<Connection> {
    const isForbidden = process.env["LONGHAUL_AUTOSTART"] === "0";
    let mayStart = wish.mayStart && this.#settings.start !== undefined && !isForbidden;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return this.#adopt(await Connection.open({ ...this.#settings, onEvent: (event) => this.#deliver(event) }));
      } catch (error) {
        const isAbsent = error instanceof LonghaulError && error.retry === "reconnect";
        if (!isAbsent || this.#isClosed) throw error;
        if (mayStart) {
          mayStart = false;
          await startDaemon(this.#settings.start as string, this.#settings.socket);
          continue;
        }
        const ms = backoffMs(attempt, CALL_BACKOFF_MS);
        if (Date.now() + ms >= wish.giveUpAt) throw error;
        await pause(ms);
      }
    }
  }

  #adopt(connection: Connection): Connection {
    if (this.#isClosed) {
      const closed = new LonghaulError("closed", "the client was closed");
      connection.end(closed);
      throw closed;
    }
    this.#connection = connection;
    this.#session = connection.session;
    connection.whenEnded(() => void this.#resume());
    return connection;
  }

  /** Resumes the subscriptions, however long the daemon is down. Never starts it. */
  async #resume(): Promise<void> {
    if (this.#isResuming) return;
    this.#isResuming = true;
    for (let attempt = 0; this.#subscriptions.size > 0 && !this.#isClosed; attempt += 1) {
      try {
        const connection = await this.#connect({ mayStart: false, giveUpAt: 0 });
        for (const subscription of this.#subscriptions) await this.#continue(subscription, connection);
        if (connection.isOpen) break;
      } catch {
        await pause(backoffMs(attempt, IDLE_BACKOFF_MS), true);
      }
    }
    this.#isResuming = false;
  }

  async #continue(subscription: Subscription, connection: Connection): Promise<void> {
    const before = subscription.position;
    const isSame = before?.instance === connection.session.server.instance_id;
    const params = isSame ? { ...subscription.params, since_seq: before.seq } : subscription.params;
    await this.#start(subscription, connection, params);
    if (isSame || !subscription.position) return;
    // A new daemon restarts the count, so the events in between are unknown.
    subscription.deliver({ seq: subscription.position.seq, at: Date.now(), kind: "gap", data: { next_seq: subscription.position.seq } });
  }

  async #start(subscription: Subscription, connection: Connection, params: EventSubscribeParams): Promise<void> {
    const instance = connection.session.server.instance_id;
    // Events follow the answer at once, so they must find the subscription.
    const begin = (result: unknown) => {
      const { subscription: id, seq } = result as EventSubscribeResult;
      subscription.position = { id, seq, instance };
      if (!subscription.isClosed) this.#subscriptions.add(subscription);
      const early = this.#early.splice(0);
      this.#early.push(...early.filter((event) => event.subscription !== id));
      for (const event of early) if (event.subscription === id) subscription.deliver(event.result);
    };
    await connection.send("event/subscribe", params, begin).answer;
  }

  #deliver(event: EventNotificationParams): void {
    for (const subscription of this.#subscriptions) {
      if (subscription.position?.id === event.subscription) return subscription.deliver(event.result);
    }
    // The oldest may be of a subscription that was closed.
    if (this.#early.push(event) > EARLY_EVENTS_MAX) this.#early.shift();
  }

  #unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
    if (!this.#connection?.isOpen || !subscription.position) return;
    // If the connection ends first, the subscription has ended too.
    this.#connection.send("event/unsubscribe", { subscription: subscription.position.id }).answer.catch(() => undefined);
  }
}

/** Whether the same request may be sent again. */
function maySendAgain(error: LonghaulError, method: string): boolean {
  // A refused request was not executed, whatever its method.
  if (error.failure === "refused") return error.retry === "backoff" || error.retry === "reconnect";
  return error.failure === "broken" && !NOT_TWICE.has(method);
}

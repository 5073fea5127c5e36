// Calls of methods by their names, over connections that come and go.
//
// Owns at most one open connection, and the promise of one while it is being opened; every call waits for the
// same. A call is a loop: have a connection, send, await the answer. When the daemon restarts in between, what
// was not answered is sent again on the next connection, except for the few methods that would then be
// done twice (`NOT_TWICE`): those fail with `broken`, and the caller looks. An error that asks to wait is
// waited for, within the time of the call. Subscriptions are taken up again where they were.

import { Connection } from "./connection";
import { LonghaulError } from "./errors";
import { backoffMs, pause, within } from "./pause";
import type { Patience } from "./pause";
import { LIMITS } from "./protocol.generated";
import type { EventNotificationParams, EventSubscribeParams, EventSubscribeResult } from "./protocol.generated";
import type { InitializeResult, Methods } from "./protocol.generated";
import { defaultSocket } from "./socket";
import { startDaemon } from "./start";
import { Subscription } from "./subscription";

const REQUEST_TIMEOUT_MS = 60_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Milliseconds a daemon that was there may stay away before calls fail. */
const ABSENCE_MS = 10_000;
/** Calls that wait for an answer, at most. */
const CALLS_MAX = 1024;
/** How often an error that asks to wait is waited for. */
const WAITS_MAX = 4;
/** Milliseconds between two looks for a daemon, at most: for a call, and for subscriptions alone. */
const CALL_BACKOFF_MS = 500;
const IDLE_BACKOFF_MS = 30_000;
/** Events kept for subscriptions whose answer is not read yet. */
const EARLY_EVENTS_MAX = 64;

/** Doing these a second time is not the same as doing them once. */
const NOT_TWICE = new Set(["daemon/shutdown", "message_history/append", "memory/add_note", "memory/review_note", "policy/step", "job/claim", "thread/continue"]);

export interface ConnectOptions {
  /** Name and version of your program; the daemon logs them. */
  name: string;
  version: string;
  /** The socket; absent: by the environment. */
  socket?: string;
  /** May a call start an absent daemon, with `longhaul up`? Default: no; `LONGHAUL_AUTOSTART=0` forbids it. A path names the `longhaul` to run. */
  start?: boolean | string;
  /** Milliseconds a call may take. Default: 60,000. */
  requestTimeoutMs?: number;
  /** Milliseconds opening a connection may take. Default: 5,000. */
  connectTimeoutMs?: number;
}

export interface CallOptions {
  /** Cancels the call. The daemon may still be doing it; the answer is passed over. */
  signal?: AbortSignal;
  /** Milliseconds this call may take. */
  timeoutMs?: number;
}

type Settings = Required<Omit<ConnectOptions, "start">> & { start: string | undefined };

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

  /** Connects to the daemon and agrees on a version. Fails at once when nobody is there and none may be started. */
  static async connect(options: ConnectOptions): Promise<Client> {
    const socket = options.socket ?? defaultSocket();
    if (!socket) {
      throw new LonghaulError("no_socket", "no socket was named and there is no home folder to look in");
    }
    const start = typeof options.start === "string" ? options.start : options.start ? "longhaul" : undefined;
    const client = new Client({
      name: options.name,
      version: options.version,
      socket,
      start,
      requestTimeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      connectTimeoutMs: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    });
    await client.#connected({ mayStart: true, giveUpAt: 0 });
    return client;
  }

  /** What the last handshake agreed on. */
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

  /** Calls a method these types do not know, such as one of a newer daemon; see `has`. */
  async request(method: string, params: unknown, options: CallOptions = {}): Promise<unknown> {
    if (this.#calls >= CALLS_MAX) throw new LonghaulError("too_many", `more than ${CALLS_MAX} calls wait for answers`);
    const timeoutMs = options.timeoutMs ?? this.#settings.requestTimeoutMs;
    const patience = { method, timeoutMs, deadline: Date.now() + timeoutMs, signal: options.signal };
    this.#calls += 1;
    try {
      return await this.#attempts(params, patience);
    } finally {
      this.#calls -= 1;
    }
  }

  async #attempts(params: unknown, patience: Patience): Promise<unknown> {
    const giveUpAt = Math.min(patience.deadline, Date.now() + ABSENCE_MS);
    for (let waits = 0; ; ) {
      try {
        const connection = await within(this.#connected({ mayStart: true, giveUpAt }), patience);
        return await this.#ask(connection, params, patience);
      } catch (error) {
        if (!(error instanceof LonghaulError) || !mayAskAgain(error, patience.method)) throw error;
        if (error.retry === "backoff" && waits >= WAITS_MAX) throw error;
        const ms = error.retryAfterMs ?? backoffMs(waits, CALL_BACKOFF_MS);
        if (Date.now() + ms >= patience.deadline) throw error;
        waits += 1;
        await within(pause(ms), patience);
      }
    }
  }

  async #ask(connection: Connection, params: unknown, patience: Patience): Promise<unknown> {
    while (connection.isOpen && connection.inFlight >= LIMITS.inflight_per_connection_max) {
      await within(pause(5), patience);
    }
    const sent = connection.send(patience.method, params);
    try {
      return await within(sent.answer, patience);
    } finally {
      sent.forget();
    }
  }

  /** Subscribes to events; see `Subscription`. It outlives restarts of the daemon. */
  async subscribe(params: EventSubscribeParams = {}): Promise<Subscription> {
    const subscription = new Subscription(params, (ended) => this.#unsubscribe(ended));
    const connection = await this.#connected({ mayStart: true, giveUpAt: Date.now() + ABSENCE_MS });
    await this.#begin(subscription, connection, params);
    this.#subscriptions.add(subscription);
    return subscription;
  }

  /** Ends the connection and all subscriptions. */
  close(): void {
    this.#isClosed = true;
    for (const subscription of [...this.#subscriptions]) subscription.close();
    this.#connection?.end(new LonghaulError("closed", "the client was closed"));
  }

  /** The open connection, or a new one. Looks for an absent daemon until `giveUpAt`. */
  async #connected(wish: { mayStart: boolean; giveUpAt: number }): Promise<Connection> {
    for (;;) {
      if (this.#isClosed) throw new LonghaulError("closed", "the client was closed");
      if (this.#connection?.isOpen) return this.#connection;
      const shared = this.#opening;
      if (!shared) return (this.#opening = this.#open(wish).finally(() => (this.#opening = undefined)));
      try {
        return await shared;
      } catch (error) {
        // Whoever began it had less patience.
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
    this.#connection = connection;
    this.#session = connection.session;
    connection.whenEnded(() => void this.#resume());
    return connection;
  }

  /** Takes the subscriptions up again, however long the daemon stays away. Never starts it. */
  async #resume(): Promise<void> {
    if (this.#isResuming) return;
    this.#isResuming = true;
    for (let attempt = 0; this.#subscriptions.size > 0 && !this.#isClosed; attempt += 1) {
      try {
        const connection = await this.#connected({ mayStart: false, giveUpAt: 0 });
        for (const subscription of this.#subscriptions) await this.#continue(subscription, connection);
        if (connection.isOpen) break;
      } catch {
        await pause(backoffMs(attempt, IDLE_BACKOFF_MS), true);
      }
    }
    this.#isResuming = false;
  }

  async #continue(subscription: Subscription, connection: Connection): Promise<void> {
    const before = subscription.place;
    const isSame = before?.instance === connection.session.server.instance_id;
    const params = isSame ? { ...subscription.params, since_seq: before.seq } : subscription.params;
    await this.#begin(subscription, connection, params);
    if (isSame || !subscription.place) return;
    // Another daemon counts anew: what happened in between is not known.
    subscription.deliver({ seq: subscription.place.seq, at: Date.now(), kind: "gap", data: { next_seq: subscription.place.seq } });
  }

  async #begin(subscription: Subscription, connection: Connection, params: EventSubscribeParams): Promise<void> {
    const begun = (await connection.send("event/subscribe", params).answer) as EventSubscribeResult;
    const instance = connection.session.server.instance_id;
    subscription.place = { id: begun.subscription, seq: begun.seq, instance };
    const early = this.#early.splice(0).filter((event) => event.subscription === begun.subscription);
    for (const event of early) subscription.deliver(event.result);
  }

  #deliver(event: EventNotificationParams): void {
    for (const subscription of this.#subscriptions) {
      if (subscription.place?.id === event.subscription) return subscription.deliver(event.result);
    }
    if (this.#early.length < EARLY_EVENTS_MAX) this.#early.push(event);
  }

  #unsubscribe(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
    if (!this.#connection?.isOpen || !subscription.place) return;
    // The connection may end first; then the subscription has ended too.
    this.#connection.send("event/unsubscribe", { subscription: subscription.place.id }).answer.catch(() => undefined);
  }
}

/** Whether the same request may be sent again. */
function mayAskAgain(error: LonghaulError, method: string): boolean {
  // Refused requests were not carried out, whatever they are.
  if (error.failure === "refused") return error.retry === "backoff" || error.retry === "reconnect";
  return error.failure === "broken" && !NOT_TWICE.has(method);
}

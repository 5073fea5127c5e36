// A conversation with a model that never overflows its window.
//
// Implements the loop of every program with a model. Items are appended to a thread of the daemon. Before each request
// the daemon says whether the window is full; if so, the history is compacted and the compaction installed. `prompt()`
// returns the items to send.
//
// The daemon's thread is the source of truth. This class keeps a copy of its history and the additions that the daemon has
// not acknowledged. Each addition has a unique id, so sending it again is always safe and a killed daemon loses nothing.
// Without a daemon the conversation continues with the local items that fit; `trouble` says why.

import { randomUUID } from "node:crypto";

import { Client } from "./client";
import type { CallOptions, ConnectOptions } from "./client";
import { LonghaulError } from "./errors";
import { fitting, shortened } from "./fitting";
import type { AppendItem, CompactionRunResult, ContextSettings, Methods, OptionalSetting } from "./protocol.generated";
import { limitMs } from "./time-limit";

/** An item of a history, in the form of the Responses API: a message, a call of a tool, its output. */
export type Item = Record<string, unknown>;

export interface ConversationOptions extends ConnectOptions {
  /** Your id of the conversation; the same key finds it again after a restart of your program. */
  key: string;
  /** The folder it works in, an absolute path. */
  cwd: string;
  /** The model that answers, and the tokens of its window. */
  model: { name: string; window: number };
  /** Tokens kept free for instructions, definitions of tools and the answer. Default: a quarter of the window. */
  reserve?: number;
  /** Where and how the model works. Sent when it has changed and after a compaction. */
  settings?: () => ContextSettings;
  /** Also include the project's AGENTS.md and the memory of earlier work. */
  include?: OptionalSetting[];
  /** Milliseconds to wait for the daemon before continuing without it. Default: 3,000. */
  patienceMs?: number;
}

/** What to send next. */
export interface Prompt {
  /** The history: every call with its output, within the window. */
  items: Item[];
  /** The compaction before this request, if there was one. */
  compaction: CompactionRunResult | undefined;
  /** Why the daemon did not answer; `items` are then the newest local items that fit. */
  trouble: LonghaulError | undefined;
}

/** Milliseconds before the next attempt to reach an absent daemon. */
const REST_MS = 2_000;
/** Maximum tokens of a view by default. In a smaller window, a quarter of it bounds the view and the request together. */
const DEFAULT_VIEW_TOKENS = 8_000;
/** Maximum additions of one append, by the protocol, and their bytes: a message carries four times as much. */
const ADDITIONS_MAX = 256;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** Errors of the caller: the same request would be refused again. */
const MISTAKES = new Set(["invalid_params", "limit_exceeded", "too_large"]);
/** Characters of a refused item in the hint of its error. */
const REFUSED_CHARS = 120;

export class Conversation {
  readonly #options: ConversationOptions;
  #client: Client | undefined;
  #thread: string | undefined;
  /** The history as last read, and the items added since. */
  #items: Item[] = [];
  /** Additions that the daemon has not acknowledged. */
  #unsaved: AppendItem[] = [];
  /** The first refusal that no call has thrown yet. */
  #refusal: LonghaulError | undefined;
  #trouble: LonghaulError | undefined;
  #restUntil = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Connects with the first call, not here. */
  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /** The daemon's id of the thread, for `longhaul compact`, `longhaul search` and your own calls. */
  get threadId(): string | undefined {
    return this.#thread;
  }

  /** Why the last call of the daemon failed, if it did. */
  get trouble(): LonghaulError | undefined {
    return this.#trouble;
  }

  /**
   * Adds items: the person's messages, the model's answers, outputs of tools. They are on disk when this resolves, unless
   * `trouble` is set; then they are saved by the next call that reaches the daemon. The middle of a tool's output is cut
   * if it would fill more than a quarter of the window. Fails only if the daemon refuses an item as invalid or too large,
   * maybe one that was added earlier without a daemon: that item is left out of the conversation, the others were added.
   */
  add(...items: Item[]): Promise<void> {
    return this.#inOrder(async () => {
      if (items.some((item) => item["role"] === "user")) await this.#addSettings();
      const added = items.map((item) => shortened(item, this.#room / 4));
      this.#keep(added.map((item) => ({ client_item_id: randomUUID(), item })));
      await this.#attempt((call) => this.#save(call));
    });
  }

  /** Marks the end of the model's turn: its last message counts as its report. */
  endTurn(): Promise<void> {
    return this.#inOrder(async () => {
      this.#keep([{ client_item_id: randomUUID(), marker: { type: "turn_complete" } }]);
      await this.#attempt((call) => this.#save(call));
    });
  }

  /** The items to send to the model next. Compacts the history first if it would not fit. */
  prompt(): Promise<Prompt> {
    return this.#inOrder(async () => {
      let compaction: CompactionRunResult | undefined;
      await this.#attempt(async (call) => {
        await this.#save(call);
        const thread_id = await this.#open(call);
        const window = { model: this.#options.model.name, context_window: this.#room };
        const due = await call("compaction/should", { thread_id, phase: "mid_turn", ...window });
        if (due.compact) compaction = await this.#compact(call, thread_id);
        this.#items = await history(call, thread_id, this.#room);
      });
      const items = this.#trouble ? fitting(this.#items, this.#room) : this.#items;
      return { items, compaction, trouble: this.#trouble };
    });
  }

  /** Undoes a compaction: restores the old history, followed by all items added since. */
  undo(compaction: CompactionRunResult): Promise<void> {
    return this.#inOrder(async () => {
      const call = await this.#connect();
      await call("compaction/undo", { compaction_id: compaction.compaction_id });
    });
  }

  /**
   * Saves unacknowledged additions and closes the connection; the key finds the conversation again. Returns why
   * additions could not be saved, if so: they are lost when your program ends. Fails as `add`.
   */
  close(): Promise<LonghaulError | undefined> {
    return this.#inOrder(async () => {
      this.#restUntil = 0;
      try {
        if (this.#unsaved.length > 0) await this.#attempt((call) => this.#save(call));
      } finally {
        this.#client?.close();
      }
      return this.#unsaved.length > 0 ? this.#trouble : undefined;
    });
  }

  /** Tokens available for the history. */
  get #room(): number {
    const { model, reserve } = this.#options;
    return model.window - (reserve ?? Math.ceil(model.window / 4));
  }

  /** Runs calls one after another, so that concurrent additions keep their order. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => undefined);
    return next;
  }

  /** Runs work that needs the daemon; stores a failure to reach it in `trouble`. */
  async #attempt(work: (call: Call) => Promise<void>): Promise<void> {
    if (Date.now() < this.#restUntil) return;
    try {
      await work(await this.#connect());
      this.#trouble = undefined;
    } catch (error) {
      if (!(error instanceof LonghaulError) || MISTAKES.has(error.kind)) throw error;
      if (error.kind === "thread_not_found") this.#thread = undefined;
      this.#trouble = error;
      this.#restUntil = Date.now() + REST_MS;
    }
  }

  async #connect(): Promise<Call> {
    const client = (this.#client ??= await Client.connect(this.#options));
    const timeoutMs = this.#options.patienceMs ?? 3_000;
    return (method, params, options = {}) => client.call(method, params, { timeoutMs, ...options });
  }

  /** Opens the thread of the key. If the daemon had to create it, all local items are appended. */
  async #open(call: Call): Promise<string> {
    if (this.#thread) return this.#thread;
    const { key, cwd, name, version, model } = this.#options;
    const opened = await call("thread/open", {
      client_thread_id: key,
      cwd,
      originator: name,
      version,
      model: model.name,
      context_window: model.window,
    });
    const unsaved = this.#unsaved.filter(({ item }) => item).length;
    if (opened.created && this.#items.length > unsaved) {
      this.#unsaved = this.#items.map((item) => ({ client_item_id: randomUUID(), item }));
    }
    return (this.#thread = opened.thread_id);
  }

  #keep(additions: AppendItem[]): void {
    this.#unsaved.push(...additions);
    this.#items.push(...additions.flatMap(({ item }) => (item ? [item as Item] : [])));
  }

  /**
   * Appends what is unsaved. A refused addition is dropped, so that it does not block the others; throws the first refusal, in
   * a later call if this one fails otherwise.
   */
  async #save(call: Call): Promise<void> {
    const thread_id = await this.#open(call);
    let itemsMax = ADDITIONS_MAX;
    while (this.#unsaved.length > 0) {
      const items = batch(this.#unsaved, itemsMax);
      try {
        await call("thread/append", { thread_id, items });
        this.#unsaved.splice(0, items.length);
      } catch (error) {
        if (!(error instanceof LonghaulError) || !MISTAKES.has(error.kind)) throw error;
        const named = (error.wire?.data?.detail as { client_item_id?: string } | undefined)?.client_item_id;
        const dropped = items.length === 1 ? items[0] : items.find(({ client_item_id }) => client_item_id === named);
        if (!dropped) {
          itemsMax = 1;
          continue;
        }
        this.#unsaved = this.#unsaved.filter((addition) => addition !== dropped);
        this.#items = this.#items.filter((item) => item !== dropped.item);
        this.#refusal ??= about(error, dropped);
      }
    }
    const refusal = this.#refusal;
    this.#refusal = undefined;
    if (refusal) throw refusal;
  }

  /** Compacts and installs the result; `undefined` if that is not worthwhile. */
  async #compact(call: Call, thread_id: string): Promise<CompactionRunResult | undefined> {
    const settings = this.#options.settings;
    const initial = settings ? await call("context/diff", { current: settings() }) : undefined;
    const quarter = Math.floor(this.#room / 4);
    try {
      const compaction = await call(
        "compaction/run",
        {
          thread_id,
          install: true,
          trigger: "auto",
          reason: "context_limit",
          phase: "mid_turn",
          model: { name: this.#options.model.name, context_window: this.#room },
          ...(quarter < DEFAULT_VIEW_TOKENS ? { max_tokens: quarter } : {}),
          ...(initial ? { initial_context: initial.items } : {}),
        },
        { timeoutMs: this.#options.requestTimeoutMs ?? limitMs("compaction/run", {}) },
      );
      if (initial) await call("thread/append", { thread_id, items: [this.#settingsMarker()] });
      return compaction;
    } catch (error) {
      if (error instanceof LonghaulError && error.kind === "not_worthwhile") return undefined;
      throw error;
    }
  }

  /** Adds changed settings before the person's next message. */
  async #addSettings(): Promise<void> {
    const { settings, include } = this.#options;
    if (!settings) return;
    await this.#attempt(async (call) => {
      const thread_id = await this.#open(call);
      const diff = await call("context/diff", { thread_id, current: settings(), ...(include ? { include } : {}) });
      if (diff.items.length === 0) return;
      const items = (diff.items as Item[]).map((item) => ({ client_item_id: randomUUID(), item }));
      this.#keep([this.#settingsMarker(), ...items]);
    });
  }

  /** Marks that the model knows the settings from here on. */
  #settingsMarker(): AppendItem {
    const { cwd, model } = this.#options;
    return { client_item_id: randomUUID(), marker: { type: "settings", cwd, model: model.name } };
  }
}

type Call = <M extends keyof Methods>(
  method: M,
  params: Methods[M]["params"],
  options?: CallOptions,
) => Promise<Methods[M]["result"]>;

/** The first of the additions, at most `itemsMax` and at least one, in a message with room to spare. */
function batch(unsaved: AppendItem[], itemsMax: number): AppendItem[] {
  let bytes = 0;
  const end = unsaved.findIndex((addition, at) => {
    bytes += Buffer.byteLength(JSON.stringify(addition));
    return at > 0 && (at === itemsMax || bytes > BATCH_BYTES_MAX);
  });
  return unsaved.slice(0, end < 0 ? unsaved.length : end);
}

/** The refusal, with the beginning of the item or what kind it is: the caller may have added it long before. */
function about(error: LonghaulError, { item }: AppendItem): LonghaulError {
  if (!item) return error;
  const left = "it was left out of the conversation: ";
  // Its beginning says little of so large an item.
  if (error.failure === "too_large") return new LonghaulError(error.failure, error.message, { hint: left + kindOf(item) });
  if (!error.wire?.data) return error;
  const hint = left + JSON.stringify(item).slice(0, REFUSED_CHARS);
  return new LonghaulError(error.failure, error.message, { wire: { ...error.wire, data: { ...error.wire.data, hint } } });
}

/** What kind of item it is, by the fields that name it, as in `message user` and `function_call_output call_7`. */
function kindOf(item: unknown): string {
  const fields = item as Record<string, unknown>;
  return ["type", "role", "name", "call_id"].flatMap((field) => fields[field] ?? []).join(" ");
}

/** The whole history in a form that providers accept: a call without an output gets one that says so. */
async function history(call: Call, thread_id: string, room: number): Promise<Item[]> {
  const items: unknown[] = [];
  let cursor: string | null | undefined;
  do {
    const page: Methods["history/get"]["result"] = await call("history/get", { thread_id, ...(cursor ? { cursor } : {}) });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  try {
    return (await call("context/normalize", { items })).items as Item[];
  } catch (error) {
    // More than a message can carry, such as many images.
    if (error instanceof LonghaulError && error.failure === "too_large") return fitting(items as Item[], room);
    throw error;
  }
}

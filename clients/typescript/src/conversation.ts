// A conversation with a model that never overflows its window.
//
// The loop that every program with a model needs, in one class: what is said is appended to a thread of the daemon,
// before each request the daemon is asked whether the window is full, and if it is, the history is compacted and the
// compaction put in force. `prompt()` answers what to send.
//
// The daemon's thread is the truth. What is held here is a copy of its history and what the daemon has not
// acknowledged yet, each addition under an id of its own: sending it again is right whatever happened. So a daemon
// that is killed loses nothing, and without one the conversation goes on with what is here, as much as fits: `trouble`
// says why.

import { randomUUID } from "node:crypto";

import { Client } from "./client";
import type { CallOptions, ConnectOptions } from "./client";
import { LonghaulError } from "./errors";
import { fitting, shortened } from "./fitting";
import type { AppendItem, CompactionRunResult, ContextSettings, Methods, OptionalSetting } from "./protocol.generated";

/** An item of a history, in the form of the Responses API: a message, a call of a tool, its output. */
export type Item = Record<string, unknown>;

export interface ConversationOptions extends ConnectOptions {
  /** Your id of the conversation: under the same one it is found again, also after a restart of your program. */
  key: string;
  /** The folder it works in, an absolute path. */
  cwd: string;
  /** The model that answers, and the tokens of its window. */
  model: { name: string; window: number };
  /** Tokens kept free for instructions, definitions of tools and the answer. Default: a quarter of the window. */
  reserve?: number;
  /** What to tell the model of where and how it works: told again when it changes and after a compaction. */
  settings?: () => ContextSettings;
  /** Whether that includes the project's AGENTS.md and what is remembered of earlier work. */
  include?: OptionalSetting[];
  /** Milliseconds to wait for a daemon that does not answer, before going on without it. Default: 3,000. */
  patienceMs?: number;
}

/** What to send next. */
export interface Prompt {
  /** The history: every call with its output, within the window. */
  items: Item[];
  /** The compaction that was made for it, if one was. */
  compaction: CompactionRunResult | undefined;
  /** Why the daemon could not be asked; `items` is then what is known here, the newest of it that fits. */
  trouble: LonghaulError | undefined;
}

/** Milliseconds a compaction may take, a model's summary included. */
const COMPACTION_MS = 120_000;
/** Milliseconds until an absent daemon is looked for again. */
const REST_MS = 2_000;
/** Tokens of the text that stands for what was compacted, at most. */
const VIEW_TOKENS_MAX = 8_000;
/** Additions of one append, by the protocol. */
const ADDITIONS_MAX = 256;
/** Errors that are a mistake of the program: sending the same again would be refused again. */
const MISTAKES = new Set(["invalid_params", "limit_exceeded"]);

export class Conversation {
  readonly #options: ConversationOptions;
  #client: Client | undefined;
  #thread: string | undefined;
  /** The history as last read, and what was added since. */
  #items: Item[] = [];
  /** Additions that the daemon has not acknowledged. */
  #unsaved: AppendItem[] = [];
  #trouble: LonghaulError | undefined;
  #restUntil = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** Touches nothing yet: the daemon is looked for with the first call. */
  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  /** The daemon's id of the thread, for `longhaul compact`, `longhaul search` and your own calls. */
  get threadId(): string | undefined {
    return this.#thread;
  }

  /** Why the daemon could not be asked last, if it could not. */
  get trouble(): LonghaulError | undefined {
    return this.#trouble;
  }

  /**
   * Adds what was said or done: the person's words, the model's answers, outputs of tools. On the disk when this
   * resolves, unless `trouble` says otherwise; then it is added with the next call that finds the daemon.
   * An output of a tool that would take more than a quarter of the window loses its middle. Fails only for an item that is none.
   */
  add(...items: Item[]): Promise<void> {
    return this.#inTurn(async () => {
      if (items.some((item) => item["role"] === "user")) await this.#tell();
      const added = items.map((item) => shortened(item, this.#room / 4));
      this.#keep(added.map((item) => ({ client_item_id: randomUUID(), item })));
      await this.#attempt((ask) => this.#save(ask));
    });
  }

  /** Says that the model's turn is over: what it said last counts as its report. */
  endTurn(): Promise<void> {
    return this.#inTurn(async () => {
      this.#keep([{ client_item_id: randomUUID(), marker: { type: "turn_complete" } }]);
      await this.#attempt((ask) => this.#save(ask));
    });
  }

  /** What to send to the model next. Compacts the history first where it would not fit. */
  prompt(): Promise<Prompt> {
    return this.#inTurn(async () => {
      let compaction: CompactionRunResult | undefined;
      await this.#attempt(async (ask) => {
        await this.#save(ask);
        const thread_id = await this.#open(ask);
        const window = { model: this.#options.model.name, context_window: this.#room };
        const due = await ask("compaction/should", { thread_id, phase: "mid_turn", ...window });
        if (due.compact) compaction = await this.#compact(ask, thread_id);
        this.#items = await history(ask, thread_id);
      });
      const items = this.#trouble ? fitting(this.#items, this.#room) : this.#items;
      return { items, compaction, trouble: this.#trouble };
    });
  }

  /** Takes a compaction back: the history is what it was, with all that was added since behind it. */
  undo(compaction: CompactionRunResult): Promise<void> {
    return this.#inTurn(async () => {
      const ask = await this.#ask();
      await ask("compaction/undo", { compaction_id: compaction.compaction_id });
    });
  }

  /**
   * Saves what the daemon has not acknowledged, and ends the connection; the conversation is there again under its key.
   * What could not be saved is lost with your program: the result says why.
   */
  close(): Promise<LonghaulError | undefined> {
    return this.#inTurn(async () => {
      this.#restUntil = 0;
      if (this.#unsaved.length > 0) await this.#attempt((ask) => this.#save(ask));
      this.#client?.close();
      return this.#unsaved.length > 0 ? this.#trouble : undefined;
    });
  }

  /** Tokens that the history may fill. */
  get #room(): number {
    const { model, reserve } = this.#options;
    return model.window - (reserve ?? Math.ceil(model.window / 4));
  }

  /** One call after the other: what is added twice at once stands in the order of the calls. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work);
    this.#last = next.catch(() => undefined);
    return next;
  }

  /** Does what needs the daemon; notes in `trouble` that it could not be asked. */
  async #attempt(work: (ask: Ask) => Promise<void>): Promise<void> {
    if (Date.now() < this.#restUntil) return;
    try {
      await work(await this.#ask());
      this.#trouble = undefined;
    } catch (error) {
      if (!(error instanceof LonghaulError) || MISTAKES.has(error.kind)) throw error;
      if (error.kind === "thread_not_found") this.#thread = undefined;
      this.#trouble = error;
      this.#restUntil = Date.now() + REST_MS;
    }
  }

  async #ask(): Promise<Ask> {
    const client = (this.#client ??= await Client.connect(this.#options));
    const timeoutMs = this.#options.patienceMs ?? 3_000;
    return (method, params, options = {}) => client.call(method, params, { timeoutMs, ...options });
  }

  /** The thread of the key; all that is known here is put into one that has to begin anew. */
  async #open(ask: Ask): Promise<string> {
    if (this.#thread) return this.#thread;
    const { key, cwd, name, version, model } = this.#options;
    const opened = await ask("thread/open", {
      client_thread_id: key,
      cwd,
      originator: name,
      version,
      model: model.name,
      context_window: model.window,
    });
    if (opened.created && this.#items.length > this.#unsaved.length) {
      this.#unsaved = this.#items.map((item) => ({ client_item_id: randomUUID(), item }));
    }
    return (this.#thread = opened.thread_id);
  }

  #keep(additions: AppendItem[]): void {
    this.#unsaved.push(...additions);
    this.#items.push(...additions.flatMap(({ item }) => (item ? [item as Item] : [])));
  }

  async #save(ask: Ask): Promise<void> {
    const thread_id = await this.#open(ask);
    while (this.#unsaved.length > 0) {
      const items = this.#unsaved.slice(0, ADDITIONS_MAX);
      try {
        await ask("thread/append", { thread_id, items });
      } catch (error) {
        if (error instanceof LonghaulError && MISTAKES.has(error.kind)) this.#forget(items);
        throw error;
      }
      this.#unsaved.splice(0, items.length);
    }
  }

  /** A refused addition must not hold up what comes after it. */
  #forget(additions: AppendItem[]): void {
    const refused = new Set(additions.map(({ item }) => item));
    this.#unsaved = this.#unsaved.filter((addition) => !additions.includes(addition));
    this.#items = this.#items.filter((item) => !refused.has(item));
  }

  /** Compacts and puts it in force; `undefined` where nothing would be gained. */
  async #compact(ask: Ask, thread_id: string): Promise<CompactionRunResult | undefined> {
    const settings = this.#options.settings;
    const told = settings ? await ask("context/diff", { current: settings() }) : undefined;
    try {
      const compaction = await ask(
        "compaction/run",
        {
          thread_id,
          install: true,
          trigger: "auto",
          reason: "context_limit",
          phase: "mid_turn",
          model: { name: this.#options.model.name, context_window: this.#room },
          max_tokens: Math.min(VIEW_TOKENS_MAX, Math.floor(this.#room / 4)),
          ...(told ? { initial_context: told.items } : {}),
        },
        { timeoutMs: COMPACTION_MS },
      );
      if (told) await ask("thread/append", { thread_id, items: [this.#inForce()] });
      return compaction;
    } catch (error) {
      if (error instanceof LonghaulError && error.kind === "not_worthwhile") return undefined;
      throw error;
    }
  }

  /** Adds what the model has to be told of changed settings, before the person's next words. */
  async #tell(): Promise<void> {
    const { settings, include } = this.#options;
    if (!settings) return;
    await this.#attempt(async (ask) => {
      const thread_id = await this.#open(ask);
      const told = await ask("context/diff", { thread_id, current: settings(), ...(include ? { include } : {}) });
      if (told.items.length === 0) return;
      const items = (told.items as Item[]).map((item) => ({ client_item_id: randomUUID(), item }));
      this.#keep([this.#inForce(), ...items]);
    });
  }

  /** That the model knows the settings from here on. */
  #inForce(): AppendItem {
    const { cwd, model } = this.#options;
    return { client_item_id: randomUUID(), marker: { type: "settings", cwd, model: model.name } };
  }
}

type Ask = <M extends keyof Methods>(
  method: M,
  params: Methods[M]["params"],
  options?: CallOptions,
) => Promise<Methods[M]["result"]>;

/** The whole history as a provider takes it: a call that was never answered gets an output that says so. */
async function history(ask: Ask, thread_id: string): Promise<Item[]> {
  const items: unknown[] = [];
  let cursor: string | null | undefined;
  do {
    const page: Methods["history/get"]["result"] = await ask("history/get", { thread_id, ...(cursor ? { cursor } : {}) });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return (await ask("context/normalize", { items })).items as Item[];
}

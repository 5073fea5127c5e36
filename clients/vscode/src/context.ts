// The shown context: of the followed thread, else the newest of the open folders' projects, else the newest of all.
//
// Holds only the daemon's last answer; refreshes when an event reports a change, at most once a second.

import * as vscode from "vscode";

import { LonghaulError } from "@longhaul/client";
import type { Client, ContextUsageResult, ThreadBillResult } from "@longhaul/client";
import type { Daemon } from "./daemon";
import { selected } from "./thread";
import type { Selected } from "./thread";
import { eventWords } from "./words";

const PAUSE_MS = 1_000;
/** Interval of attempts to reach an absent daemon. */
const ABSENT_MS = 15_000;
const CHANGES = new Set(["thread_updated", "compaction_completed", "policy_decided", "limit_crossed", "gap"]);

export interface Policy {
  decision?: { action: string };
  forecast?: { tokens_per_turn: number; turns_left?: number; next_tier?: string; turns_to_next_tier?: number };
}

export interface Context extends Selected {
  usage: ContextUsageResult;
  policy: Policy | undefined;
  bill: ThreadBillResult | undefined;
}

export class ContextWatch implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<Context | undefined>();
  readonly onChange = this.#changed.event;
  current: Context | undefined;
  /** Why there is none, if the daemon could not be reached. */
  problem: LonghaulError | undefined;
  /** The last policy decision or crossed limit. */
  #news: { thread_id: unknown; words: string } | undefined;
  readonly #crossed = new vscode.EventEmitter<string>();
  /** Fires with a text when the shown thread crosses its limit. */
  readonly onCrossed = this.#crossed.event;
  #followed: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #due = Infinity;
  #isRefreshing = false;
  readonly #events: vscode.Disposable;

  constructor(private readonly daemon: Daemon) {
    this.#events = daemon.onEvent((event) => {
      if (CHANGES.has(event.kind)) this.#later(PAUSE_MS);
      const words = eventWords(event);
      if (words === undefined) return;
      const { thread_id } = event.data as { thread_id?: unknown };
      this.#news = { thread_id, words };
      if (event.kind === "limit_crossed" && thread_id === this.current?.thread.thread_id) this.#crossed.fire(words);
    });
  }

  /** The last message about the shown thread. */
  get news(): string | undefined {
    return this.#news && this.#news.thread_id === this.current?.thread.thread_id ? this.#news.words : undefined;
  }

  /** Shows this thread from now on; undefined: the newest. */
  follow(thread_id: string | undefined): void {
    this.#followed = thread_id;
    void this.refresh();
  }

  /** Refreshes. Never starts the daemon. */
  async refresh(): Promise<void> {
    if (this.#isRefreshing) return this.#later(PAUSE_MS);
    this.#isRefreshing = true;
    try {
      const client = await this.daemon.client({ mayStart: false });
      this.current = await this.#load(client);
      this.problem = undefined;
      if (!this.current) this.#later(ABSENT_MS);
    } catch (error) {
      this.current = undefined;
      this.problem = error instanceof LonghaulError ? error : undefined;
      this.#later(ABSENT_MS);
    } finally {
      this.#isRefreshing = false;
    }
    this.#changed.fire(this.current);
  }

  async #load(client: Client): Promise<Context | undefined> {
    const active = await activeThread(client, this.#followed);
    if (!active) return undefined;
    const { thread_id } = active.thread;
    const usage = await client.call("context/usage", { thread_id });
    const evaluated = client.has("policy/evaluate") ? client.request("policy/evaluate", { thread_id }) : undefined;
    const policy = (await evaluated?.catch(() => undefined)) as Policy | undefined;
    const billed = client.has("thread/bill") ? client.call("thread/bill", { thread_id }) : undefined;
    const bill = await billed?.catch(() => undefined);
    return { ...active, usage, policy, bill };
  }

  /** Schedules a refresh after a delay, or keeps an earlier one. */
  #later(ms: number): void {
    const due = Date.now() + ms;
    if (due >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#due = Infinity;
      void this.refresh();
    }, ms);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#events.dispose();
  }
}

/** The selected thread. */
export function activeThread(client: Client, followed?: string): Promise<Selected | undefined> {
  const open = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  return selected(client, open, followed);
}

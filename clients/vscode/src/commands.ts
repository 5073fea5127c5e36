// The commands. Each calls the daemon and shows the answer.

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

import type { Client, CompactionSummary, Receipt, ThreadSummary } from "@longhaul/client";
import { changes, choiceRows } from "./choice";
import type { Change } from "./choice";
import { activeThread } from "./context";
import type { ContextWatch } from "./context";
import type { Daemon } from "./daemon";
import { showErrors } from "./daemon";
import { itemsAsText } from "./item";
import type { Selected } from "./thread";
import { compactionToUndo } from "./undo";
import type { Texts } from "./views";
import { ago, blockedWords, checkedWords, coldCache, nameOf, tokens, undoneWords } from "./words";

/** Maximum hits of a search. */
const HITS = 40;

const NO_COMPACTION = "this thread has no compaction of ours yet: run Longhaul: Compact the Thread";

interface Row extends vscode.QuickPickItem {
  open: () => Promise<void>;
}

export class Commands {
  constructor(
    private readonly daemon: Daemon,
    private readonly watch: ContextWatch,
    private readonly texts: Texts,
  ) {}

  /** Registers all of them. */
  register(): vscode.Disposable {
    const all: Record<string, (thread?: ThreadSummary) => Promise<unknown>> = {
      compact: (thread) => this.#withThreadToChange(thread, (client, chosen) => this.#compact(client, chosen)),
      preview: (thread) => this.#withThread(thread, (client, chosen) => this.#preview(client, chosen)),
      pick: (thread) => this.#withThreadToChange(thread, (client, chosen) => this.#pick(client, chosen)),
      checkpoint: (thread) => this.#withThread(thread, (client, chosen) => this.#checkpoint(client, chosen)),
      dropped: (thread) => this.#withThread(thread, (client, chosen) => this.#dropped(client, chosen)),
      undo: (thread) => this.#withThreadToChange(thread, (client, chosen) => this.#undo(client, chosen)),
      continueClaude: (thread) => this.#withThreadToChange(thread, (client, chosen) => this.#continue(client, chosen, "claude")),
      continueCodex: (thread) => this.#withThreadToChange(thread, (client, chosen) => this.#continue(client, chosen, "codex")),
      rescue: () => this.#withClient((client) => this.#rescue(client)),
      expand: (thread) => this.#withThread(thread, (client, chosen) => this.#askHandle(client, chosen)),
      searchThreads: () => this.#withClient((client) => this.#searchThreads(client)),
      searchMemory: () => this.#withClient((client) => this.#searchMemory(client)),
      openMemory: () => this.#withClient((client) => this.#openMemory(client)),
      start: () => this.#withClient(() => this.watch.refresh()),
      refresh: () => this.watch.refresh(),
      usage: async () => vscode.commands.executeCommand("longhaul.context.focus"),
      follow: async (thread) => this.watch.follow(thread?.thread_id),
    };
    const registered = Object.entries(all).map(([name, run]) =>
      vscode.commands.registerCommand(`longhaul.${name}`, (thread?: ThreadSummary) => showErrors(() => run(thread))),
    );
    return vscode.Disposable.from(...registered);
  }

  async #withClient(work: (client: Client) => Promise<unknown>): Promise<void> {
    await work(await this.daemon.client({ mayStart: true }));
  }

  async #withThread(thread: ThreadSummary | undefined, work: (client: Client, thread: ThreadSummary) => Promise<void>) {
    const client = await this.daemon.client({ mayStart: true });
    await work(client, (await this.#select(client, thread)).thread);
  }

  /** As `#withThread`, for what changes the thread: not one that the person did not choose, of another project. */
  async #withThreadToChange(thread: ThreadSummary | undefined, work: (client: Client, thread: ThreadSummary) => Promise<void>) {
    const client = await this.daemon.client({ mayStart: true });
    const chosen = await this.#select(client, thread);
    if (chosen.isElsewhere) throw new Error("the open folders have no thread (choose one in the list of threads)");
    await work(client, chosen.thread);
  }

  /** The thread that a menu names, else the shown one. */
  async #select(client: Client, thread: ThreadSummary | undefined): Promise<Selected> {
    if (thread?.thread_id) return { thread, isElsewhere: false };
    const chosen = this.watch.current ?? (await activeThread(client));
    if (!chosen) throw new Error("no thread is known yet: start Codex or Claude Code once");
    return chosen;
  }

  async #compact(client: Client, thread: ThreadSummary): Promise<void> {
    const title = `Compacting ${nameOf(thread)}`;
    const progress = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    const result = await vscode.window.withProgress(progress, (_report, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => abort.abort());
      return client.call("compaction/run", { thread_id: thread.thread_id }, { signal: abort.signal });
    });
    await this.texts.show(`Compacted ${nameOf(thread)}`, result.view);
    const { totals } = result.receipt;
    const size = `${tokens(result.tokens.before)} → ${tokens(result.tokens.after)} tokens`;
    const choice = await vscode.window.showInformationMessage(
      `${size}. Items kept: ${totals.kept.items}, shortened: ${totals.shortened.items}, dropped: ${totals.dropped.items}.`,
      "Show What Was Dropped",
      "Undo",
    );
    if (choice === "Undo") await this.#undo(client, thread, result.compaction_id);
    else if (choice) await this.#dropped(client, thread);
  }

  /** Shows the result of a compaction without recording it. */
  async #preview(client: Client, thread: ThreadSummary): Promise<void> {
    needs(client, "compaction/preview");
    const preview = await client.call("compaction/preview", { thread_id: thread.thread_id });
    await this.texts.show(`Preview ${nameOf(thread)}`, preview.view);
    const { dropped } = preview.totals;
    const size = `${tokens(preview.tokens.before)} → ${tokens(preview.tokens.after)} tokens`;
    const words = `A compaction would make ${size} and leave out ${dropped.items} items.`;
    const choice = await vscode.window.showInformationMessage(words, "Choose What Stays");
    if (choice) await this.#pick(client, thread);
  }

  /** Offers the lines of the next view and the items it leaves out: a changed check pins or drops. */
  async #pick(client: Client, thread: ThreadSummary): Promise<void> {
    needs(client, "compaction/preview");
    const { thread_id } = thread;
    const [preview, { choices }] = await Promise.all([
      client.call("compaction/preview", { thread_id }),
      client.call("checkpoint/choices", { thread_id }),
    ]);
    const rows = choiceRows(choices, preview);
    const placeHolder = "Checked: in every later view. Uncheck to drop, check to pin";
    const picked = await vscode.window.showQuickPick(rows, { canPickMany: true, placeHolder, matchOnDescription: true });
    if (!picked) return;
    const changed = changes(rows, picked);
    for (const change of changed) await write(client, thread_id, change);
    const count = changed.length === 1 ? "1 change is" : `${changed.length} changes are`;
    const words = changed.length === 0 ? "Nothing has changed." : `${count} in force from the next view on.`;
    void vscode.window.showInformationMessage(`Longhaul: ${words}`);
  }

  /** Continues the only blocked thread, or the one that the person picks. */
  async #rescue(client: Client): Promise<void> {
    const { threads } = await client.call("thread/list", { blocked: true, limit: HITS });
    const [only, ...others] = threads;
    if (!only) return void vscode.window.showInformationMessage("Longhaul: no thread is blocked.");
    if (others.length === 0) return this.#continue(client, only);
    const rows = threads.map((thread) => ({
      label: oneLine(nameOf(thread)),
      description: `${blockedWords(thread.blocked)}, ${ago(thread.updated_at, Date.now())}`,
      open: () => this.#continue(client, thread),
    }));
    await pick(rows, "Blocked threads: choose one to continue");
  }

  /** Starts a new thread of an agent, by default the thread's own; types its command in a terminal for the person to run. */
  async #continue(client: Client, thread: ThreadSummary, to?: "claude" | "codex"): Promise<void> {
    needs(client, "thread/continue");
    const title = `Continuing ${nameOf(thread)}`;
    const continued = await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () =>
      client.call("thread/continue", { thread_id: thread.thread_id, to }),
    );
    const terminal = vscode.window.createTerminal({ name: `Longhaul: ${continued.command[0]}`, cwd: here(thread) });
    terminal.show();
    terminal.sendText(continued.command.join(" "), false);
    const { before, after } = continued.compaction.tokens;
    const cold = coldCache(continued.resume);
    const words = [
      `${tokens(before)} → ${tokens(after)} tokens. Press Enter in the terminal to go on.`,
      checkedWords(continued.checked),
      cold && `${cold}.`,
    ];
    void vscode.window.showInformationMessage(`Longhaul: ${words.filter(Boolean).join(" ")}`);
  }

  async #checkpoint(client: Client, thread: ThreadSummary): Promise<void> {
    const { text } = await client.call("checkpoint/view", { thread_id: thread.thread_id });
    await this.texts.show(`Checkpoint ${nameOf(thread)}`, text);
  }

  /** Our newest compaction that is not undone. */
  async #lastCompaction(client: Client, thread: ThreadSummary): Promise<CompactionSummary> {
    const { compactions } = await client.call("compaction/list", { thread_id: thread.thread_id, limit: 20 });
    const last = compactions.find((row) => !row.undone_at);
    if (!last) throw new Error(NO_COMPACTION);
    return last;
  }

  async #dropped(client: Client, thread: ThreadSummary): Promise<void> {
    const { compaction_id } = await this.#lastCompaction(client, thread);
    const { receipt } = await client.call("compaction/get", { compaction_id });
    const excerpts = await this.#excerpts(client, thread);
    const rows = (["dropped", "shortened"] as const).flatMap((what) =>
      receipt[what].map((entry) => ({
        label: `$(${what === "dropped" ? "trash" : "fold"}) ${excerpts.get(entry.seq_first) || entry.kind.replaceAll("_", " ")}`,
        detail: about(entry, what),
        open: () => this.#expand(client, entry.handle),
      })),
    );
    await pick(rows, "What the last compaction left out: choose an item to read it");
  }

  /** Excerpts of a thread's items, by line: one page, so only part of a long list. */
  async #excerpts(client: Client, thread: ThreadSummary): Promise<Map<number, string>> {
    const page = { thread_id: thread.thread_id, from_seq: 0, limit: client.session.limits.page_rows_max };
    const { items } = await client.call("thread/items", page);
    return new Map(items.map((item) => [item.seq, oneLine(item.excerpt)]));
  }

  /** Asks for a handle; offers the word at the cursor if it may be one. */
  async #askHandle(client: Client, thread: ThreadSummary): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const range = editor?.document.getWordRangeAtPosition(editor.selection.active, /[\w-]*#\d+[-.\w]*/);
    const value = range ? editor?.document.getText(range) : undefined;
    const prompt = `A handle, or the number of an item of ${nameOf(thread)}`;
    const handle = await vscode.window.showInputBox({ prompt, placeHolder: "#747", value });
    if (handle) await this.#expand(client, handle, thread.thread_id);
  }

  /** Shows the items behind a handle; a handle without a thread belongs to `thread_id`. */
  async #expand(client: Client, handle: string, thread_id?: string): Promise<void> {
    const { items, next_cursor } = await client.call("history/expand", { handle, thread_id });
    const more = next_cursor ? `\n\n──── more: longhaul expand ${handle}${thread_id ? ` --thread ${thread_id}` : ""}` : "";
    await this.texts.show(handle, itemsAsText(items) + more, "plaintext");
  }

  /** Undoes the compaction that was just `made`, else the one that the daemon names. */
  async #undo(client: Client, thread: ThreadSummary, made?: string): Promise<void> {
    needs(client, "thread/bill");
    const bill = await client.call("thread/bill", { thread_id: thread.thread_id });
    const last = compactionToUndo(bill, made);
    if (!last) throw new Error(NO_COMPACTION);
    const question = `Undo the compaction of ${ago(last.created_at, Date.now())} (${tokens(last.tokens.before)} tokens)?`;
    const choice = await vscode.window.showWarningMessage(question, { modal: true }, "Undo");
    if (choice !== "Undo") return;
    const undone = await client.call("compaction/undo", { compaction_id: last.compaction_id });
    const { words, command } = undoneWords(undone);
    if (!command) return void vscode.window.showInformationMessage(words);
    const copy = "Copy the Command";
    if ((await vscode.window.showInformationMessage(words, copy)) === copy) await vscode.env.clipboard.writeText(command);
  }

  async #searchThreads(client: Client): Promise<void> {
    const query = await vscode.window.showInputBox({ prompt: "Search all transcripts", placeHolder: 'words, "a phrase", word*' });
    if (!query) return;
    const { hits } = await client.call("thread/search", { query, limit: HITS });
    const rows = hits.map((hit) => ({
      label: oneLine(hit.text),
      description: `${hit.kind}, ${ago(hit.at, Date.now())}`,
      detail: hit.title ?? hit.cwd ?? hit.thread_id,
      open: () => this.#expand(client, hit.handle),
    }));
    await pick(rows, `${hits.length} hits for ${query}`);
  }

  async #searchMemory(client: Client): Promise<void> {
    needs(client, "memory/search");
    const query = await vscode.window.showInputBox({ prompt: "Search the memory of earlier work" });
    if (!query) return;
    const { hits } = await client.call("memory/search", { query, limit: HITS });
    const rows = hits.map((hit) => ({
      label: oneLine(hit.text),
      description: `${hit.path}:${hit.line_start}`,
      open: () => this.#openFile(client, hit.path, hit.line_start),
    }));
    await pick(rows, `${hits.length} hits for ${query}`);
  }

  async #openMemory(client: Client): Promise<void> {
    needs(client, "memory/list");
    const { files } = await client.call("memory/list", {});
    const rows = files.map((file) => ({
      label: file.path,
      description: `${file.lines} lines${file.edited ? ", edited" : ""}`,
      open: () => this.#openFile(client, file.path, 1),
    }));
    await pick(rows, "Memory files");
  }

  async #openFile(client: Client, file: string, line: number): Promise<void> {
    const { root } = await client.call("memory/list", {});
    const document = await vscode.workspace.openTextDocument(path.join(root, file));
    const at = new vscode.Position(Math.max(0, line - 1), 0);
    await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
  }
}

async function write(client: Client, thread_id: string, change: Change): Promise<unknown> {
  switch (change.change) {
    case "pin":
      return client.call("checkpoint/choose", { thread_id, action: "pin", handle: change.handle });
    case "drop":
      return client.call("checkpoint/choose", { thread_id, action: "drop", text: change.text });
    case "remove":
      return client.call("checkpoint/unchoose", { thread_id, choice_id: change.choice_id });
  }
}

/** Describes an entry of a receipt. */
function about(entry: Receipt["dropped"][number], what: string): string {
  const size = `${tokens(entry.tokens)} tokens${entry.items > 1 ? ` in ${entry.items} items` : ""}`;
  const lines = `line ${entry.seq_first}${entry.seq_last > entry.seq_first ? `–${entry.seq_last}` : ""}`;
  return [entry.kind.replaceAll("_", " "), size, what, lines].join(" · ");
}

/** The folder of a thread, if it exists here: agents look for threads in the folder they start in. */
function here(thread: ThreadSummary): string | undefined {
  return thread.cwd && fs.existsSync(thread.cwd) ? thread.cwd : undefined;
}

function needs(client: Client, method: string): void {
  if (!client.has(method)) throw new Error(`the running daemon has no ${method}: update it`);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim().slice(0, 140);
}

async function pick(rows: Row[], placeHolder: string): Promise<void> {
  if (rows.length === 0) return void vscode.window.showInformationMessage("Longhaul: nothing found.");
  const chosen = await vscode.window.showQuickPick(rows, { placeHolder, matchOnDescription: true, matchOnDetail: true });
  await chosen?.open();
}

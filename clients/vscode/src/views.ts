// The permanent views: status bar, tree of threads, context panel, read-only documents.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import type { LonghaulError, ThreadSummary } from "@longhaul/client";
import { note, page } from "./chart";
import type { Context, ContextWatch } from "./context";
import type { Daemon } from "./daemon";
import { absence, ago, fill, forecast, level, nameOf, tokens } from "./words";

/** Maximum threads in the tree. */
const THREADS_MAX = 100;

/** The status bar: how full, and what comes next. */
export function statusBar(watch: ContextWatch): vscode.Disposable {
  const bar = vscode.window.createStatusBarItem("longhaul.status", vscode.StatusBarAlignment.Right, 90);
  bar.name = "Longhaul";
  bar.command = "longhaul.usage";
  // A missing daemon is normal; one that cannot be reached is a problem and must look different.
  const showProblem = (problem: LonghaulError) => {
    if (problem.retry !== "never") return bar.hide();
    bar.text = "$(warning) longhaul";
    bar.backgroundColor = undefined;
    bar.tooltip = absence(problem);
    bar.show();
  };
  const show = (context: Context | undefined) => {
    if (!context) return watch.problem ? showProblem(watch.problem) : bar.hide();
    const { usage, thread, policy } = context;
    const next = forecast(usage, policy);
    const { percent, words } = fill(usage);
    bar.text = `$(graph) ${percent === undefined ? words : `${percent}%`} · ${next}`;
    const color = { calm: undefined, near: "statusBarItem.warningBackground", due: "statusBarItem.errorBackground" }[level(usage)];
    bar.backgroundColor = color ? new vscode.ThemeColor(color) : undefined;
    bar.tooltip = [nameOf(thread), `${words} tokens`, next, ...(watch.news ? [watch.news] : [])].join("\n");
    bar.show();
  };
  return vscode.Disposable.from(bar, watch.onChange(show), watch.onCrossed(warn));
}

/** The daemon reports a crossed limit once, until the thread is smaller again. */
async function warn(words: string): Promise<void> {
  const choice = await vscode.window.showWarningMessage(`Longhaul: ${words}.`, "Preview a Compaction", "Compact");
  if (choice) await vscode.commands.executeCommand(choice === "Compact" ? "longhaul.compact" : "longhaul.preview");
}

/** The chart of the context, in the side bar. It has no script. */
export class ContextPanel implements vscode.WebviewViewProvider {
  #view: vscode.WebviewView | undefined;

  constructor(private readonly watch: ContextWatch) {
    watch.onChange(() => this.#draw());
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    view.webview.options = { enableScripts: false, localResourceRoots: [] };
    view.onDidDispose(() => (this.#view = undefined));
    this.#draw();
  }

  #draw(): void {
    if (!this.#view) return;
    const nonce = randomBytes(16).toString("hex");
    const context = this.watch.current;
    this.#view.webview.html = context
      ? page(context.thread, context.usage, context.policy, nonce, context.bill)
      : note(absence(this.watch.problem), nonce);
  }
}

/**
 * The tree of threads, newest first, by working folder.
 *
 * An active thread changes every second. Then only its row is redrawn; the whole tree only if rows are added, removed or
 * moved: a click on a row that is being redrawn is lost.
 */
export class ThreadTree implements vscode.TreeDataProvider<string | ThreadSummary> {
  readonly #changed = new vscode.EventEmitter<ThreadSummary[] | undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  /** The rows. A thread keeps its object, by which the editor identifies its row. */
  #threads: ThreadSummary[] | undefined;
  readonly #drawn = new Map<ThreadSummary, string>();

  constructor(
    private readonly daemon: Daemon,
    watch: ContextWatch,
  ) {
    watch.onChange(() => void this.refresh());
  }

  async refresh(): Promise<void> {
    const fresh = await this.#load();
    const listed = this.#threads ?? [];
    const isSame = fresh.length === listed.length && fresh.every((row, at) => isSameRow(row, listed[at]));
    if (!isSame) {
      this.#threads = fresh;
      this.#drawn.clear();
      return this.#changed.fire(undefined);
    }
    listed.forEach((row, at) => Object.assign(row, fresh[at]));
    const moved = listed.filter((row) => this.#drawn.has(row) && this.#drawn.get(row) !== rowText(this.#thread(row)));
    if (moved.length > 0) this.#changed.fire(moved);
  }

  async #load(): Promise<ThreadSummary[]> {
    try {
      const client = await this.daemon.client({ mayStart: false });
      return (await client.call("thread/list", { limit: THREADS_MAX })).threads;
    } catch {
      return []; // The view's welcome text says what to do.
    }
  }

  async getChildren(folder?: string | ThreadSummary): Promise<Array<string | ThreadSummary>> {
    this.#threads ??= await this.#load();
    if (typeof folder === "string") return this.#threads.filter((thread) => (thread.cwd ?? "") === folder);
    return [...new Set(this.#threads.map((thread) => thread.cwd ?? ""))];
  }

  getTreeItem(row: string | ThreadSummary): vscode.TreeItem {
    if (typeof row === "string") return this.#folder(row);
    const item = this.#thread(row);
    this.#drawn.set(row, rowText(item));
    return item;
  }

  #folder(folder: string): vscode.TreeItem {
    const name = folder.split("/").filter(Boolean).pop() ?? "no folder";
    const isOpen = this.#threads?.[0]?.cwd === folder || isWorkspace(folder);
    const state = isOpen ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
    const item = new vscode.TreeItem(name, state);
    item.id = `folder:${folder}`;
    item.tooltip = folder;
    item.iconPath = vscode.ThemeIcon.Folder;
    return item;
  }

  #thread(thread: ThreadSummary): vscode.TreeItem {
    const item = new vscode.TreeItem(nameOf(thread));
    item.id = thread.thread_id;
    item.contextValue = "thread";
    item.description = `${tokens(thread.tokens)} · ${ago(thread.updated_at, Date.now())}`;
    const compacted = thread.compactions > 0 ? `, compacted ${thread.compactions} times` : "";
    item.tooltip = `${nameOf(thread)}\n${thread.source}${thread.model ? `, ${thread.model}` : ""}\n${thread.items} items${compacted}`;
    item.iconPath = new vscode.ThemeIcon(thread.compactions > 0 ? "fold" : "comment-discussion");
    item.command = { command: "longhaul.follow", title: "Show its context", arguments: [thread] };
    return item;
  }
}

function isSameRow(one: ThreadSummary, other: ThreadSummary | undefined): boolean {
  return one.thread_id === other?.thread_id && one.cwd === other.cwd;
}

/** The visible text of a row. */
function rowText(item: vscode.TreeItem): string {
  return [item.label, item.description, item.tooltip].join("\n");
}

function isWorkspace(folder: string): boolean {
  return (vscode.workspace.workspaceFolders ?? []).some((open) => open.uri.fsPath === folder);
}

/** Read-only texts: views, checkpoints, dropped items. The newest are kept. */
export class Texts implements vscode.TextDocumentContentProvider {
  static readonly SCHEME = "longhaul";
  static readonly TEXTS_MAX = 50;
  readonly #texts = new Map<string, string>();

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.path) ?? "This view has been discarded; run the command again.";
  }

  async show(name: string, text: string, language = "markdown"): Promise<void> {
    const path = `/${name.replace(/[/\s]+/g, " ").slice(0, 80)} ${randomBytes(2).toString("hex")}.md`;
    this.#texts.set(path, text);
    const oldest = this.#texts.keys().next();
    if (this.#texts.size > Texts.TEXTS_MAX && !oldest.done) this.#texts.delete(oldest.value);
    const uri = vscode.Uri.from({ scheme: Texts.SCHEME, path });
    const document = await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(uri), language);
    await vscode.window.showTextDocument(document, { preview: true });
  }
}

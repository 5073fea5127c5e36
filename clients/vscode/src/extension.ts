// Wires the parts together, and offers `compact(history)` to other extensions.

import * as vscode from "vscode";

import type { Client, CompactionRunParams, CompactionRunResult } from "@longhaul/client";
import { Commands } from "./commands";
import { ContextWatch } from "./context";
import { Daemon } from "./daemon";
import { ContextPanel, statusBar, Texts, ThreadTree } from "./views";

/** The result of `vscode.extensions.getExtension("longhaul.longhaul").activate()`. Backward compatible. */
export interface LonghaulApi {
  readonly apiVersion: 1;
  /** Compacts a history of yours (items in the Responses API form); `view` is the text to continue from. */
  compact(history: unknown[], options?: Omit<CompactionRunParams, "items" | "thread_id">): Promise<CompactionRunResult>;
  /** The exact items behind a handle of the receipt. */
  expand(handle: string): Promise<unknown[]>;
  /** A connected client, for every other method. It may start the daemon if the user allows that. */
  client(): Promise<Client>;
}

export function activate(context: vscode.ExtensionContext): LonghaulApi {
  const daemon = new Daemon(String(context.extension.packageJSON.version));
  const watch = new ContextWatch(daemon);
  const texts = new Texts();
  context.subscriptions.push(
    daemon,
    watch,
    statusBar(watch),
    new Commands(daemon, watch, texts).register(),
    vscode.window.registerWebviewViewProvider("longhaul.context", new ContextPanel(watch)),
    vscode.window.registerTreeDataProvider("longhaul.threads", new ThreadTree(daemon, watch)),
    vscode.workspace.registerTextDocumentContentProvider(Texts.SCHEME, texts),
    vscode.workspace.onDidChangeWorkspaceFolders(() => watch.refresh()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (!change.affectsConfiguration("longhaul")) return;
      daemon.dispose();
      void watch.refresh();
    }),
  );
  void watch.refresh();

  const client = () => daemon.client({ mayStart: true });
  return {
    apiVersion: 1,
    client,
    compact: async (history, options = {}) => (await client()).call("compaction/run", { ...options, items: history }),
    expand: async (handle) => (await (await client()).call("history/expand", { handle })).items,
  };
}

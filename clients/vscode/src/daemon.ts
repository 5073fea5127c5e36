// The one client of this window, created on first use.

import * as vscode from "vscode";

import { Client, LonghaulError } from "@longhaul/client";
import type { Event } from "@longhaul/client";

export class Daemon implements vscode.Disposable {
  #client: Client | undefined;
  #opening: Promise<Client> | undefined;
  readonly #changed = new vscode.EventEmitter<Event>();
  /** Events of the daemon. */
  readonly onEvent = this.#changed.event;

  constructor(private readonly version: string) {}

  /**
   * The shared client. It never starts the daemon, so background work does not; a command of the person starts it here
   * first, also after it has stopped.
   */
  async client(wish: { mayStart: boolean }): Promise<Client> {
    if (this.#client && (this.#client.isConnected || !wish.mayStart)) return this.#client;
    const opening = this.#opening;
    if (opening) return opening.catch(() => this.client(wish));
    this.#opening = this.#open(wish.mayStart).finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #open(mayStart: boolean): Promise<Client> {
    const settings = vscode.workspace.getConfiguration("longhaul");
    const socket = settings.get<string>("socket") || undefined;
    const options = { name: "vscode", version: this.version, ...(socket && { socket }) };
    if (mayStart && settings.get<boolean>("startDaemon", true)) {
      const starter = await Client.connect({ ...options, start: settings.get<string>("program") || "longhaul" });
      starter.close();
    }
    const client = await Client.connect(options);
    this.#client?.close();
    this.#client = client;
    void this.#listen(client);
    // The shown data may come from another daemon.
    this.#changed.fire({ seq: 0, at: Date.now(), kind: "gap", data: {} });
    return client;
  }

  async #listen(client: Client): Promise<void> {
    try {
      for await (const event of await client.subscribe()) this.#changed.fire(event);
    } catch {
      // Without events, the views refresh only with commands.
    }
  }

  /** Drops the client, for example after a change of settings. */
  dispose(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}

/** Runs a command of the person; shows a failure with its hint. */
export async function showErrors<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LonghaulError && error.failure === "cancelled") return undefined;
    const hint = error instanceof LonghaulError && error.hint ? ` (${error.hint})` : "";
    const text = `Longhaul: ${error instanceof Error ? error.message : String(error)}${hint}`;
    const isAbsent = error instanceof LonghaulError && error.failure === "not_running";
    void vscode.window.showErrorMessage(text, ...(isAbsent ? ["Start the Daemon"] : [])).then((choice) => {
      if (choice) void vscode.commands.executeCommand("longhaul.start");
    });
    return undefined;
  }
}

// A real daemon for tests, with its own home, socket, and the sample sessions.

import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import { Client } from "../src";

/** The root of the workspace, from dist/test. */
export const ROOT = path.resolve(__dirname, "../../../..");

/** The folder of `longhauld` and `longhaul`: $LONGHAUL_BIN, else cargo's target folder. */
export function binaries(): string | undefined {
  const target = process.env["CARGO_TARGET_DIR"] ?? path.join(ROOT, "target");
  const folders = [process.env["LONGHAUL_BIN"], path.join(target, "debug"), path.join(target, "release")];
  return folders.find((folder) => folder && fs.existsSync(path.join(folder, "longhauld")));
}

export class Daemon {
  readonly home = fs.mkdtempSync(path.join(os.tmpdir(), "lh-ts-"));
  readonly socket = path.join(this.home, "run", "v1.sock");
  readonly environment: NodeJS.ProcessEnv;
  #process: ChildProcess | undefined;

  constructor() {
    fs.mkdirSync(path.join(this.home, "run"), { mode: 0o700 });
    fs.cpSync(path.join(ROOT, "samples/codex-home/sessions"), path.join(this.home, ".codex/sessions"), { recursive: true });
    fs.mkdirSync(path.join(this.home, ".config/longhaul"), { recursive: true });
    fs.writeFileSync(path.join(this.home, ".config/longhaul/config.toml"), "");
    this.environment = {
      PATH: `${binaries()}:${process.env["PATH"]}`,
      HOME: this.home,
      LONGHAUL_SOCKET: this.socket,
      LONGHAUL_STATE_DIR: path.join(this.home, "state"),
    };
  }

  /** Starts it without waiting. */
  start(): void {
    const program = path.join(binaries() as string, "longhauld");
    this.#process = spawn(program, [], { env: this.environment, stdio: "ignore" });
  }

  /** Sends a signal and waits for the exit. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  /** Waits until it answers, and connects. */
  async client(options: { requestTimeoutMs?: number } = {}): Promise<Client> {
    return until("the daemon answers", () =>
      Client.connect({ name: "test", version: "1", socket: this.socket, ...options }).catch(() => undefined),
    );
  }

  async remove(): Promise<void> {
    await this.stop();
    fs.rmSync(this.home, { recursive: true, force: true });
  }
}

/** Polls until `look` returns a value, for at most 20 seconds. */
export async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 20_000; Date.now() < end; ) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`timed out waiting until ${what}`);
}

/** Waits until the sample session is read and indexed; returns its thread's id. */
export async function ingested(client: Client): Promise<string> {
  const threads = await until("a thread is read", async () => {
    const list = (await client.call("thread/list", {})).threads;
    return list.length > 0 ? list : undefined;
  });
  const thread_id = threads[0]!.thread_id;
  await client.call("thread/sync", { thread_id });
  await until("the search index is idle", async () => {
    return (await client.call("daemon/status", {})).search?.state === "idle" || undefined;
  });
  await until("the archive is idle", async () => {
    // Refused while the archive is being opened.
    const status = await client.call("archive/status", {}).catch(() => undefined);
    return status?.state === "idle" || undefined;
  });
  return thread_id;
}

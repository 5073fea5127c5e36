// Without a daemon, with one that restarts, and with one started on demand.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src";
import { binaries, Daemon, ingested } from "./daemon";

const skip = !binaries() && "longhauld is not built";

test("requests and subscriptions survive a restart", { skip }, async () => {
  const daemon = new Daemon();
  daemon.start();
  try {
    const client = await daemon.client();
    const thread_id = await ingested(client);
    const events = await client.subscribe({});
    const before = client.session.server.instance_id;

    const calls = Array.from({ length: 200 }, () => client.call("checkpoint/view", { thread_id }));
    await daemon.stop("SIGKILL");
    const waiting = client.call("thread/get", { thread_id });
    daemon.start();

    const views = await Promise.all(calls);
    assert.equal(new Set(views.map((view) => view.digest)).size, 1);
    assert.equal((await waiting).thread.thread_id, thread_id);
    assert.notEqual(client.session.server.instance_id, before);

    // The new daemon counts events anew, so the reader gets a gap.
    const kinds = new Set<string>();
    for await (const event of events) {
      kinds.add(event.kind);
      if (event.kind === "gap") break;
    }
    assert.ok(events.isClosed);
    client.close();
  } finally {
    await daemon.remove();
  }
});

test("methods that must not run twice fail instead", { skip }, async () => {
  const daemon = new Daemon();
  daemon.start();
  try {
    const client = await daemon.client();
    const stopped = daemon.stop("SIGSTOP" as NodeJS.Signals);
    const appended = client.call("message_history/append", { text: "once" });
    appended.catch(() => undefined);
    await new Promise(setImmediate);
    await daemon.stop("SIGKILL");
    await stopped;
    await assert.rejects(appended, { failure: "broken" });
    client.close();
  } finally {
    await daemon.remove();
  }
});

test("the daemon is started if that is allowed", { skip }, async () => {
  const daemon = new Daemon();
  const inherited = { ...process.env };
  try {
    const options = { name: "test", version: "1", socket: daemon.socket };
    await assert.rejects(Client.connect(options), { failure: "not_running", hint: "start it with: longhaul up" });
    const missing = Client.connect({ ...options, start: "/nowhere/longhaul" });
    await assert.rejects(missing, /is not installed to start it/);

    Object.assign(process.env, daemon.environment);
    const client = await Client.connect({ ...options, start: true });
    assert.ok(client.has("compaction/run"));
    await client.call("daemon/shutdown", {});
    client.close();
  } finally {
    Object.assign(process.env, inherited);
    await daemon.remove();
  }
});

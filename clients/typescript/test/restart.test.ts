// What a person lives through: no daemon, one that restarts, one that is started on demand.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src";
import { binaries, Daemon, ingested } from "./daemon";

const skip = !binaries() && "longhauld is not built";

test("requests live through a restart, and so do subscriptions", { skip }, async () => {
  const daemon = new Daemon();
  daemon.start();
  try {
    const client = await daemon.client();
    const thread_id = await ingested(client);
    const events = await client.subscribe({});
    const before = client.session.server.instance_id;

    const asked = Array.from({ length: 200 }, () => client.call("checkpoint/view", { thread_id }));
    await daemon.stop("SIGKILL");
    const waiting = client.call("thread/get", { thread_id });
    daemon.start();

    const views = await Promise.all(asked);
    assert.equal(new Set(views.map((view) => view.digest)).size, 1);
    assert.equal((await waiting).thread.thread_id, thread_id);
    assert.notEqual(client.session.server.instance_id, before);

    // The new daemon is another one: the reader is told that it may have missed something.
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

test("what must not be done twice fails instead", { skip }, async () => {
  const daemon = new Daemon();
  daemon.start();
  try {
    const client = await daemon.client();
    const stopped = daemon.stop("SIGSTOP" as NodeJS.Signals);
    const noted = client.call("message_history/append", { text: "once" });
    noted.catch(() => undefined);
    await new Promise(setImmediate);
    await daemon.stop("SIGKILL");
    await stopped;
    await assert.rejects(noted, { failure: "broken" });
    client.close();
  } finally {
    await daemon.remove();
  }
});

test("the daemon is started where that is allowed", { skip }, async () => {
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

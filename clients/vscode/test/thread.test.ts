// Which thread the commands are about.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";

import type { Client } from "@longhaul/client";
import { selected, withinProject } from "../src/thread";

/** A daemon with a thread of each folder, the newest first. */
function daemon(...folders: string[]): Pick<Client, "call"> {
  const threads = folders.map((cwd) => ({ thread_id: `of ${cwd}`, cwd }));
  const call = async (method: string, params: { cwd?: string; thread_id?: string }) =>
    method === "thread/get"
      ? { thread: threads.find(({ thread_id }) => thread_id === params.thread_id) }
      : { threads: threads.filter(({ cwd }) => !params.cwd || cwd === params.cwd) };
  return { call } as unknown as Pick<Client, "call">;
}

test("a project is looked up to its repository, and a thread of another one is marked", async () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "lh-thread-"));
  try {
    const [app, source] = [path.join(home, "app"), path.join(home, "app/src/deep")];
    fs.mkdirSync(path.join(app, ".git"), { recursive: true });
    assert.deepEqual(withinProject(source, home), [source, path.dirname(source), app]);
    const notes = path.join(home, "notes/2026");
    assert.deepEqual(withinProject(notes, home), [notes, path.dirname(notes)], "no repository");
    assert.deepEqual(withinProject(home, home), [home], "the home folder itself may be worked in");

    const two = daemon("/other", app);
    assert.deepEqual(await selected(two, [source]), { thread: { thread_id: `of ${app}`, cwd: app }, isElsewhere: false });
    assert.deepEqual(await selected(two, [notes]), { thread: { thread_id: "of /other", cwd: "/other" }, isElsewhere: true });
    assert.equal((await selected(two, [notes], "of /other"))?.isElsewhere, false, "the person chose it");
    assert.equal(await selected(daemon(), [source]), undefined);

    const unresumed = { thread_id: "new", cwd: app, unresumed: true };
    const worked = { thread_id: "old", cwd: app };
    const call = async () => ({ threads: [unresumed, worked] });
    const both = { call } as unknown as Pick<Client, "call">;
    assert.deepEqual(await selected(both, [app]), { thread: worked, isElsewhere: false }, "the one that someone worked in");
  } finally {
    fs.rmSync(home, { recursive: true, force: true });
  }
});

// What a person does, one step after the other; each ends with what they see.

import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as net from "node:net";
import * as path from "node:path";

const CONTEXT = "Longhaul: Show Context Use";
/** Milliseconds until a click is repeated. */
const PANEL_MS = 5_000;

async function statusBarToPanel({ editor, page }) {
  const bar = page.locator(".statusbar-item", { hasText: /\d+% · / });
  await bar.waitFor();
  await bar.click();
  assert.match(await editor.webview(["what fills it"]), /\d+%\s*[\d.]+k? of /);
  await editor.shot("01-status-bar");
}

/** Clicks a thread until the panel shows it: the tree may have moved under the pointer. */
async function chooseThread({ editor, page }, ...words) {
  await editor.until(`the panel of ${words[0]}`, async () => {
    await page.locator(".monaco-list-row", { hasText: words[0] }).click();
    await editor.webview(words, PANEL_MS);
  });
}

async function treeToPanel(stage) {
  await chooseThread(stage, "January total", "tool outputs", "over time", "never compacted");
  await stage.editor.shot("02-thread");
  await chooseThread(stage, "Explain the report");
  await chooseThread(stage, "January total");
}

async function treeButtons({ editor, page }) {
  const row = page.locator(".monaco-list-row", { hasText: "January total" });
  await row.hover();
  await row.locator("[aria-label='Show the Checkpoint']").click();
  await editor.shows("[SESSION_CHECKPOINT v1]");
  await editor.shot("03-checkpoint");
}

async function choose({ editor, page, client }) {
  await editor.run("Longhaul: Choose What Every View Keeps");
  const rows = await editor.rows("Checked: in every later view");
  await editor.shot("03-choose");
  await editor.page.keyboard.type("left out");
  const first = rows.filter({ hasText: "left out" }).first();
  await first.click();
  await page.locator(".quick-input-widget .monaco-button", { hasText: "OK" }).click();
  await editor.told("1 change is in force from the next view on");
  const { threads } = await client.call("thread/list", {});
  const found = await Promise.all(threads.map(({ thread_id }) => client.call("checkpoint/choices", { thread_id })));
  const pins = found.flatMap(({ choices }) => choices);
  assert.deepEqual(pins.map((pin) => pin.action), ["pin"]);
  await client.call("checkpoint/unchoose", { thread_id: pins[0].thread_id, choice_id: pins[0].choice_id });
  await editor.hush();
}

async function compact({ editor }) {
  await editor.run("Longhaul: Compact the Thread");
  const notice = await editor.told(/tokens\. Items kept: \d+, shortened: \d+, dropped: \d+/);
  await editor.shows("[SESSION_CHECKPOINT v1]");
  await editor.shot("04-compacted");
  await notice.hover();
  await notice.getByRole("button", { name: "Show What Was Dropped" }).click();
}

async function dropped({ editor }) {
  const rows = await editor.rows("What the last compaction left out");
  await editor.shot("05-dropped");
  // Named by what they hold, not by a number; a long list is searched by typing.
  await editor.page.keyboard.type("No floats");
  await rows.filter({ hasText: "No floats for money" }).first().click();
  await editor.shows("keep whole cents");
  await editor.shot("06-expanded");
}

async function compactedInPanel({ editor }) {
  await editor.run(CONTEXT);
  await editor.webview(["January total"]);
}

async function undo({ editor, page, client }) {
  await editor.run("Longhaul: Undo the Last Compaction");
  const dialog = page.locator(".monaco-dialog-box", { hasText: "Undo the compaction of" });
  await dialog.waitFor();
  await editor.shot("07-undo");
  await dialog.getByRole("button", { name: "Undo" }).click();
  await editor.told(/Undone in longhaul's records \(\d+ items\)/);
  await editor.shot("08-undone");
  const { compactions } = await client.call("compaction/list", {});
  assert.ok(compactions[0].undone_at > 0);
  await editor.hush();
}

async function nothingToUndo({ editor }) {
  await editor.run("Longhaul: Undo the Last Compaction");
  await editor.told("this thread has no compaction of ours");
  await editor.hush();
}

async function searchMemory({ editor }) {
  await editor.run("Longhaul: Search Memory");
  await editor.answer("Search the memory of earlier work", "floats money");
  const rows = await editor.rows("hits for");
  await editor.shot("09-memory-hits");
  await rows.first().click();
  await editor.shows("No floats for money");
  await editor.shot("10-memory-hit");
}

async function openMemory({ editor }) {
  await editor.run("Longhaul: Open a Memory File");
  const rows = await editor.rows("Memory files");
  await editor.shot("11-memory-files");
  await rows.filter({ hasText: "MEMORY.md" }).first().click();
  await editor.shows("# ");
  await editor.shot("12-memory-file");
}

async function searchTranscripts({ editor }) {
  await editor.run("Longhaul: Search Transcripts");
  await editor.answer("Search all transcripts", "thousands separator");
  const rows = await editor.rows("hits for");
  await editor.shot("13-transcripts");
  await rows.first().click();
  await editor.shows("thousands");
}

async function otherExtension({ editor }) {
  await editor.run("Example: Compact a History");
  await editor.told(/Compacted \d+ to \d+ tokens; \d+ items can be expanded again/);
  await editor.shows("[SESSION_CHECKPOINT v1]");
  await editor.showsAtEnd("Now write the changelog entry.");
  await editor.shot("14-example");
  await editor.hush();
}

async function restart({ editor, page, client, longhaul }) {
  const before = (await client.call("daemon/status", {})).instance_id;
  longhaul("down");
  await editor.run("Longhaul: Show the Checkpoint");
  await editor.shows("ledger/amount.py");
  assert.notEqual((await client.call("daemon/status", {})).instance_id, before);
  await page.locator(".statusbar-item", { hasText: /\d+% · / }).waitFor();
  await editor.shot("15-restarted");
}

/** Transcripts that an agent resumes by its id. */
function transcripts(folder) {
  const names = fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true }) : [];
  return names.filter((name) => name.endsWith(".jsonl"));
}

/** Continues in each agent, in a transcript of its own. This editor has no terminal that could show the command. */
async function continued({ editor, home }) {
  for (const [title, folder] of [["Claude Code", ".claude/projects"], ["Codex", ".codex/sessions"]]) {
    const before = transcripts(path.join(home, folder)).length;
    await editor.run(`Longhaul: Continue in ${title}`);
    await editor.told(/ → .* tokens\. Press Enter in the terminal to go on\./);
    assert.equal(transcripts(path.join(home, folder)).length, before + 1, title);
    await editor.shot(`16-continued-in-${folder.slice(1, 6)}`);
    await editor.hush();
  }
}

/** Two blocked threads are listed; then one is left, which continues at once. */
async function rescued({ editor, client, blockedThread }) {
  const blocked = async () => (await client.call("thread/list", { blocked: true })).threads.length;
  await editor.run("Longhaul: Rescue a Blocked Thread");
  await editor.told("no thread is blocked");
  await editor.hush();
  for (const last of [1, 2]) await client.call("thread/sync", { path: blockedThread(last) });
  assert.equal(await blocked(), 2);
  await editor.run("Longhaul: Rescue a Blocked Thread");
  const rows = await editor.rows("Blocked threads");
  await editor.shot("17-blocked");
  await rows.filter({ hasText: "window full, 2 times in a row" }).first().click();
  await editor.told("Press Enter in the terminal");
  assert.equal(await blocked(), 1);
  await editor.hush();
  await editor.run("Longhaul: Rescue a Blocked Thread");
  await editor.told("Press Enter in the terminal");
  assert.equal(await blocked(), 0);
  await editor.hush();
}

/** A daemon of another protocol beside the socket: said, not passed over as one that is absent. */
async function otherVersion({ editor, page, longhaul, socket }) {
  longhaul("down");
  const newer = net.createServer();
  await new Promise((resolve) => newer.listen(path.join(path.dirname(socket), "v2.sock"), resolve));
  try {
    await editor.run("Longhaul: Refresh");
    await editor.webview(["daemon speaks protocol 2", "update this client"]);
    await page.locator(".statusbar-item", { hasText: "longhaul" }).waitFor();
    await editor.shot("18-other-version");
  } finally {
    newer.close();
  }
}

/** A long session, as the README shows it. Only where pictures are wanted. */
async function picture({ editor, page, client, longhaul, longThread }) {
  longhaul("up");
  await client.call("thread/sync", { path: longThread() });
  await page.setViewportSize({ width: 1040, height: 720 });
  await editor.run("View: Close All Editors");
  await editor.run(CONTEXT);
  await editor.run("Longhaul: Refresh");
  await chooseThread({ editor, page }, "Import the bank", "over time", "compacted");
  await editor.run("Longhaul: Compact the Thread");
  await editor.told(/tokens\. Items kept: \d+, shortened: \d+, dropped: \d+/);
  await editor.shows("[SESSION_CHECKPOINT v1]");
  await page.locator(".notification-list-item", { hasText: "Compacting" }).waitFor({ state: "hidden" });
  await editor.webview(["what fills it"]);
  await editor.shot("readme");
}

export const pictures = { "the picture of the README": picture };

export const steps = {
  "the status bar leads to the panel": statusBarToPanel,
  "a click on a thread shows that thread": treeToPanel,
  "a button in the tree shows its checkpoint": treeButtons,
  "what every view keeps is chosen": choose,
  "a thread is compacted": compact,
  "what was dropped is shown and expanded": dropped,
  "the panel follows": compactedInPanel,
  "a compaction is undone": undo,
  "nothing to undo is said": nothingToUndo,
  "memory is searched": searchMemory,
  "a memory file is opened": openMemory,
  "transcripts are searched": searchTranscripts,
  "another extension compacts its history": otherExtension,
  "a daemon that went is started by a command": restart,
  "a thread continues in each agent": continued,
  "a blocked thread is rescued": rescued,
  "a daemon of another version is told of": otherVersion,
};

// Drives the extension as a person would, in a real editor against a real daemon: what is clicked, what is seen.
//
//   node run.mjs INSTALLED      INSTALLED: where `npm install code-server playwright-core` was run
//
// LONGHAUL_BIN: the folder of `longhaul` and `longhauld`. SHOTS: a folder for a picture of each step.
// `cargo xtask editors` installs and builds all of it first.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

import { Editor } from "./editor.mjs";
import { blockedSession, longSession } from "./long.mjs";
import { pictures, steps } from "./steps.mjs";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../..");
/** Milliseconds for everything. */
const LIMIT_MS = 240_000;

const installed = path.resolve(process.argv[2] ?? "");
const binaries = path.resolve(process.env.LONGHAUL_BIN ?? path.join(ROOT, "target/debug"));
const shots = process.env.SHOTS && path.resolve(process.env.SHOTS);
if (shots) fs.mkdirSync(shots, { recursive: true });

const home = fs.mkdtempSync(path.join(os.tmpdir(), "lh-editor-"));
const project = path.join(home, "ledger");
const env = {
  HOME: home,
  PATH: `${binaries}:${process.env.PATH}`,
  LANG: "C.UTF-8",
  LONGHAUL_SOCKET: path.join(home, "run/v1.sock"),
  LONGHAUL_STATE_DIR: path.join(home, "state"),
  CODEX_HOME: path.join(home, ".codex"),
};

/** The sample project and its session, as if Codex had just worked here. */
function layOut() {
  const samples = path.join(ROOT, "samples");
  fs.cpSync(path.join(samples, "project"), project, { recursive: true });
  const sessions = path.join(samples, "codex-home/sessions");
  for (const name of fs.readdirSync(sessions, { recursive: true })) {
    if (!name.endsWith(".jsonl")) continue;
    const to = path.join(env.CODEX_HOME, "sessions", name);
    fs.mkdirSync(path.dirname(to), { recursive: true });
    fs.writeFileSync(to, fs.readFileSync(path.join(sessions, name), "utf8").replaceAll("/home/dev/ledger", project));
  }
}

function longhaul(...words) {
  return execFileSync(path.join(binaries, "longhaul"), words, { env, encoding: "utf8" });
}

/** Writes a session of another project; returns its path. */
function written(id, session, ended) {
  const to = path.join(env.CODEX_HOME, `sessions/2026/03/03/rollout-2026-03-03T10-00-00-${id}.jsonl`);
  fs.mkdirSync(path.dirname(to), { recursive: true });
  fs.writeFileSync(to, session(id, "/home/dev/importer", ended));
  return to;
}

const longThread = () => written("019cadd3-8856-71a3-9a02-5e1d9ca001a4", longSession, Date.now());
const DAY_MS = 86_400_000;
const blockedThread = (last) => written(`019cadd3-8856-71a3-9a02-5e1d9ca00b0${last}`, blockedSession, Date.now() - DAY_MS);

/** A second thread, to see one change for the other. */
async function openThread(client) {
  const said = (role, type, text) => ({ type: "message", role, content: [{ type, text }] });
  const { thread_id } = await client.call("thread/open", { cwd: project, originator: "an editor", model: "gpt-5.5" });
  const items = [said("user", "input_text", "Explain the report."), said("assistant", "output_text", "It sums by month.")];
  await client.call("thread/append", { thread_id, items: items.map((item, index) => ({ client_item_id: `i${index}`, item })) });
  await client.call("thread/sync", { thread_id });
}

async function main() {
  layOut();
  longhaul("up");
  longhaul("memory", "run", "--all");
  const { Client } = createRequire(import.meta.url)(path.join(ROOT, "clients/typescript/dist/src/index.js"));
  const client = await Client.connect({ name: "test", version: "1", socket: env.LONGHAUL_SOCKET });
  await openThread(client);
  const vscode = path.join(ROOT, "clients/vscode");
  const editor = await Editor.open({
    home,
    installed,
    env,
    shots,
    folder: project,
    chromium: process.env.CHROMIUM ?? "/usr/bin/chromium",
    packages: [path.join(vscode, "longhaul.vsix"), path.join(vscode, "compact-history-example.vsix")],
    settings: { "longhaul.program": path.join(binaries, "longhaul") },
  });
  try {
    for (const [name, step] of Object.entries(shots ? { ...steps, ...pictures } : steps)) {
      const began = Date.now();
      try {
        await step({ editor, page: editor.page, client, longhaul, longThread, blockedThread, home, project, socket: env.LONGHAUL_SOCKET });
      } catch (error) {
        await editor.shot("failed");
        throw new Error(`${name}: ${error.message}`, { cause: error });
      }
      console.log(`    ok  ${((Date.now() - began) / 1000).toFixed(1).padStart(5)} s  ${name}`);
    }
  } finally {
    client.close();
    await editor.close();
  }
}

const late = setTimeout(() => {
  console.error(`    not done within ${LIMIT_MS / 1000} s`);
  end(1);
}, LIMIT_MS);

function end(code) {
  clearTimeout(late);
  try {
    longhaul("down");
  } catch {
    // It was not up.
  }
  fs.rmSync(home, { recursive: true, force: true });
  process.exit(code);
}

assert.ok(fs.existsSync(path.join(installed, "node_modules/code-server")), `code-server is not in ${installed}`);
main().then(
  () => end(0),
  (error) => {
    console.error(`    FAILED ${error.stack}`);
    end(1);
  },
);

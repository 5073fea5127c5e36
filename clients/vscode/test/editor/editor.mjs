// A real editor for tests: VS Code's server from the npm package `code-server`, in a headless Chromium.
//
// Its native parts (terminal, file watching) are not built: the editor says so in its log and works without.

import { execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as net from "node:net";
import * as path from "node:path";

/** Milliseconds anything may take to show, on a machine that builds something else. */
const SHOWN_MS = 20_000;
const START_MS = 60_000;
const ATTEMPT_MS = 4_000;

/** Settings that keep the editor from asking its own questions. */
const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "extensions.ignoreRecommendations": true,
  "telemetry.telemetryLevel": "off",
  "window.commandCenter": false,
  "chat.commandCenter.enabled": false,
};

export class Editor {
  #server;
  #browser;
  #shots;
  page;

  /** `home` is the folder of everything it writes, `installed` the one that npm installed into. */
  static async open({ home, installed, packages, folder, env, chromium, shots, settings }) {
    const editor = new Editor();
    editor.#shots = shots;
    const program = path.join(installed, "node_modules/code-server/lib/vscode/out/server-main.js");
    const places = ["--server-data-dir", path.join(home, "server"), "--extensions-dir", path.join(home, "extensions")];
    const options = { env, cwd: home, stdio: ["ignore", "pipe", "pipe"] };
    for (const file of packages) {
      execFileSync(process.execPath, [program, "--accept-server-license-terms", ...places, "--install-extension", file, "--force"], options);
    }
    const machine = path.join(home, "server/data/Machine");
    fs.mkdirSync(machine, { recursive: true });
    fs.writeFileSync(path.join(machine, "settings.json"), JSON.stringify({ ...SETTINGS, ...settings }));
    const port = await freePort();
    const listen = ["--host", "127.0.0.1", "--port", String(port), "--without-connection-token", "--accept-server-license-terms"];
    editor.#server = spawn(process.execPath, [program, ...listen, ...places], { ...options, stdio: ["ignore", "pipe", "ignore"] });
    await said(editor.#server, "listening on");
    const { chromium: driver } = createRequire(path.join(installed, "package.json"))("playwright-core");
    editor.#browser = await driver.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    editor.page = await editor.#browser.newPage({ viewport: { width: 1240, height: 780 } });
    editor.page.setDefaultTimeout(SHOWN_MS);
    await editor.page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`, { waitUntil: "domcontentloaded" });
    await editor.page.waitForSelector(".monaco-workbench", { timeout: START_MS });
    await editor.page.getByRole("button", { name: "Yes, I trust the authors" }).click({ timeout: START_MS });
    return editor;
  }

  async close() {
    await this.#browser?.close();
    this.#server?.kill();
  }

  /** Keeps a picture, where pictures are wanted. */
  async shot(name) {
    if (this.#shots) await this.page.screenshot({ path: path.join(this.#shots, `${name}.png`) });
  }

  /** Runs a command from the palette, by its whole title. */
  async run(title) {
    const palette = this.page.locator(".quick-input-widget");
    // A row is labeled with its title, and with more behind a comma.
    const row = palette.locator(`[role=option][aria-label^="${title}"]`).first();
    await this.until(`the command ${title}`, async () => {
      await this.page.keyboard.press("F1");
      await palette.locator("input[type=text]").fill(`>${title}`, { timeout: ATTEMPT_MS });
      // A document that opens late takes the focus, and the palette closes.
      const closed = palette.waitFor({ state: "hidden", timeout: ATTEMPT_MS });
      await Promise.race([row.waitFor({ timeout: ATTEMPT_MS }), closed.catch(() => undefined)]);
      await row.click({ timeout: ATTEMPT_MS / 4 });
    });
  }

  /** Does something until it succeeds; what disturbed it is closed in between. */
  async until(what, attempt) {
    for (const end = Date.now() + SHOWN_MS; ; ) {
      try {
        return await attempt();
      } catch (error) {
        if (Date.now() > end) throw new Error(`${what}: ${error.message}`, { cause: error });
        await this.page.keyboard.press("Escape");
      }
    }
  }

  /** Types into the box that a command has opened, and confirms. */
  async answer(prompt, text) {
    await this.page.locator(".quick-input-widget", { hasText: prompt }).waitFor();
    await this.page.locator(".quick-input-widget input[type=text]").fill(text);
    await this.page.keyboard.press("Enter");
  }

  /** Waits for the list that a command shows; its rows. */
  async rows(placeholder) {
    await this.page.locator(`.quick-input-widget input[placeholder*="${placeholder}"]`).waitFor();
    const rows = this.page.locator(".quick-input-list :is([role=option], [role=checkbox])");
    await rows.first().waitFor();
    return rows;
  }

  /** Waits for a notification with these words; its locator. */
  async told(words) {
    const found = this.page.locator(".notification-list-item", { hasText: words }).last();
    // The editor shows no toast for a burst of messages; all of them are in the notification center.
    await found.waitFor({ timeout: ATTEMPT_MS }).catch(() => this.run("Notifications: Show Notifications"));
    await found.waitFor();
    return found;
  }

  /** Closes whatever was notified. */
  async hush() {
    await this.run("Notifications: Clear All Notifications");
  }

  /** Goes to the end of the active editor until it shows these words. */
  async showsAtEnd(words) {
    await this.until(`the end: ${words}`, async () => {
      await this.page.keyboard.press("Control+End");
      await this.shows(words, ATTEMPT_MS);
    });
  }

  /** Waits until the active editor shows these words; lines out of sight are not drawn. */
  async shows(words, timeout = SHOWN_MS) {
    // Monaco writes blanks as no-break spaces.
    const pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/ /g, "[\\s\\u00a0]"));
    await this.page.locator(".editor-group-container.active .view-lines", { hasText: pattern }).waitFor({ timeout });
  }

  /** Waits for a webview that shows all of these words; its text. A page that is drawn anew is another frame. */
  async webview(words, timeout = SHOWN_MS) {
    const wanted = words.map((word) => word.toLowerCase());
    let seen = "";
    for (const end = Date.now() + timeout; Date.now() < end; ) {
      for (const frame of this.page.frames().filter((frame) => frame.parentFrame()?.parentFrame())) {
        const text = await frame.evaluate(() => document.body?.innerText ?? "").catch(() => "");
        if (wanted.every((word) => text.toLowerCase().includes(word))) return text;
        seen = text || seen;
      }
      await this.page.waitForTimeout(100);
    }
    throw new Error(`no webview shows ${words.join(", ")}, but: ${seen}`);
  }
}

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** Waits until a program has written some words. */
function said(child, words) {
  return new Promise((resolve, reject) => {
    let text = "";
    const late = setTimeout(() => reject(new Error(`the editor's server did not start: ${text}`)), START_MS);
    child.once("exit", (code) => reject(new Error(`the editor's server ended with ${code}: ${text}`)));
    child.stdout.on("data", (data) => {
      text = (text + data).slice(-4_000);
      if (!text.includes(words)) return;
      clearTimeout(late);
      resolve();
    });
  });
}

// The package as npm would publish it, in another project.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { test } from "node:test";

import { ROOT } from "./daemon";

const PACKAGE = path.join(ROOT, "clients/typescript");

const PROGRAM = `
import { Client, LonghaulError, defaultSocket } from "@longhaul/client";
if (typeof Client.connect !== "function" || !(LonghaulError.prototype instanceof Error)) throw new Error("exports");
process.stdout.write(defaultSocket({ HOME: "/home/ada" }));
`;

const TYPED = `
import { Client } from "@longhaul/client";
export async function view(items: unknown[]): Promise<string> {
  const client = await Client.connect({ name: "theirs", version: "1" });
  // @ts-expect-error: an unknown param.
  await client.call("compaction/run", { itemz: items });
  return (await client.call("compaction/run", { items, max_tokens: 1000 })).view;
}
`;

/** A project with the packed package. npm would do no more, since there are no dependencies. */
function project(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "lh-package-"));
  const packed = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  const archive = execFileSync("npm", packed, { cwd: PACKAGE, encoding: "utf8" }).trim();
  const scope = path.join(folder, "node_modules/@longhaul");
  fs.mkdirSync(scope, { recursive: true });
  execFileSync("tar", ["-xzf", path.join(folder, archive), "-C", scope]);
  fs.renameSync(path.join(scope, "package"), path.join(scope, "client"));
  return folder;
}

test("what npm packs works by itself, typed", () => {
  const folder = project();
  try {
    const manifest = JSON.parse(fs.readFileSync(path.join(folder, "node_modules/@longhaul/client/package.json"), "utf8"));
    assert.equal(manifest.dependencies, undefined);
    assert.ok(fs.existsSync(path.join(folder, "node_modules/@longhaul/client/LICENSE")));
    fs.writeFileSync(path.join(folder, "program.mjs"), PROGRAM);
    const printed = execFileSync(process.execPath, ["program.mjs"], { cwd: folder, encoding: "utf8" });
    assert.equal(printed, "/home/ada/.local/state/longhaul/run/v1.sock");
    fs.writeFileSync(path.join(folder, "typed.mts"), TYPED);
    const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node"];
    const roots = ["--typeRoots", path.join(ROOT, "clients/node_modules/@types")];
    execFileSync(path.join(ROOT, "clients/node_modules/.bin/tsc"), [...options, ...roots, "typed.mts"], { cwd: folder, stdio: "inherit" });
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

// Selects the thread: of the open folders, each up to the root of its repository; where they have none, the newest of all
// is only read.

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import type { Client, ThreadSummary } from "@longhaul/client";

export interface Selected {
  thread: ThreadSummary;
  /** Whether the person did not choose it and it is not of the open folders. */
  isElsewhere: boolean;
}

/** Threads to look at for the newest that someone worked in. */
const LOOKED_AT = 20;

/** The followed thread, else the newest of the folders, else the newest of all. */
export async function selected(client: Pick<Client, "call">, open: string[], followed?: string): Promise<Selected | undefined> {
  if (followed) return { thread: (await client.call("thread/get", { thread_id: followed })).thread, isElsewhere: false };
  for (const cwd of open.flatMap((folder) => withinProject(folder))) {
    const thread = await newest(client, { cwd });
    if (thread) return { thread, isElsewhere: false };
  }
  const thread = await newest(client, {});
  return thread && { thread, isElsewhere: true };
}

/** Not a continuation that nobody has resumed: it is newer than the thread it continues but has nothing of its own. */
async function newest(client: Pick<Client, "call">, of: { cwd?: string }): Promise<ThreadSummary | undefined> {
  const { threads } = await client.call("thread/list", { ...of, limit: LOOKED_AT });
  return threads.find((thread) => !thread.unresumed);
}

/**
 * The folder and those above it that can be its project: up to the root of the repository, and below the home folder, which
 * holds the projects of everyone.
 */
export function withinProject(folder: string, home = os.homedir()): string[] {
  // Agents record the folder itself, not a link to it.
  folder = real(folder);
  const folders = [folder];
  while (!fs.existsSync(path.join(folder, ".git"))) {
    folder = path.dirname(folder);
    if (folder === path.dirname(folder) || `${home}/`.startsWith(`${folder}/`)) break;
    folders.push(folder);
  }
  return folders;
}

function real(folder: string): string {
  try {
    return fs.realpathSync(folder);
  } catch {
    return folder;
  }
}

// Starts the daemon with `longhaul up`, which does nothing if one is running.

import { execFile } from "node:child_process";

import { LonghaulError } from "./errors";

/** Timeout of `longhaul up`, which gives up after 15 seconds. */
const START_TIMEOUT_MS = 20_000;

/** Runs `longhaul up` and waits until the daemon answers. */
export function startDaemon(program: string, socket: string): Promise<void> {
  const env = { ...process.env, LONGHAUL_SOCKET: socket };
  return new Promise((resolve, reject) => {
    execFile(program, ["up"], { env, timeout: START_TIMEOUT_MS }, (error, _stdout, stderr) => {
      if (!error) return resolve();
      if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        const message = `no daemon answers on ${socket}, and ${program} is not installed to start it`;
        return reject(new LonghaulError("not_running", message, { hint: "install longhaul, then: longhaul up" }));
      }
      const [message, hint] = stderr.trim().split("\n");
      const reason = message?.replace(/^error: /, "") || error.message;
      const more = hint?.startsWith("hint: ") ? { hint: hint.slice(6) } : {};
      return reject(new LonghaulError("unusable", `the daemon could not be started: ${reason}`, more));
    });
  });
}

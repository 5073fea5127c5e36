// Finds the daemon's socket and checks its owner.
//
// `$LONGHAUL_SOCKET`, else `$XDG_RUNTIME_DIR/longhaul/v1.sock`, else `<state dir>/run/v1.sock`: the daemon's rule without its
// configuration and flags.

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import { LonghaulError } from "./errors";
import { PROTOCOL_MAJOR } from "./protocol.generated";

type Environment = Readonly<Record<string, string | undefined>>;

/** The daemon's state folder; undefined for a user without a home folder. */
export function defaultStateDir(env: Environment = process.env): string | undefined {
  if (env["LONGHAUL_STATE_DIR"]) return env["LONGHAUL_STATE_DIR"];
  const home = env["HOME"] || os.homedir();
  if (!home) return undefined;
  if (process.platform === "darwin") return path.join(home, "Library", "Application Support", "longhaul");
  const state = absolute(env["XDG_STATE_HOME"]) ?? path.join(home, ".local", "state");
  return path.join(state, "longhaul");
}

/** The socket from the environment; undefined for a user without a home folder. */
export function defaultSocket(env: Environment = process.env): string | undefined {
  if (env["LONGHAUL_SOCKET"]) return env["LONGHAUL_SOCKET"];
  const runtime = absolute(env["XDG_RUNTIME_DIR"]);
  if (runtime) return path.join(runtime, "longhaul", `v${PROTOCOL_MAJOR}.sock`);
  const state = defaultStateDir(env);
  return state && path.join(state, "run", `v${PROTOCOL_MAJOR}.sock`);
}

function absolute(folder: string | undefined): string | undefined {
  return folder && path.isAbsolute(folder) ? folder : undefined;
}

/** Refuses a socket of another user, who would receive transcripts. Root's is allowed. */
export function refuseForeignSocket(socket: string): void {
  let owner: number;
  try {
    owner = fs.statSync(socket).uid;
  } catch {
    return; // Connecting gives the better error.
  }
  if (owner !== process.getuid?.() && owner !== 0) {
    throw new LonghaulError("unusable", `the socket ${socket} cannot be used: it belongs to user ${owner}`);
  }
}

/** Describes a failure to connect; names a daemon of another major version beside the socket. */
export function unreachable(socket: string, error: NodeJS.ErrnoException): LonghaulError {
  const absent = ["ENOENT", "ECONNREFUSED", "ENOTDIR"].includes(error.code ?? "");
  if (!absent) {
    return new LonghaulError("unusable", `the socket ${socket} cannot be used: ${error.message}`);
  }
  const other = otherMajor(socket);
  if (other === undefined) return new LonghaulError("not_running", `no daemon answers on ${socket}`);
  const speaks = `the running daemon speaks protocol ${other}, this client protocol ${PROTOCOL_MAJOR}`;
  return new LonghaulError(other > PROTOCOL_MAJOR ? "too_old" : "too_new", speaks);
}

function otherMajor(socket: string): number | undefined {
  try {
    const majors = fs.readdirSync(path.dirname(socket)).map((name) => /^v(\d+)\.sock$/.exec(name)?.[1]);
    return majors.map(Number).find((major) => major > 0 && major !== PROTOCOL_MAJOR);
  } catch {
    return undefined;
  }
}

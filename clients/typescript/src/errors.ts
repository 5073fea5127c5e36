// Errors of the client and the daemon, and what to do about them.

import type { ErrorData, Retry, WireError } from "./protocol.generated";

/** Why a call failed. `refused` comes from the daemon; all others are failures to reach it. */
export type Failure =
  | "not_running"
  | "unusable"
  | "no_socket"
  | "too_old"
  | "too_new"
  | "refused"
  | "too_large"
  | "too_many"
  | "broken"
  | "unreadable"
  | "timeout"
  | "cancelled"
  | "closed";

/** Advice on a failure that does not come from the daemon: `[retry, hint]`. */
const ADVICE: Record<Failure, [Retry, string | undefined]> = {
  not_running: ["reconnect", "start it with: longhaul up"],
  unusable: ["never", "longhaul doctor shows why"],
  no_socket: ["never", "set LONGHAUL_SOCKET"],
  too_old: ["never", "update this client, or start the daemon of its version"],
  too_new: ["never", "restart the daemon: longhaul down, then longhaul up"],
  refused: ["never", undefined],
  too_large: ["never", "name the thread instead of sending its items"],
  too_many: ["backoff", "wait for answers before sending more"],
  broken: ["reconnect", "longhaul status says whether the daemon is running"],
  unreadable: ["never", "client and daemon are incompatible; update both"],
  timeout: ["backoff", "longhaul status says what the daemon is doing"],
  cancelled: ["never", undefined],
  closed: ["never", undefined],
};

/** A call that did not succeed. Branch on `retry` first, on `kind` where you know it, never on the text. */
export class LonghaulError extends Error {
  readonly failure: Failure;
  /** The daemon's error, if it sent one. */
  readonly wire: WireError | undefined;
  readonly #hint: string | undefined;

  constructor(failure: Failure, message: string, more: { wire?: WireError; hint?: string } = {}) {
    super(message);
    this.name = "LonghaulError";
    this.failure = failure;
    this.wire = more.wire;
    this.#hint = more.hint;
  }

  /** The daemon's kind of error (`thread_not_found`, …), else the client's failure (`not_running`, …). */
  get kind(): string {
    return this.wire?.data?.kind ?? this.failure;
  }

  /** What to do next. */
  get retry(): Retry {
    return this.wire?.data?.retry ?? ADVICE[this.failure][0];
  }

  /** One sentence for a person: what to do about it. */
  get hint(): string | undefined {
    return this.wire?.data?.hint ?? this.#hint ?? ADVICE[this.failure][1];
  }

  get retryAfterMs(): number | undefined {
    return this.wire?.data?.retry_after_ms ?? undefined;
  }
}

/** The daemon's answer as an error. */
export function refused(wire: WireError): LonghaulError {
  return new LonghaulError("refused", wire.message, { wire });
}

/** Says which of the two is too old after a refused handshake. */
export function refusedHandshake(error: unknown): unknown {
  if (!(error instanceof LonghaulError) || error.failure !== "refused") return error;
  const detail = (error.wire?.data as ErrorData | null | undefined)?.detail;
  const disagreement = (detail as { disagreement?: string } | undefined)?.disagreement;
  if (disagreement === "client_too_old") {
    return new LonghaulError("too_old", `this client is too old for the running daemon: ${error.message}`);
  }
  if (disagreement === "daemon_too_old") {
    return new LonghaulError("too_new", `this client is too new for the running daemon: ${error.message}`);
  }
  return error;
}

/** The error of an aborted call. */
export function cancelled(what: string): LonghaulError {
  return new LonghaulError("cancelled", `${what} was cancelled`);
}

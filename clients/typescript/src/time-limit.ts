// How long a call may take if the program does not say.

const REQUEST_MS = 60_000;
/** Milliseconds the daemon gives a compaction without `deadline_ms`, by the protocol. */
const DEADLINE_MS = 120_000;
/** The daemon stops the model at the deadline, then records the checkpoint. */
const MARGIN_MS = 15_000;
/** They take as long as there is work; the end of the connection ends them. */
const UNLIMITED = new Set(["memory/run", "archive/verify", "archive/restore"]);

/** Milliseconds to wait for the answer to a call; infinite for jobs whose length depends on how much there is to do. */
export function limitMs(method: string, params: unknown): number {
  if (UNLIMITED.has(method)) return Infinity;
  if (method !== "compaction/run" && method !== "thread/continue") return REQUEST_MS;
  return ((params as { deadline_ms?: number | null } | undefined)?.deadline_ms ?? DEADLINE_MS) + MARGIN_MS;
}

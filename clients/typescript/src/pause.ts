// Waiting, cut short by a deadline or a cancellation.

import { cancelled, LonghaulError } from "./errors";

/** What ends a call before its answer. */
export interface Patience {
  method: string;
  timeoutMs: number;
  deadline: number;
  signal: AbortSignal | undefined;
}

/** Waits for `work`, at most as long as the call may take. */
export function within<T>(work: Promise<T>, patience: Patience): Promise<T> {
  const { method, signal, timeoutMs } = patience;
  return new Promise<T>((resolve, reject) => {
    const late = () => reject(new LonghaulError("timeout", `the daemon did not answer ${method} within ${timeoutMs} ms`));
    const aborted = () => reject(cancelled(method));
    if (signal?.aborted) return aborted();
    const timer = setTimeout(late, Math.max(0, patience.deadline - Date.now()));
    signal?.addEventListener("abort", aborted, { once: true });
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
    };
    work.then(resolve, reject).finally(done);
    return undefined;
  });
}

/** How long to wait before attempt number `attempt` (from 0): longer each time, up to `max`, jittered by half. */
export function backoffMs(attempt: number, max: number): number {
  return Math.min(max, 50 * 2 ** Math.min(attempt, 20)) * (0.5 + Math.random() / 2);
}

/** Waits; `unref` when nothing but this keeps the process alive. */
export function pause(ms: number, unref = false): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (unref) timer.unref();
  });
}

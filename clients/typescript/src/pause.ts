// Waits, with deadlines and cancellation.

import { cancelled, LonghaulError } from "./errors";

/** A timer of more milliseconds would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What can end a call before its answer. */
export interface CallLimits {
  method: string;
  timeoutMs: number;
  deadline: number;
  signal: AbortSignal | undefined;
}

/** Waits for `work` until the deadline or the cancellation of the call. */
export function within<T>(work: Promise<T>, limits: CallLimits): Promise<T> {
  const { method, signal, timeoutMs } = limits;
  return new Promise<T>((resolve, reject) => {
    const late = () => reject(new LonghaulError("timeout", `the daemon did not answer ${method} within ${timeoutMs} ms`));
    const aborted = () => reject(cancelled(method));
    if (signal?.aborted) return aborted();
    const left = Math.max(0, limits.deadline - Date.now());
    const timer = left <= TIMER_MS_MAX ? setTimeout(late, left) : undefined;
    signal?.addEventListener("abort", aborted, { once: true });
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
    };
    work.then(resolve, reject).finally(done);
    return undefined;
  });
}

/** Milliseconds to wait after attempt number `attempt` (from 0): doubles up to `max`, with a jitter of half. */
export function backoffMs(attempt: number, max: number): number {
  return Math.min(max, 50 * 2 ** Math.min(attempt, 20)) * (0.5 + Math.random() / 2);
}

/** Waits; with `unref` it does not keep the process alive. */
export function pause(ms: number, unref = false): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (unref) timer.unref();
  });
}

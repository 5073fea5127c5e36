// A stream of events that continues over reconnections.
//
// Events are hints; methods return the state. The queue is bounded: for a slow reader the queued events end with a
// `gap`, as when the daemon dropped events.

import type { Event, EventSubscribeParams } from "./protocol.generated";

/** Maximum events in the queue, including the `gap` at its end. */
const QUEUE_EVENTS = 1024;

/** Events, as `for await (const event of subscription)`. Leaving the loop unsubscribes. */
export class Subscription implements AsyncIterable<Event> {
  readonly #queue: Event[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;
  /** Its id on the current connection, and the event and daemon to resume from. Set by the client. */
  position: { id: string; seq: number; instance: string } | undefined;

  constructor(
    readonly params: EventSubscribeParams,
    private readonly onClose: (subscription: Subscription) => void,
  ) {}

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends it; queued events can still be read. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClose(this);
    this.#wake?.();
  }

  /** Queues an event from the daemon. */
  deliver(event: Event): void {
    if (this.position) this.position.seq = Math.max(this.position.seq, event.seq);
    // The client resumes the subscription, so it does not end for the reader.
    if (event.kind === "closing") return;
    const last = this.#queue[this.#queue.length - 1];
    if (this.#queue.length < QUEUE_EVENTS - 1) this.#queue.push(event);
    else if (last?.kind !== "gap") this.#queue.push({ ...event, kind: "gap", data: { next_seq: event.seq } });
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    try {
      for (;;) {
        const event = this.#queue.shift();
        if (event) yield event;
        else if (this.#isClosed) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.close();
    }
  }
}

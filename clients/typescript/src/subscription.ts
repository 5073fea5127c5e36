// A stream of events that survives the connections it comes over.
//
// Events are hints; the state is behind the methods. The queue is bounded: a reader that falls behind finds a
// `gap` at the end of what was kept, like one whom the daemon had to leave behind.

import type { Event, EventSubscribeParams } from "./protocol.generated";

/** Events waiting for a reader, the `gap` at the end included. */
const QUEUE_EVENTS = 1024;

/** Events, as `for await (const event of subscription)`. Leaving the loop unsubscribes. */
export class Subscription implements AsyncIterable<Event> {
  readonly #queue: Event[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;
  /** Its id on the present connection, and the seq and daemon to go on from; kept by the client. */
  place: { id: string; seq: number; instance: string } | undefined;

  constructor(
    readonly params: EventSubscribeParams,
    private readonly onClose: (subscription: Subscription) => void,
  ) {}

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends it; what is queued is still read. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClose(this);
    this.#wake?.();
  }

  /** Takes an event from the daemon. */
  deliver(event: Event): void {
    if (this.place) this.place.seq = Math.max(this.place.seq, event.seq);
    // The client takes the subscription up again; for its reader nothing ends.
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

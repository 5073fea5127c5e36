//! Bounds that both ends must know, each with its unit and its source.
//!
//! The daemon enforces them and repeats them in the answer to `initialize` ([`Limits`]), where `connections_max` is as
//! configured and the others are as here. A size over a bound is an error; a `limit`, `timeout_ms`, `max_bytes` or `max_tokens`
//! over it is lowered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of one message without its newline.
///
/// # Source
/// Chosen: the items of a thread of a million tokens (4 MiB) with every byte escaped twice. A longer line
/// is answered with `oversized_request` and skipped; the connection stays open.
pub const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of an over-long message that are kept, so that its id can be answered.
///
/// # Source
/// Chosen: JSON-RPC writers put the id first; no known one puts 4 KiB before it.
pub const FRAME_HEAD_BYTES: usize = 4 * 1024;
/// Requests of one connection that run at the same time; at this number the daemon stops reading.
///
/// # Source
/// Chosen: the depth at which a local socket's throughput was measured in 2026-11 (150 k requests a second).
pub const INFLIGHT_PER_CONNECTION_MAX: usize = 64;
/// Bytes of unfinished messages, requests in flight and unread answers that all connections hold together; above
/// it, connections that do not read, and then those that hold most, are answered `server_busy` and closed.
///
/// # Source
/// Measured: two of the largest frames, with which a daemon under a hundred clients that never read stays
/// below 128 MiB in all.
pub const HELD_BYTES_MAX: usize = 2 * FRAME_BYTES_MAX;
/// Connections open at the same time; a further one replaces the longest idle one, or is answered `server_busy`
/// and closed if all are busy.
///
/// # Source
/// Chosen: half of the usual soft limit of 1024 file descriptors, the other half is for files.
pub const CONNECTIONS_MAX: usize = 512;
/// Live `event/subscribe` subscriptions of one connection.
///
/// # Source
/// Chosen: a client needs one; an editor with several windows on one connection needs a few.
pub const SUBSCRIPTIONS_PER_CONNECTION_MAX: usize = 8;
/// Requests in one JSON-RPC batch; a longer one is answered `limit_exceeded`.
///
/// # Source
/// Chosen: equals [`INFLIGHT_PER_CONNECTION_MAX`], so that a batch cannot bypass it.
pub const BATCH_MAX: usize = 64;
/// Events waiting for one subscriber; further ones are replaced by a `gap` event.
///
/// # Source
/// Chosen: half of what the Rust client keeps for one subscription (1,024).
pub const EVENT_QUEUE_MAX: usize = 512;
/// Events the daemon keeps for subscribers that reconnect with `since_seq`.
///
/// # Source
/// Chosen: eight full queues; an event is a few hundred bytes.
pub const EVENT_RING_MAX: usize = 4096;
/// Rows of one page if the request does not say.
///
/// # Source
/// Chosen: two screens of a terminal.
pub const PAGE_ROWS_DEFAULT: u32 = 50;
/// Maximum rows of one page; a larger `limit` is lowered to it.
///
/// # Source
/// Chosen: 500 thread summaries are about 300 KiB, well under a frame.
pub const PAGE_ROWS_MAX: u32 = 500;
/// Entries of each list of a receipt; neighbors are merged into spans until they fit.
///
/// # Source
/// Chosen: a person reads tens, a script hundreds; the merged spans still cover every item.
pub const RECEIPT_ENTRIES_MAX: usize = 1_024;
/// Bytes of items in one page of `history/expand` or `history/get` if the request does not say.
///
/// # Source
/// Chosen: a quarter of a million tokens, more than most windows hold.
pub const EXPAND_BYTES_DEFAULT: u64 = 1024 * 1024;
/// Maximum bytes of items in one page; a larger `max_bytes` is lowered to it. `next_cursor` gives the rest.
///
/// # Source
/// Chosen: half of [`FRAME_BYTES_MAX`], room for JSON escapes of what was compressed or binary.
pub const EXPAND_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Hits of one `thread/search` if the request does not say.
///
/// # Source
/// Chosen: what a person or a model reads.
pub const SEARCH_HITS_DEFAULT: u32 = 10;
/// Maximum hits of one `thread/search`; a larger `limit` is lowered to it.
///
/// # Source
/// Chosen: each hit is read from its transcript, which takes some tenths of a millisecond.
pub const SEARCH_HITS_MAX: u32 = 100;
/// Milliseconds `thread/sync` waits if the request does not say.
///
/// # Source
/// Chosen: catching up one file takes milliseconds; five seconds cover a cold disk.
pub const SYNC_TIMEOUT_MS_DEFAULT: u64 = 5_000;
/// Maximum milliseconds `thread/sync` waits; a larger `timeout_ms` is lowered to it.
///
/// # Source
/// Chosen: a minute; a caller with more patience asks again.
pub const SYNC_TIMEOUT_MS_MAX: u64 = 60_000;

/// Items of one `thread/append`.
///
/// # Source
/// Chosen: a turn of an agent is tens of items; four of the longest are one batch.
pub const APPEND_ITEMS_MAX: usize = 256;
/// Bytes of one item of `thread/append`, as JSON.
///
/// # Source
/// Half of the longest line that is ingested (8 MiB), so that no line exceeds it; the largest line
/// seen in real transcripts is 0.9 MB.
pub const APPEND_ITEM_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a client's own id of an item or a thread.
///
/// # Source
/// Chosen: three UUIDs; keeps a thread's ids findable at the end of its lines.
pub const CLIENT_ID_BYTES_MAX: usize = 128;
/// Bytes of one message of `message_history/append`.
///
/// # Source
/// Chosen: a prompt with a long file pasted into it; anything longer is not worth recalling.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024;

/// Bytes of one note of `memory/add_note`.
///
/// # Source
/// Chosen: a long paragraph; longer text belongs in a file of the project.
pub const NOTE_BYTES_MAX: usize = 4 * 1024;
/// Bytes of the focus of a view.
///
/// # Source
/// Chosen: what a person types after a command; with a pasted document every line would match.
pub const FOCUS_BYTES_MAX: usize = 4 * 1024;

/// Tokens of a `memory/read` answer: the default and the maximum.
///
/// # Source
/// Chosen: half of what agents allow for one tool answer; `next_line` gives the rest.
pub const MEMORY_READ_TOKENS_MAX: u64 = 10_000;

/// The daemon's bounds, as `initialize` answers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Bytes of one message, [`FRAME_BYTES_MAX`].
    pub frame_bytes_max: usize,
    /// Requests in flight on one connection, [`INFLIGHT_PER_CONNECTION_MAX`].
    pub inflight_per_connection_max: usize,
    /// Connections, as configured; [`CONNECTIONS_MAX`] by default.
    pub connections_max: usize,
    /// Subscriptions of one connection, [`SUBSCRIPTIONS_PER_CONNECTION_MAX`].
    pub subscriptions_per_connection_max: usize,
    /// Requests in one batch, [`BATCH_MAX`].
    pub batch_max: usize,
    /// Events waiting for one subscriber, [`EVENT_QUEUE_MAX`].
    pub event_queue_max: usize,
    /// Rows of a page if the request does not say, [`PAGE_ROWS_DEFAULT`].
    pub page_rows_default: u32,
    /// Maximum rows of a page, [`PAGE_ROWS_MAX`].
    pub page_rows_max: u32,
    /// Bytes of items in one `history/expand`, [`EXPAND_BYTES_MAX`].
    pub expand_bytes_max: u64,
}

impl Limits {
    /// The bounds of this crate.
    pub const OURS: Self = Self {
        frame_bytes_max: FRAME_BYTES_MAX,
        inflight_per_connection_max: INFLIGHT_PER_CONNECTION_MAX,
        connections_max: CONNECTIONS_MAX,
        subscriptions_per_connection_max: SUBSCRIPTIONS_PER_CONNECTION_MAX,
        batch_max: BATCH_MAX,
        event_queue_max: EVENT_QUEUE_MAX,
        page_rows_default: PAGE_ROWS_DEFAULT,
        page_rows_max: PAGE_ROWS_MAX,
        expand_bytes_max: EXPAND_BYTES_MAX,
    };
}

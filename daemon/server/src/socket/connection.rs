//! Serves one client in one task.
//!
//! # Theory of operation
//! The task owns the stream, the undecoded input, the calls in flight and the bytes to write, and advances
//! whichever can proceed. A synchronous method goes from read to write without leaving the task.
//!
//! Bounds, each of which stops the one before it: bytes to write (above the high water mark no call is started and
//! no line read), calls in flight (a permit must be free before a line is taken), the undecoded input (a chunk is
//! read only when it holds no complete line). Calls that were started run to their end, whether their answers are
//! read or not: a half-done one would hold its resources (one of the two store connections) from every other
//! client. So a client that does not read is no longer read from, and is closed after it has taken too little
//! (`outgoing`) for the write timeout; one that does not complete a message is closed after the frame timeout. All
//! clients together have their own bound (`held`), which says who is closed above it.
//!
//! Input ends by the client's end of file, the daemon's drain, or eviction. Calls in flight are then finished and
//! their answers written (a client may close its sending half and still read), unless the peer is gone altogether,
//! which drops everything. Lines that were read but not started when the drain began are answered `draining`. A
//! crash loses calls in flight; nothing here is durable.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use longhaul_protocol::frame::{Decoder, Frame};
use longhaul_protocol::{ErrorKind, WireError};
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::ReadHalf;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use super::dispatch::{Answer, Dispatcher, Outcome, error_reply};
use super::held_bytes::{ConnectionBytes, ConnectionLoad, HIGH_WATER_BYTES, Reservation};
use super::outgoing::Outgoing;
use crate::peer::Peer;

const CHUNK_BYTES: usize = 64 * 1024;
/// Lines taken before yielding to other tasks.
const LINES_PER_TURN: usize = 64;
/// Interval between checks for a hangup of a peer that is not read from.
const HANGUP_LOOK: Duration = Duration::from_millis(500);

const IDLE: &str = "this connection was idle longest and was closed for a new one";
const HALF_SENT: &str = "a message was not completed in time";
const OVERFULL: &str =
    "the daemon holds too many bytes of unfinished messages and unread answers, most of them here";

thread_local! {
    /// One read buffer per thread, not per connection: its contents are copied into the decoder at once.
    static CHUNK: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK_BYTES].into_boxed_slice());
}

/// State of the client's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    /// The client sent its end of file.
    Ended,
    /// The daemon takes no more input.
    Draining,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All requests are answered.
    Finished,
    PeerGone,
    /// The client did not read.
    WriteTimeout,
    /// Closed for a newcomer.
    Evicted,
    /// All clients together held too many bytes, and it was the first to be closed.
    Overfull,
    /// It did not complete a message.
    HalfSent,
}

struct CallInFlight {
    /// Bytes of its request, which it holds.
    line_bytes: usize,
    work: BoxFuture<'static, Option<Answer>>,
}

impl Future for CallInFlight {
    type Output = (usize, Option<Answer>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(self.work.as_mut().poll(context));
        Poll::Ready((self.line_bytes, answer))
    }
}

pub(super) struct Connection {
    dispatcher: Arc<Dispatcher>,
    peer: Arc<Peer>,
    decoder: Decoder,
    /// The decoder holds no complete line.
    starved: bool,
    input: Input,
    in_flight: Arc<Semaphore>,
    calls: FuturesUnordered<CallInFlight>,
    /// Bytes of the requests of calls in flight.
    begun_bytes: usize,
    /// When the incomplete line began.
    line_since: Option<Instant>,
    /// Messages of subscriptions.
    messages: mpsc::Receiver<Box<RawValue>>,
    out: Outgoing,
    /// This connection's share of the bytes held for all clients.
    share: ConnectionBytes,
}

impl Connection {
    pub(super) fn new(
        dispatcher: Arc<Dispatcher>,
        peer: Arc<Peer>,
        messages: mpsc::Receiver<Box<RawValue>>,
        share: ConnectionBytes,
    ) -> Self {
        let bounds = dispatcher.bounds;
        Self {
            peer,
            messages,
            decoder: Decoder::with_line_bytes_max(bounds.frame_bytes_max),
            starved: true,
            input: Input::Open,
            in_flight: Arc::new(Semaphore::new(bounds.in_flight_max)),
            calls: FuturesUnordered::new(),
            begun_bytes: 0,
            line_since: None,
            out: Outgoing::default(),
            share,
            dispatcher,
        }
    }

    /// Serves the client until it is done, gone or closed.
    pub(super) async fn run(
        mut self,
        mut stream: UnixStream,
        draining: impl Future<Output = ()>,
    ) -> End {
        let peer = self.peer.clone();
        // Dropped on every exit, including an aborted task: subscriptions end with their connection.
        let closed = peer.closed.clone().drop_guard();
        let end = self.serve(&mut stream, draining).await;
        drop(closed);
        peer.tasks.close();
        peer.tasks.wait().await;
        end
    }

    async fn serve(&mut self, stream: &mut UnixStream, draining: impl Future<Output = ()>) -> End {
        let (mut reader, writer) = stream.split();
        let stream: &UnixStream = writer.as_ref();
        let evicted = self.peer.evicted.clone();
        let mut evicted = std::pin::pin!(evicted.cancelled());
        let must_close = self.share.must_close();
        let mut draining = std::pin::pin!(draining);
        if let Err(end) = self.read_first(stream, &mut reader).await {
            return end;
        }
        loop {
            self.take_lines();
            if self.out.write(stream).is_err() {
                return End::PeerGone;
            }
            self.account(Vec::new());
            // A turn is over, or writing made room for a line that is already here: no event would tell of it.
            if self.takes_lines() {
                tokio::task::yield_now().await;
                continue;
            }
            if self.is_done() {
                return End::Finished;
            }
            let room = self.out.has_room();
            let reads = self.reads();
            let write_deadline = self.out.deadline(self.dispatcher.bounds.write_timeout);
            let line_deadline =
                self.line_since.map(|since| since + self.dispatcher.bounds.frame_timeout);
            tokio::select! {
                count = read(&mut reader, &mut self.decoder), if reads => {
                    if let Err(end) = self.note_read(count) {
                        return end;
                    }
                }
                ready = stream.writable(), if !self.out.is_empty() => {
                    if ready.is_err() {
                        return End::PeerGone;
                    }
                }
                Some((line_bytes, answer)) = self.calls.next(), if !self.calls.is_empty() => {
                    self.answer(line_bytes, answer);
                }
                Some(message) = self.messages.recv(), if room => self.out.push(message.into()),
                () = self.peer.tasks.wait(), if self.input != Input::Open && !self.peer.tasks.is_empty() => {}
                () = &mut draining, if self.input != Input::Draining => self.stop_input(Input::Draining),
                () = &mut evicted => {
                    return self.say_goodbye(stream, IDLE, End::Evicted);
                }
                () = must_close.cancelled() => {
                    return self.say_goodbye(stream, OVERFULL, End::Overfull);
                }
                () = at(write_deadline), if write_deadline.is_some() => return End::WriteTimeout,
                () = at(line_deadline), if line_deadline.is_some() => {
                    return self.say_goodbye(stream, HALF_SENT, End::HalfSent);
                }
                () = tokio::time::sleep(HANGUP_LOOK), if !reads => {
                    if peer_is_gone(stream) {
                        return End::PeerGone;
                    }
                }
            }
        }
    }

    /// Reads the bytes sent with the connection; until then it is not evicted, and only afterwards counts as
    /// silent.
    async fn read_first(
        &mut self,
        stream: &UnixStream,
        reader: &mut ReadHalf<'_>,
    ) -> Result<(), End> {
        // A new socket accepts bytes, so this does not wait for the client.
        stream.writable().await.map_err(|_| End::PeerGone)?;
        if let Some(count) = read(reader, &mut self.decoder).now_or_never() {
            self.note_read(count)?;
        }
        self.peer.note_active(self.dispatcher.clock.elapsed());
        Ok(())
    }

    fn note_read(&mut self, count: io::Result<usize>) -> Result<(), End> {
        match count.map_err(|_| End::PeerGone)? {
            0 => self.stop_input(Input::Ended),
            _ => self.starved = false,
        }
        Ok(())
    }

    /// Whether to read more bytes.
    fn reads(&self) -> bool {
        self.input == Input::Open && self.starved && self.has_room()
    }

    /// Whether another request may be taken.
    fn has_room(&self) -> bool {
        self.out.has_room() && self.begun_bytes < HIGH_WATER_BYTES
    }

    /// Whether a line that was read may be taken.
    fn takes_lines(&self) -> bool {
        !self.starved && self.has_room() && self.in_flight.available_permits() > 0
    }

    /// Updates the ledger: bytes held, since when the client stalls, and whether it may be evicted.
    fn account(&mut self, reservations: Vec<Reservation>) {
        // While we do not read, the line is not late.
        self.line_since = match self.reads() && self.decoder.is_in_a_line() {
            true => Some(self.line_since.unwrap_or_else(Instant::now)),
            false => None,
        };
        let bytes = self.decoder.buffered_bytes() + self.begun_bytes + self.out.held_bytes();
        let waiting_since = self.out.waiting_since();
        let stalled_since = waiting_since.or(self.line_since);
        let unread_bytes = self.out.held_bytes();
        let has_read = self.out.has_been_read();
        self.share.take_over(
            reservations,
            ConnectionLoad { bytes, unread_bytes, stalled_since, has_read },
        );
        self.peer.note_work(!self.calls.is_empty() && waiting_since.is_none());
    }

    /// Queues a call's answer, whose bytes this connection counts from now on.
    fn answer(&mut self, line_bytes: usize, answer: Option<Answer>) {
        self.begun_bytes -= line_bytes;
        self.peer.note_active(self.dispatcher.clock.elapsed());
        if let Some(Answer { reply, reservations }) = answer {
            self.out.push(reply);
            self.account(reservations);
        }
    }

    /// Starts as many complete lines as there is room for, at most those of a turn.
    fn take_lines(&mut self) {
        for _ in 0..LINES_PER_TURN {
            if !self.takes_lines() {
                return;
            }
            let Some(frame) = self.decoder.next_frame() else {
                self.starved = true;
                return;
            };
            let line_bytes = length(&frame);
            let outcome = take(&self.dispatcher, &frame, &self.peer, &self.in_flight, self.input);
            self.peer.note_message(self.dispatcher.clock.elapsed());
            self.line_since = None;
            self.put(outcome, line_bytes);
        }
    }

    fn put(&mut self, outcome: Outcome, line_bytes: usize) {
        match outcome {
            Outcome::Nothing => {}
            Outcome::Ready(reply) => self.out.push(reply),
            Outcome::Pending(work) => {
                self.begun_bytes += line_bytes;
                self.calls.push(CallInFlight { line_bytes, work });
            }
        }
    }

    /// Stops reading input. At the end of file, a last line without a newline counts.
    fn stop_input(&mut self, why: Input) {
        self.peer.tasks.close();
        if why == Input::Ended && self.decoder.buffered_bytes() > 0 {
            let last = self.decoder.finish();
            let outcome = last.map(|frame| {
                let bytes = length(&frame);
                (take(&self.dispatcher, &frame, &self.peer, &self.in_flight, self.input), bytes)
            });
            if let Some((outcome, line_bytes)) = outcome {
                self.put(outcome, line_bytes);
            }
        }
        self.input = why;
    }

    fn is_done(&self) -> bool {
        let quiet = self.calls.is_empty() && self.messages.is_empty() && self.out.is_empty();
        self.input != Input::Open && self.starved && quiet && self.peer.tasks.is_empty()
    }

    fn say_goodbye(&mut self, stream: &UnixStream, why: &str, end: End) -> End {
        let error = WireError::new(ErrorKind::ServerBusy, why);
        self.out.push(error_reply("null", &error));
        // Do not wait for a closed client to read this.
        match self.out.write(stream) {
            Ok(()) => end,
            Err(_) => End::PeerGone,
        }
    }
}

fn length(frame: &Frame<'_>) -> usize {
    match frame {
        Frame::Line(line) => line.len(),
        Frame::TooLong { head, .. } => head.len(),
    }
}

/// Starts one frame, or refuses it if the daemon is stopping.
fn take(
    dispatcher: &Arc<Dispatcher>,
    frame: &Frame<'_>,
    peer: &Arc<Peer>,
    in_flight: &Arc<Semaphore>,
    input: Input,
) -> Outcome {
    match input {
        Input::Open | Input::Ended => dispatcher.frame(frame, peer, in_flight),
        Input::Draining => {
            dispatcher.refuse_draining(frame).map_or(Outcome::Nothing, Outcome::Ready)
        }
    }
}

/// Reads at most a chunk of available bytes into the decoder; 0 at the end of the input.
///
/// Uses `poll_read`, which treats a short read as a sign that nothing is left and saves the extra read.
async fn read(reader: &mut ReadHalf<'_>, decoder: &mut Decoder) -> io::Result<usize> {
    poll_fn(|context| {
        CHUNK.with_borrow_mut(|chunk| {
            let mut chunk = ReadBuf::new(chunk);
            ready!(Pin::new(&mut *reader).poll_read(context, &mut chunk))?;
            decoder.push(chunk.filled());
            Poll::Ready(Ok(chunk.filled().len()))
        })
    })
    .await
}

/// Whether the peer closed both halves. One that closed only its sending half is still there.
///
/// Polls instead of waiting: a peer that neither sends nor reads is never ready, and waiting for it would stall
/// its calls and miss its deadline.
fn peer_is_gone(stream: &UnixStream) -> bool {
    match stream.ready(Interest::READABLE | Interest::WRITABLE).now_or_never() {
        Some(Ok(ready)) => ready.is_write_closed(),
        Some(Err(_)) => true,
        None => false,
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

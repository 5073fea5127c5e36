//! One client, served by one task.
//!
//! # Theory of operation
//! The task owns the stream, the undecoded input, the calls in flight and the bytes to be written, and
//! does whichever can go on. A synchronous method goes from read to write without leaving the task.
//!
//! Bounds, each of which stops the one before it: bytes to be written (high water: no further call is
//! begun, no line read), calls in flight (a permit is seen to be free before a line is taken), the undecoded
//! input (a chunk is read only when it holds no complete line). Calls that were begun are seen through,
//! whether their answers are read or not: one that is left half done keeps what it holds (a connection to
//! the store, of which there are two) from every other client. A client that does not read is thereby no
//! longer read from, and is closed when it has taken nothing for the write timeout; one that begins a message
//! and does not end it is closed after the frame timeout. What all clients hold together has a bound of its own
//! (`held`): over it, the connection that holds most is closed.
//!
//! Input ends by the client's end of file, by the daemon's drain, or by eviction. What is in flight is then
//! finished and written — a client may close its sending half and still read — unless the peer is gone
//! altogether, which drops the calls in flight with everything else. Lines that were read but not started
//! when the drain began are answered `draining`. A crash loses calls in flight; nothing here is durable.

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
use super::held::{HIGH_WATER_BYTES, Load, Room, Share};
use super::outgoing::Outgoing;
use crate::link::Link;

const CHUNK_BYTES: usize = 64 * 1024;
/// Lines taken before other tasks get their turn.
const LINES_PER_TURN: usize = 64;
/// How often a peer that is not read from is looked at, whether it is still there.
const HANGUP_LOOK: Duration = Duration::from_millis(500);

/// What a connection is told that has to go.
const IDLE: &str = "this connection was idle for longest and gave its place to another";
const HALF_SENT: &str = "a message was begun and not ended in time";
const OVERFULL: &str =
    "the daemon holds too many bytes of unfinished messages and unread answers, most of them here";

thread_local! {
    /// One read buffer a thread, not a connection: what is read is copied into the decoder at once.
    static CHUNK: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK_BYTES].into_boxed_slice());
}

/// Where the client's messages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    /// The client will send nothing more.
    Ended,
    /// The daemon takes nothing more.
    Draining,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All that was asked is answered.
    Finished,
    PeerGone,
    /// The client did not read.
    WriteTimeout,
    /// Its place was given to another.
    Evicted,
    /// It held most of what all clients may hold together.
    Overfull,
    /// It began a message and did not end it.
    HalfSent,
}

/// A call in flight.
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
    link: Arc<Link>,
    decoder: Decoder,
    /// Whether the decoder holds no complete line.
    starved: bool,
    input: Input,
    in_flight: Arc<Semaphore>,
    calls: FuturesUnordered<CallInFlight>,
    /// Bytes of their requests.
    begun_bytes: usize,
    /// When the line began that is not complete yet.
    line_since: Option<Instant>,
    /// Messages of subscriptions.
    messages: mpsc::Receiver<Box<RawValue>>,
    out: Outgoing,
    /// What of the bytes held for all clients is this one's.
    share: Share,
}

impl Connection {
    pub(super) fn new(
        dispatcher: Arc<Dispatcher>,
        link: Arc<Link>,
        messages: mpsc::Receiver<Box<RawValue>>,
        share: Share,
    ) -> Self {
        let bounds = dispatcher.bounds;
        Self {
            link,
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

    /// Serves the client until it is done, gone or told to go.
    pub(super) async fn run(
        mut self,
        mut stream: UnixStream,
        draining: impl Future<Output = ()>,
    ) -> End {
        let link = self.link.clone();
        // Dropped on every way out, also when the task is aborted: subscriptions end with their connection.
        let closed = link.closed.clone().drop_guard();
        let end = self.serve(&mut stream, draining).await;
        drop(closed);
        link.tasks.close();
        link.tasks.wait().await;
        end
    }

    async fn serve(&mut self, stream: &mut UnixStream, draining: impl Future<Output = ()>) -> End {
        let (mut reader, writer) = stream.split();
        let stream: &UnixStream = writer.as_ref();
        let evicted = self.link.evicted.clone();
        let mut evicted = std::pin::pin!(evicted.cancelled());
        let told = self.share.told();
        let mut draining = std::pin::pin!(draining);
        if let Err(end) = self.read_first(stream, &mut reader).await {
            return end;
        }
        loop {
            let more = self.take_lines();
            if self.out.write(stream).is_err() {
                return End::PeerGone;
            }
            self.account(Vec::new());
            if more {
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
                () = self.link.tasks.wait(), if self.input != Input::Open && !self.link.tasks.is_empty() => {}
                () = &mut draining, if self.input != Input::Draining => self.stop_input(Input::Draining),
                () = &mut evicted => {
                    return self.say_goodbye(stream, IDLE, End::Evicted);
                }
                () = told.cancelled() => {
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

    /// Reads what came with the connection: until then nobody else gets its place, and only after it is the client
    /// one that says nothing.
    async fn read_first(
        &mut self,
        stream: &UnixStream,
        reader: &mut ReadHalf<'_>,
    ) -> Result<(), End> {
        // A new socket takes bytes, so this does not wait for the client.
        stream.writable().await.map_err(|_| End::PeerGone)?;
        if let Some(count) = read(reader, &mut self.decoder).now_or_never() {
            self.note_read(count)?;
        }
        self.link.note_active(self.dispatcher.clock.elapsed());
        Ok(())
    }

    fn note_read(&mut self, count: io::Result<usize>) -> Result<(), End> {
        match count.map_err(|_| End::PeerGone)? {
            0 => self.stop_input(Input::Ended),
            _ => self.starved = false,
        }
        Ok(())
    }

    /// Whether the next bytes are wanted.
    fn reads(&self) -> bool {
        self.input == Input::Open && self.starved && self.has_room()
    }

    /// Whether another request may be taken.
    fn has_room(&self) -> bool {
        self.out.has_room() && self.begun_bytes < HIGH_WATER_BYTES
    }

    /// Notes what is held and since when the client makes it wait, and whether others may have its place.
    fn account(&mut self, rooms: Vec<Room>) {
        // A line that is not read on is not late.
        self.line_since = match self.reads() && self.decoder.is_in_a_line() {
            true => Some(self.line_since.unwrap_or_else(Instant::now)),
            false => None,
        };
        let bytes = self.decoder.buffered_bytes() + self.begun_bytes + self.out.held_bytes();
        let waiting_since = self.out.waiting_since();
        let stalled_since = waiting_since.or(self.line_since);
        let unread_bytes = self.out.held_bytes();
        let has_read = self.out.has_been_read();
        self.share.take_over(rooms, Load { bytes, unread_bytes, stalled_since, has_read });
        self.link.note_work(!self.calls.is_empty() && waiting_since.is_none());
    }

    /// Takes the answer of a call, whose bytes are this connection's from now on.
    fn answer(&mut self, line_bytes: usize, answer: Option<Answer>) {
        self.begun_bytes -= line_bytes;
        self.link.note_active(self.dispatcher.clock.elapsed());
        if let Some(Answer { reply, rooms }) = answer {
            self.out.push(reply);
            self.account(rooms);
        }
    }

    /// Starts as many complete lines as there is room for; answers whether more are left for another turn.
    fn take_lines(&mut self) -> bool {
        for _ in 0..LINES_PER_TURN {
            if self.starved || !self.has_room() || self.in_flight.available_permits() == 0 {
                return false;
            }
            let Some(frame) = self.decoder.next_frame() else {
                self.starved = true;
                return false;
            };
            let line_bytes = length(&frame);
            let outcome = take(&self.dispatcher, &frame, &self.link, &self.in_flight, self.input);
            self.link.note_spoken(self.dispatcher.clock.elapsed());
            self.line_since = None;
            self.put(outcome, line_bytes);
        }
        true
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

    /// Takes no more input. At the end of file, a last line without a newline counts.
    fn stop_input(&mut self, why: Input) {
        self.link.tasks.close();
        if why == Input::Ended && self.decoder.buffered_bytes() > 0 {
            let last = self.decoder.finish();
            let outcome = last.map(|frame| {
                let bytes = length(&frame);
                (take(&self.dispatcher, &frame, &self.link, &self.in_flight, self.input), bytes)
            });
            if let Some((outcome, line_bytes)) = outcome {
                self.put(outcome, line_bytes);
            }
        }
        self.input = why;
    }

    /// Whether nothing is left to answer or to send.
    fn is_done(&self) -> bool {
        let quiet = self.calls.is_empty() && self.messages.is_empty() && self.out.is_empty();
        self.input != Input::Open && self.starved && quiet && self.link.tasks.is_empty()
    }

    fn say_goodbye(&mut self, stream: &UnixStream, why: &str, end: End) -> End {
        let error = WireError::new(ErrorKind::ServerBusy, why);
        self.out.push(error_reply("null", &error));
        // Nobody waits for a client that has to go to read this.
        match self.out.write(stream) {
            Ok(()) => end,
            Err(_) => End::PeerGone,
        }
    }
}

/// Bytes a frame holds.
fn length(frame: &Frame<'_>) -> usize {
    match frame {
        Frame::Line(line) => line.len(),
        Frame::TooLong { head, .. } => head.len(),
    }
}

/// Starts one frame, or refuses it when the daemon is stopping.
fn take(
    dispatcher: &Arc<Dispatcher>,
    frame: &Frame<'_>,
    link: &Arc<Link>,
    in_flight: &Arc<Semaphore>,
    input: Input,
) -> Outcome {
    match input {
        Input::Open | Input::Ended => dispatcher.frame(frame, link, in_flight),
        Input::Draining => {
            dispatcher.refuse_draining(frame).map_or(Outcome::Nothing, Outcome::Ready)
        }
    }
}

/// Reads what is there, at most a chunk, into the decoder; 0 at the end of the input.
///
/// By `poll_read`, which takes a short read as the sign that nothing is left, and so saves the read that
/// would only say so.
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

/// Whether the peer closed both halves. One that closed its sending half only is still there.
///
/// Only looks: one that neither sends nor reads is ready for nothing, and waiting for it would leave its calls
/// half done and its deadline unseen.
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

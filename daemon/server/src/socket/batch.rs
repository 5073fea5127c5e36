//! Batches: several messages on one line, answered on one line.
//!
//! A batch stays within the bounds: it has at most [`Bounds::batch_max`](super::Bounds) entries, runs only as many
//! at once as the connection has permits, and its answers together fit into a frame; an answer that does not fit
//! is replaced by `oversized_response` with its own id.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use longhaul_protocol::{ErrorKind, WireError};
use serde::Deserializer;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::dispatch::{Answer, Dispatcher, Outcome, Place, Reply, error_reply};
use super::envelope;
use super::held_bytes::Reservation;
use crate::peer::Peer;

/// Starts the batch on a line that begins with `[`.
pub(super) fn start(
    dispatcher: &Arc<Dispatcher>,
    line: &[u8],
    peer: &Arc<Peer>,
    in_flight: &Arc<Semaphore>,
) -> Outcome {
    let entries = match entries(line, dispatcher.bounds.batch_max) {
        Ok(entries) => entries,
        Err(refusal) => return Outcome::Ready(refusal),
    };
    let permits = permits(entries.len(), in_flight);
    let concurrency = permits.as_ref().map_or(1, OwnedSemaphorePermit::num_permits);
    let messages: Vec<Box<str>> = entries.into_iter().map(|entry| entry.get().into()).collect();
    let (dispatcher, peer) = (dispatcher.clone(), peer.clone());
    let frame_bytes_max = dispatcher.bounds.frame_bytes_max;
    Outcome::Pending(Box::pin(async move {
        let _permits = permits;
        let answered = |message| answer(dispatcher.clone(), peer.clone(), message);
        let replies = futures_util::stream::iter(messages.into_iter().map(answered));
        let mut answers =
            Answers { text: String::new(), reservations: Vec::new(), bytes_max: frame_bytes_max };
        let mut replies = replies.buffered(concurrency);
        while let Some((message, answer)) = replies.next().await {
            if let Some(answer) = answer {
                answers.add(&message, answer);
            }
        }
        answers.finish()
    }))
}

/// The entries of a batch, between one and `max`, or the error reply.
fn entries(line: &[u8], max: usize) -> Result<Vec<&RawValue>, Reply> {
    // There is no single id to answer with; the specification asks for null.
    let refuse = |error: &WireError| error_reply("null", error);
    let mut json = serde_json::Deserializer::from_slice(line);
    let read = json.deserialize_seq(AtMost(max)).and_then(|entries| json.end().map(|()| entries));
    let (entries, given) = read.map_err(|error| {
        refuse(&WireError::new(ErrorKind::ParseError, format!("the batch is not JSON: {error}")))
    })?;
    match given {
        0 => Err(refuse(&WireError::new(ErrorKind::InvalidRequest, "the batch is empty"))),
        _ if given > max => {
            let detail = json!({ "limit": "batch_max", "max": max, "given": given });
            let message = format!("a batch of {given} messages: the limit is {max}");
            Err(refuse(&WireError::new(ErrorKind::LimitExceeded, message).with_detail(detail)))
        }
        _ => Ok(entries),
    }
}

/// Reads an array: keeps the first entries but counts them all. A frame can hold millions.
struct AtMost(usize);

impl<'de> Visitor<'de> for AtMost {
    type Value = (Vec<&'de RawValue>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (mut entries, mut given) = (Vec::new(), 0);
        while entries.len() < self.0 {
            let Some(entry) = seq.next_element()? else { return Ok((entries, given)) };
            entries.push(entry);
            given += 1;
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {
            given += 1;
        }
        Ok((entries, given))
    }
}

/// One permit, which the caller has seen to be free, and as many more as are free and useful.
///
/// Never waits: a batch that waited for permits while holding some could deadlock with another such batch.
fn permits(entries: usize, in_flight: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    let wanted = u32::try_from(entries.min(in_flight.available_permits()).max(1)).unwrap_or(1);
    in_flight.clone().try_acquire_many_owned(wanted).ok()
}

/// Runs one message of the batch.
fn answer(
    dispatcher: Arc<Dispatcher>,
    peer: Arc<Peer>,
    message: Box<str>,
) -> BoxFuture<'static, (Box<str>, Option<Answer>)> {
    Box::pin(async move {
        let answer = match dispatcher.message(message.as_bytes(), &peer, Place::Batch) {
            Outcome::Nothing => None,
            Outcome::Ready(reply) => Some(reply.into()),
            Outcome::Pending(work) => work.await,
        };
        (message, answer)
    })
}

/// The answers so far, as the contents of a JSON array.
struct Answers {
    text: String,
    /// Rooms of the answers in `text`, which stay counted until the batch is complete.
    reservations: Vec<Reservation>,
    bytes_max: usize,
}

impl Answers {
    fn add(&mut self, message: &str, Answer { reply, reservations }: Answer) {
        const BRACKETS_AND_COMMA: usize = 3;
        if !self.text.is_empty() {
            self.text.push(',');
        }
        if self.text.len() + reply.len() + BRACKETS_AND_COMMA <= self.bytes_max {
            self.text.push_str(&reply);
            self.reservations.extend(reservations);
            return;
        }
        let message = envelope::recover_id(message.as_bytes());
        let error = WireError::new(
            ErrorKind::OversizedResponse,
            "the batch's answers do not fit into a frame",
        )
        .with_hint("send the requests one by one");
        self.text.push_str(&error_reply(&message, &error));
    }

    /// The answer of the batch; `None` if it held notifications only.
    fn finish(mut self) -> Option<Answer> {
        if self.text.is_empty() {
            return None;
        }
        self.text.insert(0, '[');
        self.text.push(']');
        Some(Answer { reply: self.text.into(), reservations: self.reservations })
    }
}

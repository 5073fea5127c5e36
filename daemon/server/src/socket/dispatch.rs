//! Dispatches one message through the method table.
//!
//! The table is jsonrpsee's `Methods`; it is dispatched here, because jsonrpsee's own dispatch has no bounds (one
//! connection, unlimited answers). Five cases: unknown method; synchronous, answered at once without a task;
//! asynchronous, answered when its future completes; subscribe, whose callback sends its own answer before the
//! first notification; unsubscribe. A panic in any of them becomes `internal` with the right id.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jsonrpsee::core::traits::IdProvider;
use jsonrpsee::types::error::OVERSIZED_RESPONSE_CODE;
use jsonrpsee::types::{Id, Params, SubscriptionId};
use jsonrpsee::{Extensions, MethodCallback, MethodResponse, Methods, SubscriptionState};
use longhaul_protocol::frame::Frame;
use longhaul_protocol::{ErrorKind, WireError};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use super::Bounds;
use super::batch;
use super::envelope::{self, Call, Envelope};
use super::held_bytes::{HeldBytes, Reservation, Size};
use crate::clock::Clock;
use crate::peer::{CallContext, Counters, Gauge, Peer, ReadyAnswer, request_id};

/// Longer params are not searched for a bound of the answer: requests for a page are short.
const BOUND_LOOKED_FOR_BYTES: usize = 4_096;

/// An answer in its wire form, without its newline.
pub type Reply = Box<str>;

/// Result of dispatching a message.
pub enum Outcome {
    /// Nothing to answer (a notification), or the answer is sent separately (a subscription).
    Nothing,
    Ready(Reply),
    /// The pending answer; dropping it cancels the work.
    Pending(BoxFuture<'static, Option<Answer>>),
}

#[derive(Debug)]
pub struct Answer {
    pub(super) reply: Reply,
    /// Its bytes in the common ledger, until its connection counts them.
    pub(super) reservations: Vec<Reservation>,
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, reservations: Vec::new() }
    }
}

/// The method table and its context; shared by all connections.
#[derive(Debug)]
pub struct Dispatcher {
    methods: Methods,
    pub(super) bounds: Bounds,
    counters: Arc<Counters>,
    pub(super) clock: Clock,
    pub(super) held: Arc<HeldBytes>,
    subscription_ids: CountedIds,
}

impl Dispatcher {
    pub fn new(methods: Methods, bounds: Bounds, counters: Arc<Counters>, clock: Clock) -> Self {
        let held = Arc::new(HeldBytes::new(bounds.held_bytes_max));
        Self { methods, bounds, counters, clock, held, subscription_ids: CountedIds::default() }
    }

    /// Dispatches one frame of a connection.
    ///
    /// `in_flight` has at least one free permit; the caller checked.
    pub fn frame(
        self: &Arc<Self>,
        frame: &Frame<'_>,
        peer: &Arc<Peer>,
        in_flight: &Arc<Semaphore>,
    ) -> Outcome {
        let line = match frame {
            Frame::Line(line) => line.trim_ascii_start(),
            Frame::TooLong { head, bytes } => return Outcome::Ready(self.too_long(head, *bytes)),
        };
        match line.first() {
            None => Outcome::Nothing,
            Some(b'[') => batch::start(self, line, peer, in_flight),
            Some(_) => match self.message(line, peer, Place::Alone) {
                Outcome::Pending(work) => {
                    let permit = in_flight.clone().try_acquire_owned();
                    Outcome::Pending(Box::pin(async move {
                        let reply = work.await;
                        drop(permit);
                        reply
                    }))
                }
                done @ (Outcome::Nothing | Outcome::Ready(_)) => done,
            },
        }
    }

    /// Answers a frame that arrived after the daemon began to stop.
    pub fn refuse_draining(&self, frame: &Frame<'_>) -> Option<Reply> {
        let line = match frame {
            Frame::Line(line) => line,
            Frame::TooLong { head, bytes } => return Some(self.too_long(head, *bytes)),
        };
        let error = WireError::new(ErrorKind::Draining, "the daemon is stopping");
        match envelope::open(line) {
            Envelope::Call(call) => Some(error_reply(&id_text(&call.id), &error)),
            Envelope::Notification => None,
            Envelope::Refused(refusal) => Some(error_reply(&refusal.id, &error)),
        }
    }

    /// Dispatches one message, alone or from a batch.
    pub(super) fn message(
        self: &Arc<Self>,
        message: &[u8],
        peer: &Arc<Peer>,
        place: Place,
    ) -> Outcome {
        match envelope::open(message) {
            Envelope::Call(call) => self.call(call, peer, place),
            Envelope::Notification => Outcome::Nothing,
            Envelope::Refused(refusal) => Outcome::Ready(error_reply(&refusal.id, &refusal.error)),
        }
    }

    fn call(self: &Arc<Self>, call: Call<'_>, peer: &Arc<Peer>, place: Place) -> Outcome {
        let Some((name, callback)) = self.methods.method_with_name(&call.method) else {
            let error = WireError::new(ErrorKind::MethodNotFound, "no such method");
            return Outcome::Ready(error_reply(&id_text(&call.id), &error));
        };
        let number = self.counters.requests.fetch_add(1, Ordering::Relaxed);
        let context = CallContext { peer: peer.clone(), number };
        let id = call.id.clone().into_owned();
        let began = self.clock.elapsed();
        let finish = Finish { dispatcher: self.clone(), id, name, number, began };
        let mut extensions = Extensions::new();
        extensions.insert(context);
        let params = Params::new(call.params.map(|params| params.get()));
        let (id, response_max) = (call.id, self.bounds.frame_bytes_max);
        match callback {
            MethodCallback::Sync(callback) => {
                let run = AssertUnwindSafe(|| callback(id, params, response_max, extensions));
                Outcome::Ready(finish.response(std::panic::catch_unwind(run).ok()))
            }
            MethodCallback::Unsubscription(callback) => {
                let run =
                    AssertUnwindSafe(|| callback(id, params, peer.id, response_max, extensions));
                Outcome::Ready(finish.response(std::panic::catch_unwind(run).ok()))
            }
            MethodCallback::Async(callback) => {
                let (callback, connection) = (callback.clone(), peer.id);
                let is_large = self.bounds.large.contains(&finish.name);
                let size = is_large.then(|| Size::of(max_bytes(params.as_str())));
                let (id, params) = (id.into_owned(), params.into_owned());
                let work =
                    async move { callback(id, params, connection, response_max, extensions).await };
                Outcome::Pending(Box::pin(finish.asynchronous(connection.0, size, work)))
            }
            MethodCallback::Subscription(callback) => match (place, peer.permits.acquire()) {
                (Place::Batch, _) => {
                    let error = "a subscription cannot be made inside a batch: send it alone";
                    Outcome::Ready(finish.error(&WireError::new(ErrorKind::InvalidRequest, error)))
                }
                (Place::Alone, None) => {
                    let error = format!("this connection has {} subscriptions", peer.permits.max());
                    Outcome::Ready(
                        finish.error(&WireError::new(ErrorKind::TooManySubscriptions, error)),
                    )
                }
                (Place::Alone, Some(subscription_permit)) => {
                    let id_provider = &self.subscription_ids;
                    let state =
                        SubscriptionState { conn_id: peer.id, id_provider, subscription_permit };
                    let run = AssertUnwindSafe(|| {
                        callback(id, params, peer.sink.clone(), state, extensions)
                    });
                    match std::panic::catch_unwind(run) {
                        Ok(answer) => Outcome::Pending(Box::pin(finish.subscription(answer))),
                        Err(_) => Outcome::Ready(finish.response(None)),
                    }
                }
            },
        }
    }

    fn too_long(&self, head: &[u8], bytes: u64) -> Reply {
        let max = self.bounds.frame_bytes_max;
        let message = format!("a message of {bytes} bytes: the limit is {max}");
        let detail = json!({ "limit": "frame_bytes_max", "max": max, "given": bytes });
        let error = WireError::new(ErrorKind::OversizedRequest, message).with_detail(detail);
        error_reply(&envelope::recover_id(head), &error)
    }
}

/// Whether a message is alone or in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Alone,
    Batch,
}

/// Turns the result of a call into its answer.
struct Finish {
    dispatcher: Arc<Dispatcher>,
    id: Id<'static>,
    name: &'static str,
    number: u64,
    /// When the request was read.
    began: Duration,
}

impl Finish {
    /// The answer of a call; `None` means it panicked.
    fn response(&self, response: Option<MethodResponse>) -> Reply {
        let Some(mut response) = response else { return self.panicked() };
        let code = response.as_error_code();
        self.note(code.is_some());
        tracing::debug!(method = self.name, request = self.number, code, "answered");
        if code == Some(OVERSIZED_RESPONSE_CODE) {
            return self.too_long();
        }
        match response.extensions_mut().remove::<ReadyAnswer>() {
            Some(ReadyAnswer(answer)) => answer,
            None => response.into_json().into(),
        }
    }

    /// The answer of an asynchronous call; a large one starts only when there is room for its answer.
    async fn asynchronous(
        self,
        connection: usize,
        size: Option<Size>,
        work: impl Future<Output = MethodResponse>,
    ) -> Option<Answer> {
        let dispatcher = &self.dispatcher;
        let _in_flight = Gauge::up(&dispatcher.counters.in_flight);
        let mut reserved = None;
        if let Some(size) = size {
            reserved = dispatcher.held.reserve(connection, size).await;
            if reserved.is_none() {
                self.note(true);
                let message = "no room for a large answer: earlier ones are unread";
                return Some(self.error(&WireError::new(ErrorKind::ServerBusy, message)).into());
            }
        }
        let reply = self.response(AssertUnwindSafe(work).catch_unwind().await.ok());
        if let Some(reserved) = &mut reserved {
            reserved.settle(reply.len());
        }
        Some(Answer { reply, reservations: reserved.into_iter().collect() })
    }

    /// The answer of a subscribe call, which has already been sent, unless it panicked.
    async fn subscription(self, answer: BoxFuture<'static, MethodResponse>) -> Option<Answer> {
        match AssertUnwindSafe(answer).catch_unwind().await {
            Ok(answer) => {
                self.note(answer.is_error());
                None
            }
            Err(_) => Some(self.panicked().into()),
        }
    }

    fn note(&self, is_error: bool) {
        let took = self.dispatcher.clock.elapsed().saturating_sub(self.began);
        self.dispatcher.counters.calls.note(self.name, took, is_error);
    }

    fn panicked(&self) -> Reply {
        self.note(true);
        self.dispatcher.counters.panics.fetch_add(1, Ordering::Relaxed);
        tracing::error!(method = self.name, request = self.number, "request panicked");
        let mut error = WireError::new(ErrorKind::Internal, "a bug in the daemon");
        if let Some(data) = &mut error.data {
            data.request_id = Some(request_id(self.number));
        }
        self.error(&error)
    }

    fn too_long(&self) -> Reply {
        let max = self.dispatcher.bounds.frame_bytes_max;
        let message = format!("the answer has more than {max} bytes");
        let detail = json!({ "limit": "frame_bytes_max", "max": max });
        self.error(&WireError::new(ErrorKind::OversizedResponse, message).with_detail(detail))
    }

    fn error(&self, error: &WireError) -> Reply {
        error_reply(&id_text(&self.id), error)
    }
}

/// The bound on its answer that a request sets.
fn max_bytes(params: Option<&str>) -> Option<u64> {
    #[derive(Deserialize)]
    struct Bound {
        max_bytes: u64,
    }
    let params = params.filter(|params| params.len() <= BOUND_LOOKED_FOR_BYTES)?;
    serde_json::from_str::<Bound>(params).ok().map(|bound| bound.max_bytes)
}

/// An error as an answer; `id` is JSON text.
pub(super) fn error_reply(id: &str, error: &WireError) -> Reply {
    let error = serde_json::to_string(error).unwrap_or_else(|_| {
        // The detail is already a JSON value, so this cannot fail; a bare code is still an answer.
        format!(r#"{{"code":{},"message":"error"}}"#, error.code)
    });
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into()
}

fn id_text(id: &Id<'_>) -> String {
    serde_json::to_string(id).unwrap_or_else(|_| "null".to_owned())
}

/// Counted subscription ids, so that none repeats.
#[derive(Debug, Default)]
struct CountedIds(AtomicU64);

impl IdProvider for CountedIds {
    fn next_id(&self) -> SubscriptionId<'static> {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        SubscriptionId::Str(format!("sub-{count}").into())
    }
}

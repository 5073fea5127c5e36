//! `event/subscribe` and `event/unsubscribe`: passes events of the hub to connections.
//!
//! A subscription is a small task of its connection that waits for the next event and for room in the connection's
//! queue. It ends when the client unsubscribes, when the connection ends, or with a `closing` event when the daemon
//! stops; it never ends silently.

use std::sync::Arc;

use futures_util::FutureExt;
use jsonrpsee::types::{Id, Params, SubscriptionId};
use jsonrpsee::{
    Extensions, MethodCallback, MethodResponse, MethodSink, ResponsePayload, SubscriptionState,
};
use longhaul_protocol::Method;
use longhaul_protocol::event::{
    Subscribe, SubscribeParams, SubscribeResult, Unsubscribe, UnsubscribeResult,
};
use longhaul_protocol::method::EVENT_NOTIFICATION;
use longhaul_protocol::text::gated;
use serde::Serialize;

use super::table::{MethodEntry, Table, TableError, no_context};
use crate::events::{Event, EventHub, Subscriber};
use crate::peer::CallContext;

pub(super) fn register(table: &mut Table, events: &EventHub) -> Result<(), TableError> {
    let (entry, events) = (Arc::new(table.entry::<Subscribe>()?), events.clone());
    let subscribe = move |id: Id<'_>,
                          params: Params<'_>,
                          sink,
                          state: SubscriptionState<'_>,
                          extensions: Extensions| {
        let call = SubscribeCall {
            entry: entry.clone(),
            events: events.clone(),
            id: id.into_owned(),
            sink,
            subscription: subscription_name(state.id_provider.next_id()),
            permit: state.subscription_permit,
        };
        let params = params.into_owned();
        async move {
            match extensions.get::<CallContext>() {
                Some(context) => call.run(context, &params).await,
                None => no_context(call.id),
            }
        }
        .boxed()
    };
    table.insert(Subscribe::NAME, MethodCallback::Subscription(Arc::new(subscribe)))?;
    table.of(&Arc::new(())).on::<Unsubscribe>(|(), context, params| {
        Ok(UnsubscribeResult { ended: context.peer.unsubscribe(&params.subscription) })
    })
}

fn subscription_name(id: SubscriptionId<'_>) -> String {
    match id {
        SubscriptionId::Num(number) => number.to_string(),
        SubscriptionId::Str(name) => name.into_owned(),
    }
}

struct SubscribeCall {
    entry: Arc<MethodEntry>,
    events: EventHub,
    id: Id<'static>,
    sink: MethodSink,
    subscription: String,
    permit: jsonrpsee::SubscriptionPermit,
}

impl SubscribeCall {
    /// Answers through the sink, so that the answer precedes the first event, and starts the feed.
    async fn run(self, context: &CallContext, params: &Params<'_>) -> MethodResponse {
        let params = match self.entry.read::<Subscribe>(context, params) {
            Ok(params) => params,
            Err(failure) => {
                let refusal = failure.answer(Subscribe::NAME, context);
                let response = MethodResponse::subscription_error(self.id, refusal);
                return sent(&self.sink, response).await;
            }
        };
        let SubscribeParams { kinds, since_seq } = params;
        let subscriber = self.events.subscribe(kinds.unwrap_or_default(), since_seq);
        let result = SubscribeResult {
            subscription: self.subscription.clone(),
            seq: subscriber.began_after(),
        };
        let response_max = self.sink.max_response_size() as usize;
        let payload = ResponsePayload::success(result);
        let response = MethodResponse::subscription_response(self.id, payload, response_max);
        let response = sent(&self.sink, response).await;
        let peer = context.peer.clone();
        let ended = peer.subscribe(&self.subscription);
        context.peer.tasks.spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = feed(subscriber, &self.sink, &self.subscription) => {}
            }
            peer.unsubscribe(&self.subscription);
            drop(self.permit);
        });
        response
    }
}

async fn sent(sink: &MethodSink, response: MethodResponse) -> MethodResponse {
    if sink.send(response.to_json()).await.is_err() {
        tracing::debug!("a client disconnected before its subscription was answered");
    }
    response
}

/// Forwards events until they end or the connection does.
async fn feed(mut subscriber: Subscriber, sink: &MethodSink, subscription: &str) {
    while let Some(event) = subscriber.next().await {
        let params = EventParams { subscription, result: &event };
        let notification = Notification { jsonrpc: "2.0", method: EVENT_NOTIFICATION, params };
        let Ok(message) = gated(&notification) else { continue };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

#[derive(Serialize)]
struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: EventParams<'a>,
}

#[derive(Serialize)]
struct EventParams<'a> {
    subscription: &'a str,
    result: &'a Event,
}

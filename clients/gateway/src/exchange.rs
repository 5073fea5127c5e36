//! One request and its reply: passed through, or, if it asks for a compaction, answered.
//!
//! Only `POST …/responses…` is inspected; its body is read whole first, because its end says what it asks, and a marker
//! may be anywhere. All other bodies, and every answer, are streamed.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, UPGRADE};
use hyper::{Method, Request, Response, StatusCode};
use longhaul_client::gateway::{GatewayRoute, GatewaySettings};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::answer;
use crate::body::{self, BODY_BYTES_MAX, BodyFault, Packing};
use crate::compaction_request::{CompactionRequest, MidTurnRequest};
use crate::daemon::Daemon;
use crate::mid_turn::{self, MidTurns};
use crate::record::Record;
use crate::request::ResponsesRequest;
use crate::upstream::{self, Upstream};

/// Bodies that are inspected at the same time.
const LOOKED_INTO_MAX: usize = 4;

pub(crate) type Reply = Response<BoxBody<Bytes, Box<dyn Error + Send + Sync>>>;

/// The routes of the settings, by name.
type Routes = BTreeMap<String, GatewayRoute>;

pub(crate) struct Gateway {
    /// The settings file: an installation may add a route while this runs.
    path: PathBuf,
    secret: String,
    routes: Mutex<Arc<Routes>>,
    upstream: Upstream,
    daemon: Daemon,
    record: Record,
    mid_turns: MidTurns,
    looking: Arc<Semaphore>,
}

/// The result of inspecting a body.
#[derive(Default)]
struct Look {
    compaction: Option<CompactionRequest>,
    mid_turn: Option<MidTurnRequest>,
    /// The body with our views in place of their markers, if it had any.
    with_views: Option<Vec<u8>>,
}

impl Gateway {
    pub(crate) fn new(
        (path, settings): (PathBuf, GatewaySettings),
        upstream: Upstream,
        daemon: Daemon,
    ) -> Self {
        let looking = Arc::new(Semaphore::new(LOOKED_INTO_MAX));
        let GatewaySettings { secret, routes, .. } = settings;
        let routes = Mutex::new(Arc::new(routes));
        Self {
            path,
            secret,
            routes,
            upstream,
            daemon,
            record: Record::default(),
            mid_turns: MidTurns::default(),
            looking,
        }
    }

    /// The current routes of the file; the last known ones if the file is gone, since running sessions still use them.
    fn routes(&self) -> Arc<Routes> {
        let mut known = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(Some(now)) = GatewaySettings::read(&self.path)
            && now.secret == self.secret
            && now.routes != **known
        {
            *known = Arc::new(now.routes);
        }
        Arc::clone(&known)
    }

    pub(crate) async fn reply(&self, request: Request<Incoming>) -> Reply {
        let path = request.uri().path().to_owned();
        let nothing = || refusal(StatusCode::NOT_FOUND, "there is nothing here");
        let Some(inner) = self.behind_secret(&path) else { return nothing() };
        if inner.is_empty() {
            return self.status();
        }
        let (name, rest) = inner.split_at(inner.find('/').unwrap_or(inner.len()));
        let routes = self.routes();
        let Some(route) = routes.get(name) else { return nothing() };
        if request.headers().contains_key(UPGRADE) {
            // Only this status makes Codex fall back to HTTP immediately.
            let why = "websockets are not passed through; use HTTP";
            return refusal(StatusCode::UPGRADE_REQUIRED, why);
        }
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        let url = format!("{}{rest}{query}", upstream::base(route, request.headers()));
        if request.method() == Method::POST && rest.contains("/responses") {
            return self.responses(request, route, &url).await;
        }
        let (parts, body) = request.into_parts();
        self.record.passed();
        self.upstream.pass(parts, &url, reqwest::Body::wrap(body)).await
    }

    /// A route's name and the rest of its path, or nothing for the status; `None` without the secret.
    fn behind_secret<'a>(&self, path: &'a str) -> Option<&'a str> {
        let path = path.strip_prefix('/')?;
        let (secret, inner) = path.split_once('/').unwrap_or((path, ""));
        is_equal(secret.as_bytes(), self.secret.as_bytes()).then_some(inner)
    }

    async fn responses(
        &self,
        request: Request<Incoming>,
        route: &GatewayRoute,
        url: &str,
    ) -> Reply {
        let (parts, body) = request.into_parts();
        let Some(packing) = Packing::of(&parts.headers) else { return unreadable() };
        let body = match body::whole(body).await {
            Ok(body) => body,
            Err(BodyFault::Broken) => {
                return refusal(StatusCode::BAD_REQUEST, "the request ended before its body did");
            }
            Err(BodyFault::TooLarge) => return too_large(),
        };
        let Ok(look) = self.look((packing, &parts.headers), &body, &route.compact_prompts).await
        else {
            return too_large();
        };
        if let Some(request) = look.compaction
            && let Some(reply) = self.compaction(&request).await
        {
            return reply;
        }
        if let Some(of) = &look.mid_turn
            && let Some(window) = self.mid_turns.decide_before_request(&self.daemon, of).await
        {
            return reply(StatusCode::OK, "text/event-stream", answer::full_window(window));
        }
        self.record.passed();
        let body = look.with_views.map_or_else(|| body.into(), reqwest::Body::from);
        self.upstream.pass(parts, url, body).await
    }

    /// Inspects a body on a blocking thread: a large one would delay other streams.
    async fn look(
        &self,
        (packing, headers): (Packing, &HeaderMap),
        body: &Bytes,
        prompts: &[String],
    ) -> Result<Look, BodyFault> {
        let (headers, body, prompts) = (headers.clone(), body.clone(), prompts.to_vec());
        let permit = Arc::clone(&self.looking).acquire_owned().await;
        let looked = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            look(packing, &headers, &body, &prompts)
        });
        looked.await.unwrap_or_else(|_| Ok(Look::default()))
    }

    /// The reply to a request for a compaction; `None` to leave it to the provider.
    async fn compaction(&self, request: &CompactionRequest) -> Option<Reply> {
        let begun = Instant::now();
        let made = self.daemon.briefing(request).await.and_then(|briefing| {
            answer::events(request.form, &briefing).map_err(|error| error.to_string())
        });
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let left = made.as_ref().err();
        let why = left.map(String::as_str);
        self.mid_turns.compacted(&self.daemon, &request.thread_id, why).await;
        self.record.compaction(ms, left.cloned());
        Some(reply(StatusCode::OK, "text/event-stream", made.ok()?))
    }

    fn status(&self) -> Reply {
        let status = serde_json::to_string(&self.record.status()).unwrap_or_default();
        reply(StatusCode::OK, "application/json", status)
    }
}

/// A body of another kind is passed on; the provider rejects it.
fn look(
    packing: Packing,
    headers: &HeaderMap,
    body: &[u8],
    prompts: &[String],
) -> Result<Look, BodyFault> {
    let plain = match packing.unpacked(body) {
        Ok(plain) => plain,
        Err(error) if error.kind() == ErrorKind::FileTooLarge => return Err(BodyFault::TooLarge),
        Err(_) => return Ok(Look::default()),
    };
    let Some(request) = ResponsesRequest::read(&plain) else { return Ok(Look::default()) };
    let with_views = request.with_views(&plain).map(|changed| packing.packed(changed));
    let with_views = with_views.transpose().map_err(|_| BodyFault::TooLarge)?;
    let mid_turn =
        MidTurnRequest::of(headers, &request).filter(|_| mid_turn::can_continue(headers));
    let compaction = CompactionRequest::of(headers, &request, prompts);
    Ok(Look { compaction, mid_turn, with_views })
}

/// A marker may stand in a body that cannot be read here, and no provider may get one.
fn unreadable() -> Reply {
    let why = "this content-encoding cannot be read here, so a view of longhaul in the body would reach the provider as \
               it is; send the body plain, or packed once with zstd or gzip";
    refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)
}

fn too_large() -> Reply {
    let why = format!("a body may have at most {BODY_BYTES_MAX} bytes, unpacked");
    refusal(StatusCode::PAYLOAD_TOO_LARGE, &why)
}

/// Compares in a time that does not depend on where the two differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differing == 0
}

/// The gateway's own error reply, in the form of a provider's error.
pub(crate) fn refusal(status: StatusCode, why: &str) -> Reply {
    let message = format!("longhaul gateway: {why}");
    let error = json!({ "error": { "message": message, "type": "longhaul_gateway" } });
    reply(status, "application/json", error.to_string())
}

fn reply(status: StatusCode, kind: &'static str, body: String) -> Reply {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed();
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

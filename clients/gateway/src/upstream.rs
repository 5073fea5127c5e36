//! Forwards requests to the provider and streams its answers back unchanged.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame, SizeHint};
use hyper::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode, Version};
use longhaul_client::gateway::GatewayRoute;
use reqwest::{Body, Client};

use crate::exchange::{Reply, refusal};

/// Addresses of Codex's built-in provider: with a key, and with a ChatGPT account, which its requests name.
const OPENAI: &str = "https://api.openai.com/v1";
const CHATGPT: &str = "https://chatgpt.com/backend-api/codex";
const ACCOUNT_HEADER: &str = "chatgpt-account-id";
/// Headers of one connection that are not forwarded.
const HOP_BY_HOP: [&str; 8] = [
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const CONNECT_SECONDS: u64 = 30;
const IDLE_SECONDS: u64 = 30;

pub(crate) struct Upstream {
    client: Client,
}

impl Upstream {
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        // A second call fails, since the first one installed the same provider.
        let _already_chosen = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .connect_timeout(Duration::from_secs(CONNECT_SECONDS))
            .pool_idle_timeout(Duration::from_secs(IDLE_SECONDS))
            .build()?;
        Ok(Self { client })
    }

    /// Forwards a request and returns the answer, whose body is read as fast as the client reads it.
    pub(crate) async fn pass(&self, parts: Parts, url: &str, body: Body) -> Reply {
        let Parts { method, mut headers, .. } = parts;
        remove_hop_by_hop(&mut headers);
        for name in [HOST, CONTENT_LENGTH, EXPECT] {
            // Specific to the connection, or computed again from the body.
            headers.remove(name);
        }
        match self.client.request(method, url).headers(headers).body(body).send().await {
            Ok(answer) => passed_back(answer),
            Err(error) => {
                // Its address may contain a key.
                let why = chain(&error.without_url());
                refusal(StatusCode::BAD_GATEWAY, &format!("the provider was not reached: {why}"))
            }
        }
    }
}

fn passed_back(answer: reqwest::Response) -> Reply {
    let (mut parts, body) = Response::<Body>::from(answer).into_parts();
    remove_hop_by_hop(&mut parts.headers);
    parts.version = Version::HTTP_11;
    parts.extensions.clear();
    let body = FlushedBody { body, fault: None };
    Response::from_parts(parts, body.map_err(Into::into).boxed())
}

/// An answer's body that ends with its fault only after the bytes before it could be written.
///
/// hyper drops what it has not flushed when a body fails. A provider that breaks off directly behind an event would
/// lose that event here, and only here.
struct FlushedBody {
    body: Body,
    fault: Option<reqwest::Error>,
}

impl hyper::body::Body for FlushedBody {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        if let Some(fault) = self.fault.take() {
            return Poll::Ready(Some(Err(fault)));
        }
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Err(fault))) => {
                self.fault = Some(fault);
                // hyper flushes while a body has nothing, and asks again.
                context.waker().wake_by_ref();
                Poll::Pending
            }
            polled => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.fault.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Where a route's requests go.
pub(crate) fn base<'a>(route: &'a GatewayRoute, headers: &HeaderMap) -> &'a str {
    match &route.upstream {
        Some(upstream) => upstream.trim_end_matches('/'),
        None if headers.contains_key(ACCOUNT_HEADER) => CHATGPT,
        None => OPENAI,
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named = named.flat_map(|names| names.split(','));
    let named: Vec<HeaderName> = named.filter_map(|name| name.trim().parse().ok()).collect();
    for name in named.into_iter().filter(|name| *name != CONTENT_LENGTH) {
        headers.remove(name);
    }
    headers.remove(CONNECTION);
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// An error and its causes, in a line.
fn chain(error: &reqwest::Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn the_built_in_provider_is_found_by_the_account_that_a_request_names() {
        let (built_in, mut headers) = (GatewayRoute::default(), HeaderMap::new());
        assert_eq!(base(&built_in, &headers), OPENAI);
        headers.insert("chatgpt-account-id", HeaderValue::from_static("a"));
        assert_eq!(base(&built_in, &headers), CHATGPT);
        let upstream = Some("https://llm.example/v1/".to_owned());
        let named = GatewayRoute { upstream, ..GatewayRoute::default() };
        assert_eq!(base(&named, &headers), "https://llm.example/v1");
    }

    #[test]
    fn headers_of_one_connection_stay_there() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("te", "trailers"),
            ("authorization", "Bearer k"),
            ("content-length", "5"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        remove_hop_by_hop(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["authorization", "content-length"]);
    }
}

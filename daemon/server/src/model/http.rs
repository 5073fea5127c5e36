//! One try over HTTP.

use longhaul_core::model::answer::ANSWER_BYTES_MAX;
use longhaul_core::model::{Answer, AnswerReader, Endpoint, Fault, FaultKind, WireApi};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, RequestBuilder, Response};

use super::provider::Provider;

const ERROR_BYTES_MAX: usize = 64 * 1_024;

const MESSAGES_VERSION: &str = "2023-06-01";

/// A client without redirects, since a key must not follow one to another host, and with few idle connections, since
/// requests are rare.
pub(super) fn client() -> Result<Client, Fault> {
    // A later call finds the same provider installed.
    let _already_chosen = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(1)
        .pool_idle_timeout(std::time::Duration::from_secs(15))
        .user_agent(concat!("longhaul/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| Fault::new(FaultKind::Unreachable, &chain(&error)))
}

/// Sends a request and reads its answer. The details of a fault are stored, so credentials are removed from them.
pub(super) async fn attempt(
    client: &Client,
    provider: &Provider,
    form: (WireApi, Endpoint),
    body: Vec<u8>,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Answer, Fault> {
    let key = provider.key().await?;
    let answer = exchange(client, (provider, key.as_deref()), form, body, progress).await;
    answer.map_err(|fault| provider.without_credentials(fault, key.as_deref()))
}

async fn exchange(
    client: &Client,
    (provider, key): (&Provider, Option<&str>),
    (wire, endpoint): (WireApi, Endpoint),
    body: Vec<u8>,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Answer, Fault> {
    let mut response = send(client, (provider, key), wire.path(endpoint), wire, body).await?;
    if !is_stream(&response) {
        let body = read(&mut response, provider, ANSWER_BYTES_MAX).await?;
        return AnswerReader::whole(wire, &body);
    }
    let mut reader = AnswerReader::new(wire);
    while let Some(bytes) = next(&mut response, provider).await? {
        let ended = reader.push(&bytes);
        progress(reader.words());
        if ended {
            break;
        }
    }
    reader.finish()
}

/// Sends a request; an unsuccessful status is a fault.
async fn send(
    client: &Client,
    (provider, key): (&Provider, Option<&str>),
    path: &str,
    wire: WireApi,
    body: Vec<u8>,
) -> Result<Response, Fault> {
    let url = format!("{}/{path}", provider.base_url.trim_end_matches('/'));
    let request = client
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "text/event-stream, application/json")
        .body(body);
    let request = authorized(request, (provider, key), wire)?;
    let sent = tokio::time::timeout(provider.idle_timeout, request.send()).await;
    let silent = || Fault::new(FaultKind::Timeout, "the provider does not respond");
    let mut response = sent.map_err(|_| silent())?.map_err(|error| of_transport(&error))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let retry_after = retry_after(response.headers());
    let body = read(&mut response, provider, ERROR_BYTES_MAX).await.unwrap_or_default();
    Err(Fault::of_status(status.as_u16(), retry_after.as_deref(), &body))
}

fn authorized(
    mut request: RequestBuilder,
    (provider, key): (&Provider, Option<&str>),
    wire: WireApi,
) -> Result<RequestBuilder, Fault> {
    if let Some(key) = key {
        let (name, text) = match wire {
            WireApi::Messages => ("x-api-key", key.to_owned()),
            WireApi::Responses | WireApi::Chat => (AUTHORIZATION.as_str(), format!("Bearer {key}")),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            Fault::new(
                FaultKind::Unauthorized,
                "the key contains characters that are not allowed in a header",
            )
        })?;
        value.set_sensitive(true);
        request = request.header(name, value);
    }
    if wire == WireApi::Messages {
        request = request.header("anthropic-version", MESSAGES_VERSION);
    }
    for (name, value) in &provider.headers {
        request = request.header(name, value);
    }
    Ok(request)
}

pub(super) async fn read(
    response: &mut Response,
    provider: &Provider,
    bytes_max: usize,
) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(bytes) = next(response, provider).await? {
        if body.len() + bytes.len() > bytes_max {
            return Err(Fault::new(FaultKind::AnswerTooLarge, "the answer is too long"));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// The next piece of a body; `None` at the end.
async fn next(
    response: &mut Response,
    provider: &Provider,
) -> Result<Option<impl AsRef<[u8]> + std::ops::Deref<Target = [u8]> + use<>>, Fault> {
    match tokio::time::timeout(provider.idle_timeout, response.chunk()).await {
        Ok(Ok(piece)) => Ok(piece),
        Ok(Err(error)) => Err(Fault::new(FaultKind::StreamCut, &chain(&error))),
        Err(_) => Err(Fault::new(FaultKind::Timeout, "the provider stopped sending")),
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn of_transport(error: &reqwest::Error) -> Fault {
    let kind = if error.is_connect() || error.is_timeout() {
        FaultKind::Unreachable
    } else if error.is_builder() {
        FaultKind::Refused
    } else {
        FaultKind::StreamCut
    };
    Fault::new(kind, &chain(error))
}

/// The seconds to wait before the next request. A time is relative to the provider's clock, which is in the `Date` of its
/// answer.
fn retry_after(headers: &HeaderMap) -> Option<String> {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let moment = |value: &HeaderValue| {
        let zoned = jiff::fmt::rfc2822::parse(value.to_str().ok()?).ok()?;
        Some(zoned.timestamp().as_second())
    };
    let asked = headers.get(RETRY_AFTER)?;
    match (moment(asked), headers.get(DATE).and_then(moment)) {
        (Some(until), Some(now)) => Some(until.saturating_sub(now).max(0).to_string()),
        _ => text(asked),
    }
}

/// An error and its causes, without the URL, which may contain a key.
fn chain(error: &reqwest::Error) -> String {
    let mut words = String::from("HTTP");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_in_seconds_or_a_time_of_the_providers_clock() {
        let asked = |after: &'static str, date: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(after));
            headers.extend(date.map(|date| (DATE, HeaderValue::from_static(date))));
            retry_after(&headers)
        };
        let (now, later) = ("Fri, 02 Jan 2026 10:00:00 GMT", "Fri, 02 Jan 2026 10:01:30 GMT");
        assert_eq!(asked("2.5", Some(now)).as_deref(), Some("2.5"));
        assert_eq!(asked(later, Some(now)).as_deref(), Some("90"));
        assert_eq!(asked(now, Some(later)).as_deref(), Some("0"), "it is over");
        assert_eq!(
            asked(later, None).as_deref(),
            Some(later),
            "without a date it cannot be converted"
        );
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}

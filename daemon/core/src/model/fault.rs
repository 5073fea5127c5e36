//! Model failures and whether to retry.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kinds of failure. Names are stable: they appear in a compaction's attempts and in job errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum FaultKind {
    Unreachable,
    /// The stream ended before the answer did.
    StreamCut,
    /// No answer in the time allowed.
    Timeout,
    /// Too many requests or tokens per minute.
    RateLimited,
    /// The account has no credit or quota left.
    QuotaExceeded,
    /// The input is larger than the model's window.
    ContextOverflow,
    /// The key is missing, wrong or not allowed to do this.
    Unauthorized,
    /// The provider has no such endpoint or model.
    NotFound,
    /// The provider is overloaded or broken (5xx).
    Unavailable,
    /// The provider rejected the content of the request.
    Refused,
    Unreadable,
    AnswerTooLarge,
    /// The answer hit its token limit or was filtered.
    Incomplete,
    BudgetSpent,
}

impl FaultKind {
    /// Whether the provider has processed, and bills, the input of the failed request.
    pub fn is_billed(self) -> bool {
        matches!(
            self,
            Self::StreamCut
                | Self::Timeout
                | Self::Unreadable
                | Self::AnswerTooLarge
                | Self::Incomplete
        )
    }

    /// Whether a retry may succeed.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Unreachable | Self::StreamCut | Self::RateLimited | Self::Unavailable)
    }
}

/// A failure: its kind, the provider's message (bounded), and when to retry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {detail}", kind.into_str())]
pub struct Fault {
    pub kind: FaultKind,
    /// Message of at most [`DETAIL_BYTES`]; never contains a key or text of a history.
    pub detail: String,
    /// Milliseconds to wait, as requested by the provider.
    pub retry_after_ms: Option<u64>,
}

pub const DETAIL_BYTES: usize = 300;

impl Fault {
    pub fn new(kind: FaultKind, detail: &str) -> Self {
        let clean = crate::redact::redact(detail).text;
        let line = without_queries(&crate::text::one_line(&clean));
        let detail = crate::text::cut(&line, DETAIL_BYTES).into_owned();
        Self { kind, detail, retry_after_ms: None }
    }

    /// Classifies an HTTP error by status and, if that is not enough, by the error's code and message.
    /// `retry_after` is the header's value, in seconds.
    ///
    /// # Source
    /// Error tables of the three providers. Overflow is also recognized by its message, since servers of the
    /// Chat API have no common code for it.
    pub fn of_status(status: u16, retry_after: Option<&str>, body: &[u8]) -> Self {
        let error = serde_json::from_slice::<Value>(body).unwrap_or_default();
        let (code, words) = code_and_message(&error);
        let words = words.unwrap_or("the provider gave no reason");
        let kind = kind_of(status, code.unwrap_or_default(), words);
        let mut fault = Self::new(kind, &format!("HTTP {status}: {words}"));
        fault.retry_after_ms = retry_after.and_then(seconds_to_ms);
        fault
    }

    /// Classifies an error object inside a stream.
    pub fn of_error(error: &Value) -> Self {
        let (code, words) = code_and_message(error);
        let code = code.unwrap_or_default();
        let words = words.unwrap_or("the provider gave no reason");
        let kind = kind_of(status_of(code), code, words);
        Self::new(kind, words)
    }
}

/// Removes the query from URLs: a provider repeats the request's URL, and its query may contain a key.
fn without_queries(line: &str) -> String {
    let is_end =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')' | ',');
    let mut clean = String::with_capacity(line.len());
    for word in line.split_inclusive(is_end) {
        let address = word.trim_end_matches(is_end);
        let query = address.find("://").and_then(|at| Some(at + address[at..].find('?')?));
        match query {
            Some(query) => {
                clean.push_str(&address[..query]);
                clean.push_str("?…");
                clean.push_str(&word[address.len()..]);
            }
            None => clean.push_str(word),
        }
    }
    clean
}

fn code_and_message(error: &Value) -> (Option<&str>, Option<&str>) {
    let inner = error.get("error").unwrap_or(error);
    let text = |key: &str| inner.get(key).and_then(Value::as_str);
    let code = text("code").or_else(|| text("type"));
    (code, text("message").or_else(|| inner.as_str()))
}

/// The HTTP status equivalent to an error code inside a stream.
fn status_of(code: &str) -> u16 {
    match code {
        "rate_limit_exceeded" | "rate_limit_error" => 429,
        "authentication_error" | "permission_error" | "invalid_api_key" => 401,
        "not_found_error" | "model_not_found" => 404,
        "invalid_request_error" | "invalid_prompt" => 400,
        _ => 500,
    }
}

fn kind_of(status: u16, code: &str, words: &str) -> FaultKind {
    if is_overflow(code, words) && status != 429 {
        return FaultKind::ContextOverflow;
    }
    match status {
        429 if code == "insufficient_quota" => FaultKind::QuotaExceeded,
        402 => FaultKind::QuotaExceeded,
        429 => FaultKind::RateLimited,
        401 | 403 => FaultKind::Unauthorized,
        404 | 405 => FaultKind::NotFound,
        413 => FaultKind::ContextOverflow,
        408 | 425 | 500.. => FaultKind::Unavailable,
        _ => FaultKind::Refused,
    }
}

fn is_overflow(code: &str, words: &str) -> bool {
    const CODES: [&str; 3] =
        ["context_length_exceeded", "context_window_exceeded", "exceed_context_size_error"];
    const WORDS: [&str; 6] = [
        "context length",
        "context window",
        "maximum context",
        "prompt is too long",
        "input is too long",
        "exceeds the available context",
    ];
    let words = words.to_ascii_lowercase();
    CODES.contains(&code) || WORDS.iter().any(|phrase| words.contains(phrase))
}

/// Converts `Retry-After` seconds to milliseconds; dates are ignored.
fn seconds_to_ms(text: &str) -> Option<u64> {
    let seconds: f64 = text.trim().parse().ok()?;
    let bounded = seconds.clamp(0.0, 86_400.0) * 1_000.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded above")]
    (seconds.is_finite()).then_some(bounded as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_classified_by_status_code_and_message() {
        let check = |status, body: &str, kind| {
            let fault = Fault::of_status(status, None, body.as_bytes());
            assert_eq!(fault.kind, kind, "{status} {body}");
        };
        check(
            429,
            r#"{"error":{"code":"rate_limit_exceeded","message":"slow"}}"#,
            FaultKind::RateLimited,
        );
        check(
            429,
            r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#,
            FaultKind::QuotaExceeded,
        );
        check(
            429,
            r#"{"error":{"message":"tokens per min, context length"}}"#,
            FaultKind::RateLimited,
        );
        check(
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"no"}}"#,
            FaultKind::ContextOverflow,
        );
        check(
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 5"}}"#,
            FaultKind::ContextOverflow,
        );
        check(
            400,
            r#"{"error":"the request exceeds the available context size"}"#,
            FaultKind::ContextOverflow,
        );
        check(400, r#"{"error":{"message":"bad field"}}"#, FaultKind::Refused);
        check(401, "", FaultKind::Unauthorized);
        check(402, "", FaultKind::QuotaExceeded);
        check(404, "<html>", FaultKind::NotFound);
        check(413, "", FaultKind::ContextOverflow);
        check(500, "oops", FaultKind::Unavailable);
        check(
            529,
            r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
            FaultKind::Unavailable,
        );
    }

    #[test]
    fn errors_in_a_stream_are_classified_by_their_code() {
        for (code, kind) in [
            ("rate_limit_exceeded", FaultKind::RateLimited),
            ("rate_limit_error", FaultKind::RateLimited),
            ("authentication_error", FaultKind::Unauthorized),
            ("permission_error", FaultKind::Unauthorized),
            ("not_found_error", FaultKind::NotFound),
            ("model_not_found", FaultKind::NotFound),
            ("invalid_request_error", FaultKind::Refused),
            ("invalid_prompt", FaultKind::Refused),
            ("context_length_exceeded", FaultKind::ContextOverflow),
            ("overloaded_error", FaultKind::Unavailable),
            ("server_error", FaultKind::Unavailable),
        ] {
            let error = serde_json::json!({"type": "error", "code": code, "message": "no"});
            assert_eq!(Fault::of_error(&error).kind, kind, "{code}");
        }
    }

    #[test]
    fn only_what_the_provider_processed_is_billed_and_only_a_passing_failure_is_retried() {
        use FaultKind as F;
        for (kind, is_billed, is_transient) in [
            (F::Unreachable, false, true),
            (F::StreamCut, true, true),
            (F::Timeout, true, false),
            (F::RateLimited, false, true),
            (F::QuotaExceeded, false, false),
            (F::ContextOverflow, false, false),
            (F::Unauthorized, false, false),
            (F::NotFound, false, false),
            (F::Unavailable, false, true),
            (F::Refused, false, false),
            (F::Unreadable, true, false),
            (F::AnswerTooLarge, true, false),
            (F::Incomplete, true, false),
            (F::BudgetSpent, false, false),
        ] {
            assert_eq!(
                (kind.is_billed(), kind.is_transient()),
                (is_billed, is_transient),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn the_providers_wait_is_read() {
        for (header, expected) in [
            ("2", Some(2_000)),
            ("0.5", Some(500)),
            ("1e99", Some(86_400_000)),
            ("soon", None),
            ("NaN", None),
        ] {
            assert_eq!(
                Fault::of_status(429, Some(header), b"").retry_after_ms,
                expected,
                "{header}"
            );
        }
    }

    #[test]
    fn the_query_of_a_url_is_removed() {
        let fault = Fault::new(
            FaultKind::Refused,
            "no route to 'https://a.example/v1?api-version=1&code=hunter2', see https://b.example/doc",
        );
        assert_eq!(fault.detail, "no route to 'https://a.example/v1?…', see https://b.example/doc");
        let plain = Fault::new(FaultKind::Refused, "why? because");
        assert_eq!(plain.to_string(), "refused: why? because");
    }

    #[test]
    fn a_key_that_a_provider_repeats_is_redacted() {
        let words = "Incorrect API key provided: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
        let fault =
            Fault::of_error(&serde_json::json!({"code": "invalid_api_key", "message": words}));
        assert_eq!(fault.kind, FaultKind::Unauthorized);
        assert!(!fault.detail.contains("abcdefghij"), "{}", fault.detail);
    }
}

//! Parses one line of a client as far as the socket needs: id, method, params.
//!
//! jsonrpsee's own request type is not used: if it cannot hold an id (negative, fractional, an object), it takes
//! the request for a notification and drops it, so that the caller waits forever. Here every message with an id is
//! answered with that id, because an answer with `"id":null` ends a jsonrpsee client's whole connection. If a line
//! is not JSON or over the bound, the id is searched for in its first bytes.

use std::borrow::Cow;

use jsonrpsee::types::Id;
use longhaul_protocol::{ErrorKind, WireError};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum bytes of an id; it is echoed in the answer and kept while the request runs.
pub const ID_BYTES_MAX: usize = 256;

/// A parsed message.
#[derive(Debug)]
pub enum Envelope<'a> {
    /// A request that expects an answer.
    Call(Call<'a>),
    /// A notification: ignored, as no method here is one.
    Notification,
    /// A message that is answered with an error.
    Refused(Refusal),
}

#[derive(Debug)]
pub struct Call<'a> {
    /// The id to echo.
    pub id: Id<'a>,
    pub method: Cow<'a, str>,
    pub params: Option<&'a RawValue>,
}

/// A message that is answered with an error.
#[derive(Debug)]
pub struct Refusal {
    /// The id as JSON text; `null` if there is none to echo.
    pub id: Cow<'static, str>,
    pub error: WireError,
}

/// The members of a message; a method that is not a string is rejected later, to answer with the id.
#[derive(Debug, Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    // A present `null` id, unlike a missing one.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses one message; never fails.
pub fn open(message: &[u8]) -> Envelope<'_> {
    let members: Members<'_> = match serde_json::from_slice(message) {
        // serde would read an array as the members in order.
        Ok(members) if message.trim_ascii_start().starts_with(b"{") => members,
        Ok(_) => return refuse(NULL, NO_REQUEST),
        Err(error) if error.is_data() => return refuse(recover_id(message), NO_REQUEST),
        Err(error) => {
            let reason = format!("the line is not JSON: {error}");
            let error = WireError::new(ErrorKind::ParseError, reason);
            return Envelope::Refused(Refusal { id: recover_id(message), error });
        }
    };
    let Some(raw_id) = members.id else {
        return match members.method {
            Some(_) => Envelope::Notification,
            None => refuse(NULL, "neither `method` nor `id`: not a JSON-RPC request"),
        };
    };
    let Some(id) = usable(raw_id) else {
        let reason =
            format!("`id` must be a string or a whole number ≥ 0, of at most {ID_BYTES_MAX} bytes");
        return refuse(echo(raw_id.get()), reason);
    };
    if members.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
        return refuse(echo(raw_id.get()), "`jsonrpc` must be \"2.0\"");
    }
    let method = members.method.map(|method| serde_json::from_str::<Text<'_>>(method.get()));
    match method {
        Some(Ok(Text(method))) => Envelope::Call(Call { id, method, params: members.params }),
        Some(Err(_)) => refuse(echo(raw_id.get()), "`method` must be a string"),
        None => refuse(echo(raw_id.get()), "`method` is missing"),
    }
}

/// A string that borrows if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The id, if jsonrpsee and our answers can hold it.
fn usable(raw: &RawValue) -> Option<Id<'_>> {
    let text = raw.get();
    if text.len() > ID_BYTES_MAX {
        return None;
    }
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).ok().map(|Text(text)| Id::Str(text)),
        Some(b'0'..=b'9') => text.parse().ok().map(Id::Number),
        _ => None,
    }
}

const NO_REQUEST: &str = "the message is not a JSON-RPC request object";
const NULL: Cow<'static, str> = Cow::Borrowed("null");

fn refuse(id: Cow<'static, str>, reason: impl Into<String>) -> Envelope<'static> {
    let error = WireError::new(ErrorKind::InvalidRequest, reason);
    Envelope::Refused(Refusal { id, error })
}

/// An id for the answer: a short, readable string or number, else `null`. The grammar allows numbers that no
/// reader can hold (`1e999`) and lone surrogates; an answer with one would be unreadable.
fn echo(raw: &str) -> Cow<'static, str> {
    let is_readable = || match serde_json::from_str(raw) {
        Ok(Value::String(_) | Value::Number(_)) => true,
        Ok(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | Err(_) => false,
    };
    match raw.len() <= ID_BYTES_MAX && is_readable() {
        true => Cow::Owned(raw.to_owned()),
        false => NULL,
    }
}

/// Finds the id in the first bytes of a message that cannot be parsed.
///
/// The first `"id"` member of the outermost object counts, not one inside params. Returns `null` if there is none
/// or the bytes end before it does.
pub fn recover_id(head: &[u8]) -> Cow<'static, str> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = head.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let Some(end) = string_end(head, at) else { return NULL };
                let value = skip_space(head, end);
                let is_key = depth == 1 && head.get(value) == Some(&b':');
                if is_key && &head[at..end] == b"\"id\"" {
                    return scalar_at(head, skip_space(head, value + 1));
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    NULL
}

/// The index after the string that begins at `begin`, if it ends.
fn string_end(head: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin + 1;
    loop {
        match head.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn skip_space(head: &[u8], from: usize) -> usize {
    let space = head.iter().skip(from).take_while(|byte| byte.is_ascii_whitespace()).count();
    from + space
}

/// The complete string or number at `begin`.
fn scalar_at(head: &[u8], begin: usize) -> Cow<'static, str> {
    let end = match head.get(begin) {
        Some(b'"') => string_end(head, begin),
        _ => head.iter().skip(begin).position(|byte| !is_of_number(*byte)).map(|len| begin + len),
    };
    let text = end.and_then(|end| std::str::from_utf8(&head[begin..end]).ok());
    let scalar = text.filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    scalar.map_or(NULL, echo)
}

const fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

#[cfg(test)]
mod tests;

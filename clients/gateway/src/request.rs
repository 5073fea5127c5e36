//! The parts of a request for a response that the gateway needs: its items, and where each is in the body.
//!
//! Everything else stays unparsed. A body is never serialized again: replacing a marker changes only the bytes of that
//! item.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::marker;

/// Replaces a marker that cannot be opened: the provider must not get it, and the session must continue.
const LOST: &str = "An earlier part of this conversation was compacted by longhaul, and the text that stood here can no \
                    longer be read. `longhaul checkpoint show` and `longhaul search` bring back what it said.";

/// The body of a request.
#[derive(Debug, Deserialize)]
pub(crate) struct ResponsesRequest<'a> {
    #[serde(borrow)]
    pub(crate) input: Vec<&'a RawValue>,
    #[serde(default)]
    pub(crate) stream: bool,
    #[serde(default, borrow)]
    pub(crate) prompt_cache_key: Option<Cow<'a, str>>,
}

/// The parsed part of an item.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InputItem {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) role: String,
    pub(crate) call_id: Option<String>,
    pub(crate) encrypted_content: Option<String>,
    content: serde_json::Value,
}

impl InputItem {
    /// Parses an item; one of another form yields the default.
    pub(crate) fn of(raw: &RawValue) -> Self {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }

    /// The words of a message, as one text.
    pub(crate) fn text(&self) -> String {
        if let Some(text) = self.content.as_str() {
            return text.to_owned();
        }
        let parts = self.content.as_array().map_or(&[][..], Vec::as_slice);
        parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

impl<'a> ResponsesRequest<'a> {
    /// `None` if the body is not such a request.
    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// The body with our views in place of their markers, and their number; `None` if it has no markers.
    pub(crate) fn with_views(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut changed = Vec::new();
        let mut copied = 0;
        for raw in self.input.iter().copied() {
            let Some(text) = view_of(raw) else { continue };
            let at = raw.get().as_ptr().addr() - body.as_ptr().addr();
            changed.extend_from_slice(&body[copied..at]);
            let content = [json!({ "type": "input_text", "text": text })];
            let item = json!({ "type": "message", "role": "user", "content": content });
            changed.extend_from_slice(item.to_string().as_bytes());
            copied = at + raw.get().len();
        }
        (copied > 0).then(|| {
            changed.extend_from_slice(&body[copied..]);
            changed
        })
    }
}

/// The replacement of an item; `None` if it is not ours.
fn view_of(raw: &RawValue) -> Option<String> {
    // Most items are large and not ours, so they are not parsed.
    if !raw.get().contains("encrypted_content") {
        return None;
    }
    let marker = InputItem::of(raw).encrypted_content.filter(|text| marker::is_marker(text))?;
    Some(marker::opened(&marker).unwrap_or_else(|| LOST.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_views(body: &str) -> Option<String> {
        let read = ResponsesRequest::read(body.as_bytes()).unwrap();
        read.with_views(body.as_bytes()).map(|changed| String::from_utf8(changed).unwrap())
    }

    #[test]
    fn only_the_bytes_of_a_marker_change() {
        let marker = marker::sealed("the \"view\"").unwrap();
        let body = |item: &str| {
            format!(
                "{{ \"model\":\"m\",  \"n\":1.50,\"input\" : [ {{\"role\":\"user\"}},\t{item} , 7, \
                 {{\"type\":\"compaction\",\"encrypted_content\":\"gAAAA\"}} ],\"z\":\"\\u00e9\" }}"
            )
        };
        let ours = format!("{{\"encrypted_content\" : \"{marker}\", \"type\":\"compaction\"}}");
        let view = r#"{"content":[{"text":"the \"view\"","type":"input_text"}],"role":"user","type":"message"}"#;
        let changed = with_views(&body(&ours)).unwrap();
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let (before, after) = body("|").split_once('|').map(|(a, b)| (a.len(), b.len())).unwrap();
        let inner = &changed[before..changed.len() - after];
        assert_eq!(value(inner), value(view));
        assert_eq!(changed, body(inner));
        assert_eq!(
            with_views(&body("\"longhaul-view-1.\"")),
            None,
            "only an item of that kind is one"
        );
    }

    #[test]
    fn a_marker_that_cannot_be_opened_goes_too() {
        let body = r#"{"input":[{"type":"compaction","encrypted_content":"longhaul-view-9.xyz"}]}"#;
        let changed = with_views(body).unwrap();
        assert!(
            changed.contains("longhaul search") && !changed.contains("longhaul-view"),
            "{changed}"
        );
    }

    #[test]
    fn what_is_no_request_is_not_read() {
        for body in ["", "[]", "{\"input\":\"words\"}", "{\"input\":[1,}"] {
            assert!(ResponsesRequest::read(body.as_bytes()).is_none(), "{body}");
        }
    }
}

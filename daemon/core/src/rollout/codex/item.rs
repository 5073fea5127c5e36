//! `response_item` and `compacted` payloads.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::body::push_text;
use super::super::tool::Call;
use super::super::{Body, Compacted, Images, Item, Replacement, Role, weigh};
use super::Text;
use super::escape::{self, LongText, text};
use super::fields::object;
use crate::item::breakdown::{Breakdown, ContextKind};
use crate::tokens::{self, image};

/// The text around an item's id, which is stored but not sent.
const ID_KEY: &str = r#""id":,"#;

object! {
    struct Wire {
        kind = "type",
        role = "role",
        content = "content",
        name = "name",
        namespace = "namespace",
        arguments = "arguments",
        input = "input",
        call_id = "call_id",
        output = "output",
        summary = "summary",
        action = "action",
        encrypted_content = "encrypted_content",
        /// The item's own id, which is not sent to the model.
        id = "id",
    }
}

/// One part of the content of a message or output.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Part<'a> {
    text: Option<LongText<'a>>,
    image_url: Option<Url<'a>>,
    detail: Option<Url<'a>>,
}

/// An image's URL: a string, or the object that chat APIs use, which is ignored.
struct Url<'a>(Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Url<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str::<Text<'de>>(raw.get()).ok().map(|text| text.0)))
    }
}

/// Prefix of a view that our gateway sent in place of the provider's encrypted summary.
const SEALED_VIEW: &str = r#""encrypted_content":"longhaul-view-"#;

#[derive(Deserialize)]
struct CompactedWire<'a> {
    #[serde(borrow)]
    message: Option<Text<'a>>,
    #[serde(borrow)]
    replacement_history: Option<Vec<&'a RawValue>>,
}

/// Parses an item's payload, or a bare item line.
pub(super) fn read(payload: &str) -> Option<Body<'_>> {
    let wire = Wire::of(payload)?;
    let call_id = text(wire.call_id)?.unwrap_or_default();
    let item = match &*text(wire.kind)?? {
        "message" => {
            let Content { text: words, images } = Content::of(wire.content)?;
            let role = match text(wire.role)?.as_deref() {
                Some("user") => Role::User,
                Some("assistant") => Role::Assistant,
                _ => Role::Developer,
            };
            Item::Message { role, text: words, images }
        }
        "reasoning" => {
            Item::Reasoning { encrypted: encrypted(&wire)?, text: Content::of(wire.summary)?.text }
        }
        "function_call" | "custom_tool_call" | "local_shell_call" => Item::Call(Call {
            call_id,
            name: text(wire.name)?.unwrap_or(Cow::Borrowed("shell")),
            namespace: text(wire.namespace)?,
            arguments: match (text(wire.input)?, wire.arguments, wire.action) {
                (Some(input), ..) => input,
                (None, "", action) => string_or_raw(action),
                (None, arguments, _) => string_or_raw(arguments),
            },
        }),
        "function_call_output" | "custom_tool_call_output" => {
            let Content { text, images } = Content::of(wire.output)?;
            Item::Output { call_id, text, images }
        }
        "compaction" | "compaction_summary" | "context_compaction" => {
            Item::Opaque { encrypted: encrypted(&wire)?.unwrap_or(0) }
        }
        "web_search_call"
        | "tool_search_call"
        | "tool_search_output"
        | "image_generation_call"
        | "additional_tools"
        | "agent_message" => {
            let text = if wire.action.is_empty() { wire.arguments } else { wire.action };
            Item::Other { text: text.into() }
        }
        "ghost_snapshot" => Item::Invisible,
        _ => return Some(Body::Unknown),
    };
    let unsent = if wire.id.is_empty() { 0 } else { ID_KEY.len() + wire.id.len() };
    let tokens = estimate_parsed(&item, payload.len().saturating_sub(unsent) as u64);
    Some(Body::Item(item, tokens))
}

/// Length of an encrypted payload, if there is one.
#[expect(clippy::option_option, reason = "as in `text`")]
fn encrypted(wire: &Wire<'_>) -> Option<Option<u64>> {
    Some(text(wire.encrypted_content)?.map(|text| text.len() as u64))
}

pub(super) fn compacted(payload: &str) -> Option<Body<'_>> {
    let wire = serde_json::from_str::<CompactedWire<'_>>(payload).ok()?;
    let replacement = wire.replacement_history.map(|items| Replacement {
        items: items.len() as u64,
        tokens: items.iter().fold(Breakdown::default(), |mut sum, raw| {
            sum.add(&breakdown(raw.get()));
            sum
        }),
    });
    let message = wire.message.map(|m| m.0).unwrap_or_default();
    let is_sealed_view = payload.contains(SEALED_VIEW);
    Some(Body::Compacted(Compacted { message, replacement, is_sealed_view }))
}

/// Estimates the tokens of one item given as JSON.
pub fn estimate(item: &str) -> u64 {
    match read(item) {
        Some(Body::Item(_, tokens)) => tokens,
        _ => tokens::of_bytes(item.len() as u64),
    }
}

/// Same as [`estimate`], by kind of content.
pub fn breakdown(item: &str) -> Breakdown {
    match read(item) {
        Some(Body::Item(item, tokens)) => weigh::weigh(&item, tokens),
        _ => Breakdown::of(ContextKind::Other, tokens::of_bytes(item.len() as u64)),
    }
}

/// Estimates an item whose JSON has `bytes` bytes (rules of [`crate::tokens`]).
fn estimate_parsed(item: &Item<'_>, bytes: u64) -> u64 {
    let images = match item {
        Item::Opaque { encrypted: 0 } => Images::default(),
        Item::Reasoning { encrypted: Some(chars), .. } | Item::Opaque { encrypted: chars } => {
            return tokens::of_encrypted(*chars);
        }
        Item::Invisible => return 0,
        Item::Message { images, .. } | Item::Output { images, .. } => *images,
        _ => Images::default(),
    };
    tokens::of_bytes(bytes.saturating_sub(images.bytes) + images.cost)
}

/// Text and images of a message's content or a call's output.
#[derive(Default)]
struct Content<'a> {
    text: Cow<'a, str>,
    images: Images,
}

impl<'a> Content<'a> {
    /// Content is a string or an array of parts; anything else counts as nothing.
    fn of(json: &'a str) -> Option<Self> {
        let mut content = Self::default();
        match json.as_bytes().first() {
            Some(b'"') => content.text = escape::unescape(json)?,
            Some(b'[') => {
                let parts = serde_json::from_str::<Vec<Part<'a>>>(json).ok()?;
                parts.into_iter().for_each(|part| content.push(part));
            }
            _ => {}
        }
        Some(content)
    }

    fn push(&mut self, part: Part<'a>) {
        if let Some(url) = part.image_url.and_then(|url| url.0)
            && let Some(payload) = image::payload(&url)
        {
            let is_original =
                part.detail.and_then(|detail| detail.0).is_some_and(|detail| detail == "original");
            self.images.push(payload, is_original);
        }
        push_text(&mut self.text, part.text.map(|text| text.0));
    }
}

/// Arguments are a JSON string; an object is returned as it is.
fn string_or_raw(json: &str) -> Cow<'_, str> {
    escape::unescape(json).unwrap_or(Cow::Borrowed(json))
}

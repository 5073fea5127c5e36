//! Content blocks of a message.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::body::push_text;
use super::super::tool::Call;
use super::super::{Images, Item, Role};
use super::Text;
use crate::tokens;

/// The `message` of a line.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) model: Option<Text<'a>>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) stop_reason: Option<Text<'a>>,
    pub(super) usage: Option<TokenCounts>,
}

#[derive(Deserialize)]
pub(super) struct TokenCounts {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
}

/// Tokens written to the provider's cache, by how long they stay there.
#[derive(Deserialize)]
struct CacheCreation {
    ephemeral_1h_input_tokens: Option<u64>,
    ephemeral_5m_input_tokens: Option<u64>,
}

impl TokenCounts {
    /// Tokens of the request, including cached ones; `None` if nothing was counted.
    pub(super) fn input(&self) -> Option<u64> {
        let input =
            [self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens];
        let input = input.into_iter().flatten().fold(0, u64::saturating_add);
        (input > 0).then_some(input)
    }

    /// Tokens of the request and its answer; `None` if nothing was counted.
    pub(super) fn total(&self) -> Option<u64> {
        Some(self.input()?.saturating_add(self.output_tokens.unwrap_or(0)))
    }

    /// How long the provider keeps what the request wrote to the cache; `None` if it wrote nothing.
    pub(super) fn cache_lifetime_ms(&self) -> Option<u64> {
        let written = self.cache_creation.as_ref()?;
        let is_some = |tokens: Option<u64>| tokens.is_some_and(|tokens| tokens > 0);
        match written {
            _ if is_some(written.ephemeral_1h_input_tokens) => Some(3_600_000),
            _ if is_some(written.ephemeral_5m_input_tokens) => Some(300_000),
            _ => None,
        }
    }
}

/// One block; the kinds share their field names.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Block<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    pub(super) text: Option<Text<'a>>,
    thinking: Option<Text<'a>>,
    signature: Option<Text<'a>>,
    data: Option<Text<'a>>,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    input: Option<&'a RawValue>,
    tool_use_id: Option<Text<'a>>,
    pub(super) content: Option<&'a RawValue>,
    is_error: Option<bool>,
    source: Option<Source<'a>>,
}

#[derive(Deserialize)]
struct Source<'a> {
    #[serde(borrow)]
    media_type: Option<Text<'a>>,
    #[serde(borrow)]
    data: Option<Text<'a>>,
}

impl<'a> Block<'a> {
    pub(super) fn answers(&self, call_id: &str) -> bool {
        self.tool_use_id.as_ref().is_some_and(|id| id.0 == call_id)
    }

    /// The image as a data URL; `None` for other blocks and for images that are not inline.
    pub(super) fn image_url(&self) -> Option<String> {
        let source = self.source.as_ref().filter(|_| self.kind.0 == "image")?;
        let data = source.data.as_ref()?;
        let media = source.media_type.as_ref().map_or("image/png", |media| media.0.as_ref());
        Some(format!("data:{media};base64,{}", data.0))
    }
}

pub(super) struct ToolResult<'a> {
    pub(super) call_id: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
    pub(super) images: Images,
    pub(super) is_error: bool,
}

/// The content of a line in the user's role: text with images, and answers of tools.
#[derive(Default)]
pub(super) struct Content<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) images: Images,
    pub(super) answers: Vec<ToolResult<'a>>,
    /// It contains only answers.
    pub(super) is_silent: bool,
}

impl<'a> Content<'a> {
    /// `None` if it is neither a string nor blocks.
    pub(super) fn read(raw: Option<&'a RawValue>) -> Option<Self> {
        let raw = raw?;
        if raw.get().starts_with('"') {
            let text = serde_json::from_str::<Text<'a>>(raw.get()).ok()?.0;
            return Some(Self { text, ..Self::default() });
        }
        let mut content = Self::default();
        let mut is_said = false;
        for block in blocks(raw)? {
            if block.kind.0 == "tool_result" {
                content.answers.push(answer(block));
                continue;
            }
            is_said = true;
            push(&mut content.text, &mut content.images, block);
        }
        content.is_silent = !is_said;
        Some(content)
    }
}

pub(super) fn blocks<'a>(raw: &'a RawValue) -> Option<Vec<Block<'a>>> {
    serde_json::from_str(raw.get()).ok()
}

fn push<'a>(text: &mut Cow<'a, str>, images: &mut Images, block: Block<'a>) {
    if let Some(data) =
        block.source.and_then(|source| source.data).filter(|_| block.kind.0 == "image")
    {
        images.push(&data.0, false);
    }
    push_text(text, block.text.map(|text| text.0));
}

fn answer(block: Block<'_>) -> ToolResult<'_> {
    let (mut text, mut images) = (Cow::Borrowed(""), Images::default());
    match block.content {
        Some(raw) if raw.get().starts_with('"') => {
            if let Ok(words) = serde_json::from_str::<Text<'_>>(raw.get()) {
                text = words.0;
            }
        }
        Some(raw) => {
            for part in blocks(raw).unwrap_or_default() {
                push(&mut text, &mut images, part);
            }
        }
        None => {}
    }
    ToolResult {
        call_id: block.tool_use_id.map(|id| id.0).unwrap_or_default(),
        text,
        images,
        is_error: block.is_error == Some(true),
    }
}

/// The items of a line of the model, each with its estimated tokens.
pub(super) fn items<'a>(raw: Option<&'a RawValue>) -> Option<Vec<(Item<'a>, u64)>> {
    let raw = raw?;
    if raw.get().starts_with('"') {
        let text = serde_json::from_str::<Text<'a>>(raw.get()).ok()?.0;
        return Some(vec![message(text)]);
    }
    Some(blocks(raw)?.into_iter().map(item).collect())
}

fn message(text: Cow<'_, str>) -> (Item<'_>, u64) {
    let tokens = tokens::of_text(&text);
    (Item::Message { role: Role::Assistant, text, images: Images::default() }, tokens)
}

fn encrypted_reasoning(chars: u64) -> (Item<'static>, u64) {
    let item = Item::Reasoning { encrypted: Some(chars), text: Cow::Borrowed("") };
    (item, tokens::of_encrypted(chars))
}

fn item(block: Block<'_>) -> (Item<'_>, u64) {
    let chars = |text: Option<Text<'_>>| text.map_or(0, |text| text.0.len() as u64);
    match block.kind.0.as_ref() {
        "text" => message(block.text.map(|text| text.0).unwrap_or_default()),
        "thinking" => match block.thinking.map(|text| text.0).filter(|text| !text.is_empty()) {
            None => encrypted_reasoning(chars(block.signature)),
            Some(text) => {
                let tokens = tokens::of_text(&text);
                (Item::Reasoning { encrypted: None, text }, tokens)
            }
        },
        "redacted_thinking" => encrypted_reasoning(chars(block.data)),
        "tool_use" => {
            let arguments = block.input.map_or("{}", RawValue::get);
            let name = block.name.map(|name| name.0).unwrap_or_default();
            let tokens = tokens::of_bytes((arguments.len() + name.len()) as u64);
            let call_id = block.id.map(|id| id.0).unwrap_or_default();
            (
                Item::Call(Call { call_id, name, namespace: None, arguments: arguments.into() }),
                tokens,
            )
        }
        // Calls that the provider runs itself, and their results: one item, without a pair.
        _ => {
            let text = block.input.or(block.content).map_or("", RawValue::get);
            (Item::Other { text: text.into() }, tokens::of_text(text))
        }
    }
}

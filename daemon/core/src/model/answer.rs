//! Reads an answer while it streams in.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::sse::Sse;
use super::{Fault, FaultKind, WireApi, chat, messages, responses};
use crate::redact::{redact, redact_value};

/// Maximum bytes of an answer, all items together.
pub const ANSWER_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// The JSON object in an answer: some models write a code fence or words around it.
pub fn object(answer: &str) -> &str {
    match (answer.find('{'), answer.rfind('}')) {
        (Some(from), Some(to)) if from < to => &answer[from..=to],
        _ => answer,
    }
}

/// Tokens of a request, as reported by the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Input tokens read from the provider's cache.
    pub cached_input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// All text parts, joined.
    pub text: String,
    /// Unchanged items; only in the Responses API.
    pub items: Vec<Box<RawValue>>,
    /// Zero if the provider does not report it.
    pub usage: Usage,
}

impl Answer {
    /// Redacts credentials that the model repeated; keeps encrypted content.
    pub fn redacted(mut self) -> Self {
        self.text = redact(&self.text).text.into_owned();
        for item in &mut self.items {
            let Ok(mut value) = serde_json::from_str::<Value>(item.get()) else { continue };
            if redact_value(&mut value) == 0 {
                continue;
            }
            if let Ok(clean) = to_raw_value(&value) {
                *item = clean;
            }
        }
        self
    }
}

#[derive(Debug)]
pub(super) enum StreamEvent {
    Words(String),
    Item(Box<RawValue>),
    /// Usage so far; 0 means not reported.
    Cost(Usage),
    /// The answer is complete; usage may follow.
    Whole,
    /// The answer is complete and nothing follows.
    Done,
    Failed(Fault),
}

impl StreamEvent {
    pub(super) fn failed(kind: FaultKind, detail: &str) -> Self {
        Self::Failed(Fault::new(kind, detail))
    }
}

/// Reads one answer from bytes in arbitrary chunks.
#[derive(Debug)]
pub struct AnswerReader {
    wire: WireApi,
    sse: Sse,
    answer: Answer,
    item_bytes: usize,
    whole: bool,
    done: bool,
    fault: Option<Fault>,
}

impl AnswerReader {
    pub fn new(wire: WireApi) -> Self {
        Self {
            wire,
            sse: Sse::default(),
            answer: Answer::default(),
            item_bytes: 0,
            whole: false,
            done: false,
            fault: None,
        }
    }

    /// Feeds the next bytes. Returns true once the answer has ended, successfully or not;
    /// [`finish`](Self::finish) returns the result. Later bytes are ignored.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let mut sse = std::mem::take(&mut self.sse);
        let pushed = sse.push(bytes, |data| self.event(data));
        self.sse = sse;
        if pushed.is_err() {
            self.fail(Fault::new(FaultKind::AnswerTooLarge, "an event is over the size limit"));
        }
        self.has_ended()
    }

    pub fn words(&self) -> &str {
        &self.answer.text
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// The provider's error, or [`FaultKind::StreamCut`] if the answer is incomplete.
    pub fn finish(mut self) -> Result<Answer, Fault> {
        let mut sse = std::mem::take(&mut self.sse);
        // Ignore an incomplete event: the stream was cut inside it.
        sse.end(|data| {
            let is_whole = data.trim_ascii() == b"[DONE]"
                || serde_json::from_slice::<IgnoredAny>(data).is_ok();
            if is_whole {
                self.event(data);
            }
        });
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if !self.whole {
            return Err(Fault::new(FaultKind::StreamCut, "the stream ended before the answer did"));
        }
        let message = responses::text_of(&self.answer.items);
        let text = message.filter(|text| !text.is_empty()).unwrap_or(self.answer.text);
        Ok(Answer { text, ..self.answer })
    }

    /// Reads a complete answer from a provider that does not stream.
    ///
    /// # Errors
    /// As [`finish`](Self::finish), and [`FaultKind::Unreadable`].
    pub fn whole(wire: WireApi, body: &[u8]) -> Result<Answer, Fault> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| Fault::new(FaultKind::Unreadable, &error.to_string()))?;
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Fault::of_error(&body["error"]));
        }
        let mut reader = Self::new(wire);
        match wire {
            WireApi::Responses => responses::whole(&body, &mut |step| reader.step(step)),
            WireApi::Chat => chat::whole(&body, &mut |step| reader.step(step)),
            WireApi::Messages => messages::whole(&body, &mut |step| reader.step(step)),
        }
        reader.finish()
    }

    fn has_ended(&self) -> bool {
        self.done || self.fault.is_some()
    }

    fn event(&mut self, data: &[u8]) {
        if self.has_ended() {
            return;
        }
        if data.trim_ascii() == b"[DONE]" {
            // Also ends an answer whose text had no finish reason.
            self.whole |= !self.answer.text.is_empty();
            self.done = true;
            return;
        }
        let Ok(event) = serde_json::from_slice::<Value>(data) else {
            self.fail(Fault::new(FaultKind::Unreadable, "an event is not JSON"));
            return;
        };
        match self.wire {
            WireApi::Responses => responses::event(&event, data, &mut |step| self.step(step)),
            WireApi::Chat => chat::event(&event, &mut |step| self.step(step)),
            WireApi::Messages => messages::event(&event, &mut |step| self.step(step)),
        }
    }

    fn step(&mut self, step: StreamEvent) {
        match step {
            StreamEvent::Words(words) => self.answer.text.push_str(&words),
            StreamEvent::Item(item) => {
                self.item_bytes += item.get().len();
                self.answer.items.push(item);
            }
            StreamEvent::Cost(usage) => {
                let last = &mut self.answer.usage;
                last.input = last.input.max(usage.input);
                last.cached_input = last.cached_input.max(usage.cached_input);
                last.output = last.output.max(usage.output);
            }
            StreamEvent::Whole => self.whole = true,
            StreamEvent::Done => (self.whole, self.done) = (true, true),
            StreamEvent::Failed(fault) => self.fail(fault),
        }
        if self.answer.text.len() + self.item_bytes > ANSWER_BYTES_MAX {
            self.fail(Fault::new(FaultKind::AnswerTooLarge, "the answer is over the size limit"));
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }
}

pub(super) fn count(usage: &Value, pointer: &str) -> u64 {
    usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests;

//! Reading an answer while it streams in.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::sse::Sse;
use super::{Fault, FaultKind, Wire, chat, messages, responses};

/// Bytes of an answer, all its items together.
pub const ANSWER_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// What a provider says the request cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Of the input, cached ones included.
    pub input: u64,
    /// Of the input, those read from the provider's cache.
    pub cached_input: u64,
    /// Of the answer, reasoning included.
    pub output: u64,
}

impl Usage {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// A whole answer.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Its words, all parts joined.
    pub text: String,
    /// Its items as they came; only in the Responses form.
    pub items: Vec<Box<RawValue>>,
    /// What it cost, where the provider says so.
    pub usage: Usage,
}

/// One thing that an event of a stream says.
#[derive(Debug)]
pub(super) enum Step {
    /// More words.
    Words(String),
    /// A finished item.
    Item(Box<RawValue>),
    /// What it costs so far; a field that is 0 was not said.
    Cost(Usage),
    /// The answer is whole, its cost may still come.
    Whole,
    /// The answer is whole and nothing more comes.
    Done,
    /// It failed.
    Failed(Fault),
}

/// Reads one answer; bytes may come in any pieces.
#[derive(Debug)]
pub struct AnswerReader {
    wire: Wire,
    sse: Sse,
    words: String,
    items: Vec<Box<RawValue>>,
    item_bytes: usize,
    usage: Usage,
    whole: bool,
    done: bool,
    fault: Option<Fault>,
}

impl AnswerReader {
    /// A reader of one answer in the given form.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            sse: Sse::default(),
            words: String::new(),
            items: Vec::new(),
            item_bytes: 0,
            usage: Usage::default(),
            whole: false,
            done: false,
            fault: None,
        }
    }

    /// Takes the next bytes of the stream. Once it returns true the answer has ended, well or not, and
    /// [`finish`](Self::finish) says how: what may still come is not for us.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let mut sse = std::mem::take(&mut self.sse);
        let pushed = sse.push(bytes, |data| self.event(data));
        self.sse = sse;
        if pushed.is_err() {
            self.fail(Fault::new(FaultKind::AnswerTooLarge, "one event is over the bound"));
        }
        self.has_ended()
    }

    /// Words so far, to show progress.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// Ends the stream.
    ///
    /// # Errors
    /// What the provider said went wrong, or [`FaultKind::StreamCut`] when the answer is not whole.
    pub fn finish(mut self) -> Result<Answer, Fault> {
        let mut sse = std::mem::take(&mut self.sse);
        // A piece of an event is no event: the stream was cut inside it.
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
        let told = responses::text_of(&self.items);
        let text = told.filter(|text| !text.is_empty()).unwrap_or(self.words);
        Ok(Answer { text, items: self.items, usage: self.usage })
    }

    /// Reads an answer that came in one piece, from a provider that does not stream.
    ///
    /// # Errors
    /// As [`finish`](Self::finish), and [`FaultKind::Unreadable`].
    pub fn whole(wire: Wire, body: &[u8]) -> Result<Answer, Fault> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| Fault::new(FaultKind::Unreadable, &error.to_string()))?;
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Fault::of_error(&body["error"]));
        }
        let mut reader = Self::new(wire);
        match wire {
            Wire::Responses => responses::whole(&body, &mut |step| reader.step(step)),
            Wire::Chat => chat::whole(&body, &mut |step| reader.step(step)),
            Wire::Messages => messages::whole(&body, &mut |step| reader.step(step)),
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
            // After words without a reason to finish it ends the answer too.
            self.whole |= !self.words.is_empty();
            self.done = true;
            return;
        }
        let Ok(event) = serde_json::from_slice::<Value>(data) else {
            self.fail(Fault::new(FaultKind::Unreadable, "an event is no JSON"));
            return;
        };
        match self.wire {
            Wire::Responses => responses::event(&event, data, &mut |step| self.step(step)),
            Wire::Chat => chat::event(&event, &mut |step| self.step(step)),
            Wire::Messages => messages::event(&event, &mut |step| self.step(step)),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Words(words) => self.words.push_str(&words),
            Step::Item(item) => {
                self.item_bytes += item.get().len();
                self.items.push(item);
            }
            Step::Cost(usage) => {
                let last = &mut self.usage;
                last.input = last.input.max(usage.input);
                last.cached_input = last.cached_input.max(usage.cached_input);
                last.output = last.output.max(usage.output);
            }
            Step::Whole => self.whole = true,
            Step::Done => (self.whole, self.done) = (true, true),
            Step::Failed(fault) => self.fail(fault),
        }
        if self.words.len() + self.item_bytes > ANSWER_BYTES_MAX {
            self.fail(Fault::new(FaultKind::AnswerTooLarge, "the answer is over the bound"));
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }
}

/// A number of an answer's usage.
pub(super) fn count(usage: &Value, pointer: &str) -> u64 {
    usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests;

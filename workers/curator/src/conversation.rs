//! The conversation with the model, within its window: the oldest tool answers are dropped first, and the model may ask
//! for them again.

use longhaul_protocol::job::{AskMessage, AskRole};

/// Replaces a dropped answer.
const LEFT_OUT: &str = "(left out to make room: ask again if you need it)";

/// Bytes kept of a step whose answer was dropped.
const STEP_BYTES: usize = 200;

/// Bytes of a message besides its text, as the daemon counts them.
const AROUND_BYTES: usize = 32;

/// A step of the model, and the answer.
struct Exchange {
    step: String,
    answer: String,
}

impl Exchange {
    fn bytes(&self) -> usize {
        self.step.len() + self.answer.len() + 2 * AROUND_BYTES
    }
}

pub(crate) struct Conversation {
    request: String,
    exchanges: Vec<Exchange>,
    bytes_max: usize,
}

impl Conversation {
    pub(crate) fn new(request: String, bytes_max: u64) -> Self {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Self { request, exchanges: Vec::new(), bytes_max }
    }

    pub(crate) fn push(&mut self, step: String, answer: String) {
        self.exchanges.push(Exchange { step, answer });
    }

    /// All messages; permanently shortens a conversation that is too long.
    pub(crate) fn messages(&mut self) -> Vec<AskMessage> {
        let around = self.request.len() + AROUND_BYTES;
        let mut bytes = around + self.exchanges.iter().map(Exchange::bytes).sum::<usize>();
        for exchange in &mut self.exchanges {
            if bytes <= self.bytes_max {
                break;
            }
            bytes -= exchange.bytes();
            exchange.step.truncate(exchange.step.floor_char_boundary(STEP_BYTES));
            exchange.answer = LEFT_OUT.to_owned();
            bytes += exchange.bytes();
        }
        let message = |role, text: &str| AskMessage { role, text: text.to_owned().into() };
        let mut messages = vec![message(AskRole::User, &self.request)];
        for Exchange { step, answer } in &self.exchanges {
            messages.push(message(AskRole::Assistant, step));
            messages.push(message(AskRole::User, answer));
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_answers_are_left_out_first_and_the_request_stays() {
        let mut conversation = Conversation::new("in order".to_owned(), 1_000);
        for round in 0..3 {
            conversation.push(format!("step {round}"), "é".repeat(300));
        }
        let texts: Vec<_> =
            conversation.messages().into_iter().map(|message| message.text.into_bytes()).collect();
        assert_eq!(texts[0], "in order");
        assert_eq!((texts[2].as_str(), texts[4].as_str()), (LEFT_OUT, LEFT_OUT));
        assert_eq!(texts[6], "é".repeat(300));
    }
}

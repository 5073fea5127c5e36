//! The person's requests. The last one is the current task; earlier ones show what is done.

use serde::{Deserialize, Serialize};

use crate::{limits, text};

/// Requests, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Requests {
    list: Vec<Request>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub seq: u64,
    /// Redacted; verbatim up to [`limits::REQUEST_BYTES`] while active.
    pub text: String,
    pub bytes: u64,
    /// Number of the turn that it began.
    pub turn: u32,
}

impl Requests {
    /// Adds a request. The previous one is shortened.
    pub fn push(&mut self, seq: u64, turn: u32, redacted: &str, bytes: u64) {
        if let Some(previous) = self.list.last_mut() {
            previous.text =
                text::cut_middle(&previous.text, limits::OLD_REQUEST_BYTES).into_owned();
        }
        if self.list.len() >= limits::REQUESTS {
            // Keep the first request: it usually states the goal of the whole thread.
            self.list.remove(1);
        }
        let text = text::cut_middle(redacted, limits::REQUEST_BYTES).into_owned();
        self.list.push(Request { seq, text, bytes, turn });
    }

    /// The request being worked on.
    pub fn active(&self) -> Option<&Request> {
        self.list.last()
    }

    /// Oldest first.
    pub fn all(&self) -> &[Request] {
        &self.list
    }

    /// Removes the last `turns` requests, which the person rolled back.
    pub fn roll_back(&mut self, turns: usize) {
        self.list.truncate(self.list.len().saturating_sub(turns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_newest_requests_are_kept() {
        let mut requests = Requests::default();
        for seq in 0..100 {
            requests.push(seq, 0, &format!("request {seq}"), 9);
        }
        assert_eq!(requests.all().len(), limits::REQUESTS);
        assert_eq!(requests.all()[0].text, "request 0");
        assert_eq!(requests.active().map(|r| r.seq), Some(99));
        requests.roll_back(1);
        assert_eq!(requests.active().map(|r| r.seq), Some(98));
    }

    #[test]
    fn an_earlier_request_is_shortened() {
        let mut requests = Requests::default();
        requests.push(0, 1, &"x".repeat(5_000), 5_000);
        assert_eq!(requests.active().map(|r| r.text.len()), Some(5_000));
        requests.push(1, 2, "next", 4);
        assert_eq!(requests.all()[0].text.len(), limits::OLD_REQUEST_BYTES);
    }
}

//! The person's requests. The last one is the current task; earlier ones show what is done.

use serde::{Deserialize, Serialize};

use crate::{limits, text};

/// Requests, oldest first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Requests {
    list: Vec<Request>,
    /// Number of all requests, including evicted ones.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub seq: u64,
    /// Redacted; verbatim up to [`limits::REQUEST_BYTES`] while active.
    pub text: String,
    pub bytes: u64,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Open,
    /// The agent ended its turn.
    Answered,
    Interrupted,
}

impl Requests {
    /// Adds a request. The previous one is shortened, and marked answered if the agent spoke since.
    pub fn push(&mut self, seq: u64, redacted: &str, bytes: u64, spoken_since: bool) {
        if let Some(previous) = self.list.last_mut() {
            if previous.outcome == Outcome::Open && spoken_since {
                previous.outcome = Outcome::Answered;
            }
            previous.text =
                text::cut_middle(&previous.text, limits::OLD_REQUEST_BYTES).into_owned();
        }
        if self.list.len() >= limits::REQUESTS {
            // Keep the first request: it usually states the goal of the whole thread.
            self.list.remove(1);
        }
        let text = text::cut_middle(redacted, limits::REQUEST_BYTES).into_owned();
        self.list.push(Request { seq, text, bytes, outcome: Outcome::Open });
        self.total += 1;
    }

    /// The request being worked on.
    pub fn active(&self) -> Option<&Request> {
        self.list.last()
    }

    /// Oldest first.
    pub fn all(&self) -> &[Request] {
        &self.list
    }

    /// Records how the active request ended.
    pub fn end(&mut self, outcome: Outcome) {
        if let Some(active) = self.list.last_mut() {
            active.outcome = outcome;
        }
    }

    /// Records that the agent works on the active request again.
    pub fn reopen(&mut self) {
        if let Some(active) = self.list.last_mut()
            && active.outcome == Outcome::Answered
        {
            active.outcome = Outcome::Open;
        }
    }

    /// Removes the last `turns` requests, which the person rolled back.
    pub fn roll_back(&mut self, turns: usize) {
        self.list.truncate(self.list.len().saturating_sub(turns));
        self.total = self.total.saturating_sub(turns as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_newest_requests_are_kept() {
        let mut requests = Requests::default();
        for seq in 0..100 {
            requests.push(seq, &format!("request {seq}"), 9, true);
        }
        assert_eq!(requests.all().len(), limits::REQUESTS);
        assert_eq!(requests.all()[0].text, "request 0");
        assert_eq!(requests.active().map(|r| r.seq), Some(99));
        let (_, earlier) = requests.all().split_last().unwrap();
        assert!(earlier.iter().all(|r| r.outcome == Outcome::Answered));
        requests.roll_back(1);
        assert_eq!(requests.active().map(|r| r.seq), Some(98));
        assert_eq!(requests.total, 99);
    }

    #[test]
    fn an_earlier_request_is_shortened() {
        let mut requests = Requests::default();
        requests.push(0, &"x".repeat(5_000), 5_000, false);
        assert_eq!(requests.active().map(|r| r.text.len()), Some(5_000));
        requests.push(1, "next", 4, false);
        assert_eq!(requests.all()[0].text.len(), limits::OLD_REQUEST_BYTES);
        assert_eq!(requests.all()[0].outcome, Outcome::Open);
    }

    #[test]
    fn a_request_is_open_again_once_the_agent_works_on_it() {
        let mut requests = Requests::default();
        requests.push(0, "first", 5, false);
        requests.push(1, "second", 6, true);
        requests.end(Outcome::Answered);
        assert_eq!(requests.active().map(|it| it.outcome), Some(Outcome::Answered));
        requests.reopen();
        let outcomes: Vec<_> = requests.all().iter().map(|it| it.outcome).collect();
        assert_eq!(outcomes, [Outcome::Answered, Outcome::Open]);
    }
}

//! Hits and evidence → recall, rank and time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

const TOP: usize = 10;

pub(super) struct QuestionScore {
    /// Share of the sessions of its evidence among the first ten threads.
    sessions: f64,
    /// Share of its turns at most one turn from one of the first ten hits.
    turns: f64,
    /// 1 / the rank of the first session of its evidence; 0 if it is not among the ten.
    rank: f64,
    took: Duration,
}

/// Scores the hits of a question, best first, each a thread and a line.
pub(super) fn outcome(
    hits: &[(String, u64)],
    evidence: &[(String, u64)],
    took: Duration,
) -> QuestionScore {
    let mut threads: Vec<&String> = Vec::new();
    for (thread, _) in hits {
        if !threads.contains(&thread) {
            threads.push(thread);
        }
    }
    threads.truncate(TOP);
    let top = &hits[..hits.len().min(TOP)];
    let is_near = |(thread, line): &&(String, u64)| {
        top.iter().any(|(found, at)| found == thread && at.abs_diff(*line) <= 1)
    };
    let mut sessions: Vec<&String> = evidence.iter().map(|(thread, _)| thread).collect();
    sessions.sort();
    sessions.dedup();
    let found = sessions.iter().filter(|thread| threads.contains(thread)).count();
    let first = threads.iter().position(|thread| sessions.contains(thread));
    QuestionScore {
        sessions: share(found, sessions.len()),
        turns: share(evidence.iter().filter(is_near).count(), evidence.len()),
        rank: first.map_or(0.0, |place| share(1, place + 1)),
        took,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// All questions, by category.
#[derive(Default)]
pub(super) struct Scores(BTreeMap<u64, Vec<QuestionScore>>);

impl Scores {
    pub(super) fn add(&mut self, category: u64, outcome: QuestionScore) {
        self.0.entry(category).or_default().push(outcome);
    }

    pub(super) fn table(&self) -> String {
        let mut out = String::from(
            "category          questions  session recall@10  turn +-1 recall@10    MRR      p99\n",
        );
        let all: Vec<&QuestionScore> = self.0.values().flatten().collect();
        let rows = self.0.iter().map(|(category, of)| (name(*category), of.iter().collect()));
        for (name, of) in rows.chain([("all", all)]) {
            let Means { sessions, turns, rank, p99 } = means(&of);
            // Writing to a string cannot fail.
            writeln!(
                out,
                "{name:16} {:10} {:17.1}% {:18.1}% {rank:8.3} {:6.1} ms",
                of.len(),
                100.0 * sessions,
                100.0 * turns,
                p99.as_secs_f64() * 1e3,
            )
            .unwrap_or_default();
        }
        out
    }

    pub(super) fn json(&self) -> Value {
        let all: Vec<&QuestionScore> = self.0.values().flatten().collect();
        let row = |of: &[&QuestionScore]| {
            let Means { sessions, turns, rank, p99 } = means(of);
            json!({
                "questions": of.len(), "session_recall_at_10": sessions, "turn_recall_at_10": turns,
                "mrr": rank, "p99_ms": p99.as_secs_f64() * 1e3,
            })
        };
        let mut rows: BTreeMap<&str, Value> = BTreeMap::from([("all", row(&all))]);
        for (category, of) in &self.0 {
            rows.insert(name(*category), row(&of.iter().collect::<Vec<_>>()));
        }
        json!(rows)
    }
}

struct Means {
    sessions: f64,
    turns: f64,
    rank: f64,
    p99: Duration,
}

fn means(of: &[&QuestionScore]) -> Means {
    #[expect(clippy::cast_precision_loss, reason = "a few thousand questions")]
    let mean = |value: fn(&QuestionScore) -> f64| {
        of.iter().map(|outcome| value(outcome)).sum::<f64>() / of.len().max(1) as f64
    };
    let mut times: Vec<Duration> = of.iter().map(|outcome| outcome.took).collect();
    times.sort();
    let last = times.len().saturating_sub(1);
    Means {
        sessions: mean(|outcome| outcome.sessions),
        turns: mean(|outcome| outcome.turns),
        rank: mean(|outcome| outcome.rank),
        p99: times.get((times.len() * 99 / 100).min(last)).copied().unwrap_or_default(),
    }
}

fn name(category: u64) -> &'static str {
    match category {
        1 => "1 multi-hop",
        2 => "2 temporal",
        3 => "3 open-domain",
        4 => "4 single-hop",
        5 => "5 adversarial",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_turns_and_ranks_are_counted_as_they_are_defined() {
        let at = |thread: &str, line| (thread.to_owned(), line);
        let hits = [at("b", 9), at("a", 4), at("a", 7)];
        let evidence = [at("a", 5), at("a", 9), at("c", 1)];
        let QuestionScore { sessions, turns, rank, .. } = outcome(&hits, &evidence, Duration::ZERO);
        assert!((sessions - 0.5).abs() < 1e-9, "a of a and c");
        assert!((turns - 1.0 / 3.0).abs() < 1e-9, "a:5 beside a:4");
        assert!((rank - 0.5).abs() < 1e-9, "the second thread");
        let none = outcome(&[], &evidence, Duration::ZERO);
        assert!(none.sessions + none.turns + none.rank < 1e-9);
    }
}

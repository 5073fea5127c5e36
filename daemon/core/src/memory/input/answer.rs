//! Validates a model's answer against the rows it was shown.
//!
//! Each learning is checked separately: one without a quotation from its row, one with a secret, and a rule that
//! no person stated are rejected and counted. Unproved lines of the accounts are dropped. An answer that is not
//! the requested JSON is rejected as a whole.

use serde::Deserialize;

use super::rows::{Row, RowSource};
use super::{AnswerError, Reading};
use crate::checkpoint::semantic::policy::behavior;
use crate::memory::learning::{
    Evidence, Learning, LearningKind, Outcome, QUOTE_BYTES, RolloutMemory, SLUG_BYTES, TEXT_BYTES,
};
use crate::memory::plain::normalized;
use crate::memory::span::spans;
use crate::model::answer;
use crate::redact::redact;
use crate::step::Origin;
use crate::text;

/// Maximum bytes of a summary or raw memory.
const ACCOUNT_BYTES: usize = 24 * 1_024;

const LEARNINGS_MAX: usize = 64;

/// Minimum bytes of a quotation.
const QUOTE_BYTES_MIN: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtractionAnswer {
    rollout_summary: String,
    rollout_slug: Option<String>,
    raw_memory: String,
    #[serde(default)]
    outcome: Outcome,
    #[serde(default)]
    learnings: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    kind: LearningKind,
    text: String,
    seq: u64,
    quote: String,
}

pub(super) fn read(
    answer: &str,
    about: &RolloutMemory,
    shown: &[Row],
) -> Result<Reading, AnswerError> {
    let body = answer::object(answer);
    let answer: ExtractionAnswer =
        serde_json::from_str(body).map_err(|error| AnswerError::Shape(error.to_string()))?;
    if answer.rollout_summary.trim().is_empty() || answer.raw_memory.trim().is_empty() {
        return Ok(Reading::default());
    }
    bounded("rollout_summary", answer.rollout_summary.len(), ACCOUNT_BYTES)?;
    bounded("raw_memory", answer.raw_memory.len(), ACCOUNT_BYTES)?;
    bounded("learnings", answer.learnings.len(), LEARNINGS_MAX)?;
    let (mut learnings, mut refused) = (Vec::with_capacity(answer.learnings.len()), Vec::new());
    for (at, claim) in answer.learnings.iter().enumerate() {
        match learning(at + 1, claim, about, shown) {
            Ok(learning) => learnings.push(learning),
            Err(error) => refused.push(error),
        }
    }
    // If no learning has evidence, the accounts are not trusted either.
    if learnings.is_empty() && !refused.is_empty() {
        return Err(refused.remove(0));
    }
    let record = Record::of(shown);
    let slug_words = redact(answer.rollout_slug.as_deref().unwrap_or_default()).text;
    let memory = RolloutMemory {
        outcome: answer.outcome,
        rollout_summary: record.verified(&answer.rollout_summary),
        rollout_slug: text::slug(&slug_words, SLUG_BYTES),
        raw_memory: record.verified(&answer.raw_memory),
        learnings,
        ..about.clone()
    };
    Ok(Reading { memory: Some(memory), refused })
}

fn learning(
    number: usize,
    claim: &Claim,
    about: &RolloutMemory,
    shown: &[Row],
) -> Result<Learning, AnswerError> {
    if redact(&claim.text).hits > 0 || redact(&claim.quote).hits > 0 {
        return Err(AnswerError::Secret { number });
    }
    bounded("text", claim.text.len(), TEXT_BYTES * 2)?;
    let quote = normalized(&claim.quote);
    let row =
        shown.iter().find(|row| row.seq == claim.seq && normalized(&row.text).contains(&quote));
    let Some(row) = row.filter(|_| quote.len() >= QUOTE_BYTES_MIN) else {
        return Err(AnswerError::NoEvidence { number });
    };
    let order = behavior(&claim.text);
    let is_order = claim.kind.is_rule() || order.is_some();
    // The person must have stated the rule itself, not only words near it.
    let is_stated = || order.is_none_or(|order| normalized(&row.text).contains(&normalized(order)));
    if is_order && !(row.origin.is_person() && is_stated()) {
        return Err(AnswerError::PlantedRule { number });
    }
    let text = match claim.kind.is_rule() {
        true => quoted_line(&row.text, &quote).unwrap_or(&claim.quote),
        false => &claim.text,
    };
    // Only the daemon's own extraction proves that a command ran; a model's account of it is the agent's.
    let origin = match claim.kind {
        LearningKind::Command => Origin::AGENT,
        _ => row.origin,
    };
    Ok(Learning {
        kind: claim.kind,
        text: text::one_line_cut(text, TEXT_BYTES),
        origin,
        evidence: Evidence {
            thread_id: about.thread_id.clone(),
            seq: row.seq,
            quote: text::one_line_cut(&claim.quote, QUOTE_BYTES),
        },
        slot: None,
        is_passing: false,
        keywords: Vec::new(),
        branch: about.branch.clone(),
        at_ms: about.updated_at_ms,
    })
}

/// The whole line that contains the quotation, without a list marker: a rule stays in the person's words.
fn quoted_line<'a>(row: &'a str, quote: &str) -> Option<&'a str> {
    let line = row.lines().find(|line| normalized(line).contains(quote))?;
    let bare = line.trim_start();
    Some(["- ", "* "].iter().find_map(|marker| bare.strip_prefix(marker)).unwrap_or(line))
}

/// The rows shown, for checking an account.
struct Record {
    all: String,
    /// Rows of the person.
    person: String,
}

impl Record {
    fn of(shown: &[Row]) -> Self {
        let joined = |rows: &mut dyn Iterator<Item = &Row>| {
            rows.map(|row| normalized(&row.text)).collect::<Vec<_>>().join("\n")
        };
        let person = joined(&mut shown.iter().filter(|row| row.source == RowSource::User));
        Self { all: joined(&mut shown.iter()), person }
    }

    /// An account without secrets, without lines that give orders which no person gave, and without lines whose code
    /// marks name something that is not in the record.
    fn verified(&self, account: &str) -> String {
        let redacted = redact(account).text;
        let is_kept = |line: &&str| {
            let is_stated =
                behavior(line).is_none_or(|order| self.person.contains(&normalized(order)));
            is_stated && spans(line).all(|span| self.all.contains(&normalized(span)))
        };
        redacted.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect()
    }
}

fn bounded(field: &'static str, bytes: usize, max: usize) -> Result<(), AnswerError> {
    if bytes > max { Err(AnswerError::TooLong { field, bytes, max }) } else { Ok(()) }
}

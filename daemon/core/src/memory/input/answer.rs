//! A model's answer, judged by the rows it was shown.

use serde::Deserialize;

use super::AnswerError;
use super::rows::{Row, Voice};
use crate::checkpoint::semantic::policy::behaviour;
use crate::memory::learning::{
    Evidence, Learning, LearningKind, Origin, Outcome, QUOTE_BYTES, RolloutMemory, TEXT_BYTES,
};
use crate::memory::slug::slug;
use crate::redact::redact;
use crate::text;

/// Bytes of a summary or raw memory.
const ACCOUNT_BYTES: usize = 24 * 1_024;

/// Learnings of one answer.
const LEARNINGS_MAX: usize = 64;

/// Bytes of the shortest quotation that says anything.
const QUOTE_BYTES_MIN: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
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
) -> Result<Option<RolloutMemory>, AnswerError> {
    let body = unfenced(answer);
    let answer: Answer =
        serde_json::from_str(body).map_err(|error| AnswerError::Shape(error.to_string()))?;
    if answer.rollout_summary.trim().is_empty() || answer.raw_memory.trim().is_empty() {
        return Ok(None);
    }
    bounded("rollout_summary", answer.rollout_summary.len(), ACCOUNT_BYTES)?;
    bounded("raw_memory", answer.raw_memory.len(), ACCOUNT_BYTES)?;
    bounded("learnings", answer.learnings.len(), LEARNINGS_MAX)?;
    for (field, words) in [
        ("rollout_summary", answer.rollout_summary.as_str()),
        ("raw_memory", &answer.raw_memory),
        ("rollout_slug", answer.rollout_slug.as_deref().unwrap_or_default()),
    ] {
        clean(field, words)?;
    }
    let mut learnings = Vec::with_capacity(answer.learnings.len());
    for (at, claim) in answer.learnings.iter().enumerate() {
        learnings.push(learning(at + 1, claim, about, shown)?);
    }
    let said = person_words(shown);
    Ok(Some(RolloutMemory {
        outcome: answer.outcome,
        rollout_summary: without_orders(&answer.rollout_summary, &said),
        rollout_slug: slug(answer.rollout_slug.as_deref().unwrap_or_default()),
        raw_memory: without_orders(&answer.raw_memory, &said),
        learnings,
        ..about.clone()
    }))
}

fn learning(
    number: usize,
    claim: &Claim,
    about: &RolloutMemory,
    shown: &[Row],
) -> Result<Learning, AnswerError> {
    clean("learnings", &claim.text)?;
    clean("learnings", &claim.quote)?;
    bounded("text", claim.text.len(), TEXT_BYTES * 2)?;
    let quote = squeezed(&claim.quote);
    let row = shown.iter().find(|row| row.seq == claim.seq && squeezed(&row.text).contains(&quote));
    let Some(row) = row.filter(|_| quote.len() >= QUOTE_BYTES_MIN) else {
        return Err(AnswerError::NoEvidence { number });
    };
    let origin = match row.voice {
        Voice::User => Origin::User,
        Voice::Agent => Origin::Agent,
        Voice::Call | Voice::Tool => Origin::ToolOutput,
        Voice::Outside => Origin::Web,
    };
    let is_order = claim.kind.is_rule() || behaviour(&claim.text).is_some();
    if is_order && origin != Origin::User {
        return Err(AnswerError::PlantedRule { number });
    }
    Ok(Learning {
        kind: claim.kind,
        text: text::one_line_cut(&claim.text, TEXT_BYTES),
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

/// The account without the lines that give orders which no person gave.
fn without_orders(account: &str, said: &str) -> String {
    let is_kept = |line: &&str| behaviour(line).is_none_or(|order| said.contains(&squeezed(order)));
    account.lines().filter(is_kept).flat_map(|line| [line, "\n"]).collect()
}

fn person_words(shown: &[Row]) -> String {
    let words = shown.iter().filter(|row| row.voice == Voice::User);
    words.map(|row| squeezed(&row.text)).collect::<Vec<_>>().join("\n")
}

fn squeezed(words: &str) -> String {
    text::one_line(words).to_lowercase()
}

fn bounded(field: &'static str, bytes: usize, max: usize) -> Result<(), AnswerError> {
    if bytes > max { Err(AnswerError::TooLong { field, bytes, max }) } else { Ok(()) }
}

fn clean(field: &'static str, words: &str) -> Result<(), AnswerError> {
    if redact(words).hits > 0 { Err(AnswerError::Secret { field }) } else { Ok(()) }
}

/// The JSON inside a fence, which some models put around it.
fn unfenced(answer: &str) -> &str {
    let answer = answer.trim();
    let inside = answer.strip_prefix("```json").or_else(|| answer.strip_prefix("```"));
    inside.and_then(|inside| inside.strip_suffix("```")).map_or(answer, str::trim)
}

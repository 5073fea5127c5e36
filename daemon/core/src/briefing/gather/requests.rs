//! The person's messages as quotes.

use std::borrow::Cow;
use std::collections::HashMap;

use super::super::answer;
use super::super::collect::{ANSWERS, CHOSE, TEMPLATE, TurnOutcome, WITH};
use super::super::evidence::{EvidenceLines, Line};
use super::super::kinds::EvidenceKind;
use super::super::select::Quote;
use super::Builder;
use crate::text;

/// A typed text up to this length is an answer rather than a request.
const SHORT_ANSWER_BYTES: usize = 30;

/// Short answers of this many last turns still describe the current state.
const RECENT_ANSWERS_TURNS: u32 = 4;

/// Strength, in percent, of an option in a menu of an earlier turn.
const OLD_OPTION_PERCENT: u16 = 15;

/// Bytes of a report's line to compare with the quotation next to its answer.
const OFFER_BYTES: usize = 200;

/// The lines of a turn.
struct Turn<'l> {
    typed: Vec<&'l Line>,
    answers: Vec<&'l Line>,
}

impl<'l> Turn<'l> {
    /// The typed text, if it is only a few words.
    fn short(&self) -> Option<&'_ Line> {
        match self.typed[..] {
            [one] if is_short(&one.text) => Some(one),
            _ => None,
        }
    }

    /// What a typed text of one line refers to: the option it picks, else all that was asked or offered.
    fn beside(&self) -> Vec<&'l Line> {
        let [typed] = self.typed[..] else { return Vec::new() };
        let answers = self.answers.iter().copied();
        picked(&typed.text, answers.filter(|line| line.text.starts_with(ANSWERS)).collect())
    }

    /// The letters of the typed text and of what it answers, to detect repetitions.
    fn letters(&self) -> String {
        let lines = self.typed.iter().chain(&self.answers);
        let letters = lines.flat_map(|line| line.text.chars()).filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    }
}

impl<'a> Builder<'a> {
    pub(super) fn requests(&mut self) {
        let now = self.briefing.turn();
        let lines: Vec<&'a Line> = self.briefing.requests.iter().collect();
        let turns = lines.chunk_by(|one, next| one.turn == next.turn);
        let turns: Vec<Turn<'_>> = turns.map(|lines| self.turn(lines)).collect();
        let mut times: HashMap<String, u32> = HashMap::new();
        let answering = |turn: &&Turn<'_>| turn.short().is_some() && !turn.answers.is_empty();
        for turn in turns.iter().filter(answering) {
            *times.entry(turn.letters()).or_default() += 1;
        }
        let mut before: HashMap<String, u32> = HashMap::new();
        for turn in turns {
            let Turn { typed, answers } = &turn;
            let is_template = matches!(typed[..], [one] if one.text.starts_with(TEMPLATE));
            if is_template && self.is_small() {
                continue;
            }
            if let Some(one) = turn.short() {
                // Show a repeated answer to the same question once, at its last occurrence.
                let letters = turn.letters();
                let all = times.get(&letters).copied().unwrap_or(1);
                let before = before.entry(letters).or_default();
                if *before + 1 >= all {
                    self.short_answer(one, answers, if all > 1 { *before } else { 0 });
                }
                *before += 1;
                continue;
            }
            let mut dropped = 0;
            for (index, line) in typed.iter().enumerate() {
                let mut text = if index == 0 { self.mark(line) } else { "  ".to_owned() };
                text.push_str(&line.text);
                // What a message of one line refers to belongs into it: alone it would read as what was chosen.
                for answer in turn.beside() {
                    text.push_str(&format!(" {}", answer.text));
                }
                let quote = self.request(line, line.strength, text);
                // A line that is kept no more leaves its place empty.
                quote.order.1 += dropped;
                quote.goes_on = line.is_cut || index + 1 < typed.len();
                quote.heading = Cow::Borrowed(&line.heading);
                dropped += u64::from(line.is_cut);
            }
            let is_beside = |line: &&&Line| typed.len() == 1 && line.text.starts_with(ANSWERS);
            for &line in answers.iter().filter(|line| !is_beside(line)) {
                // The text that the last request answers matters as much as the request.
                let strength = match line.turn == now {
                    true if !line.text.starts_with(WITH) => 250,
                    _ => line.strength,
                };
                let text = line.text.trim_start_matches('(');
                self.request(line, strength, format!("  (#{} {text}", line.seq));
            }
        }
    }

    /// The typed text of a turn and what it answers, without what other sections show.
    fn turn<'l>(&self, lines: &[&'l Line]) -> Turn<'l> {
        let now = self.briefing.turn();
        // `render` puts the text that the current request answers next to it.
        let is_beside = |line: &&Line| line.turn == now && line.text.starts_with(ANSWERS);
        // A small view omits the names of completed templates.
        let is_followed =
            |line: &&Line| self.is_small() && line.turn != now && line.text.starts_with(WITH);
        let answers = lines.iter().copied().filter(|line| is_answer(line));
        let answers = answers.filter(|line| !is_beside(line) && !is_followed(line));
        let typed = lines.iter().copied().filter(|line| !is_answer(line));
        // `render` shows the last request at the end.
        let typed = typed.filter(|line| line.turn != now);
        Turn { typed: typed.collect(), answers: answers.collect() }
    }

    /// Adds a short answer with the text it refers to, at low strength once the work moved on.
    fn short_answer(&mut self, typed: &Line, answers: &[&Line], times_before: u32) {
        let turns_ago = self.briefing.turn().saturating_sub(typed.turn);
        let mut text = format!("{}{}", self.mark(typed), typed.text);
        if times_before > 0 {
            text.push_str(&format!(", as {times_before}x before"));
        }
        let is_recent = turns_ago <= RECENT_ANSWERS_TURNS;
        for answer in picked(&typed.text, answers.to_vec()) {
            text.push_str(&format!(" {}", answer.text));
        }
        let strength = if is_recent { 60 } else { 25 };
        let goes_on = |line: &&Line| answer::continues(offer(line));
        let says_nothing = match answers {
            [] => answer::is_decision(&typed.text),
            answers => picked(&typed.text, answers.to_vec()).iter().all(goes_on),
        };
        self.request(typed, if says_nothing { strength / 5 } else { strength }, text);
    }

    fn request(&mut self, line: &Line, strength: u16, text: String) -> &mut Quote<'a> {
        self.line(EvidenceKind::Request, line.seq, (0, strength), text)
    }

    fn mark(&self, line: &Line) -> String {
        let outcome = match self.briefing.outcome(line.turn) {
            TurnOutcome::Answered => "",
            // Messages typed while the agent worked are covered by the report of a later turn.
            TurnOutcome::Open if self.briefing.is_answered_after(line.turn) => "",
            TurnOutcome::Open if line.turn == self.briefing.turn() => "",
            TurnOutcome::Open => " (no report)",
            TurnOutcome::Interrupted if self.briefing.is_answered_after(line.turn) => {
                " (interrupted at first)"
            }
            TurnOutcome::Interrupted => " (interrupted)",
        };
        format!("#{}{outcome} ", line.seq)
    }
}

/// Whether a typed text is only a few words.
pub(super) fn is_short(typed: &str) -> bool {
    typed.len() <= SHORT_ANSWER_BYTES
}

/// The quotations that a short answer refers to. The options of a menu that it did not pick were rejected.
pub(in crate::briefing) fn picked<'l>(typed: &str, mut answers: Vec<&'l Line>) -> Vec<&'l Line> {
    let is_picked = |answer: &&Line| answer::picks(typed, offer(answer));
    if answers.iter().any(is_picked) {
        answers.retain(is_picked);
    }
    answers
}

/// Whether the line belongs to what the person typed and is no part of it.
pub(super) fn is_answer(line: &Line) -> bool {
    [ANSWERS, CHOSE, WITH].iter().any(|opening| line.text.starts_with(opening))
}

/// Whether a report's line is quoted next to the person's answer to it.
pub(super) fn is_answered(requests: &EvidenceLines, line: &Line) -> bool {
    let mut answers = requests
        .iter()
        .filter(|answer| answer.turn == line.turn + 1 && answer.text.starts_with(ANSWERS));
    answers.any(|answer| offer(answer).starts_with(text::prefix(&line.text, OFFER_BYTES)))
}

/// The strength of a report's line: the options of a menu are settled once the person went on.
pub(super) fn strength_of(line: &Line, age: usize) -> u16 {
    let is_past = age > 0 && answer::is_menu_line(&line.text);
    line.strength * if is_past { OLD_OPTION_PERCENT } else { 100 } / 100
}

/// The quoted text that a short answer refers to.
fn offer(answer: &Line) -> &str {
    answer.text.strip_prefix(ANSWERS).unwrap_or(&answer.text)
}

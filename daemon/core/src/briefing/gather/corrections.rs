//! Answers to a question that the person did not ask: they matter little once that is said.

use super::super::collect::Briefing;
use super::requests;

/// Percentage for the lines of such an answer, and for what was read for it.
pub(super) const PERCENT: u16 = 30;

/// A longer message says more than what was meant.
const BYTES_MAX: usize = 160;

/// Openings of a message that corrects what was understood, in lower case, and words that may precede them.
const OPENINGS: [&str; 12] = [
    "i meant ",
    "i mean ",
    "not what i meant",
    "that's not what i", // en
    "je voulais dire ",
    "je parlais d", // fr
    "ich meinte ",
    "ich meine ", // de
    "quise decir ",
    "me refería a ",  // es
    "intendevo ",     // it
    "я имел в виду ", // ru
];
const BEFORE: [&str; 6] = ["no", "sorry", "oh", "non", "nein", "нет"];

/// The turns that only answered and were then corrected. What a turn changed remains, whatever was meant.
pub(super) fn misunderstood(briefing: &Briefing) -> Vec<u32> {
    let typed = briefing.requests.iter().filter(|line| !requests::is_answer(line));
    let typed: Vec<(u64, u32, &str)> =
        typed.map(|line| (line.seq, line.turn, line.text.as_str())).collect();
    let messages = typed.chunk_by(|one, next| one.0 == next.0);
    let corrected = messages.filter(|lines| lines.len() == 1 && corrects(lines[0].2));
    let before = corrected.map(|lines| lines[0].1.saturating_sub(1));
    before.filter(|turn| !briefing.added.iter().any(|line| line.turn == *turn)).collect()
}

fn corrects(message: &str) -> bool {
    let lower = message.to_lowercase();
    let mut rest = &*lower;
    for word in BEFORE {
        rest =
            rest.strip_prefix(word).and_then(|rest| rest.strip_prefix([',', ' '])).unwrap_or(rest);
    }
    let rest = rest.trim_start();
    message.len() <= BYTES_MAX && OPENINGS.iter().any(|opening| rest.starts_with(opening))
}

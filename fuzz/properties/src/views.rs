//! What a person may ask of a view: its budget, its caps, what is pinned and dropped, the text above it.

use longhaul_core::checkpoint::file_standing::{Disk, Now, OnDisk};
use longhaul_core::checkpoint::semantic::Semantics;
use longhaul_core::checkpoint::view::{Rendered, ViewCaps, ViewInputs, parts, render_below};
use longhaul_core::choice::{self, Choice, ChoiceAction, Choices, ChosenItems};
use longhaul_core::context::tokenizer::Tokenizer;
use longhaul_core::digest::ContentHash;
use longhaul_core::fold::{Fold, Place};
use longhaul_core::thread::Source;
use longhaul_core::tokens;

/// A session with a bit of everything.
const SESSION: &str = include_str!("../seeds/session.jsonl");

/// The largest budget tried.
const BUDGET_MAX: u64 = 20_000;

/// The session, folded.
pub(crate) fn session() -> Fold {
    let mut fold = Fold::new(Source::Codex);
    for line in SESSION.lines() {
        let (seq, bytes) = (fold.next_seq(), line.len() as u64);
        fold.line(Place { line: seq, offset: seq * 1_000, bytes }, line.as_bytes());
    }
    fold
}

/// Options, one a line.
#[derive(Default)]
struct Asked<'a> {
    choices: Vec<Choice>,
    budgets: Vec<u64>,
    caps: ViewCaps,
    above: &'a str,
    disk: Disk,
}

/// The input lists options: `pin TEXT`, `drop TEXT`, `pin-item SEQ TEXT`, `drop-item SEQ TEXT`, `budget N`,
/// `caps JSON`, `above TEXT`, `file PATH`. In a text, `\` means a newline.
pub fn check(bytes: &[u8]) {
    let Ok(input) = std::str::from_utf8(bytes) else { return };
    let fold = session();
    let active = fold.checkpoint().requests.active().map(|request| request.seq);
    let mut asked = Asked::default();
    for (word, rest) in input.lines().filter_map(|line| line.split_once(' ')) {
        asked.line(active, word, rest);
    }
    let choices = Choices::of(asked.choices.iter().cloned());
    let semantics = Semantics { choices, ..Semantics::default() };
    let (state, disk) = (fold.checkpoint(), &asked.disk);
    let inputs = ViewInputs { thread_id: Some("t"), state, semantics: &semantics, disk, focus: "" };
    for budget in asked.budgets.iter().copied().chain([0, 40, 400, 1_000, 4_000]) {
        let rendered = render_below(asked.above, &inputs, &asked.caps, budget);
        check_view(&rendered, &semantics.choices, budget);
        let again = render_below(asked.above, &inputs, &asked.caps, budget);
        assert_eq!(again.text, rendered.text);
    }
}

impl<'a> Asked<'a> {
    fn line(&mut self, active: Option<u64>, word: &str, rest: &'a str) {
        let action = match word.split_once('-').map_or(word, |(action, _)| action) {
            "pin" => ChoiceAction::Pin,
            "drop" => ChoiceAction::Drop,
            "budget" => {
                self.budgets.extend(rest.parse::<u64>().ok().map(|budget| budget.min(BUDGET_MAX)));
                return;
            }
            "caps" => {
                self.caps = serde_json::from_str(rest).unwrap_or_default();
                return;
            }
            "above" => {
                self.above = rest;
                return;
            }
            "file" => {
                let seen = OnDisk { now: Now::Content(ContentHash::of(b"x")), ..OnDisk::default() };
                self.disk.insert(rest.to_owned(), seen);
                return;
            }
            _ => return,
        };
        let (items, text) = match word.ends_with("-item") {
            false => (None, rest),
            true => {
                let (seq, text) = rest.split_once(' ').unwrap_or((rest, ""));
                let Ok(seq) = seq.parse() else { return };
                let (handle, bytes) = (format!("t#{seq}"), text.len() as u64 + seq % 3);
                (Some(ChosenItems { handle, first: seq, last: seq, bytes }), text)
            }
        };
        let new = Choice { action, text: text.replace('\\', "\n"), items };
        if choice::admit(&new, &Choices::of(self.choices.iter().cloned()), active).is_ok() {
            self.choices.push(new);
        }
    }
}

fn check_view(view: &Rendered, choices: &Choices, budget: u64) {
    let text = &view.text;
    assert!(tokens::of_text(text) <= budget, "{} of {budget}", tokens::of_text(text));
    assert!(Tokenizer::O200k.count(text) <= budget, "{} of {budget}", Tokenizer::O200k.count(text));
    let sum: u64 = parts(text).iter().map(|part| part.tokens).sum();
    assert!(sum <= budget + parts(text).len() as u64);
    assert!(view.pins_incomplete <= choices.pins().len());
    let stands = |pin: &&Choice| {
        let mut lines = pin.text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.all(|line| text.contains(line))
    };
    // A line that looks like one of a view's own is quoted with a mark, so only plain words are looked for.
    let is_plain =
        |pin: &&Choice| pin.text.chars().all(|c| c.is_alphanumeric() || " .,\n".contains(c));
    let missing = choices.pins().iter().filter(is_plain).filter(|pin| !stands(pin)).count();
    assert!(missing <= view.pins_incomplete, "{missing} pins are not there: {text}");
    for line in &view.lines {
        assert!(!choices.hides(&line.text, line.seq), "a dropped line appears: {:?}", line.text);
    }
}

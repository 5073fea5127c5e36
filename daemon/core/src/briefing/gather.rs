//! All that may stand in a view, as quotes with their weights.

mod standing;

use std::collections::HashSet;

use super::checks::{Check, EDIT};
use super::collect::{ANSWERS, Briefing, CHOSE, TurnOutcome, WITH, report_strength};
use super::documents;
use super::evidence::{EvidenceLines, Line};
use super::kinds::EvidenceKind;
use super::lines;
use super::render::Extra;
use super::select::{Focus, Quote};
use crate::{quote, text};

/// Below this many tokens a view is small.
const SMALL_TOKENS: u64 = 3_000;

/// Up to this length a typed text is an answer rather than a request.
const SHORT_ANSWER_BYTES: usize = 30;

/// Short answers of the last turns still tell where the work stands.
const RECENT_ANSWERS_TURNS: u32 = 4;

/// Remarks that may still say how things stand.
const NEWEST_REMARKS: usize = 16;

/// Names of a changed file that are shown, and their bytes.
const NAMES: usize = 8;
const NAMES_BYTES: usize = 200;

/// Bytes of the names of a file that the running turn changed, and that so many edits made.
const OUTLINE_BYTES: usize = 500;
const OUTLINE_EDITS: u32 = 5;

/// Longest line of a small view: there two short lines say more than a long one.
const SMALL_LINE_BYTES: usize = 220;

/// The quotes to choose from, and what the work is about.
pub(super) fn gather(
    briefing: &Briefing,
    extra: &Extra<'_>,
    max_tokens: u64,
) -> (Vec<Quote>, Focus) {
    let mut builder = Builder { briefing, extra, max_tokens, candidates: Vec::new() };
    builder.collect();
    builder.leave_out_dropped();
    let focus = builder.focus();
    (builder.candidates, focus)
}

struct Builder<'a> {
    briefing: &'a Briefing,
    extra: &'a Extra<'a>,
    max_tokens: u64,
    candidates: Vec<Quote>,
}

impl Builder<'_> {
    fn collect(&mut self) {
        self.requests();
        self.lines(EvidenceKind::Template, &self.briefing.template);
        self.reports();
        self.lines(EvidenceKind::Remark, &self.briefing.remarks);
        self.lines(EvidenceKind::Added, &self.briefing.added);
        self.documents();
        self.files();
        self.commands();
        self.git();
        self.tasks();
        for (order, line) in (0..).zip(&self.extra.accepted) {
            self.push(EvidenceKind::Accepted, order, (0, 100), line.clone());
        }
        for (kind, lines) in
            [(EvidenceKind::Ran, &self.extra.ran), (EvidenceKind::Look, &self.extra.looked_at)]
        {
            for (order, line) in (0..).zip(lines) {
                if kind == EvidenceKind::Ran && (self.failed(line) || self.runs(line)) {
                    continue;
                }
                // The newest ones are the likeliest to be wanted.
                let strength = if order < 8 { 100 } else { 50 };
                let strength = if self.is_small() { strength / 10 } else { strength };
                self.push(kind, order, (0, strength), line.clone());
            }
        }
        for (order, (line, is_open)) in (0..).zip(&self.extra.plan) {
            self.push(
                EvidenceKind::Plan,
                order,
                (0, if *is_open { 110 } else { 25 }),
                line.clone(),
            );
        }
        self.now();
    }

    /// What the person dropped is no candidate, nor is what stands below a file or a turn of that name.
    fn leave_out_dropped(&mut self) {
        let extra = self.extra;
        self.candidates.retain(|quote| {
            !extra.hides(&quote.text, quote.seq()) && !extra.hides(&quote.group, None)
        });
        for quote in &mut self.candidates {
            if extra.hides(&quote.heading, None) {
                quote.heading.clear();
            }
        }
    }

    fn is_small(&self) -> bool {
        self.max_tokens < SMALL_TOKENS
    }

    /// Whether the command stands among the failed ones, with what it said.
    fn failed(&self, command: &str) -> bool {
        let words = command.rsplit_once(" (").map_or(command, |(words, _)| words);
        let head = text::prefix(words, 60);
        self.briefing.commands.failures.iter().any(|failure| failure.text.starts_with(head))
    }

    /// Whether the command was called and has no result yet: it stands below what runs.
    fn runs(&self, command: &str) -> bool {
        let mut running = self.briefing.running.iter();
        running.any(|running| running.what.starts_with(text::prefix(command, 60)))
    }

    /// What the last turns were about, and what many turns speak of.
    fn focus(&self) -> Focus {
        let mut focus = Focus::default();
        let now = self.briefing.turn();
        let weight = |turn: u32| 3u32.saturating_sub(now - turn.min(now));
        let said = self.briefing.requests.iter().chain(self.briefing.reports.iter());
        let mut by_turn: Vec<(u32, String)> = Vec::new();
        for line in said {
            match by_turn.iter_mut().rev().find(|(turn, _)| *turn == line.turn) {
                Some((_, words)) => {
                    words.push(' ');
                    words.push_str(&line.text);
                }
                None => by_turn.push((line.turn, line.text.clone())),
            }
        }
        for (turn, words) in by_turn {
            focus.add(&words, weight(turn));
        }
        for (_, words) in self.briefing.pending_words() {
            focus.add(words, 3);
        }
        focus
    }

    fn requests(&mut self) {
        let now = self.briefing.turn();
        let lines: Vec<&Line> = self.briefing.requests.iter().collect();
        for turn in lines.chunk_by(|one, next| one.turn == next.turn) {
            let is_answer = |line: &&Line| {
                [ANSWERS, CHOSE, WITH].iter().any(|opening| line.text.starts_with(opening))
            };
            let answers: Vec<&Line> = turn.iter().copied().filter(is_answer).collect();
            let typed = turn.iter().copied().filter(|line| !is_answer(line));
            // The last request stands at the end.
            let typed: Vec<&Line> = typed.filter(|line| line.turn != now).collect();
            let is_short = matches!(typed[..], [one] if one.text.len() <= SHORT_ANSWER_BYTES);
            if let ([one], true) = (&typed[..], is_short) {
                self.short_answer(one, &answers);
                continue;
            }
            for (index, line) in typed.iter().enumerate() {
                let mark = if index == 0 { self.mark(line) } else { "  ".to_owned() };
                self.request(line, line.strength, format!("{mark}{}", line.text));
                if let Some(quote) = self.candidates.last_mut() {
                    quote.goes_on = index + 1 < typed.len();
                }
            }
            for line in answers {
                // What the last request answers is as much wanted as the request.
                let strength = match line.turn == now {
                    true if !line.text.starts_with(WITH) => 250,
                    _ => line.strength,
                };
                let text = line.text.trim_start_matches('(');
                self.request(line, strength, format!("  (#{} {text}", line.seq));
            }
        }
    }

    /// A few words say nothing without what they answer, and little once the work went on from there.
    fn short_answer(&mut self, typed: &Line, answers: &[&Line]) {
        let turns_ago = self.briefing.turn().saturating_sub(typed.turn);
        let mut text = format!("{}{}", self.mark(typed), typed.text);
        let is_shown = |answer: &&&Line| !(self.is_small() && answer.text.starts_with(WITH));
        for answer in answers.iter().filter(is_shown) {
            text.push_str(&format!(" {}", answer.text));
        }
        let strength = if turns_ago <= RECENT_ANSWERS_TURNS { 60 } else { 25 };
        self.request(typed, if answers.is_empty() { strength / 5 } else { strength }, text);
    }

    fn request(&mut self, line: &Line, strength: u16, text: String) {
        let order = (line.seq, self.candidates.len() as u64);
        self.push(EvidenceKind::Request, order, (0, strength), text);
    }

    fn mark(&self, line: &Line) -> String {
        let outcome = match self.briefing.outcome(line.turn) {
            TurnOutcome::Answered => "",
            // What was said while the agent worked is in the report of a later turn.
            TurnOutcome::Open if self.briefing.is_answered_after(line.turn) => "",
            TurnOutcome::Open => " (no report)",
            TurnOutcome::Interrupted if self.briefing.is_answered_after(line.turn) => {
                " (interrupted at first)"
            }
            TurnOutcome::Interrupted => " (interrupted)",
        };
        format!("#{}{outcome} ", line.seq)
    }

    fn reports(&mut self) {
        let mut turns: Vec<u32> = self.briefing.reports.iter().map(|line| line.turn).collect();
        turns.dedup();
        let pending = usize::from(self.briefing.pending_words().next().is_some());
        for line in self.briefing.reports.iter() {
            let newer = turns.iter().rev().position(|turn| *turn == line.turn).unwrap_or(2);
            let is_newest = newer + pending == 0;
            let then = if is_newest || self.is_small() { "" } else { " (as of then)" };
            let group = match line.group.as_str() {
                "" => format!("turn {}{then}", line.turn),
                who => format!("turn {}, {who} (#{}){then}", line.turn, line.seq),
            };
            self.line(EvidenceKind::Report, line, newer + pending, &group);
        }
        let turn = self.briefing.turn();
        let mut spoken = Vec::new();
        for (seq, words) in self.briefing.pending_words() {
            lines::split(words, |line| {
                let strength = report_strength(line.shape, spoken.is_empty(), line.text);
                let text = lines::tidy(line.text, self.extra.folder, 420);
                let heading = text::cut_words(line.heading, 80).into_owned();
                spoken.push(Line { seq, turn, strength, group: String::new(), heading, text });
            });
        }
        for line in spoken {
            self.line(EvidenceKind::Report, &line, 0, &format!("turn {turn}, last words"));
        }
    }

    fn lines(&mut self, kind: EvidenceKind, lines: &EvidenceLines) {
        let now = self.briefing.turn();
        let newest = lines.iter().rev().take(NEWEST_REMARKS).last().map_or(0, |line| line.seq);
        for line in lines.iter() {
            let age = usize::try_from(now.saturating_sub(line.turn)).unwrap_or(2);
            // What was said on the way is soon outdated by what was said after it.
            let is_older = kind == EvidenceKind::Remark && line.seq < newest;
            // A template whose turn was reported has been followed.
            let is_followed =
                kind == EvidenceKind::Template && line.turn < now && self.is_reported(line.turn);
            let percent = match () {
                () if is_followed => 25,
                () if is_older => 70,
                () => 100,
            };
            let strength = line.strength * percent / 100;
            let line = &Line { strength, ..line.clone() };
            let group = match kind {
                EvidenceKind::Template => self.briefing.template_name().to_owned(),
                EvidenceKind::Remark => format!("turn {}", line.turn),
                _ => line.group.clone(),
            };
            self.line(kind, line, age, &group);
        }
    }

    /// Whether the agent reported in that turn or later.
    fn is_reported(&self, turn: u32) -> bool {
        self.briefing.outcome(turn) == TurnOutcome::Answered
            || self.briefing.is_answered_after(turn)
    }

    /// What was read of documents, less what the thread wrote there itself.
    fn documents(&mut self) {
        let added = &self.briefing.added;
        let own: HashSet<(&str, &str)> =
            added.iter().map(|line| (line.group.as_str(), line.text.as_str())).collect();
        let mut read = self.briefing.documents.clone();
        read.retain(|line| !own.contains(&(line.group.as_str(), line.text.as_str())));
        self.lines(EvidenceKind::Document, &read);
    }

    fn line(&mut self, kind: EvidenceKind, line: &Line, age: usize, group: &str) {
        let order = (line.seq, self.candidates.len() as u64);
        self.push(kind, order, (age, line.strength), line.text.clone());
        self.group(group);
        if let Some(candidate) = self.candidates.last_mut() {
            candidate.heading = quote::line(&line.heading).into_owned();
        }
    }

    fn group(&mut self, group: &str) {
        if let Some(candidate) = self.candidates.last_mut() {
            candidate.group = quote::line(group).into_owned();
        }
    }

    fn files(&mut self) {
        let now = self.briefing.turn();
        for (order, file) in (0..).zip(&self.extra.files) {
            let mut text = format!("{} ({}", file.path, file.words);
            let (mut age, mut strength) = (2, 100);
            if let Some(effect) = self.briefing.effects.of(&file.path) {
                age = usize::try_from(now.saturating_sub(effect.turn)).unwrap_or(2);
                // The only edit wrote all of it: the count says so.
                if effect.written_lines.is_some() && file.words == "edited" && effect.edits == 1 {
                    text = format!("{} (", file.path);
                }
                if effect.is_passed() {
                    text.push_str(" again; it was made here");
                    strength = 15;
                } else if !effect.is_deleted {
                    text.push_str(if text.ends_with('(') { "" } else { ", " });
                    text.push_str(&effect.counts());
                }
                // A document that grows edit by edit is told by its outline, other files by their newest names.
                let is_growing = age == 0 && effect.edits >= OUTLINE_EDITS && !self.is_small();
                let (names, bytes) =
                    if is_growing { (usize::MAX, OUTLINE_BYTES) } else { (NAMES, NAMES_BYTES) };
                let first = effect.names.len().saturating_sub(names);
                if !effect.is_deleted {
                    let verb = if effect.written_lines.is_some() { "holds" } else { "adds" };
                    text.push_str(&named(verb, &effect.names[first..], bytes));
                }
            }
            text.push(')');
            self.push(EvidenceKind::File, order, (age, strength), text);
            self.group(&file.path);
        }
    }

    fn commands(&mut self) {
        let now = self.briefing.turn();
        let age = |turn: u32| usize::try_from(now.saturating_sub(turn)).unwrap_or(2);
        let commands = &self.briefing.commands;
        for (newer, check) in commands.checks.iter().rev().enumerate() {
            if check.turn < now && check.outcome.is_failure() && commands.passed_after(check) {
                continue;
            }
            let strength = if newer < 2 { 120 } else { 80 };
            let text = self.check_words(check);
            self.push(EvidenceKind::Check, (check.seq, 0), (age(check.turn), strength), text);
        }
        for failure in &commands.failures {
            let mend = match (&failure.mend, failure.program.as_str()) {
                (Some(mend), EDIT) => format!("; {mend}"),
                (Some(mend), _) => format!("; then worked: {mend}"),
                // The report of its turn told what became of it.
                (None, _) if failure.turn < now => continue,
                (None, program) if failure.is_usable => format!("; {program} worked later"),
                (None, _) => String::new(),
            };
            let text = format!("#{} {}{mend}", failure.seq, failure.text);
            self.push(
                EvidenceKind::FailedCommand,
                (failure.seq, 0),
                (age(failure.turn), 100),
                text,
            );
        }
    }

    /// A check says what it proves: nothing about files that changed since.
    fn check_words(&self, check: &Check) -> String {
        let since = self.unchecked_since(check);
        let mut words = format!("#{} {} → {}", check.seq, check.command, check.result);
        if !since.is_empty() && !check.outcome.is_failure() {
            let files = first_of(&since);
            words.push_str(&format!(" (unverified since: {files} changed after it)"));
        }
        words
    }

    /// Files changed after a check that it may speak of: prose matters to those that read it.
    fn unchecked_since(&self, check: &Check) -> Vec<&str> {
        let reads_prose = ["md", "doc", "lint", "vale", "prettier", "spell", "fmt"];
        let reads_prose = reads_prose.iter().any(|word| check.command.contains(word));
        let mut since = self.briefing.effects.since(check.seq);
        since.retain(|path| reads_prose || !documents::is_prose(path));
        // One that names files speaks of them alone.
        let named: Vec<&str> = check.command.split(' ').filter(|word| names_file(word)).collect();
        if !named.is_empty() {
            since.retain(|path| {
                named.iter().any(|file| path.ends_with(file) || file.ends_with(path))
            });
        }
        since
    }

    fn fixed(&mut self, kind: EvidenceKind, order: (u64, u64), text: String) {
        self.push(kind, order, (0, 100), text);
        if let Some(candidate) = self.candidates.last_mut() {
            candidate.is_fixed = true;
        }
    }

    fn push(
        &mut self,
        kind: EvidenceKind,
        order: impl Into<Order>,
        (age, strength): (usize, u16),
        text: impl AsRef<str>,
    ) {
        let text = quote::line(text.as_ref());
        let is_cut = self.is_small() && kind != EvidenceKind::Request;
        let text =
            if is_cut { text::cut_words(&text, SMALL_LINE_BYTES) } else { text }.into_owned();
        let weight = kind.rule().weights[age.min(2)] * f64::from(strength) / 100.0;
        let Order(order) = order.into();
        let (group, heading) = (String::new(), String::new());
        self.candidates.push(Quote {
            kind,
            order,
            weight,
            group,
            heading,
            text,
            is_fixed: false,
            goes_on: false,
        });
    }
}

/// Whether a word of a command is a file: it ends as files do, and is no option and no setting.
fn names_file(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let ending = name
        .rsplit_once('.')
        .map_or("", |(stem, ending)| if stem.is_empty() { "" } else { ending });
    (1..=5).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !word.starts_with('-')
        && !word.contains(['=', '*', ':'])
}

/// `a, b, c and 4 more`.
fn first_of(files: &[&str]) -> String {
    let more = match files.len().saturating_sub(3) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", files[..files.len().min(3)].join(", "))
}

/// `; adds a, b`: the newest names within `bytes`, in their order.
fn named(verb: &str, names: &[String], bytes: usize) -> String {
    let mut room = bytes;
    let fitting = names.iter().rev().take_while(|name| {
        let fits = name.len() + 2 <= room;
        room = room.saturating_sub(name.len() + 2);
        fits
    });
    let shown = &names[names.len() - fitting.count()..];
    match (shown.is_empty(), shown.len() < names.len()) {
        (true, _) => String::new(),
        (false, true) => format!("; {verb} …, {}", shown.join(", ")),
        (false, false) => format!("; {verb} {}", shown.join(", ")),
    }
}

struct Order((u64, u64));

impl From<(u64, u64)> for Order {
    fn from(order: (u64, u64)) -> Self {
        Self(order)
    }
}

impl From<u64> for Order {
    fn from(order: u64) -> Self {
        Self((order, 0))
    }
}

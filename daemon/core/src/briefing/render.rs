//! The chosen lines as text.

use super::checks::{Census, Check};
use super::collect::{ANSWERS, Briefing, TurnOutcome, report_strength};
use super::evidence::{EvidenceLines, Line};
use super::kinds::EvidenceKind;
use super::lines;
use super::select::{Focus, Quote, Selection};
use super::write::write;
use crate::context::tokenizer::Tokenizer;
use crate::{quote, text, tokens};

/// What the host knows beside the transcript, as lines of their own.
#[derive(Default)]
pub struct Extra<'a> {
    /// First line of the text.
    pub header: String,
    /// Folder that paths are shown from.
    pub folder: Option<&'a str>,
    /// Steps of the plan: mark and words, whether it is open.
    pub plan: Vec<(String, bool)>,
    /// Decisions and facts that the host accepted.
    pub accepted: Vec<String>,
    /// Changed files, the one changed last first.
    pub files: Vec<ChangedFile>,
    /// Commands that did something, the one run last first.
    pub ran: Vec<String>,
    /// Files read or searched, the last one first.
    pub looked_at: Vec<String>,
}

/// A changed file, as the host knows it.
pub struct ChangedFile {
    /// As it is shown.
    pub path: String,
    /// What became of it and whether it still is so: `edited 2x, changed on disk since`.
    pub words: String,
}

/// Below this many tokens a view is small, and its lines are at most so long.
const SMALL_TOKENS: u64 = 3_000;
const SMALL_LINE_BYTES: usize = 220;

/// The briefing within `max_tokens`, by bytes / 4 and by o200k alike. It ends with the request, verbatim if it
/// fits: a model goes on from what it read last.
pub fn render(briefing: &Briefing, extra: &Extra<'_>, max_tokens: u64) -> String {
    let bytes = tokens::bytes_of(max_tokens);
    let mut request_bytes = bytes * REQUEST_PERCENT / 100;
    let is_small = max_tokens < SMALL_TOKENS;
    let mut builder = Builder { briefing, extra, is_small, candidates: Vec::new() };
    builder.collect();
    let focus = builder.focus();
    let selection = Selection::new(builder.candidates, &focus);
    // What the lines may cost by their estimates, which are a little off.
    let mut room = max_tokens;
    let mut text = String::new();
    let mut is_over = false;
    for _ in 0..PASSES {
        let task = task(briefing, request_bytes);
        let beside = tokens::of_text(&extra.header) + tokens::of_text(&task) + 2;
        let fuller = written(extra, selection.select(room.saturating_sub(beside)), &task);
        let cost = cost(&fuller);
        if cost > max_tokens {
            is_over = true;
            let shrunk = |size: u64| (size * max_tokens / cost).saturating_sub(2);
            // The request is cut only where no line is left to leave out.
            if room > beside {
                room = shrunk(room.min(tokens::of_text(&fuller)));
            } else {
                request_bytes = request_bytes.min(tokens::bytes_of(shrunk(tokens::of_text(&task))));
            }
            continue;
        }
        if fuller.len() > text.len() {
            text = fuller;
        }
        let left = max_tokens - cost;
        // What was over once is near its best.
        if left * 50 < max_tokens || is_over {
            break;
        }
        match task.len() + 64 > request_bytes {
            true => request_bytes += tokens::bytes_of(left),
            false => room += left,
        }
    }
    if text.is_empty() && cost(&extra.header) < max_tokens {
        text = format!("{}\n", extra.header);
    }
    text
}

/// Tokens of a view: the higher of the estimate that agents budget with and the count of a real tokenizer.
fn cost(text: &str) -> u64 {
    tokens::of_text(text).max(Tokenizer::O200k.count(text))
}

/// Percent of a view that the last request may take, unless room is left.
const REQUEST_PERCENT: usize = 30;

/// Times that a view is chosen: again with what was left over, or with less where tokens are short.
const PASSES: usize = 8;

/// The section of the request to go on with.
fn task(briefing: &Briefing, bytes: usize) -> String {
    let (seq, request) = briefing.active();
    if request.is_empty() {
        return String::new();
    }
    let mark = match briefing.outcome(briefing.turn()) {
        TurnOutcome::Open if briefing.pending_words().next().is_none() => "in progress",
        TurnOutcome::Open | TurnOutcome::Answered => "the agent spoke last",
        TurnOutcome::Interrupted => "interrupted by the person",
    };
    let head = format!("[TASK]\n#{seq} ({mark}) ");
    let room = bytes.saturating_sub(head.len());
    format!("{head}{}\n", text::cut_middle(&quote::block(request), room))
}

fn written(extra: &Extra<'_>, chosen: Vec<&Quote>, task: &str) -> String {
    let mut out = format!("{}\n", extra.header);
    write(&mut out, chosen);
    out.push_str(task);
    out
}

struct Builder<'a> {
    briefing: &'a Briefing,
    extra: &'a Extra<'a>,
    is_small: bool,
    candidates: Vec<Quote>,
}

impl Builder<'_> {
    fn collect(&mut self) {
        self.requests();
        self.lines(EvidenceKind::Template, &self.briefing.template);
        self.reports();
        self.lines(EvidenceKind::Remark, &self.briefing.remarks);
        self.lines(EvidenceKind::Document, &self.briefing.documents);
        self.lines(EvidenceKind::Added, &self.briefing.added);
        self.files();
        self.commands();
        self.tasks();
        for (order, line) in (0..).zip(&self.extra.accepted) {
            self.push(EvidenceKind::Accepted, order, (0, 100), line.clone());
        }
        for (kind, lines) in
            [(EvidenceKind::Ran, &self.extra.ran), (EvidenceKind::Look, &self.extra.looked_at)]
        {
            for (order, line) in (0..).zip(lines) {
                // The newest ones are the likeliest to be wanted.
                let strength = if order < 8 { 100 } else { 50 };
                let strength = if self.is_small { strength / 10 } else { strength };
                self.push(kind, order, (0, strength), line.clone());
            }
        }
        for (order, (line, is_open)) in (0..).zip(&self.extra.plan) {
            self.push(
                EvidenceKind::Plan,
                order,
                (0, if *is_open { 110 } else { 45 }),
                line.clone(),
            );
        }
        self.now();
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
        let mut turn = 0;
        for line in self.briefing.requests.iter() {
            let is_first = line.turn != turn;
            turn = line.turn;
            let is_answer = line.text.starts_with(ANSWERS);
            // The last request stands at the end.
            if line.turn == now && !is_answer {
                continue;
            }
            let mark = if is_first && !is_answer { self.mark(line) } else { "  ".to_owned() };
            // What the last request answers is as much wanted as the request.
            let strength = if line.turn == now { 250 } else { line.strength };
            let order = (line.seq, self.candidates.len() as u64);
            self.push(EvidenceKind::Request, order, (0, strength), format!("{mark}{}", line.text));
        }
    }

    fn mark(&self, line: &Line) -> String {
        let outcome = match self.briefing.outcome(line.turn) {
            TurnOutcome::Answered => "",
            TurnOutcome::Open => " (not answered)",
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
            self.line(EvidenceKind::Report, line, newer + pending, &format!("turn {}", line.turn));
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
        for line in lines.iter() {
            let age = usize::try_from(now.saturating_sub(line.turn)).unwrap_or(2);
            let group = match kind {
                EvidenceKind::Template => self.briefing.template_name().to_owned(),
                EvidenceKind::Remark => format!("turn {}", line.turn),
                _ => line.group.clone(),
            };
            self.line(kind, line, age, &group);
        }
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
            let mut age = 2;
            if let Some(effect) = self.briefing.effects.of(&file.path) {
                age = usize::try_from(now.saturating_sub(effect.turn)).unwrap_or(2);
                text.push_str(&format!(", +{} -{}", effect.added, effect.removed));
                if !effect.names.is_empty() {
                    text.push_str(&format!("; adds {}", effect.names.join(", ")));
                }
            }
            text.push(')');
            self.push(EvidenceKind::File, order, (age, 100), text::cut_words(&text, 300));
            self.group(&file.path);
        }
    }

    fn commands(&mut self) {
        let now = self.briefing.turn();
        let age = |turn: u32| usize::try_from(now.saturating_sub(turn)).unwrap_or(2);
        let commands = &self.briefing.commands;
        for (newer, check) in commands.checks.iter().rev().enumerate() {
            let strength = if newer < 2 { 120 } else { 80 };
            let text = self.check_words(check);
            self.push(EvidenceKind::Check, (check.seq, 0), (age(check.turn), strength), text);
        }
        for failure in &commands.failures {
            let mend = failure.mend.as_ref().map(|mend| format!("; then worked: {mend}"));
            let text = format!("#{} {}{}", failure.seq, failure.text, mend.unwrap_or_default());
            self.push(
                EvidenceKind::FailedCommand,
                (failure.seq, 0),
                (age(failure.turn), 100),
                text,
            );
        }
        for (order, line) in (0..).zip(&commands.git) {
            // What git told last is how things stand.
            let is_newest = order + 4 >= commands.git.len() as u64;
            let strength = if is_newest {
                140
            } else if line.text.starts_with('[') {
                100
            } else {
                60
            };
            self.push(
                EvidenceKind::Git,
                (line.seq, order),
                (age(line.turn), strength),
                line.text.clone(),
            );
        }
    }

    /// A check says what it proves: nothing about files that changed since.
    fn check_words(&self, check: &Check) -> String {
        let since = self.briefing.effects.since(check.seq);
        let mut words = format!("#{} {} → {}", check.seq, check.command, check.result);
        if !since.is_empty() && !check.outcome.is_failure() {
            let more = if since.len() > 3 {
                format!(" and {} more", since.len() - 3)
            } else {
                String::new()
            };
            let files = since[..since.len().min(3)].join(", ");
            words.push_str(&format!(" (unverified since: {files}{more} changed after it)"));
        }
        words
    }

    fn tasks(&mut self) {
        let Some((path, tasks)) = self.briefing.tasks.current() else { return };
        let done = tasks.iter().filter(|task| task.is_done).count();
        let open = tasks.len() - done;
        self.push(
            EvidenceKind::TaskItem,
            (0, 0),
            (0, 110),
            format!("{path}: {done} ticked, {open} open"),
        );
        let mut ahead = 0;
        for (order, task) in (1..).zip(&tasks) {
            let (mark, strength) = match task.is_done {
                true => ("x", 40),
                false => {
                    ahead += 1;
                    (" ", if ahead <= 8 { 110 } else { 45 })
                }
            };
            self.push(
                EvidenceKind::TaskItem,
                (order, 0),
                (0, strength),
                format!("[{mark}] {}", task.text),
            );
        }
    }

    fn now(&mut self) {
        let text = self.census(self.briefing.commands.census);
        self.fixed(EvidenceKind::Now, (0, 0), text);
        for running in &self.briefing.running {
            let text = {
                let state = if running.is_known_running {
                    "still running at the last look"
                } else {
                    "no result yet"
                };
                format!("{state}: #{} {}", running.seq, running.what)
            };
            self.push(EvidenceKind::Now, (2, running.seq), (0, 60), text);
        }
        if self.briefing.outcome(self.briefing.turn()) == TurnOutcome::Open {
            for (order, action) in (0..).zip(&self.briefing.actions) {
                self.push(
                    EvidenceKind::Now,
                    (1, order),
                    (0, 25),
                    format!("last action: {}", action.text),
                );
            }
        }
    }

    /// What ran and what never did.
    fn census(&self, census: Census) -> String {
        let counts = [
            (census.tests, "tests"),
            (census.builds, "builds"),
            (census.lints, "lints"),
            (census.commits, "commits"),
            (census.pushes, "pushes"),
        ];
        let ran = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{what} {count}x"));
        let never =
            counts.iter().filter(|(count, _)| *count == 0).map(|(_, what)| (*what).to_owned());
        let list = |words: Vec<String>| {
            if words.is_empty() { "none".to_owned() } else { words.join(", ") }
        };
        let (ran, never) = (list(ran.collect()), list(never.collect()));
        let tests = self.briefing.commands.checks.iter().rev().find(|check| check.is_test);
        let untested = tests.is_some_and(|test| !self.briefing.effects.since(test.seq).is_empty());
        let untested = if untested { "; no test ran since the last edit" } else { "" };
        let files = self.extra.files.len();
        format!("seen in this thread: {ran}; never seen: {never}; {files} files changed{untested}")
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
        // In a small view two short lines say more than a long one.
        let is_cut = self.is_small && kind != EvidenceKind::Request;
        let text =
            if is_cut { text::cut_words(&text, SMALL_LINE_BYTES) } else { text }.into_owned();
        let weight = kind.rule().weights[age.min(2)] * f64::from(strength) / 100.0;
        let Order(order) = order.into();
        let (group, heading) = (String::new(), String::new());
        self.candidates.push(Quote { kind, order, weight, group, heading, text, is_fixed: false });
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

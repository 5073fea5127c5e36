//! Extracts from one thread what a later thread can use, without a model.
//!
//! # Theory of operation
//! The extractor keeps counters, never the transcript: a map of names, the commands with their results, the
//! person's requests and rules, the files each turn changed. [`crate::step`] interprets the lines, redacts and
//! cuts them; text that we injected is stripped before anything is kept. So a thread of any length takes a
//! bounded amount of memory, and dropping the extractor at any line loses only time.
//!
//! The origin of a text decides what it can become: rules come only from the person's sentences; commands,
//! fixes and facts from commands that ran. Text that a tool or a page printed is quoted at most, and left out
//! if it reads like an instruction.

mod calls;
mod description;
mod gather;
pub(super) mod hazard;
pub(crate) mod line;
mod names;
mod outcome;
mod outside;
mod render;
mod runs;
mod statements;
mod terms;
#[cfg(test)]
mod tests;

pub use render::last_words;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::learning::{LearningKind, RolloutMemory};
use super::own::Own;
use crate::fold::Place;
use crate::redact::redact;
use crate::rollout::{self, Body, Entry, Item, Meta, contextual};
use crate::step::{At, Origin, Step, Stepper, Words};
use crate::thread::Source;
use crate::{limits, paths, text};
use description::{Worth, describe};
use names::{Mention, Names};
use outcome::Signs;
use outside::OutsideLines;
use runs::Runs;

pub use hazard::names_hazard;
pub(in crate::memory) use line::bare;
pub(crate) use render::keywords;
pub(in crate::memory) use render::{SECTIONS, section};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRef {
    pub thread_id: String,
    pub source: Source,
    /// Scope of the learnings: the repository (root or remote) if the caller knows it; `None` means the
    /// working folder.
    pub project: Option<String>,
}

/// Maximum bytes read of a script or of a patch's lines.
const SCRIPT_BYTES: usize = 8 * 1_024;

/// Bytes at the end of an agent's message in which a question mark makes it a question.
const ASKED_BYTES: usize = 300;

const REQUESTS_MAX: usize = 16;

const RULES_MAX: usize = 48;

/// Pairs are counted only in turns that change at most this many files: a sweep over many files does not
/// relate any two of them.
const TURN_FILES_MAX: usize = 8;

/// Maximum pairs of files counted.
const PAIRS_MAX: usize = 512;

/// A rule that the person set.
#[derive(Debug)]
struct Rule {
    kind: LearningKind,
    text: String,
    origin: Origin,
    is_passing: bool,
    seq: u64,
    at_ms: i64,
    turn: u32,
}

/// A request, shortened and redacted.
#[derive(Debug)]
struct Request {
    text: String,
    /// How well it describes the thread.
    worth: Worth,
    turn: u32,
}

/// A fact shown by a command's output.
#[derive(Debug)]
struct Fact {
    text: String,
    quote: String,
    seq: u64,
    at_ms: i64,
}

/// Reads a thread in bounded memory.
#[derive(Debug)]
pub struct Extractor {
    source: Source,
    own: Own,
    /// What is known of the thread as a whole.
    about: RolloutMemory,
    has_meta: bool,
    turn: u32,
    requests: VecDeque<Request>,
    request_count: u64,
    rules: Vec<Rule>,
    /// By slot.
    facts: BTreeMap<String, Fact>,
    names: Names,
    runs: Runs,
    stepper: Stepper,
    turn_files: Vec<String>,
    changed_files: BTreeMap<String, u32>,
    pairs: BTreeMap<(String, String), (u32, u64)>,
    report: Option<(u64, String)>,
    signs: Signs,
    outside: OutsideLines,
    /// Downloaded files, by file name.
    downloads: BTreeSet<String>,
    has_asked: bool,
    is_ephemeral: bool,
}

impl Extractor {
    /// `own` recognizes text that the daemon injected, which is skipped.
    pub fn new(thread: ThreadRef, own: Own) -> Self {
        let ThreadRef { thread_id, source, project } = thread;
        Self {
            source,
            own,
            about: RolloutMemory { thread_id, project, ..RolloutMemory::default() },
            has_meta: false,
            turn: 0,
            requests: VecDeque::new(),
            request_count: 0,
            rules: Vec::new(),
            facts: BTreeMap::new(),
            names: Names::default(),
            runs: Runs::default(),
            stepper: Stepper::of(source),
            turn_files: Vec::new(),
            changed_files: BTreeMap::new(),
            pairs: BTreeMap::new(),
            report: None,
            signs: Signs::default(),
            outside: OutsideLines::default(),
            downloads: BTreeSet::new(),
            has_asked: false,
            is_ephemeral: false,
        }
    }

    /// Reads the next line, without its newline. Accepts any content.
    pub fn line(&mut self, place: Place, line: &[u8]) {
        self.about.last_seq = place.line;
        let (source, wanted) = (self.source, !self.has_meta);
        rollout::read(source, line, wanted, &mut |entry| self.entry(place.line, &entry));
    }

    /// The thread's original purpose: the first of the most descriptive requests. Answers from a menu say little, so
    /// all of them are listed, followed by the changed files.
    fn title(&self) -> Option<String> {
        let best = self.requests.iter().map(|request| request.worth).max()?;
        let best_requests = self.requests.iter().filter(|request| request.worth == best);
        let mut texts = best_requests.map(|request| request.text.as_str());
        let first = match best {
            Worth::Answer => {
                let mut answers: Vec<&str> = Vec::new();
                texts.for_each(|text| answers.extend((!answers.contains(&text)).then_some(text)));
                answers.join(", ")
            }
            Worth::Role | Worth::Prompt | Worth::Words => texts.next()?.to_owned(),
        };
        let mut changed: Vec<(&String, &u32)> = self.changed_files.iter().collect();
        changed.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
        if best == Worth::Words || changed.is_empty() {
            return Some(first);
        }
        let files: Vec<&str> = changed.iter().take(2).map(|(path, _)| path.as_str()).collect();
        let files = files.join(", ");
        if best == Worth::Role {
            return Some(format!("changed {files}"));
        }
        Some(format!("{} (changed {files})", text::cut_words(&first, 48)))
    }

    /// The extraction; `None` if it contains nothing useful to a later thread.
    pub fn finish(mut self) -> Option<RolloutMemory> {
        self.end_turn();
        gather::gather(self)
    }

    fn entry(&mut self, seq: u64, entry: &Entry<'_>) {
        self.about.note_time(entry.at_ms);
        match &entry.body {
            Body::Meta(meta) => self.meta(meta),
            Body::Settings(settings) => {
                if let Some(cwd) = &settings.cwd {
                    self.about.cwd = folder(cwd);
                }
            }
            Body::Item(Item::Other { .. }, _) => self.about.reached_outside = true,
            Body::Item(Item::Call(call), _) | Body::Aside(Item::Call(call))
                if self.own.is_read(call) =>
            {
                self.names.calls = self.names.calls.saturating_add(1);
                self.stepper.ignore_call(&call.call_id);
                return;
            }
            _ => {}
        }
        let mut stepper = std::mem::take(&mut self.stepper);
        let passed_over = match stepper.step(At { seq, ms: entry.at_ms.unwrap_or(0) }, entry) {
            Some(step) => self.step(seq, &step),
            None => None,
        };
        if let Some(call_id) = passed_over {
            stepper.ignore_call(&call_id);
        }
        self.stepper = stepper;
        if self.about.begun_at_ms == 0 && self.request_count == 1 {
            self.about.begun_at_ms = entry.at_ms.unwrap_or(0);
        }
    }

    /// Processes the next step. Returns the id of a call that reads memory, whose answer must be skipped.
    fn step(&mut self, seq: u64, step: &Step<'_>) -> Option<String> {
        match step {
            Step::Asked { words, origin: Origin::AGENT } | Step::Said(words) => {
                self.agent(seq, words);
            }
            Step::Asked { words, origin } => self.request(seq, words, *origin),
            Step::Called(called) => return self.call(called),
            Step::Answered(answered) => self.answer(answered),
            Step::Ran { script, exit_code: Some(code) } => self.ran(seq, &script.call, *code),
            Step::FilesChanged(changes) => {
                changes.iter().for_each(|change| self.change(&change.path));
            }
            Step::TurnComplete => self.signs.is_interrupted = false,
            Step::TurnInterrupted => self.signs.is_interrupted = true,
            Step::RolledBack { turns } => self.roll_back(*turns),
            Step::Ran { .. }
            | Step::Reported(_)
            | Step::Thought(_)
            | Step::Instructed(_)
            | Step::Compacted(_) => {}
        }
        None
    }

    fn meta(&mut self, meta: &Meta) {
        if self.has_meta {
            return;
        }
        self.has_meta = meta.id.is_some();
        if let Some(ms) = meta.created_at_ms {
            self.about.created_at_ms = ms;
            self.about.updated_at_ms = self.about.updated_at_ms.max(ms);
        }
        self.about.cwd = meta.cwd.as_deref().and_then(folder).or(self.about.cwd.take());
        let short = |name: &String| text::cut(name, limits::NAME_BYTES).into_owned();
        self.about.branch = meta.git_branch.as_ref().map(short).or(self.about.branch.take());
        self.is_ephemeral = meta.is_ephemeral;
        self.about.forked_from = meta.forked_from.as_ref().map(short);
    }

    /// Only the person's requests can set rules; those of other programs cannot.
    fn request(&mut self, seq: u64, words: &Words<'_>, origin: Origin) {
        let kept = self.own.strip_person(words.redacted());
        let Some(request) = contextual::request(&kept) else { return };
        self.end_turn();
        self.turn += 1;
        self.request_count += 1;
        self.signs.is_interrupted = false;
        self.signs.is_approval = statements::is_approval(request);
        let answers = self.signs.is_answered && !self.has_asked;
        self.signs.is_answered = false;
        let statements = statements::statements(request, answers);
        self.signs.is_corrected = statements.iter().any(|s| s.kind == LearningKind::Correction);
        let (at_ms, turn) = (self.about.updated_at_ms, self.turn);
        for statement in statements {
            if origin.is_person() && self.rules.len() < RULES_MAX {
                let statements::Statement { kind, text, is_passing } = statement;
                self.rules.push(Rule { kind, text, origin, is_passing, seq, at_ms, turn });
            }
        }
        self.names.read(request, Mention::Used, self.about.cwd.as_deref(), None);
        if self.requests.len() >= REQUESTS_MAX {
            // Keep the first: it states the thread's original purpose.
            self.requests.remove(1);
        }
        let (worth, description) = describe(request);
        let text = text::one_line_cut(&description, 300);
        self.requests.push_back(Request { text, worth, turn });
    }

    fn agent(&mut self, seq: u64, words: &Words<'_>) {
        let message = words.redacted();
        self.signs.is_answered = true;
        // "No" in reply to a question is an answer, not a correction.
        self.has_asked = text::suffix(message.trim_end(), ASKED_BYTES).contains(['?', '？']);
        let kept = self.own.strip(text::prefix(message, SCRIPT_BYTES));
        self.names.read(&kept, Mention::Printed, self.about.cwd.as_deref(), None);
        self.report = Some((seq, text::one_line_cut(&kept, 600)));
    }

    fn change(&mut self, path: &str) {
        let shown = self.shown(path);
        self.names.changed(&shown);
        if paths::is_temporary_or_unresolved(&shown) {
            return;
        }
        self.signs.changed = true;
        self.signs.is_corrected = false;
        self.runs.changed(&shown);
        if self.turn_files.len() <= TURN_FILES_MAX && !self.turn_files.contains(&shown) {
            self.turn_files.push(shown.clone());
        }
        if self.changed_files.len() < limits::FILES || self.changed_files.contains_key(&shown) {
            *self.changed_files.entry(shown).or_default() += 1;
        }
    }

    /// A path as the map names it.
    fn shown(&self, path: &str) -> String {
        names::shown(path, self.about.cwd.as_deref()).to_owned()
    }

    /// Counts the pairs of files that the turn changed.
    fn end_turn(&mut self) {
        let mut files = std::mem::take(&mut self.turn_files);
        if files.len() > TURN_FILES_MAX {
            return;
        }
        files.sort();
        for (at, first) in files.iter().enumerate() {
            for second in &files[at + 1..] {
                let pair = (first.clone(), second.clone());
                if self.pairs.len() < PAIRS_MAX || self.pairs.contains_key(&pair) {
                    let counted = self.pairs.entry(pair).or_default();
                    counted.0 += 1;
                    counted.1 = self.about.last_seq;
                }
            }
        }
    }

    /// Drops the requests and rules of rolled-back turns. Commands of those turns did run, so they stay.
    fn roll_back(&mut self, turns: u64) {
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        let kept = self.turn.saturating_sub(turns);
        self.rules.retain(|rule| rule.turn <= kept);
        self.requests.retain(|request| request.turn <= kept);
        self.turn = kept;
    }
}

fn folder(path: &str) -> Option<String> {
    let fits = !path.is_empty() && path.len() <= limits::PATH_BYTES;
    fits.then(|| redact(path.trim_end_matches('/')).text.into_owned())
}

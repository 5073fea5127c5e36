//! Collects every quote that may appear in a view, with its weight.

mod checks;
mod files;
mod folder;
mod last_report;
mod outputs;
mod raise;
mod ran;
mod requests;
mod shares;
mod state;
mod task_list;
mod template;
mod thoughts;
mod units;
mod workflow;

pub(super) use requests::picked;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use rustc_hash::FxBuildHasher;

use super::collect::{Briefing, IN, THOUGHT, TurnOutcome, report_strength};
use super::documents;
use super::evidence::Line;
use super::host_facts::HostFacts;
use super::kinds::EvidenceKind;
use super::lines;
use super::marks;
use super::select::{Focus, Quote, SMALL_TOKENS};
use crate::{quote, text};

/// Strength, in percent, of the first line of a report, so that each turn has a line before any has many.
const FIRST_OF_REPORT_PERCENT: u16 = 250;

/// Messages of one report are at most this many lines apart: an agent woken in the same turn reports again.
const SAME_REPORT: u64 = 6;

/// Remarks recent enough to describe the current state.
const NEWEST_REMARKS: usize = 16;

/// Strength, in percent, of remarks in a turn that ended without a report, of those in the running turn, and of those in a
/// turn that a later turn's report may cover.
const UNREPORTED_PERCENT: u16 = 300;
const CURRENT_REMARK_PERCENT: u16 = 160;
const REPORTED_REMARK_PERCENT: u16 = 50;
const REPORTED_LATER_PERCENT: u16 = 110;

/// For an edited file, added lines say more than lines that were read.
const EDITED_WEIGHT: f64 = 0.6;

/// Weight factor of the part of a workflow that was read last, and of the step of a template that the agent speaks of.
const CURRENT_STEP: f64 = 1.6;

/// Documents from which on a turn that changes nothing reads for what comes next.
const READ_MIN: usize = 3;

/// Maximum bytes of a line in a small view, where two short lines say more than one long line.
const SMALL_LINE_BYTES: usize = 320;

/// Marks the path of a file that was read and has other contents by now.
const OUTDATED: &str = " (changed on disk since)";
const EDITED_SINCE: &str = " (read before an edit of it)";

/// The quotes to choose from, and the subject of the work.
pub(super) fn gather<'a>(
    briefing: &'a Briefing,
    host: &'a HostFacts<'_>,
    max_tokens: u64,
) -> (Vec<Quote<'a>>, Focus) {
    let mut builder = Builder { briefing, host, max_tokens, candidates: Vec::new() };
    builder.collect();
    builder.raise_named();
    builder.leave_out_dropped();
    builder.mark_outdated();
    builder.leave_out_folder();
    units::link(&mut builder.candidates);
    let focus = builder.focus();
    (builder.candidates, focus)
}

struct Builder<'a> {
    briefing: &'a Briefing,
    host: &'a HostFacts<'a>,
    max_tokens: u64,
    candidates: Vec<Quote<'a>>,
}

impl<'a> Builder<'a> {
    fn collect(&mut self) {
        self.requests();
        self.template();
        self.workflow();
        self.reports();
        let first = self.candidates.len();
        self.lines(EvidenceKind::Remark, self.briefing.remarks.iter());
        thoughts::lower_said(&mut self.candidates[first..]);
        let first = self.candidates.len();
        self.lines(EvidenceKind::Added, self.briefing.added.iter());
        self.raise_newest_edits(first);
        shares::lower_behind(&mut self.candidates[first..], shares::OF_EDITS);
        self.raise_first_of_edits(first);
        self.documents();
        self.rules();
        self.files();
        self.commands();
        self.git();
        self.outputs();
        self.tasks();
        for (order, line) in (0..).zip(&self.host.accepted) {
            self.push(EvidenceKind::Accepted, (order, 0), (0, 100), line);
        }
        self.ran();
        // The newest ones are the most useful.
        for (order, line) in (0..).zip(&self.host.looked_at) {
            let strength = if order < 8 { 100 } else { 50 };
            let strength = if self.is_small() { strength / 10 } else { strength };
            self.push(EvidenceKind::Look, (order, 0), (0, strength), line);
        }
        // A finished plan is of work that a report describes.
        let is_any_open = self.host.plan.iter().any(|(_, is_open)| *is_open);
        for (order, (line, is_open)) in (0..).zip(&self.host.plan).filter(|_| is_any_open) {
            let strength = if *is_open { 110 } else { 25 };
            self.push(EvidenceKind::Plan, (order, 0), (0, strength), line);
        }
        self.raise_unread();
        self.now();
        self.pending_edits();
    }

    /// Removes quotes that the person dropped, and those grouped under a dropped file or turn.
    fn leave_out_dropped(&mut self) {
        let host = self.host;
        self.candidates.retain(|quote| {
            !host.hides(&quote.text, quote.seq()) && !host.hides(&quote.group, None)
        });
        for quote in &mut self.candidates {
            if host.hides(&quote.heading, None) {
                quote.heading = Cow::Borrowed("");
            }
        }
    }

    /// Marks quotes from files that have other contents on disk by now.
    fn mark_outdated(&mut self) {
        let host = self.host;
        let is_outdated = |path: &str| host.outdated.iter().any(|outdated| outdated == path);
        for quote in &mut self.candidates {
            let is_read = matches!(quote.kind, EvidenceKind::Document | EvidenceKind::Rule);
            let edited = self.briefing.effects.of(&quote.group).map(|effect| effect.seq);
            if is_read && is_outdated(&quote.group) {
                quote.group.to_mut().push_str(OUTDATED);
            } else if is_read && edited.is_some_and(|edited| edited > quote.order.0) {
                quote.group.to_mut().push_str(EDITED_SINCE);
            }
        }
    }

    fn is_small(&self) -> bool {
        self.max_tokens < SMALL_TOKENS
    }

    /// The number of turns since that turn.
    fn age_of(&self, turn: u32) -> usize {
        usize::try_from(self.briefing.turn().saturating_sub(turn)).unwrap_or(2)
    }

    /// Whether the command is among the failures, which quote its output.
    fn failed(&self, command: &str) -> bool {
        let words = command.rsplit_once(" (").map_or(command, |(words, _)| words);
        let head = text::prefix(words, 60);
        self.briefing.commands.failures.iter().any(|failure| failure.text.starts_with(head))
    }

    /// Whether the command has no result yet; it is then listed as running.
    fn runs(&self, command: &str) -> bool {
        let bare = |what: &'a str| match what.strip_prefix(IN) {
            Some(placed) => placed.split_once(") ").map_or(what, |(_, bare)| bare),
            None => what,
        };
        let mut running = self.briefing.running.iter().map(|running| bare(&running.what));
        running.any(|what| what.starts_with(text::prefix(command, 60)))
    }

    /// The subject of the last turns, and the terms that many turns share.
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
        focus.aim_at(self.host.focus);
        focus.is_reading = self.only_reads();
        focus
    }

    /// Whether the running turn has read several documents, and changed nothing yet.
    fn only_reads(&self) -> bool {
        let effects = &self.briefing.effects;
        self.read_now().len() >= READ_MIN && effects.changed_in(self.briefing.turn()).is_empty()
    }

    /// The documents that the running turn has read.
    fn read_now(&self) -> HashSet<&'a str> {
        let now = self.briefing.turn();
        let read = self.briefing.documents.iter().filter(|line| line.turn == now);
        read.map(|line| line.group.as_str()).collect()
    }

    fn reports(&mut self) {
        let first = self.candidates.len();
        let mut turns: Vec<u32> = self.briefing.reports.iter().map(|line| line.turn).collect();
        turns.dedup();
        let own = self.briefing.reports.iter().filter(|line| line.group.is_empty());
        let ends: HashMap<u32, u64> = own.map(|line| (line.turn, line.seq)).collect();
        let turn = self.briefing.turn();
        let pending = self.briefing.pending_words().last().map(|(seq, _)| seq);
        let recent = ends.iter().filter(|(of, _)| **of + 1 >= turn).map(|(_, seq)| *seq);
        let last = pending.or(recent.max());
        let later_requests = &self.briefing.requests;
        for line in self.briefing.reports.iter() {
            // What was picked stands beside the request; of the last menu, the other options are still on offer.
            if last != Some(line.seq) && requests::is_answered(later_requests, line) {
                continue;
            }
            let newer = turns.iter().rev().position(|turn| *turn == line.turn).unwrap_or(2);
            let end = ends.get(&line.turn).copied().unwrap_or_default();
            let group = match line.group.as_str() {
                "" if line.seq + SAME_REPORT < end => {
                    format!("turn {}, at #{}", line.turn, line.seq)
                }
                "" => format!("turn {}", line.turn),
                who => format!("turn {}, {who} (#{})", line.turn, line.seq),
            };
            let age = newer + usize::from(pending.is_some());
            let is_first = line.group.is_empty() && line.spot.at == 1 && !self.is_small();
            let percent = if is_first { FIRST_OF_REPORT_PERCENT } else { 100 };
            let weight =
                (age, requests::strength_of(line, age) * percent / 100 * of_age(age) / 100);
            let quote = self.line(EvidenceKind::Report, line.seq, weight, &line.text);
            quote.label(group, &line.heading);
            quote.spot = line.spot;
        }
        let mut is_first = true;
        for (seq, words) in self.briefing.pending_words() {
            lines::split(words, |line| {
                let strength = report_strength(line.shape, is_first, line.text);
                is_first = false;
                let text = lines::tidy(line.text, self.host.folder, 420);
                let quote = self.line(EvidenceKind::Report, seq, (0, strength), text);
                quote.label(format!("turn {turn}, last words"), line.label());
                quote.spot = line.spot;
            });
        }
        if let Some(last) = last.filter(|_| !self.is_small()) {
            let is_answered = pending.is_none() && requests::is_short(self.briefing.active().1);
            let report = (last, is_answered);
            last_report::keep(&mut self.candidates[first..], report, self.max_tokens);
        }
    }

    fn lines(&mut self, kind: EvidenceKind, lines: impl Iterator<Item = &'a Line>) {
        let now = self.briefing.turn();
        let reported: HashSet<u32> = self.briefing.reports.iter().map(|line| line.turn).collect();
        let newest = self.briefing.remarks.iter().rev().take(NEWEST_REMARKS).last();
        let newest = newest.map_or(0, |line| line.seq);
        let is_current = kind == EvidenceKind::Template && self.is_template_current();
        for line in lines {
            // A decision holds until another is written.
            let holds = kind == EvidenceKind::Added
                && (marks::decides(&line.text) || marks::decides(&line.heading));
            let age = if holds || is_current { 0 } else { self.age_of(line.turn) };
            // Remarks are soon outdated by later ones.
            let is_older = kind == EvidenceKind::Remark && line.seq < newest;
            // A template is done once its turn has a report, except while the person only answers.
            let is_followed = kind == EvidenceKind::Template
                && line.turn < now
                && !is_current
                && self.is_reported(line.turn);
            // So are the thoughts of that turn.
            let is_reported = line.heading == THOUGHT && reported.contains(&line.turn);
            // Where a turn ended without a report, its remarks are all that the agent said of it.
            let is_all_said = kind == EvidenceKind::Remark
                && line.turn < now
                && line.heading.is_empty()
                && !reported.contains(&line.turn);
            let is_remark = kind == EvidenceKind::Remark;
            let is_of_now = is_remark && line.turn == now;
            let percent = match () {
                () if is_followed || is_reported => 25,
                () if is_all_said && self.briefing.is_answered_after(line.turn) => {
                    REPORTED_LATER_PERCENT
                }
                () if is_all_said => UNREPORTED_PERCENT,
                () if is_of_now && line.heading != THOUGHT => CURRENT_REMARK_PERCENT,
                // The report of its turn says what came of it.
                () if is_remark && line.heading.is_empty() && reported.contains(&line.turn) => {
                    REPORTED_REMARK_PERCENT
                }
                () if is_older => 70,
                () => 100,
            };
            let strength = line.strength * percent / 100;
            let group = match kind {
                EvidenceKind::Template if line.group.is_empty() => {
                    Cow::Borrowed(self.briefing.template_name())
                }
                EvidenceKind::Remark => Cow::Owned(format!("turn {}", line.turn)),
                _ => Cow::Borrowed(line.group.as_str()),
            };
            let quote = self.line(kind, line.seq, (age, strength), &line.text);
            quote.label(group, &line.heading);
            quote.spot = line.spot;
        }
    }

    /// Whether the agent answered in that turn or later.
    fn is_reported(&self, turn: u32) -> bool {
        self.briefing.outcome(turn) == TurnOutcome::Answered
            || self.briefing.is_answered_after(turn)
    }

    /// Quotes from documents that were read, without lines that the thread wrote itself.
    fn documents(&mut self) {
        fn words(line: &Line) -> (&str, &str) {
            (&line.group, &line.text)
        }
        let own: HashSet<_, FxBuildHasher> = self.briefing.added.iter().map(words).collect();
        let first = self.candidates.len();
        let read = self.briefing.documents.iter().filter(|line| !own.contains(&words(line)));
        self.lines(EvidenceKind::Document, read);
        let is_reading = self.only_reads();
        let effects = &self.briefing.effects;
        let read = &mut self.candidates[first..];
        for quote in read.iter_mut().filter(|quote| effects.of(&quote.group).is_some()) {
            quote.weight *= EDITED_WEIGHT;
        }
        let ranks = match is_reading {
            true => shares::OF_DOCUMENTS_BEING_READ,
            false => shares::OF_DOCUMENT,
        };
        shares::lower_behind(read, ranks);
    }

    /// Quotes rules. Of the steps of a workflow the one read last is being done, and the others are done.
    fn rules(&mut self) {
        let first = self.candidates.len();
        self.lines(EvidenceKind::Rule, self.briefing.rules.iter());
        let of_workflow = |group: &str| documents::is_workflow(group);
        let read = self.candidates[first..].iter().filter(|quote| of_workflow(&quote.group));
        let Some(newest) = read.max_by_key(|quote| quote.order).map(|it| it.group.clone()) else {
            return;
        };
        for quote in self.candidates[first..].iter_mut().filter(|quote| quote.group == newest) {
            quote.weight *= CURRENT_STEP;
        }
    }

    fn line(
        &mut self,
        kind: EvidenceKind,
        seq: u64,
        weight: (usize, u16),
        text: impl Into<Cow<'a, str>>,
    ) -> &mut Quote<'a> {
        let order = (seq, self.candidates.len() as u64);
        self.push(kind, order, weight, text)
    }

    fn push(
        &mut self,
        kind: EvidenceKind,
        order: (u64, u64),
        (age, strength): (usize, u16),
        text: impl Into<Cow<'a, str>>,
    ) -> &mut Quote<'a> {
        let mut text = quote::whole_line(text.into());
        let is_whole = [EvidenceKind::Request, EvidenceKind::Now].contains(&kind);
        if self.is_small() && !is_whole && text.len() > SMALL_LINE_BYTES {
            text = Cow::Owned(text::cut_words(&text, SMALL_LINE_BYTES).into_owned());
        }
        let weight = kind.rule().weights[age.min(2)] * f64::from(strength) / 100.0;
        let at = self.candidates.len();
        self.candidates.push(Quote::new(kind, order, weight, text));
        &mut self.candidates[at]
    }
}

/// The percentage of a report's strength that is left after so many later ones: much of it is done or changed.
fn of_age(reports: usize) -> u16 {
    match reports {
        ..10 => 100,
        10..25 => 85,
        _ => 70,
    }
}

/// `a, b, c and 4 more`.
fn first_of(files: &[&str]) -> String {
    let more = match files.len().saturating_sub(3) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", files[..files.len().min(3)].join(", "))
}

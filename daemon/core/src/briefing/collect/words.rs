//! Words of agents as evidence: reports, remarks on the way, reports of other agents, summaries.

use std::borrow::Cow;

use super::super::evidence::Line;
use super::super::kinds::EvidenceKind;
use super::super::lines;
use super::super::spot::{Shape, Spot};
use super::super::strength;
use super::{ANOTHER_AGENT, Briefing};
use crate::rollout::between_agents::{self, TeamMessage};
use crate::rollout::contextual;
use crate::text::{self, between};

/// Maximum bytes of the agent's words to hold until the turn's end, when they become a report or remarks.
const PENDING_WORDS_BYTES: usize = 24 * 1_024;

/// Heading of the agent's thoughts.
pub(in crate::briefing) const THOUGHT: &str = "thought, not said";

/// Heading of a model's summary.
const SUMMARY: &str = "summary of an earlier compaction";

/// A line of at most this length may repeat another one by chance.
const SHORT_BYTES: usize = 40;

/// Maximum bytes of the name of an agent that reports.
const WHO_BYTES: usize = 100;

impl Briefing {
    /// Holds words of the agent: they become the turn's report unless a call follows.
    pub(in crate::briefing) fn hold_words(&mut self, seq: u64, message: &str) {
        if message.trim().is_empty() {
            return;
        }
        self.intention = None;
        let kept: usize = self.pending_words.iter().map(|(_, words)| words.len()).sum();
        if kept < PENDING_WORDS_BYTES {
            let words = text::cut_middle_lines(message, PENDING_WORDS_BYTES / 2).into_owned();
            self.pending_words.push((seq, words));
        }
    }

    /// Records the agent's thoughts as remarks, and the last stated intention as the current state. Some
    /// agents only log a title of each thought, which is the intention.
    pub(in crate::briefing) fn record_thought(
        &mut self,
        seq: u64,
        words: &str,
        folder: Option<&str>,
    ) {
        let turn = self.turn;
        self.intention = None;
        if let Some(title) = lines::heading_of(words.trim()) {
            self.intention = Some((seq, title.to_owned()));
            return;
        }
        let mut at = 0;
        lines::split(words, |message_line| {
            if message_line.shape == Shape::Code {
                return;
            }
            lines::each_sentence(message_line.text, |sentence| {
                if strength::intends(sentence) {
                    self.intention = Some((seq, lines::tidy(sentence, folder, 260)));
                }
                let text = lines::tidy(sentence, folder, 260);
                let strength = strength::thought_strength(sentence);
                at += 1;
                let spot = Spot { at, opens: true, ..Spot::default() };
                let heading = THOUGHT.to_owned();
                let line = Line { seq, turn, strength, heading, text, spot, ..Line::default() };
                self.remarks.add(EvidenceKind::Remark, line);
            });
        });
    }

    /// Records a model's summary of what came before. It replaces the previous summary, whose state is
    /// outdated. The transcript also holds the summary as ordinary words before its compaction; those were
    /// not addressed to the person, so they are dropped.
    ///
    /// A view of ours has nothing new, unless what it was made from is not known.
    pub(in crate::briefing) fn record_summary(
        &mut self,
        seq: u64,
        summary: &str,
        folder: Option<&str>,
    ) {
        if contextual::is_view(summary) && self.turn > 0 {
            return;
        }
        self.pending_words.retain(|(_, words)| !summary.contains(text::prefix(words, 80)));
        self.remarks.retain(|line| line.heading != SUMMARY);
        self.record_remark(seq, SUMMARY, contextual::summary_words(summary), folder);
    }

    /// Records another agent's report, which is worth almost as much as a report of the agent itself.
    pub(in crate::briefing) fn record_agent_report(
        &mut self,
        seq: u64,
        message: &str,
        folder: Option<&str>,
    ) {
        // The harness adds the agent's id and the cost at the end.
        let message = message.split("<usage>").next().unwrap_or_default();
        let id = message.rsplit_once("\nagentId: ").filter(|(_, id)| id.len() <= WHO_BYTES * 2);
        let message = id.map_or(message, |(message, _)| message);
        let message = text::cut_middle_lines(message, PENDING_WORDS_BYTES / 2);
        let mut team = between_agents::team_messages(&message).peekable();
        if team.peek().is_some() {
            for TeamMessage { from, summary, words } in team.filter(|message| !message.is_notice())
            {
                let who = format!("teammate {}", text::one_line_cut(from, WHO_BYTES));
                let words = format!("{summary}\n{words}");
                self.record_words_of_agent(seq, &who, (&words, false), folder);
            }
            return;
        }
        let who = self.reporting_agent(&message);
        // In its wrapper, the harness escapes the report.
        let is_escaped = message.trim_start().starts_with('<');
        self.record_words_of_agent(seq, &who, (&message, is_escaped), folder);
    }

    fn record_words_of_agent(
        &mut self,
        seq: u64,
        who: &str,
        (message, is_escaped): (&str, bool),
        folder: Option<&str>,
    ) {
        let mut is_first = true;
        lines::split(message, |message_line| {
            // Skip the harness's wrapper: ids, state.
            let words =
                message_line.text.trim_start_matches("<result>").trim_end_matches("</result>");
            if words.starts_with('<') && words.contains('>') {
                return;
            }
            let words = if is_escaped { text::unescaped(words) } else { Cow::Borrowed(words) };
            let words = words.as_ref();
            let strength = report_strength(message_line.shape, is_first, words) * 4 / 5;
            is_first = false;
            let text = lines::tidy(words, folder, 420);
            let (turn, spot) = (self.turn, message_line.spot);
            let (group, heading) = (who.to_owned(), message_line.label());
            let line = Line { seq, turn, strength, group, heading, text, spot, is_cut: false };
            self.reports.add(EvidenceKind::Report, line);
        });
    }

    /// The name of the agent whose report it is, with its state as the harness says it. An agent that ended no longer
    /// counts as running.
    fn reporting_agent(&mut self, message: &str) -> String {
        let call_id = between(message, "<tool-use-id>", "</tool-use-id>");
        let summary = between(message, "<summary>", "</summary>");
        let named = summary.filter(|summary| summary.starts_with("Agent "));
        // Whoever cleaned the transcript may have taken ids for secrets.
        let name = named.and_then(|summary| between(summary, "\"", "\""));
        self.background.retain(|agent| {
            call_id != Some(agent.call_id.as_str())
                && name.is_none_or(|name| !agent.text.contains(name))
        });
        named.map_or(ANOTHER_AGENT.to_owned(), |summary| text::one_line_cut(summary, WHO_BYTES))
    }

    /// Records a prompt for another agent. Those of several agents are told apart by their numbers.
    pub(in crate::briefing) fn record_prompt(
        &mut self,
        seq: u64,
        heading: &str,
        prompt: &str,
        folder: Option<&str>,
    ) {
        self.record_remark(seq, &format!("{heading} (#{seq})"), prompt, folder);
    }

    /// Records a text that is neither a report nor said: a prompt, a model's summary of earlier work.
    pub(in crate::briefing) fn record_remark(
        &mut self,
        seq: u64,
        heading: &str,
        message: &str,
        folder: Option<&str>,
    ) {
        let message = text::cut_middle_lines(message, PENDING_WORDS_BYTES / 2);
        lines::split(&message, |message_line| {
            let strength = if message_line.shape == Shape::Item { 100 } else { 70 };
            let text = lines::tidy(message_line.text, folder, 260);
            // Prompts of one template have most lines in common.
            if text.len() > SHORT_BYTES && self.remarks.iter().any(|known| known.text == text) {
                return;
            }
            let spot = Spot { opens: true, ..message_line.spot };
            let (turn, heading) = (self.turn, heading.to_owned());
            let line = Line { seq, turn, strength, heading, text, spot, ..Line::default() };
            self.remarks.add(EvidenceKind::Remark, line);
        });
    }

    /// The agent's words since its last call: the report of a turn that ended or is about to.
    pub(in crate::briefing) fn pending_words(&self) -> impl Iterator<Item = (u64, &str)> {
        self.pending_words.iter().map(|(seq, words)| (*seq, words.as_str()))
    }

    /// The agent's latest words: its last report, then what it said in the running turn.
    pub fn latest_words(&self) -> Vec<&str> {
        let mut words = self.last_report();
        words.extend(self.said_last.as_ref().map(|(_, line)| line.as_str()));
        words.extend(self.pending_words().map(|(_, words)| words));
        words
    }

    /// What the agent said and thought last.
    pub(in crate::briefing) fn last_words(&self) -> impl Iterator<Item = &str> {
        let said = self.said_last.iter().chain(&self.intention).map(|(_, words)| words.as_str());
        said.chain(self.pending_words().last().map(|(_, words)| words))
    }

    pub(in crate::briefing) fn last_report(&self) -> Vec<&str> {
        let own = || self.reports.iter().filter(|line| line.group.is_empty());
        let Some(turn) = own().next_back().map(|line| line.turn) else {
            return Vec::new();
        };
        let of = own().filter(|line| line.turn == turn);
        of.map(|line| line.text.as_str()).collect()
    }

    pub(super) fn flush_report(&mut self, folder: Option<&str>) {
        let turn = self.turn;
        if !self.pending_words.is_empty() {
            self.reports.weaken_last();
        }
        for (seq, words) in std::mem::take(&mut self.pending_words) {
            let mut is_first = true;
            lines::split(&words, |message_line| {
                let strength = report_strength(message_line.shape, is_first, message_line.text);
                is_first = false;
                let text = lines::tidy(message_line.text, folder, 420);
                let (heading, spot) = (message_line.label(), message_line.spot);
                let line = Line { seq, turn, strength, heading, text, spot, ..Line::default() };
                self.reports.add(EvidenceKind::Report, line);
            });
        }
    }

    pub(super) fn flush_remarks(&mut self, folder: Option<&str>) {
        let turn = self.turn;
        for (seq, words) in std::mem::take(&mut self.pending_words) {
            lines::split(&words, |message_line| {
                let strength = strength::of(message_line.text);
                let text = lines::tidy(message_line.text, folder, 260);
                if message_line.shape != Shape::Code {
                    self.said_last = Some((seq, text.clone()));
                }
                let spot = message_line.spot;
                let line = Line { seq, turn, strength, text, spot, ..Line::default() };
                self.remarks.add(EvidenceKind::Remark, line);
            });
        }
    }
}

/// Items and bold words carry results, the first line states the subject, and code rarely says anything.
pub(in crate::briefing) fn report_strength(shape: Shape, is_first: bool, text: &str) -> u16 {
    let of_shape = match shape {
        Shape::Code => return 40,
        Shape::Item | Shape::Row => 110,
        // "Yes, you are right." only agrees with a statement quoted elsewhere.
        Shape::Prose if text.len() < 40 && !text.contains(['`', '*', '/']) => 40,
        Shape::Prose if is_first || text.contains("**") => 110,
        Shape::Prose => 75,
    };
    of_shape * strength::of(text) / 100
}

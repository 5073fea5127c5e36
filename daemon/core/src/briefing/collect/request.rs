//! The person's messages as evidence: what they typed, what it answers, the steps of a template around it.

use super::super::evidence::{Line, PASTED_STRENGTH};
use super::super::kinds::EvidenceKind;
use super::super::{answer, documents, lines, prompt};
use super::{
    ANSWERS, ActiveRequest, Briefing, CHOSE, EARLIER_BYTES, EARLIER_MAX, TEMPLATE, TURNS_MAX,
    TurnOutcome, TurnRecord, WITH,
};
use crate::bounded::push_bounded;
use crate::digest::Digest128;
use crate::{limits, text};

/// Digests of earlier lines to remember. A line that repeats is part of a template, not typed.
const SEEN_LINES_MAX: usize = 1_024;

/// Typed messages up to this length are quoted as one piece.
const WHOLE_REQUEST_BYTES: usize = 500;

/// Maximum lines of a template to keep.
const TEMPLATE_LINES: usize = 110;

/// Maximum bytes of a template's name next to typed words.
const TEMPLATE_NAME_BYTES: usize = 56;

/// Precedes the folder of a skill, above its text.
const SKILL_FOLDER: &str = "Base directory for this skill: ";

/// Maximum bytes of an answer in a dialog.
const DIALOG_BYTES: usize = 600;

/// Maximum bytes of a heading that a message has.
const HEADING_BYTES: usize = 120;

/// A line this short is a title or a name.
const FRAGMENT_BYTES: usize = 16;

/// Longer messages are mostly pasted, and their lines mean little out of context.
const PASTED_BYTES: usize = 4 * 1_024;

/// Opens a plan that the person approved, whose lines all count.
const PLAN: &str = "Implement the following plan:";

/// Maximum bytes of the typed words before what is pasted.
const INTRODUCTION_BYTES: usize = 1_500;

impl Briefing {
    /// A message of the person begins a turn.
    pub(in crate::briefing) fn begin_turn(
        &mut self,
        seq: u64,
        message: &str,
        folder: Option<&str>,
    ) {
        self.end_turn(false, folder);
        let digests: Vec<u32> = message
            .lines()
            .map(str::trim)
            .filter(|line| line.len() >= prompt::REPEATED_BYTES_MIN)
            .map(digest)
            .collect();
        let was_seen = |line: &str| self.seen_lines.contains(&digest(line));
        let parsed = prompt::parse(message, was_seen);
        let (typed, name) = (parsed.typed, parsed.name);
        let template = parsed.template.map(str::to_owned);
        let is_role = parsed.is_role;
        self.turn += 1;
        let turn = TurnRecord { number: self.turn, outcome: TurnOutcome::Open };
        push_bounded(&mut self.turns, turn, TURNS_MAX);
        let answered = answer::answered(&typed, &self.last_report());
        let active = if typed.is_empty() { format!("{TEMPLATE}{name})") } else { typed.clone() };
        let text = text::cut_middle(&active, limits::REQUEST_BYTES).into_owned();
        let before = std::mem::replace(&mut self.active, ActiveRequest { seq, text });
        let text = text::cut_middle(&before.text, EARLIER_BYTES).into_owned();
        push_bounded(&mut self.earlier, ActiveRequest { text, ..before }, EARLIER_MAX);
        self.record_typed(
            seq,
            if typed.is_empty() { &name } else { &typed },
            typed.is_empty(),
            folder,
        );
        if template.is_some() && !typed.is_empty() {
            let text = format!("{WITH}{})", text::cut_words(&name, TEMPLATE_NAME_BYTES));
            self.push_request(seq, 40, text);
        }
        for answered in answered {
            let text = format!("{ANSWERS}{})", text::one_line_cut(&answered, 260));
            self.push_request(seq, 60, text);
        }
        if let Some(template) = template {
            self.read_template(seq, &name, &template, folder);
            self.is_role = is_role;
        }
        self.seen_lines.extend(digests);
        while self.seen_lines.len() > SEEN_LINES_MAX {
            self.seen_lines.pop_front();
        }
        self.actions.clear();
        self.refused = None;
    }

    /// Records the person's answer in a dialog, in the middle of a turn.
    pub(in crate::briefing) fn record_dialog_answer(&mut self, seq: u64, words: &str) {
        let text = format!("{CHOSE}{})", text::one_line_cut(words, DIALOG_BYTES));
        self.push_request(seq, 100, text);
    }

    fn record_typed(&mut self, seq: u64, words: &str, is_template: bool, folder: Option<&str>) {
        if is_template {
            return self.push_request(seq, 45, format!("{TEMPLATE}{words})"));
        }
        if words.len() <= WHOLE_REQUEST_BYTES {
            let strength = if words.len() > 30 { 100 } else { 50 };
            return self.push_request(seq, strength, text::one_line(words).into_owned());
        }
        let words = text::cut_middle(words, limits::REQUEST_BYTES);
        let (typed, pasted) = match words.len() > PASTED_BYTES && !words.starts_with(PLAN) {
            true => words.split_at(typed_bytes(&words)),
            false => (&*words, ""),
        };
        let title = lines::title_above(&words);
        let mut is_first = title.is_empty();
        if !is_first {
            self.push_request(seq, 110, lines::tidy(&title, folder, 400));
        }
        let (mut heading, mut last) = (String::new(), String::new());
        for (words, is_pasted) in [(typed, false), (pasted, true)] {
            lines::split(words, |message_line| {
                if title.starts_with(message_line.text) {
                    return;
                }
                // The heading of the lines below was typed as well, unless it is the line above.
                let below = text::cut_words(message_line.heading, HEADING_BYTES);
                let is_new = below != heading && !last.starts_with(message_line.heading);
                let title = (is_new && !below.is_empty()).then(|| format!("{below}: "));
                heading.clear();
                heading.push_str(&below);
                message_line.text.clone_into(&mut last);
                let line = lines::tidy(message_line.text, folder, 400);
                let line = format!("{}{line}", title.unwrap_or_default());
                let strength = match () {
                    () if is_first => 110,
                    () if is_data(&line) => 12,
                    () if is_pasted || line.len() < FRAGMENT_BYTES => PASTED_STRENGTH,
                    () if prompt::is_limit(&line) => 85,
                    () => 55,
                };
                is_first = false;
                let (turn, heading) = (self.turn, heading.clone());
                let line = Line { seq, turn, strength, heading, text: line, ..Line::default() };
                self.requests.add(EvidenceKind::Request, line);
            });
        }
    }

    fn push_request(&mut self, seq: u64, strength: u16, text: String) {
        let line = Line { seq, turn: self.turn, strength, text, ..Line::default() };
        self.requests.add(EvidenceKind::Request, line);
    }

    /// Records the text of the command that the person typed, or of a skill that the agent invoked.
    pub(in crate::briefing) fn record_instructions(
        &mut self,
        seq: u64,
        text: &str,
        folder: Option<&str>,
    ) {
        let of_skill = text.strip_prefix(SKILL_FOLDER).and_then(|rest| rest.split_once('\n'));
        let typed = self.active.text.split_whitespace().next().filter(|it| it.starts_with('/'));
        let name = match (of_skill, typed) {
            (Some((path, _)), _) => path.trim_end().rsplit('/').next().unwrap_or(path).to_owned(),
            (None, Some(command)) => command.to_owned(),
            (None, None) => prompt::name_of(text),
        };
        let text = of_skill.map_or(text, |(_, text)| text);
        let name = text::one_line_cut(&name, TEMPLATE_NAME_BYTES);
        self.is_role = false;
        if documents::has_steps(text) {
            self.template.clear();
            return self.record_steps(seq, &name, text);
        }
        self.read_template(seq, &name, text, folder);
    }

    fn read_template(&mut self, seq: u64, name: &str, template: &str, folder: Option<&str>) {
        self.template.clear();
        name.clone_into(&mut self.template_name);
        let mut seen = 0;
        lines::split(text::prefix(template, 48 * 1_024), |message_line| {
            if let Some(strength) = prompt::step_strength(&message_line)
                && seen < TEMPLATE_LINES
            {
                seen += 1;
                let text = lines::tidy(message_line.text, folder, 220);
                let (turn, heading) = (self.turn, message_line.label());
                let line = Line { seq, turn, strength, heading, text, ..Line::default() };
                self.template.add(EvidenceKind::Template, line);
            }
        });
    }
}

/// Bytes of the first paragraph of a long message, which says what to do with the rest; 0 if that is long, too.
fn typed_bytes(words: &str) -> usize {
    let end = words.find("\n\n").or_else(|| words.find("\n\r\n"));
    end.filter(|end| *end <= INTRODUCTION_BYTES).unwrap_or(0)
}

/// Whether a line was pasted from data or code rather than typed.
fn is_data(line: &str) -> bool {
    line.starts_with(['"', '{', '}', '[', ']', '<'])
        || line.ends_with(['{', ';', ','])
        || line.contains("\": ")
}

/// A quarter of the line's digest suffices to recognize it.
fn digest(line: &str) -> u32 {
    u32::try_from(Digest128::of(line.as_bytes()).0 >> 96).unwrap_or_default()
}

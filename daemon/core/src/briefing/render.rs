//! The chosen lines as text.

use super::collect::{ANSWERS, Briefing, TurnOutcome};
use super::gather::{SMALL_TOKENS, gather};
use super::select::{Quote, Selection};
use super::write::write;
use crate::choice::{Choices, cost};
use crate::{quote, text, tokens};

/// A view, and what it is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    /// The lines that were chosen, in the order of the text; header, pins and request are not among them.
    pub lines: Vec<ViewLine>,
    /// Pins that do not stand whole.
    pub pins_incomplete: usize,
}

/// A line that was chosen for a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewLine {
    /// Title of its section.
    pub section: &'static str,
    pub text: String,
    /// The line of the transcript it was taken from, where it is of one.
    pub seq: Option<u64>,
}

/// What the host knows beside the transcript, as lines of their own.
#[derive(Default)]
pub struct Extra<'a> {
    /// First line of the text.
    pub header: String,
    /// Text that stands above the view: what it says needs no saying again.
    pub above: &'a str,
    /// What the person wants it to be about: lines that speak of it are chosen first.
    pub focus: &'a str,
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
    /// What the person pinned and dropped. Pins stand in `header`.
    pub choices: Option<&'a Choices>,
}

impl Extra<'_> {
    pub(super) fn hides(&self, line: &str, seq: Option<u64>) -> bool {
        self.choices.is_some_and(|choices| choices.hides(line, seq))
    }
}

/// A changed file, as the host knows it.
pub struct ChangedFile {
    /// As it is shown.
    pub path: String,
    /// What became of it and whether it still is so: `edited 2x, changed on disk since`.
    pub words: String,
}

/// The briefing within `max_tokens`, by bytes / 4 and by o200k alike. It ends with the request, verbatim if it
/// fits: a model goes on from what it read last.
pub fn render(briefing: &Briefing, extra: &Extra<'_>, max_tokens: u64) -> Rendered {
    let bytes = tokens::bytes_of(max_tokens);
    let mut request_bytes = bytes * REQUEST_PERCENT / 100;
    let (quotes, focus) = gather(briefing, extra, max_tokens);
    let selection = Selection::new(quotes, &focus, extra.above);
    // What the lines may cost by their estimates, which are a little off.
    let mut room = max_tokens;
    let (mut text, mut lines) = (String::new(), Vec::new());
    let mut is_over = false;
    for _ in 0..PASSES {
        let task = task(briefing, extra, request_bytes);
        let beside = tokens::of_text(&extra.header) + tokens::of_text(&task) + 2;
        let chosen = selection.select(room.saturating_sub(beside));
        let fuller = written(extra, chosen.clone(), &task, other_files_bytes(max_tokens));
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
            (text, lines) = (fuller, chosen);
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
    lines.sort_by_key(|line| (line.kind, line.order));
    let lines = lines.into_iter().map(|line| ViewLine {
        section: line.kind.rule().title,
        text: line.text.clone(),
        seq: line.seq(),
    });
    Rendered { text, lines: lines.collect(), pins_incomplete: 0 }
}

/// Percent of a view that the last request may take, unless room is left.
const REQUEST_PERCENT: usize = 30;

/// Bytes for the names of changed files that have no line of their own. A small view has no room for them.
fn other_files_bytes(max_tokens: u64) -> usize {
    match max_tokens < SMALL_TOKENS {
        true => 0,
        false => tokens::bytes_of(max_tokens) / 40,
    }
}

/// Times that a view is chosen: again with what was left over, or with less where tokens are short.
const PASSES: usize = 8;

/// The section of the request to go on with.
fn task(briefing: &Briefing, extra: &Extra<'_>, bytes: usize) -> String {
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
    let mut request = extra
        .choices
        .map_or(request.into(), |choices| choices.without_hidden(request))
        .into_owned();
    let now = briefing.turn();
    let of_now = briefing.requests.iter().filter(|line| line.turn == now);
    for line in
        of_now.filter(|line| line.text.starts_with(ANSWERS) && !extra.hides(&line.text, None))
    {
        request = format!("{} {}", request.trim_end(), line.text);
    }
    format!("{head}{}\n", text::cut_middle(&quote::block(request.trim_end()), room))
}

fn written(extra: &Extra<'_>, chosen: Vec<&Quote>, task: &str, other_files_bytes: usize) -> String {
    let mut out = format!("{}\n", extra.header);
    write(&mut out, chosen, extra, other_files_bytes);
    out.push_str(task);
    out
}

//! The chosen lines as text.

use super::collect::{Briefing, TurnOutcome};
use super::gather::gather;
use super::select::{Quote, Selection};
use super::write::write;
use crate::context::tokenizer::Tokenizer;
use crate::{quote, text, tokens};

/// What the host knows beside the transcript, as lines of their own.
#[derive(Default)]
pub struct Extra<'a> {
    /// First line of the text.
    pub header: String,
    /// Text that stands above the view: what it says needs no saying again.
    pub above: &'a str,
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

/// The briefing within `max_tokens`, by bytes / 4 and by o200k alike. It ends with the request, verbatim if it
/// fits: a model goes on from what it read last.
pub fn render(briefing: &Briefing, extra: &Extra<'_>, max_tokens: u64) -> String {
    let bytes = tokens::bytes_of(max_tokens);
    let mut request_bytes = bytes * REQUEST_PERCENT / 100;
    let (quotes, focus) = gather(briefing, extra, max_tokens);
    let selection = Selection::new(quotes, &focus, extra.above);
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

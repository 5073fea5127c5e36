//! Renders the chosen lines as text.

use super::collect::{ANSWERS, Briefing, TurnOutcome};
use super::gather::{gather, picked};
use super::host_facts::HostFacts;
use super::select::{Quote, SMALL_TOKENS, Selection};
use super::write::write;
use crate::choice::{ShownPin, cost};
use crate::{quote, text, tokens};

/// A rendered view and its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    pub text: String,
    /// The chosen lines in the order of the text, without header, pins and request.
    pub lines: Vec<ViewLine>,
    /// Number of pins that are not shown in full.
    pub pins_incomplete: usize,
    /// The pins of items that are shown.
    pub pins: Vec<ShownPin>,
}

/// A line chosen for a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewLine {
    /// Title of its section.
    pub section: &'static str,
    pub text: String,
    /// The transcript line it was taken from, if any.
    pub seq: Option<u64>,
}

/// Renders the briefing within `max_tokens`, both by bytes / 4 and by o200k. It ends with the request,
/// verbatim if it fits, because a model continues from what it read last.
pub fn render(briefing: &Briefing, host: &HostFacts<'_>, max_tokens: u64) -> Rendered {
    let bytes = tokens::bytes_of(max_tokens);
    let mut request_bytes = bytes * REQUEST_PERCENT / 100;
    let (quotes, focus) = gather(briefing, host, max_tokens);
    let selection = Selection::new(quotes, &focus, host.above);
    // Budget for lines, whose estimated costs are slightly off: the largest that is known to fit is searched for.
    let mut room = max_tokens;
    let (mut text, mut lines) = (String::new(), Vec::new());
    let mut over = None;
    for _ in 0..PASSES {
        let task = task(briefing, host, request_bytes);
        let beside = tokens::of_text(&host.header) + tokens::of_text(&task) + 2;
        // A share of a small view can be less than a line, so it grows with the room that is left over.
        let shared = if max_tokens < SMALL_TOKENS { room } else { max_tokens };
        let chosen = selection.select(room.saturating_sub(beside), shared.saturating_sub(beside));
        let fuller = written(host, chosen.clone(), &task, other_files_bytes(max_tokens));
        let cost = cost(&fuller);
        if cost > max_tokens {
            over = Some(room);
            let shrunk = |size: u64| (size * max_tokens / cost).saturating_sub(2);
            // The request is cut only when no line is left to omit.
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
        if left * 50 < max_tokens {
            break;
        }
        match over {
            // In a small view, more room may mean longer lines instead of better ones.
            Some(over) if over <= room + 1 || max_tokens < SMALL_TOKENS => break,
            Some(over) => room += left.min((over - room) / 2),
            None if task.len() + 64 > request_bytes => request_bytes += tokens::bytes_of(left),
            None => room += left,
        }
    }
    if text.is_empty() && cost(&host.header) < max_tokens {
        text = format!("{}\n", host.header);
    }
    lines.sort_by_key(|line| (line.kind, line.order));
    let lines = lines.into_iter().map(|line| ViewLine {
        section: line.kind.rule().title,
        text: line.text.to_string(),
        seq: line.seq(),
    });
    Rendered { text, lines: lines.collect(), ..Rendered::default() }
}

/// Maximum percentage of a view for the last request, unless room is left.
const REQUEST_PERCENT: usize = 30;

/// Bytes for names of changed files that have no line of their own; none in a small view.
fn other_files_bytes(max_tokens: u64) -> usize {
    match max_tokens < SMALL_TOKENS {
        true => 0,
        false => tokens::bytes_of(max_tokens) / 40,
    }
}

/// Maximum selection passes: with room that was left over, or less after an overrun.
const PASSES: usize = 8;

/// Maximum bytes of the request before.
const BEFORE_BYTES: usize = 400;

/// The section with the request to continue.
fn task(briefing: &Briefing, host: &HostFacts<'_>, bytes: usize) -> String {
    let (seq, request) = briefing.active();
    if request.is_empty() {
        return String::new();
    }
    let mark = match briefing.outcome(briefing.turn()) {
        TurnOutcome::Open if briefing.pending_words().next().is_none() => "in progress",
        TurnOutcome::Open | TurnOutcome::Answered => "the agent spoke last",
        TurnOutcome::Interrupted => "interrupted by the person",
    };
    let before = briefing.before_active().filter(|_| bytes > BEFORE_BYTES);
    let before = before.filter(|before| !host.hides(&before.text, None)).map(|before| {
        let text = text::one_line_cut(&before.text, BEFORE_BYTES.min(bytes / 4));
        format!("#{} (before it) {}\n", before.seq, quote::line(&text))
    });
    let head = format!("[TASK]\n{}#{seq} ({mark}) ", before.unwrap_or_default());
    let room = bytes.saturating_sub(head.len());
    let mut request =
        host.choices.map_or(request.into(), |choices| choices.without_hidden(request)).into_owned();
    let now = briefing.turn();
    let offers = briefing.requests.iter().filter(|line| {
        line.turn == now && line.text.starts_with(ANSWERS) && !host.hides(&line.text, None)
    });
    let typed = request.clone();
    for line in picked(&typed, offers.collect()) {
        request = format!("{} {}", request.trim_end(), line.text);
    }
    let shown = quote::block(request.trim_end());
    match text::cut_middle(&shown, room) {
        shown if shown.trim().is_empty() => String::new(),
        shown => format!("{head}{shown}\n"),
    }
}

fn written(
    host: &HostFacts<'_>,
    chosen: Vec<&Quote<'_>>,
    task: &str,
    other_files_bytes: usize,
) -> String {
    let mut out = format!("{}\n", host.header);
    write(&mut out, chosen, host, other_files_bytes);
    out.push_str(task);
    out
}

//! A transcript: split, folded, saved on the way, shown; and read by all else that reads transcripts.

mod readers;
mod records;

use longhaul_core::checkpoint::file_standing::Disk;
use longhaul_core::checkpoint::semantic::Semantics;
use longhaul_core::checkpoint::view::{HEADER, ViewCaps, ViewInputs, render};
use longhaul_core::context::tokenizer::Tokenizer;
use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Fold, Place};
use longhaul_core::item::ItemRow;
use longhaul_core::rollout::source::{Layout, TranscriptPlace};
use longhaul_core::thread::Source;
use longhaul_core::tokens;
use longhaul_daemon::transcript::{self, Content, Line, Lines};

use crate::input::{Dice, Drip};

/// Bytes of a saved fold, whatever was folded.
const SAVED_BYTES_MAX: usize = 512 * 1_024;

/// The longest line that is read; in some runs a short one, so that inputs of a few KiB go over it.
const LINE_BYTES_MAX: [usize; 2] = [1 << 20, 300];

/// A line as it was handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    offset: u64,
    bytes: u64,
    content: Vec<u8>,
    is_whole: bool,
    digest: Digest128,
}

impl Piece {
    fn of(line: &Line<'_>) -> Self {
        let (content, is_whole) = match line.content {
            Content::Whole(bytes) => (bytes, true),
            Content::Head(head) => (head, false),
        };
        let (offset, bytes, digest) = (line.offset, line.bytes, line.digest);
        Self { offset, bytes, content: content.to_vec(), is_whole, digest }
    }
}

/// The input is the file, or the records of a session (see [`records`]).
pub(crate) fn check(source: Source, input: &[u8]) {
    let mut dice = Dice::of(input);
    let (text, path) = match source {
        Source::OpenCode => (records::lines(input), "/h/lines"),
        Source::Gemini if !input.starts_with(b"{\"at\":") => (None, "/h/chats/s.jsonl"),
        // The first command line of Codex wrote one document.
        Source::Codex if input.starts_with(b"{\"session\":") => (None, "/h/rollout-1.json"),
        _ => (None, "/h/lines.jsonl"),
    };
    let text = text.as_deref().unwrap_or(input);
    let layout = source.spec().layout(path).unwrap_or(Layout::Lines);
    let bytes_max = LINE_BYTES_MAX[usize::from(dice.below(8) == 0)];
    let (pieces, rest) = split((layout, path), text, text.len().max(1), bytes_max);
    let dripped = split((layout, path), text, 1 + dice.below(48), bytes_max);
    assert!((&pieces, &rest) == (&dripped.0, &dripped.1), "lines depend on the reads");
    let whole = fold_in_parts(source, &pieces, &[]);
    let cuts = [dice.below(pieces.len() + 1), dice.below(pieces.len() + 1)];
    let parts = fold_in_parts(source, &pieces, &cuts);
    assert!(whole.save().unwrap() == parts.save().unwrap(), "a fold cut at {cuts:?} is another");
    check_views(&whole, &parts);
    readers::check(source, &pieces, &mut dice);
}

/// The lines of a transcript that is read in steps, and the offset and length of what follows them. A layout that is
/// converted to lines is read as a whole first.
fn split(
    (layout, path): (Layout, &str),
    bytes: &[u8],
    step: usize,
    bytes_max: usize,
) -> (Vec<Piece>, (u64, usize)) {
    let assembled = match layout {
        Layout::Lines | Layout::Records(_) => None,
        Layout::Assembled(assembly) => {
            let place = TranscriptPlace { path, marker: None };
            Some((assembly.lines)(bytes, place).unwrap_or_default())
        }
    };
    let bytes = assembled.as_deref().unwrap_or(bytes);
    let (mut lines, mut pieces) = (Lines::new(Drip { bytes, step }, 0, bytes_max), Vec::new());
    loop {
        match lines.next_piece().unwrap() {
            transcript::Piece::Line(line) => pieces.push(Piece::of(&line)),
            transcript::Piece::End { offset, rest } => {
                pieces.extend(Line::of_rest(offset, rest).iter().map(Piece::of));
                return (pieces, (offset, rest.len()));
            }
        }
    }
}

/// Folds the pieces; before those whose numbers are in `cuts` it is saved and taken up.
fn fold_in_parts(source: Source, pieces: &[Piece], cuts: &[usize]) -> Fold {
    let mut fold = Fold::new(source);
    for (at, piece) in pieces.iter().enumerate() {
        if cuts.contains(&at) {
            fold = Fold::load(&fold.save().unwrap()).unwrap();
        }
        let row = push(&mut fold, piece);
        assert!(fold.touched().len() <= longhaul_core::limits::TOUCHES);
        if let Some(row) = row {
            assert_eq!((row.seq, row.offset, row.bytes), (at as u64, piece.offset, piece.bytes));
            assert_eq!(row.digest, piece.digest);
            assert!(
                row.excerpt.len() <= longhaul_core::limits::EXCERPT_BYTES + 3,
                "{}",
                row.excerpt
            );
        }
    }
    assert_eq!(fold.next_seq(), pieces.len() as u64);
    let saved = fold.save().unwrap();
    assert!(saved.len() <= SAVED_BYTES_MAX, "a fold of {} bytes", saved.len());
    fold
}

fn push(fold: &mut Fold, piece: &Piece) -> Option<ItemRow> {
    let place = Place { line: fold.next_seq(), offset: piece.offset, bytes: piece.bytes };
    match piece.is_whole {
        true => fold.digested(place, &piece.content, piece.digest),
        false => fold.oversized(place, &piece.content, piece.digest),
    }
}

fn check_views(whole: &Fold, parts: &Fold) {
    for budget in [60, 1_000, 4_000] {
        let text = view(whole, budget);
        assert_eq!(text, view(parts, budget), "a view of a fold that was taken up is another");
        assert!(tokens::of_text(&text) <= budget, "{} of {budget}", tokens::of_text(&text));
        let count = Tokenizer::O200k.count(&text);
        assert!(count <= budget, "{count} of {budget} tokens");
        assert!(text.is_empty() || text.starts_with(HEADER), "{text}");
    }
}

fn view(fold: &Fold, max_tokens: u64) -> String {
    let (semantics, disk) = (Semantics::default(), Disk::new());
    let state = fold.checkpoint();
    let inputs =
        ViewInputs { thread_id: Some("t"), state, semantics: &semantics, disk: &disk, focus: "" };
    render(&inputs, &ViewCaps::default(), max_tokens)
}

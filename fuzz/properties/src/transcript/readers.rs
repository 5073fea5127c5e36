//! What reads a transcript besides the fold: the search index, memory, requests to a provider.

use longhaul_core::context::normalize::{Options, normalize};
use longhaul_core::fold::{Fold, Place};
use longhaul_core::memory::RolloutMemory;
use longhaul_core::memory::consolidate::{
    Bounds, Exclusions, ExtractedThread, Inputs, consolidate,
};
use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::extract::{Extractor, ThreadRef};
use longhaul_core::memory::input::Collector;
use longhaul_core::memory::own::Own;
use longhaul_core::rollout;
use longhaul_core::search::item;
use longhaul_core::thread::Source;

use super::{Piece, push};
use crate::input::Dice;

/// Tokens of a model's question about a thread.
const QUESTION_TOKENS: u64 = 2_000;

pub(super) fn check(source: Source, pieces: &[Piece], dice: &mut Dice) {
    // Reading for memory is slow; every other input is enough.
    if dice.below(2) == 0 {
        memory(source, pieces);
    }
    items(source, pieces);
    goes_on(source, pieces, dice.below(pieces.len() + 1));
}

/// Each line as indexed and as sent.
fn items(source: Source, pieces: &[Piece]) {
    let mut fold = Fold::new(source);
    let mut sent = Vec::new();
    for piece in pieces {
        let row = push(&mut fold, piece);
        if !piece.is_whole {
            continue;
        }
        rollout::history_base(source, &piece.content);
        item::at_ms(source, &piece.content);
        if let Some(row) = row {
            item::read(source, row.kind, &piece.content);
        }
        let items = source.spec().responses.map(|responses| responses(&piece.content));
        sent.extend(items.into_iter().flatten().map(|item| item.to_string()));
    }
    let texts: Vec<&str> = sent.iter().map(String::as_str).collect();
    let once = normalize(&texts, &Options::default());
    let again: Vec<&str> = once.items.iter().map(AsRef::as_ref).collect();
    let twice = normalize(&again, &Options::default());
    assert!(twice.changes.is_empty(), "what was made legal is changed again: {:?}", twice.changes);
}

/// A fold that others go on from: a fork, a new history, a line that says nothing new.
fn goes_on(source: Source, pieces: &[Piece], cut: usize) {
    let mut base = Fold::new(source);
    for piece in &pieces[..cut] {
        push(&mut base, piece);
    }
    let mut fork = Fold::branch(&base, source);
    let mut next = Fold::succeed(&base);
    let mut carried = base.clone();
    for piece in &pieces[cut..] {
        push(&mut fork, piece);
        push(&mut next, piece);
        let place = Place { line: carried.next_seq(), offset: piece.offset, bytes: piece.bytes };
        if piece.is_whole {
            carried.carried(place, &piece.content);
        }
    }
    for fold in [&fork, &next, &carried] {
        let saved = fold.save().unwrap();
        assert!(Fold::load(&saved).unwrap().save().unwrap() == saved);
    }
    assert_eq!(carried.checkpoint().files, base.checkpoint().files, "a carried line says nothing");
}

fn memory(source: Source, pieces: &[Piece]) {
    let thread = || ThreadRef { thread_id: "t".to_owned(), source, project: None };
    let mut extractor = Extractor::new(thread(), Own::default());
    let mut collector = Collector::new(thread(), Own::default(), QUESTION_TOKENS);
    for (line, piece) in (0..).zip(pieces).filter(|(_, piece)| piece.is_whole) {
        let place = Place { line, offset: piece.offset, bytes: piece.bytes };
        extractor.line(place, &piece.content);
        collector.line(place, &piece.content);
    }
    if let Some(question) = collector.finish() {
        question.smaller();
    }
    let Some(memory) = extractor.finish() else { return };
    let saved = serde_json::to_string(&memory).unwrap();
    assert_eq!(serde_json::from_str::<RolloutMemory>(&saved).unwrap(), memory);
    let (edits, exclusions) = (Edits::default(), Exclusions::default());
    let threads = [ExtractedThread { memory: &memory, uses: 1, last_used_ms: None }];
    let inputs = Inputs { threads: &threads, notes: &[], edits: &edits, exclusions: &exclusions };
    let bounds = Bounds::default();
    let once = consolidate(&inputs, &bounds, memory.updated_at_ms);
    assert!(once == consolidate(&inputs, &bounds, memory.updated_at_ms));
}

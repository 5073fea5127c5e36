//! Documents that persons, models and other programs write: each is read, and what was read is held to its promises.

mod answers;
mod checkpoint;

use longhaul_core::compaction::handle::Handle;
use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::own::Own;
use longhaul_core::memory::{Files, cite, summary};
use longhaul_core::message_history::{Header, Message};
use longhaul_core::redact::redact;
use longhaul_core::search::query::Query;
use longhaul_core::search::{loose, snippet};
use longhaul_core::template::{self, Kind};
use longhaul_core::{limits, text};

type ReadDocument = fn(&str);

/// What a document may be, by its first line; the rest is the document.
const READERS: &[(&str, ReadDocument)] = &[
    ("answer", answers::memory),
    ("checkpoint", checkpoint::exported),
    ("citations", citations),
    ("handle", handle),
    ("memory", memory_files),
    ("prompts", prompts),
    ("query", query),
    ("step", answers::agent_step),
    ("stream", answers::stream),
    ("template", templates),
    ("updates", checkpoint::updates),
];

/// The input is the kind of the document, a newline, and the document.
pub fn check(bytes: &[u8]) {
    let Ok(input) = std::str::from_utf8(bytes) else { return };
    let Some((kind, document)) = input.split_once('\n') else { return };
    if let Some((_, read)) = READERS.iter().find(|(name, _)| *name == kind) {
        read(document);
    }
}

/// The two halves of a document that holds two.
fn halves(document: &str) -> (&str, &str) {
    document.split_once("\n%%\n").unwrap_or((document, ""))
}

/// What a person changed in the files of memory.
fn memory_files(document: &str) {
    let (published, found) = halves(document);
    let files = |text: &str| -> Files {
        let skill = text.chars().rev().take(64).collect();
        ["MEMORY.md", "memory_summary.md"]
            .into_iter()
            .map(|path| (path.to_owned(), text.to_owned()))
            .chain([("skills/a/SKILL.md".to_owned(), skill)])
            .collect()
    };
    let (published, found) = (files(published), files(found));
    let mut edits = Edits::default();
    edits.merge(&published, &found, 7);
    let once = edits.clone();
    edits.merge(&published, &found, 9);
    assert_eq!(edits, once, "the same change counts once");
    let saved = serde_json::to_string(&edits).unwrap();
    assert_eq!(serde_json::from_str::<Edits>(&saved).unwrap(), edits);
    let applied = edits.apply(published.clone());
    assert_eq!(edits.apply(applied.clone()), applied);
    for line in &edits.added {
        line.project();
        assert!(!edits.removes(&line.text), "added and removed: {:?}", line.text);
    }
    summary::written_lines(&found["memory_summary.md"]).for_each(drop);
    let own = Own::new(vec!["/h/memory".to_owned()], &published);
    let stripped = own.strip(&found["MEMORY.md"]);
    let again = own.strip(&stripped);
    assert!(again.lines().map(str::trim).eq(stripped.lines().map(str::trim)), "{again}");
}

fn citations(document: &str) {
    let found = cite::parse(document);
    assert!(found.entries.iter().all(|entry| entry.line_start <= entry.line_end), "{found:?}");
    let shown = cite::strip(document);
    assert_eq!(cite::strip(&shown), shown);
    assert_eq!(cite::parse(&shown), cite::Citations::default());
}

fn prompts(document: &str) {
    for line in document.lines() {
        if let Some(header) = Header::parse(line.as_bytes()) {
            assert_eq!(Header::parse(header.line().trim_end().as_bytes()), Some(header));
        }
        if let Some(message) = Message::parse(line.as_bytes()) {
            assert_eq!(Message::parse(message.line().trim_end().as_bytes()), Some(message));
        }
    }
}

fn templates(document: &str) {
    for kind in Kind::ALL.iter().copied() {
        let places: Vec<_> = kind.places().iter().map(|place| (*place, document)).collect();
        if template::check(kind, document).is_ok() {
            drop(template::fill(document, &places));
        }
    }
}

fn handle(document: &str) {
    for line in document.lines() {
        if let Ok(handle) = Handle::parse_in(line, Some("t")) {
            let printed = handle.to_string();
            assert_eq!(printed.parse::<Handle>().ok(), Some(handle), "{printed}");
        }
    }
}

/// A query and a text that it is looked for in.
fn query(document: &str) {
    let (query, searched) = halves(document);
    let mut queries = loose::loosened(query);
    queries.extend(Query::parse(query).ok());
    for query in &queries {
        query.expression();
        query.wanted().for_each(drop);
        let snippet = snippet::snippet(searched, query);
        assert!(snippet.text.len() <= limits::SNIPPET_BYTES + 2 * text::ELLIPSIS.len());
        assert!(!snippet.text.contains('\n'));
        let mut end = 0;
        for range in &snippet.matches {
            assert!(range.start >= end && snippet.text.get(range.clone()).is_some(), "{snippet:?}");
            end = range.end;
        }
    }
    let hidden = redact(searched).text;
    assert_eq!(redact(&hidden).text, hidden, "a redacted text does not change again");
}

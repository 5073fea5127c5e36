//! Tests on real transcripts, if `LONGHAUL_CORPUS` names a folder of them.

use std::path::{Path, PathBuf};

use longhaul_core::checkpoint::view::ViewCaps;
use longhaul_core::fold::{Fold, Source};
use longhaul_core::rollout::claude;
use longhaul_core::tokens;

use crate::session::{push, view};

fn transcripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            transcripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
}

/// The transcripts of the corpus; empty if none is named.
pub(crate) fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    if let Some(folder) = std::env::var_os("LONGHAUL_CORPUS") {
        transcripts(Path::new(&folder), &mut files);
    }
    files
}

/// The source of a transcript, from its path in the corpus.
pub(crate) fn source(file: &Path) -> Source {
    match file.components().any(|part| part.as_os_str() == "claude") {
        true => Source::Claude,
        false => Source::Codex,
    }
}

/// The history items of a transcript, either as stored or as sent.
pub(crate) fn items(source: Source, transcript: &[u8]) -> Vec<String> {
    let lines = transcript.split(|byte| *byte == b'\n');
    if source == Source::Claude {
        return lines.flat_map(claude::responses::items).map(|item| item.to_string()).collect();
    }
    #[derive(serde::Deserialize)]
    struct Line<'a> {
        #[serde(rename = "type")]
        kind: String,
        #[serde(borrow)]
        payload: Option<&'a serde_json::value::RawValue>,
    }
    let items = lines.filter_map(|line| {
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let payload = line.payload.filter(|_| line.kind == "response_item")?;
        Some(payload.get().to_owned())
    });
    items.collect()
}

#[test]
fn real_transcripts_fold_the_same_in_parts() {
    for file in files() {
        let bytes = std::fs::read(&file).unwrap();
        let (mut whole, mut parts) = (Fold::new(source(&file)), Fold::new(source(&file)));
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            push(&mut whole, line);
            push(&mut parts, line);
            if at % 37 == 11 {
                parts = Fold::load(&parts.save().unwrap()).unwrap();
            }
        }
        assert!(whole.save().unwrap() == parts.save().unwrap(), "{}", file.display());
        if source(&file) == Source::Claude {
            let head = whole.head();
            assert_eq!((head.malformed, head.unknown), (0, 0), "{}", file.display());
            assert!(head.thread_id.is_some() && head.items > 0, "{}", file.display());
        }
        assert!(whole.save().unwrap().len() <= 512 * 1_024, "{}", file.display());
        for budget in [100, 1_000, 4_000] {
            let text = view(&whole, &ViewCaps::default(), budget);
            assert!(tokens::of_text(&text) <= budget, "{}", file.display());
        }
    }
}

/// If a transcript ends with the model's answer, the provider's last count equals the window's content.
#[test]
fn the_last_provider_count_includes_the_last_answer() {
    for file in files() {
        if source(&file) == Source::Claude {
            continue;
        }
        let (mut fold, mut ends_answered) = (Fold::new(Source::Codex), false);
        for line in std::fs::read(&file).unwrap().split(|byte| *byte == b'\n') {
            push(&mut fold, line);
            let holds = |words: &[u8]| line.windows(words.len()).any(|part| part == words);
            if holds(b"\"response_item\"") {
                ends_answered = holds(b"\"role\":\"assistant\"");
            }
        }
        if let Some(report) = fold.meter().report().filter(|_| ends_answered) {
            let over = fold.used().saturating_sub(report.tokens);
            assert!(over <= report.tokens / 50, "{}: {over} over", file.display());
        }
    }
}

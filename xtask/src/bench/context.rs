//! The context manager on a history of a million tokens, and the tokenizer compared with its bare crate.
//!
//! Measured in this process, without a daemon. `cargo xtask` is a debug build, in which the core is too slow:
//! `cargo run --release -p xtask -- bench --context` measures.

use std::fs;

use anyhow::Context as _;
use longhaul_core::context::tokenizer::Tokenizer;
use serde_json::Value;

use super::corpus::Corpus;
use super::normalize;
use super::report::Report;
use super::synth::{self, Length};
use crate::stopwatch::Stopwatch;

const TOKENS: u64 = 1_000_000;

/// Bytes of text for the tokenizers.
const WORDS_BYTES: usize = 8 << 20;

pub(super) fn measure(corpus: &Corpus, rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        let command = "cargo run --release -p xtask -- bench --context";
        report.add("context manager", format!("not in a debug build: {command}"), "");
        return Ok(());
    }
    normalize::measure(&history()?, rounds, report)?;
    measure_tokenizer(corpus, report)
}

/// The items of a generated history of a million tokens.
pub(super) fn history() -> anyhow::Result<Vec<String>> {
    let home = tempfile::tempdir()?;
    let path = synth::write(home.path(), 7, Length::Tokens(TOKENS))?;
    Ok(items(&fs::read_to_string(path)?))
}

fn measure_tokenizer(corpus: &Corpus, report: &mut Report) -> anyhow::Result<()> {
    let mut text = String::new();
    for file in &corpus.files {
        if text.len() >= WORDS_BYTES {
            break;
        }
        let transcript = fs::read(file).unwrap_or_default();
        let items = items(&String::from_utf8_lossy(&transcript));
        text.extend(items.iter().filter_map(|item| words(item)));
    }
    text.truncate(text.floor_char_boundary(WORDS_BYTES));
    // The vocabulary is decompressed at the first use.
    let watch = Stopwatch::start();
    let first = Tokenizer::O200k.count("once");
    report.add("tokenizer, first use", format!("{:.0} ms", watch.seconds() * 1e3), "");
    let bare = tiktoken::get_encoding("o200k_base").context("the vocabulary is built in")?;
    let speed = |count: &dyn Fn() -> u64| {
        let watch = Stopwatch::start();
        let counted = count();
        (text.len() as f64 / 1e6 / watch.seconds(), counted)
    };
    let (ours, counted) = speed(&|| Tokenizer::O200k.count(&text));
    let (theirs, expected) = speed(&|| bare.count(&text) as u64);
    anyhow::ensure!(first > 0, "the tokenizer counts nothing");
    // Runs without a space are split, and each piece may add a token.
    anyhow::ensure!(counted.abs_diff(expected) < 1_000, "{counted} tokens are not {expected}");
    let value = format!("{ours:.1} MB/s, its bare crate {theirs:.1} MB/s");
    let label = format!("tokenizer o200k on {} bytes of the corpus's words", text.len());
    report.add(label, value, "as the bare crate");
    Ok(())
}

/// The items of a transcript, unchanged.
fn items(transcript: &str) -> Vec<String> {
    let item = |line: &str| {
        let mut line: Value = serde_json::from_str(line).ok()?;
        (line["type"] == "response_item").then(|| line["payload"].take().to_string())
    };
    transcript.lines().filter_map(item).collect()
}

/// The decoded text of an item.
fn words(item: &str) -> Option<String> {
    let item: Value = serde_json::from_str(item).ok()?;
    let places = ["/output", "/arguments", "/input", "/content/0/text"];
    places.into_iter().find_map(|place| item.pointer(place)?.as_str().map(str::to_owned))
}

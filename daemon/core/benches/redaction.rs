//! What redaction costs, against a reader that only looks for ends of lines: a ratio that two machines share.
//!
//! `LONGHAUL_CORPUS=FOLDER cargo bench -p longhaul-core --bench redaction` reads every string of every transcript
//! there. `--dump` prints what was replaced instead, with its context, for a person to judge.

#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "a report for a terminal")]
#![allow(clippy::disallowed_methods, reason = "a bench times what it runs")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_core::redact::{MARKER, redact};
use serde_json::Value;

const ROUNDS: u32 = 7;

fn main() {
    let Some(folder) = std::env::var_os("LONGHAUL_CORPUS") else {
        println!("LONGHAUL_CORPUS names no folder of transcripts; nothing to measure");
        return;
    };
    let mut texts = Vec::new();
    read_folder(Path::new(&folder), &mut texts);
    if std::env::args().any(|argument| argument == "--dump") {
        texts.iter().for_each(|text| dump(text));
        return;
    }
    let bytes: usize = texts.iter().map(String::len).sum();
    let floor = fastest(&texts, |text| memchr::memchr_iter(b'\n', text.as_bytes()).count());
    let redaction = fastest(&texts, |text| redact(text).hits as usize);
    let mib_per_s = |time: Duration| bytes as f64 / f64::from(1 << 20) / time.as_secs_f64();
    println!("texts      {} ({:.1} MiB)", texts.len(), bytes as f64 / f64::from(1 << 20));
    println!("floor      {:8.0} MiB/s", mib_per_s(floor));
    println!("redaction  {:8.0} MiB/s", mib_per_s(redaction));
    println!("ratio      {:8.2}", redaction.as_secs_f64() / floor.as_secs_f64());
}

fn fastest(texts: &[String], work: impl Fn(&str) -> usize) -> Duration {
    let round = || {
        let start = Instant::now();
        texts.iter().for_each(|text| _ = black_box(work(text)));
        start.elapsed()
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

fn read_folder(folder: &Path, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_folder(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let lines = bytes.split(|byte| *byte == b'\n');
            for value in lines.filter_map(|line| serde_json::from_slice(line).ok()) {
                read_strings(value, texts);
            }
        }
    }
}

fn read_strings(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| read_strings(item, texts)),
        Value::Object(fields) => {
            // Roughly what `redact_value` takes for images and encrypted payloads.
            let is_opaque = |value: &Value| {
                value.as_str().is_some_and(|text| text.len() >= 512 && !text.contains([' ', '\n']))
            };
            let read = fields.into_values().filter(|value| !is_opaque(value));
            read.for_each(|value| read_strings(value, texts));
        }
        _ => {}
    }
}

/// One line for each replacement: the text before it, the replaced text, the text after it.
fn dump(text: &str) {
    let redacted = redact(text).text;
    let mut rest = text;
    let mut pieces = redacted.split(MARKER).peekable();
    while let Some(piece) = pieces.next() {
        rest = rest.strip_prefix(piece).unwrap_or(rest);
        if let Some(next) = pieces.peek() {
            let end = if next.is_empty() { rest.len() } else { rest.find(next).unwrap_or(0) };
            let before = &piece[piece.ceil_char_boundary(piece.len().saturating_sub(48))..];
            let after = &next[..next.floor_char_boundary(24)];
            println!("{:?} «{:?}» {:?}", before, &rest[..end], after);
            rest = &rest[end..];
        }
    }
}

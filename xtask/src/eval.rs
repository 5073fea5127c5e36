//! `cargo xtask eval --locomo FILE`: `thread/search` against the questions of LoCoMo.
//!
//! We may not ship the data set (locomo10.json: conversations of many sessions, and questions with the turns that hold
//! the answer), so this takes a path. Each session becomes a thread and each turn an item; the daemon ingests and
//! indexes them like any transcript, and each question is searched verbatim within its conversation. Without a model,
//! this measures whether search finds the turns, not an answer.
//!
//! *Recall* of a question is the share of its evidence among the first 10 hits: sessions by the first 10 threads with
//! hits, turns by the first 10 hits, where a turn beside a hit counts as found.
//!
//! # Source
//! Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024. Plain FTS5 (Porter
//! stemming, stop words, sessions and turns as documents) finds 94 % of the sessions and 74 % of the turns.

mod score;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::codex_lines;
use crate::daemon::Daemon;
use crate::place;
use crate::stopwatch::Stopwatch;
use crate::wire::Wire;
use score::{QuestionScore, Scores};

/// Requested hits: enough for ten sessions.
const HITS: u64 = 50;

#[derive(clap::Args)]
pub(crate) struct EvalArgs {
    /// Measure search with the questions of LoCoMo: the path of its locomo10.json
    #[arg(long, value_name = "FILE")]
    locomo: PathBuf,
    /// Write the scores as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Use an already built daemon
    #[arg(long, value_name = "LONGHAULD")]
    daemon: Option<PathBuf>,
}

/// A conversation as search sees it.
struct Conversation {
    cwd: String,
    threads: BTreeMap<u64, String>,
    /// Line of each turn in its thread, by the turn's name.
    lines: BTreeMap<String, (String, u64)>,
    questions: Vec<Question>,
}

struct Question {
    text: String,
    category: u64,
    evidence: Vec<String>,
}

pub(crate) fn run(options: &EvalArgs) -> anyhow::Result<()> {
    let path = &options.locomo;
    let text = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let samples: Vec<Value> = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not a locomo10.json", path.display()))?;
    let longhauld = match &options.daemon {
        Some(path) => path.clone(),
        None => place::build_release()?.longhauld,
    };
    let scores = measure(&longhauld, &samples)?;
    println!("{}", scores.table());
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_vec_pretty(&scores.json())?)?;
    }
    Ok(())
}

fn measure(longhauld: &Path, samples: &[Value]) -> anyhow::Result<Scores> {
    let home = tempfile::tempdir()?;
    let mut conversations = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        conversations.push(write(home.path(), number, sample)?);
    }
    let daemon = Daemon::start(longhauld, home.path())?;
    daemon.wait_idle(1)?;
    let mut wire = daemon.connect()?;
    daemon.wait_indexed()?;
    let mut scores = Scores::default();
    for conversation in &conversations {
        for question in &conversation.questions {
            let outcome = ask(&mut wire, conversation, question)?;
            scores.add(question.category, outcome);
        }
    }
    daemon.stop()?;
    Ok(scores)
}

/// Writes a conversation as transcripts, one per session.
fn write(home: &Path, number: usize, sample: &Value) -> anyhow::Result<Conversation> {
    let conversation = &sample["conversation"];
    let cwd = format!("/locomo/{number}");
    let first = conversation["speaker_a"].as_str().unwrap_or_default();
    let mut read = Conversation {
        cwd,
        threads: BTreeMap::new(),
        lines: BTreeMap::new(),
        questions: questions(sample),
    };
    for session in 1.. {
        let Some(turns) = conversation[format!("session_{session}")].as_array() else {
            // Some data sets have dates of sessions that they omit.
            if conversation.get(format!("session_{session}_date_time")).is_some() {
                continue;
            }
            break;
        };
        let thread = format!("019cadd3-{number:04x}-7000-8000-{session:012x}");
        let time =
            format!("2023-{:02}-{:02}T09:00:00.000Z", 1 + session / 28 % 12, 1 + session % 28);
        let mut lines = vec![codex_lines::first(&time, &thread, &read.cwd)];
        for turn in turns {
            let words = turn["text"].as_str().unwrap_or_default();
            let speaker = turn["speaker"].as_str().unwrap_or_default();
            let caption = turn["blip_caption"].as_str().map(|seen| format!(" [{seen}]"));
            let text = format!("{speaker}: {words}{}", caption.unwrap_or_default());
            let role = if speaker == first { "user" } else { "assistant" };
            if let Some(name) = turn["dia_id"].as_str() {
                read.lines.insert(name.to_owned(), (thread.clone(), lines.len() as u64));
            }
            let message = codex_lines::message(role, &text);
            lines.push(codex_lines::line(&time, "response_item", &message));
        }
        let path = codex_lines::path(home, "2023-01-01", &thread);
        fs::create_dir_all(path.parent().context("a path without a folder")?)?;
        fs::write(path, lines.join("\n") + "\n")?;
        read.threads.insert(session, thread);
    }
    ensure!(!read.threads.is_empty(), "sample {number} has no session_1 in its conversation");
    Ok(read)
}

fn questions(sample: &Value) -> Vec<Question> {
    let question = |qa: &Value| {
        // Some entries name several turns in one string.
        let names = qa["evidence"].as_array()?.iter().filter_map(Value::as_str);
        let names = names.flat_map(|names| names.split([';', ',', ' ']));
        let evidence: Vec<String> =
            names.map(str::trim).filter(|name| name.starts_with('D')).map(str::to_owned).collect();
        let (text, category) = (qa["question"].as_str()?.to_owned(), qa["category"].as_u64()?);
        (!evidence.is_empty()).then_some(Question { text, category, evidence })
    };
    let questions = sample["qa"].as_array().into_iter().flatten();
    questions.filter_map(question).collect()
}

fn ask(wire: &mut Wire, of: &Conversation, question: &Question) -> anyhow::Result<QuestionScore> {
    let params = json!({ "query": question.text, "cwd": of.cwd, "limit": HITS });
    let watch = Stopwatch::start();
    let answer = wire.call("thread/search", &params)?;
    let took = watch.elapsed();
    let hits: Vec<(String, u64)> = answer["hits"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|hit| Some((hit["thread_id"].as_str()?.to_owned(), hit["seq"].as_u64()?)))
        .collect();
    let known = |name: &String| of.lines.get(name).cloned();
    let evidence: Vec<(String, u64)> = question.evidence.iter().filter_map(known).collect();
    Ok(score::outcome(&hits, &evidence, took))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_shape_becomes_threads_and_questions() {
        let text = include_str!("../fixtures/locomo.json");
        let samples: Vec<Value> = serde_json::from_str(text).expect("the fixture is JSON");
        let home = tempfile::tempdir().expect("a folder");
        let read = write(home.path(), 0, &samples[0]).expect("it is written");
        assert_eq!((read.threads.len(), read.lines.len(), read.questions.len()), (2, 8, 4));
        let (thread, line) = &read.lines["D2:3"];
        assert_eq!((thread, *line), (&read.threads[&2], 3));
        assert_eq!(read.questions[2].evidence, ["D1:2", "D2:2"], "several in one string");
        let file = fs::read_dir(home.path().join("sessions/2023/01/01")).expect("a folder").count();
        assert_eq!(file, 2);
    }
}

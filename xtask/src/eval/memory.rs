//! `cargo xtask eval --memory`: X-FRR of the memory of `longhaul-core`.

use std::fs;

use longhaul_core::fold::Place;
use longhaul_core::memory::consolidate::{
    Bounds, Consolidation, Exclusions, ExtractedThread, Inputs, consolidate,
};
use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::extract::{Extractor, ThreadRef};
use longhaul_core::memory::own::Own;
use longhaul_core::memory::summary::{Scope, injection, summary};
use longhaul_core::memory::{Files, RolloutMemory};
use longhaul_core::thread::Source;
use longhaul_eval::{Corpus as _, MemoryMaker, Session, evaluate_memory};
use serde_json::json;

use super::{EvalArgs, Files as Transcripts, source_of};

/// Extracts and consolidates like the daemon, in memory.
#[derive(Default)]
struct Engine {
    memories: Vec<RolloutMemory>,
    built: Option<Consolidation>,
    extracted: usize,
    views: Option<std::path::PathBuf>,
}

pub(super) fn run(files: &Transcripts, options: &EvalArgs) -> anyhow::Result<()> {
    let budgets = [500, 1_000, 2_000, 5_000];
    let report = evaluate_memory(files, &budgets, &mut || {
        Box::new(Engine { views: options.views.clone(), ..Engine::default() })
    })?;
    println!("{}", report.table());
    let (before, after) = growth(files)?;
    println!(
        "after repeating its own memory {ROUNDS} times: {before} entries and names, then {after}"
    );
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}

/// How often sessions repeat the memory built from them.
const ROUNDS: usize = 10;

/// The size of memory before and after sessions were shown all of it and repeated it: e3, the loop test.
fn growth(files: &Transcripts) -> anyhow::Result<(usize, usize)> {
    let mut engine = Engine::default();
    for number in 0..files.len() {
        if let Ok(session) = files.load(number) {
            engine.learn(&session).map_err(anyhow::Error::msg)?;
        }
    }
    let stored = |built: &Consolidation| -> usize {
        let projects = built.handbook.projects.values();
        projects.map(|project| project.entries.len() + project.map.len()).sum()
    };
    let before = stored(engine.build());
    for round in 0..ROUNDS {
        let built = engine.build().clone();
        for project in built.handbook.projects.keys() {
            let scope = Scope { project: Some(project), cwd: None };
            let texts = [
                injection(&built.handbook, "", scope, 5_000),
                summary(&built.handbook, "", scope, 5_000),
            ];
            let thread = ThreadRef {
                thread_id: format!("{project}.repeat.{round}"),
                source: Source::Codex,
                project: Some(project.clone()),
            };
            let own = Own::new(Vec::new(), &built.files);
            let mut extractor = Extractor::new(thread, own);
            let lines = repeating_session(&texts, &built.files["MEMORY.md"]);
            for (number, line) in lines.iter().enumerate() {
                let place = Place { line: number as u64, offset: 0, bytes: line.len() as u64 };
                extractor.line(place, line.as_bytes());
            }
            engine.memories.extend(extractor.finish());
        }
        engine.built = None;
    }
    Ok((before, stored(engine.build())))
}

/// A session that gets memory from a hook, a tool and a person, and repeats it.
fn repeating_session([framed, plain]: &[String; 2], book: &str) -> Vec<String> {
    let message = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] });
    let context = format!("<longhaul_context about=\"memory\">\n{plain}\n</longhaul_context>");
    let called = |id: &str, name: &str| json!({ "type": "function_call", "name": name, "call_id": id, "arguments": "{}" });
    let printed = |id: &str, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
    let items = [
        message("user", framed),
        message("user", &context),
        message("user", "Go on as before, please"),
        called("a", "mcp__longhaul__memory_summary"),
        printed("a", plain),
        called("b", "mcp__longhaul__memory_read"),
        printed("b", book),
        message("assistant", book),
        message("user", book),
    ];
    let at = "2026-05-01T10:00:00.000Z";
    let line =
        |item| json!({ "timestamp": at, "type": "response_item", "payload": item }).to_string();
    items.into_iter().map(line).collect()
}

impl Engine {
    fn build(&mut self) -> &Consolidation {
        let memories = &self.memories;
        self.built.get_or_insert_with(|| {
            let threads: Vec<ExtractedThread<'_>> = memories
                .iter()
                .map(|memory| ExtractedThread { memory, uses: 0, last_used_ms: None })
                .collect();
            let inputs = Inputs {
                threads: &threads,
                notes: &[],
                edits: &Edits::default(),
                exclusions: &Exclusions::default(),
            };
            // The sessions span several years; none is too old here.
            let bounds = Bounds { max_unused_ms: i64::MAX, ..Bounds::default() };
            let now_ms = memories.iter().map(|memory| memory.updated_at_ms).max().unwrap_or(0);
            consolidate(&inputs, &bounds, now_ms)
        })
    }
}

impl MemoryMaker for Engine {
    fn learn(&mut self, session: &Session) -> Result<(), String> {
        let thread = ThreadRef {
            thread_id: session.name.clone(),
            source: source_of(&session.bytes)?,
            project: Some(session.repository.clone()),
        };
        let mut extractor = Extractor::new(thread, Own::new(Vec::new(), &Files::new()));
        let mut offset = 0;
        for (number, line) in session.bytes.split(|&byte| byte == b'\n').enumerate() {
            let bytes = line.len() as u64;
            extractor.line(Place { line: number as u64, offset, bytes }, line);
            offset += bytes + 1;
        }
        self.extracted += 1;
        self.memories.extend(extractor.finish());
        self.built = None;
        Ok(())
    }

    fn view(&mut self, repository: &str, budget: u64) -> Result<String, String> {
        let scope = Scope { project: Some(repository), cwd: None };
        let text = summary(&self.build().handbook, "", scope, budget);
        if let Some(folder) = &self.views {
            let number = self.extracted;
            let path = folder.join(format!("{repository}.{number}.{budget}.md"));
            fs::write(path, &text).map_err(|error| error.to_string())?;
        }
        Ok(text)
    }
}

//! `cargo xtask eval --memory`: X-FRR of the memory that `longhaul-core` makes.

use std::fs;

use longhaul_core::fold::Place;
use longhaul_core::memory::consolidate::{
    Bounds, Consolidated, Exclusions, Inputs, Stored, consolidate,
};
use longhaul_core::memory::edits::Edits;
use longhaul_core::memory::extract::{Extractor, ThreadRef};
use longhaul_core::memory::own::Own;
use longhaul_core::memory::summary::{Scope, summary};
use longhaul_core::memory::{Files, RolloutMemory};
use longhaul_core::thread::Source;
use longhaul_eval::{MemoryMaker, Session, evaluate_memory};

use super::{Files as Transcripts, Options};

/// Extracts and consolidates as the daemon does, in memory.
#[derive(Default)]
struct Engine {
    memories: Vec<RolloutMemory>,
    built: Option<Consolidated>,
    extracted: usize,
    views: Option<std::path::PathBuf>,
}

pub(super) fn run(files: &Transcripts, options: &Options) -> anyhow::Result<()> {
    let budgets = [500, 1_000, 2_000, 5_000];
    let report = evaluate_memory(files, &budgets, &mut || {
        Box::new(Engine { views: options.views.clone(), ..Engine::default() })
    })?;
    println!("{}", report.table());
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_vec_pretty(&report)?)?;
    }
    Ok(())
}

impl Engine {
    fn build(&mut self) -> &Consolidated {
        let memories = &self.memories;
        self.built.get_or_insert_with(|| {
            let threads: Vec<Stored<'_>> = memories
                .iter()
                .map(|memory| Stored { memory, uses: 0, last_used_ms: None })
                .collect();
            let inputs = Inputs {
                threads: &threads,
                notes: &[],
                edits: &Edits::default(),
                exclusions: &Exclusions::default(),
            };
            // Sessions of several years stand beside each other here: none is too old.
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
            source: source_of(&session.bytes),
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
        let text = summary(&self.build().handbook, scope, budget);
        if let Some(folder) = &self.views {
            let asked = self.extracted;
            let path = folder.join(format!("{repository}.{asked}.{budget}.md"));
            fs::write(path, &text).map_err(|error| error.to_string())?;
        }
        Ok(text)
    }
}

/// Claude Code names the session on every line, Codex wraps each in a payload or names none.
fn source_of(bytes: &[u8]) -> Source {
    let head = &bytes[..bytes.len().min(64 * 1_024)];
    let named = head.windows(13).any(|window| window == b"\"sessionId\":\"");
    if named { Source::Claude } else { Source::Codex }
}

//! `cargo xtask eval`: scores the views of `longhaul-core` without a daemon: it folds the bytes before the cut and
//! renders the view. `longhaul eval` measures the same through the daemon.

mod locomo;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use longhaul_core::checkpoint::file_standing::Disk;
use longhaul_core::checkpoint::semantic::Semantics;
use longhaul_core::checkpoint::view::{ViewCaps, ViewInputs, render};
use longhaul_core::fold::{Fold, Place, Source};
use longhaul_core::rollout::Body;
use longhaul_eval::{Corpus, Cut, Options as Measures, Session, evaluate, is_claude};

/// Lines at the start of a session from which its agent is recognized.
const LINES_INSPECTED: usize = 20;

#[derive(clap::Args)]
pub(crate) struct EvalArgs {
    /// Folder of rollouts; each folder below it counts as one repository
    #[arg(env = "LONGHAUL_CORPUS", default_value = "../shared/data/codex/public")]
    folder: PathBuf,
    /// Budgets of the views, in tokens
    #[arg(long, value_delimiter = ',', default_value = "1000,2000,4000")]
    budgets: Vec<u64>,
    /// Write the whole report, including rows per session
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// List in the report what each view lacks
    #[arg(long, requires = "json")]
    misses: bool,
    /// Leave out the baselines
    #[arg(long)]
    no_baselines: bool,
    /// Only sessions whose path contains this text
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Write each view to this folder
    #[arg(long, value_name = "FOLDER")]
    views: Option<PathBuf>,
    /// Measure search instead, with the questions of LoCoMo: the path of its locomo10.json
    #[arg(long, value_name = "FILE")]
    locomo: Option<PathBuf>,
    /// For --locomo: an already built daemon
    #[arg(long, value_name = "LONGHAULD", requires = "locomo")]
    daemon: Option<PathBuf>,
}

pub(crate) fn run(options: &EvalArgs) -> anyhow::Result<()> {
    if let Some(path) = &options.locomo {
        return locomo::run(path, options.daemon.as_deref(), options.json.as_deref());
    }
    let files = Files::find(&options.folder, options.only.as_deref())?;
    ensure!(!files.paths.is_empty(), "no .jsonl file under {}", options.folder.display());
    if let Some(folder) = &options.views {
        fs::create_dir_all(folder)?;
    }
    let measures = Measures {
        budgets: options.budgets.clone(),
        baselines: !options.no_baselines,
        misses: options.misses,
    };
    // One fold serves all budgets of a cut.
    let mut last: Option<(String, usize, Fold)> = None;
    let report = evaluate(&files, &measures, &mut |cut, budget| {
        let fold = match last.take() {
            Some((session, bytes, fold)) if session == cut.session && bytes == cut.bytes.len() => {
                fold
            }
            _ => fold(cut.bytes)?,
        };
        let text = view(&fold, budget);
        if let Some(folder) = &options.views {
            save_view(folder, cut, budget, &text).map_err(|error| format!("{error:#}"))?;
        }
        last = Some((cut.session.to_owned(), cut.bytes.len(), fold));
        Ok(text)
    })?;
    println!("{}", report.table());
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_vec_pretty(&report)?)
            .with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// The agent that wrote a session, judging by its first lines.
fn source_of(bytes: &[u8]) -> Result<Source, String> {
    if is_claude(bytes) {
        return Ok(Source::Claude);
    }
    let mut is_codex = false;
    for line in bytes.split(|&byte| byte == b'\n').take(LINES_INSPECTED) {
        (Source::Codex.spec().read)(line, true, &mut |entry| {
            is_codex |= !matches!(entry.body, Body::Unknown | Body::Malformed);
        });
    }
    match is_codex {
        true => Ok(Source::Codex),
        false => {
            Err("a session of neither Codex nor Claude Code: remove it from the folder".into())
        }
    }
}

fn fold(bytes: &[u8]) -> Result<Fold, String> {
    let mut fold = Fold::new(source_of(bytes)?);
    let mut offset = 0;
    for (number, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let whole = line.strip_suffix(b"\n").unwrap_or(line);
        let place = Place { line: number as u64, offset, bytes: whole.len() as u64 };
        fold.line(place, whole);
        offset += line.len() as u64;
    }
    Ok(fold)
}

fn view(fold: &Fold, budget_tokens: u64) -> String {
    let inputs = ViewInputs {
        thread_id: fold.head().thread_id.as_deref(),
        state: fold.checkpoint(),
        semantics: &Semantics::default(),
        disk: &Disk::default(),
        focus: "",
    };
    render(&inputs, &ViewCaps::default(), budget_tokens)
}

fn save_view(folder: &Path, cut: &Cut<'_>, budget: u64, text: &str) -> anyhow::Result<()> {
    let name = cut.session.replace('/', "__");
    let path = folder.join(format!("{name}.{}.{budget}.txt", cut.percent));
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

/// The rollouts below a folder, loaded one at a time.
struct Files {
    folder: PathBuf,
    paths: Vec<PathBuf>,
}

impl Files {
    fn find(folder: &Path, only: Option<&str>) -> anyhow::Result<Self> {
        let mut paths = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder)
                .with_context(|| format!("reading the folder {}", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                    paths.push(path);
                }
            }
        }
        paths.retain(|path| only.is_none_or(|text| path.to_string_lossy().contains(text)));
        paths.sort();
        Ok(Self { folder: folder.to_owned(), paths })
    }
}

impl Corpus for Files {
    fn len(&self) -> usize {
        self.paths.len()
    }

    fn load(&self, number: usize) -> Result<Session, String> {
        let path = self.paths.get(number).ok_or("there is no such file")?;
        let below = path.strip_prefix(&self.folder).unwrap_or(path);
        let mut names = below.components();
        let first = names.next().map(|name| name.as_os_str().to_string_lossy().into_owned());
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Session {
            name: below.to_string_lossy().into_owned(),
            repository: first.unwrap_or_default(),
            bytes,
        })
    }
}

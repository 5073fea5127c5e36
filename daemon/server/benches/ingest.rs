//! Cold ingest against a plain line reader over the same files, in one run, by CPU time.
//!
//! `cargo bench -p longhaul-daemon --bench ingest [-- FOLDER]`. FOLDER is searched for transcripts;
//! without it, `$LONGHAUL_CORPUS/codex`, or else a synthesized file. `-- --huge GIB` ingests one synthesized
//! file of that size and reports the peak of resident memory.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use longhaul_core::fold::{Fold, Place, Source};
use longhaul_daemon::ingest::{
    Ingest, IngestDeps, IngestEvents, IngestWarning, Limits, Root, ThreadUpdated,
};
use longhaul_store::{FileId, Store};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 5;

struct Deaf;

impl IngestEvents for Deaf {
    fn file_stored(&self, _: &str) {}
    fn thread_updated(&self, _: &ThreadUpdated) {}
    fn warning(&self, _: &IngestWarning) {}
    fn files_gone(&self) {}
    fn store_rebuilt(&self, _: &Path) {}
}

fn main() {
    let temp = tempfile::tempdir().unwrap();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [flag, gib] = arguments.as_slice()
        && flag == "--huge"
    {
        let bytes = gib.parse::<u64>().unwrap() << 30;
        synthesize(&temp.path().join("sessions/huge.jsonl"), bytes);
        // In another process, so that writing the file is not measured.
        let myself = std::env::current_exe().unwrap();
        Command::new(myself).arg("--read").arg(temp.path()).status().unwrap();
        return;
    }
    if let [flag, home] = arguments.as_slice()
        && flag == "--read"
    {
        return huge(Path::new(home));
    }
    let folder = match (arguments.first(), std::env::var_os("LONGHAUL_CORPUS")) {
        (Some(folder), _) => PathBuf::from(folder),
        (None, Some(corpus)) => PathBuf::from(corpus).join("codex"),
        (None, None) => {
            synthesize(&temp.path().join("sessions/one.jsonl"), 100 << 20);
            temp.path().join("sessions")
        }
    };
    let folder = folder.canonicalize().unwrap();
    let files = transcripts(&folder);
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
    println!("{} files, {:.1} MB", files.len(), bytes as f64 / 1e6);
    let mut best = [f64::MAX; 3];
    for round in 0..ROUNDS {
        let steps: [&dyn Fn(); 3] = [
            &|| files.iter().for_each(|file| plain(file)),
            &|| files.iter().for_each(|file| fold(file)),
            &|| ingest(&folder, &temp.path().join(format!("{round}.db"))),
        ];
        for (best, step) in best.iter_mut().zip(steps) {
            *best = best.min(cpu(step));
        }
    }
    let rate = |seconds: f64| bytes as f64 / 1e6 / seconds;
    for (what, seconds) in ["plain line reader", "lines and fold", "cold ingest"].iter().zip(best) {
        let ratio = seconds / best[0];
        println!("{what:18} {:7.0} MB/s of CPU  {ratio:5.2} x plain", rate(seconds));
    }
}

fn cpu(step: &dyn Fn()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = now();
    step();
    now() - before
}

fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(transcripts(&path));
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files
}

fn plain(path: &Path) {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).unwrap());
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).unwrap() > 0 {
        black_box(&line);
        line.clear();
    }
}

fn fold(path: &Path) {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).unwrap());
    let (mut fold, mut line, mut number) = (Fold::new(Source::Codex), Vec::new(), 0);
    while reader.read_until(b'\n', &mut line).unwrap() > 0 {
        let place = Place { line: number, offset: 0, bytes: line.len() as u64 };
        black_box(fold.line(place, line.trim_ascii_end()));
        number += 1;
        line.clear();
    }
}

fn ingest(folder: &Path, database: &Path) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let (store, _) = Store::open(database, 1).await.unwrap();
        let ingest = Ingest::start(IngestDeps {
            archive: None,
            store: store.clone(),
            roots: vec![Root { source: Source::Codex, path: folder.to_owned(), archived: false }],
            events: Arc::new(Deaf),
            now_ms: Arc::new(|| 1_764_000_000_000),
            limits: Limits::default(),
        });
        ingest.settle(Duration::from_secs(3_600)).await.unwrap();
        ingest.stop().await;
        assert!(!store.files.after(FileId(0)).await.unwrap().is_empty());
        store.database.close().await;
    });
}

fn huge(home: &Path) {
    let before = memory("VmRSS");
    let seconds = cpu(&|| ingest(&home.join("sessions"), &home.join("huge.db")));
    let bytes = fs::metadata(home.join("sessions/huge.jsonl")).unwrap().len() as f64;
    let database = fs::metadata(home.join("huge.db")).unwrap().len() as f64;
    println!("{:.2} GB in one file: {:.0} MB/s of CPU", bytes / 1e9, bytes / 1e6 / seconds);
    println!(
        "peak {} KiB resident ({before} before), database {:.1} MB",
        memory("VmHWM"),
        database / 1e6
    );
}

/// A line of `/proc/self/status`, in KiB.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Writes turns of plausible sizes until there are `bytes`, with an over-long line now and then.
fn synthesize(path: &Path, bytes: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let (mut written, mut turn) = (0, 0_u64);
    let at = "\"timestamp\":\"2026-11-21T09:00:00.000Z\"";
    let meta = format!(
        "{{{at},\"type\":\"session_meta\",\"payload\":{{\"id\":\"01a1fb8b-e82f-7561-87b0-8fe7ffe642be\",\
         \"timestamp\":\"2026-11-21T09:00:00.000Z\",\"cwd\":\"/home/dev/app\",\"originator\":\"codex_cli_rs\",\
         \"cli_version\":\"0.98.0\"}}}}\n"
    );
    out.write_all(meta.as_bytes()).unwrap();
    while written < bytes {
        turn += 1;
        let mut add = |payload: String| {
            let line = format!("{{{at},\"type\":\"response_item\",\"payload\":{payload}}}\n");
            written += line.len() as u64;
            out.write_all(line.as_bytes()).unwrap();
        };
        if turn % 20 == 1 {
            add(format!(
                "{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":\"Please fix module {turn}.\"}}]}}"
            ));
        }
        let noise = format!("gAAAAAB{turn:032x}").repeat(40);
        add(format!(
            "{{\"type\":\"reasoning\",\"summary\":[],\"content\":null,\"encrypted_content\":\"{noise}\"}}"
        ));
        add(format!(
            "{{\"type\":\"function_call\",\"name\":\"shell\",\"arguments\":\"{{\\\"command\\\":[\\\"bash\\\",\\\"-lc\\\",\\\"cargo test -p module-{turn}\\\"]}}\",\"call_id\":\"call_{turn}\"}}"
        ));
        let output = format!("test module_{turn}::works ... ok\\\\n").repeat(60);
        add(format!(
            "{{\"type\":\"function_call_output\",\"call_id\":\"call_{turn}\",\"output\":\"{{\\\"output\\\":\\\"{output}\\\",\\\"metadata\\\":{{\\\"exit_code\\\":0,\\\"duration_seconds\\\":1.0}}}}\"}}"
        ));
        if turn % 50_000 == 0 {
            add(format!(
                "{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{}\"}}",
                "x".repeat(20 << 20)
            ));
        }
    }
    out.flush().unwrap();
}

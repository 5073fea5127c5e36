//! The program itself: started by a daemon in this process, confined, with a model that is a script.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_client::{Client, ConnectOptions};
use longhaul_daemon::app::{App, AppError, listen};
use longhaul_daemon::args::Args;
use longhaul_daemon::clock::Clock;
use longhaul_daemon::config::{Config, Surroundings};
use longhaul_daemon::paths::Base;
use longhaul_daemon::service::Deps;
use longhaul_protocol::daemon::{self, NoParams};
use longhaul_protocol::job::{
    Claim, ClaimParams, Complete, CompleteParams, Heartbeat, TokenParams, WorkInput, WorkResult,
};
use longhaul_protocol::memory::{AgentRun, Run, RunParams, Status, StatusParams};
use longhaul_protocol::thread::{Sync, SyncParams};
use longhaul_protocol::warning::Warning;
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;
use tokio::task::JoinHandle;

const CURATOR: &str = env!("CARGO_BIN_EXE_longhaul-curator");
const THREAD: &str = "019cadd3-0000-7000-8000-0000000000e1";
const RULE: &str = "Always run cargo nextest before you say that something works.";

/// Answers the question about a thread, and as the editor of the files that nothing is to be changed; while a file
/// `silent` is in its folder, the editor says nothing.
const MODEL: &str = r##"#!/bin/sh
if grep -q "You look after the long-term memory" - ; then
    touch FOLDER/asked
    [ -e FOLDER/silent ] && read -r line < FOLDER/gate
    echo '{"calls":[{"tool":"read","path":"MEMORY.md","text":"","new_text":"","line":0,"lines":0}],"done":true}'
else
    echo '{"rollout_summary":"# Done","rollout_slug":"fix","raw_memory":"- tests pass","outcome":"success","learnings":[]}'
fi
"##;

/// Notes its process, and becomes the worker; while a file `held` is in its folder, when its gate is opened.
const NOTED: &str = r##"#!/bin/sh
echo $$ > FOLDER/new && mv FOLDER/new FOLDER/pid
[ -e FOLDER/held ] && read -r line < FOLDER/gate
exec CURATOR "$@"
"##;

struct Daemon {
    deps: Deps,
    client: Client,
    task: JoinHandle<Result<(), AppError>>,
    home: TempDir,
}

impl Daemon {
    /// A daemon whose own program would lie beside `curator`.
    async fn start(curator: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        transcript(home.path());
        Self::over(home, curator).await
    }

    async fn over(home: TempDir, curator: &Path) -> Self {
        let root = home.path();
        let model = program(root, "model.sh", MODEL);
        let base = Base::under(root);
        std::fs::create_dir_all(base.config_file().parent().unwrap()).unwrap();
        let config = format!(
            "[memory]\nenabled = false\nengine = \"model\"\n[model]\nprovider = \"script\"\nname = \"m\"\n\
             [providers.script]\nkind = \"command\"\ncommand = [{model:?}]\n"
        );
        std::fs::write(base.config_file(), config).unwrap();
        let around = Surroundings {
            base,
            current_dir: root.to_owned(),
            env: BTreeMap::new(),
            program: curator.with_file_name("longhauld"),
        };
        let config = Config::load(&Args::default(), &around).unwrap();
        let held = listen(&config).await.unwrap();
        let options = ConnectOptions::new("test", "1").socket(held.socket.path.clone());
        let app = App::build(config, Clock::system(), held).await.unwrap();
        let deps = app.deps();
        let task = tokio::spawn(app.run());
        let client = Client::connect(options).await.unwrap();
        let sync = SyncParams { thread_id: Some(THREAD.to_owned()), ..Default::default() };
        client.call::<Sync>(sync).await.unwrap();
        Self { deps, client, task, home }
    }

    /// Makes memory and waits for what became of its files.
    async fn edited(&self) -> AgentRun {
        self.make().await;
        self.ended().await
    }

    /// Makes memory.
    async fn make(&self) {
        let run = RunParams { all: Some(true), ..Default::default() };
        let run = self.client.call::<Run>(run).await.unwrap();
        assert_eq!((run.extracted, run.fallbacks, run.failed), (1, 0, 0), "{run:?}");
    }

    async fn ended(&self) -> AgentRun {
        let ended = async {
            loop {
                let status = self.client.call::<Status>(StatusParams::default()).await.unwrap();
                if let Some(agent) = status.agent {
                    return agent;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ended).await.expect("the worker ends")
    }

    /// What `longhaul doctor` shows of the daemon's own warnings.
    async fn warnings(&self) -> Vec<Warning> {
        self.client.call::<daemon::Status>(NoParams {}).await.unwrap().warnings
    }

    async fn stop(self) -> TempDir {
        self.deps.shutdown.begin("a test");
        self.task.await.unwrap().unwrap();
        self.home
    }
}

/// A script in `folder`, which may be run.
fn program(folder: &Path, name: &str, script: &str) -> PathBuf {
    let path = folder.join(name);
    let script = script.replace("FOLDER", folder.to_str().unwrap()).replace("CURATOR", CURATOR);
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    path
}

/// A pipe: who reads it waits until somebody writes.
fn gate(folder: &Path) -> PathBuf {
    let path = folder.join("gate");
    mkfifoat(CWD, &path, Mode::RWXU).unwrap();
    path
}

async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let held = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), held).await.expect(what);
}

/// The process that a [`NOTED`] worker is.
async fn process(folder: &Path) -> PathBuf {
    eventually("the worker is started", || folder.join("pid").exists()).await;
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    Path::new("/proc").join(pid.trim())
}

fn transcript(root: &Path) {
    let folder = root.join(".codex/sessions/2026/03/02");
    std::fs::create_dir_all(&folder).unwrap();
    let line = |kind: &str, payload: serde_json::Value| {
        let at = "2026-03-02T10:00:00.000Z";
        serde_json::json!({ "timestamp": at, "type": kind, "payload": payload }).to_string() + "\n"
    };
    let message = |role: &str, kind: &str, text: &str| {
        let content = serde_json::json!([{ "type": kind, "text": text }]);
        line(
            "response_item",
            serde_json::json!({ "type": "message", "role": role, "content": content }),
        )
    };
    let meta = serde_json::json!({ "id": THREAD, "timestamp": "2026-03-02T10:00:00.000Z", "cwd": "/w/app",
        "originator": "codex_cli_rs", "cli_version": "0.169.0", "source": "cli" });
    let text = line("session_meta", meta)
        + &message("user", "input_text", &format!("Fix the parser. {RULE}"))
        + &message("assistant", "output_text", "I look at the parser.")
        + &message("user", "input_text", "Then run the tests.")
        + &message("assistant", "output_text", "The parser is fixed and its tests pass.");
    std::fs::write(folder.join(format!("rollout-2026-03-02T10-00-00-{THREAD}.jsonl")), text)
        .unwrap();
}

#[tokio::test]
async fn the_daemon_starts_it_when_the_files_are_to_be_edited() {
    let daemon = Daemon::start(Path::new(CURATOR)).await;
    let agent = daemon.edited().await;
    assert_eq!((agent.outcome.as_str(), agent.turns), ("unchanged", 1), "{agent:?}");
    assert_eq!(daemon.warnings().await, []);
    daemon.stop().await;
}

#[tokio::test]
async fn a_daemon_without_it_says_so_and_keeps_what_the_rules_made() {
    let nowhere = PathBuf::from("/nowhere/longhaul-curator");
    let daemon = Daemon::start(&nowhere).await;
    let agent = daemon.edited().await;
    assert_eq!(agent.outcome, "worker_failed", "{agent:?}");
    assert!(agent.detail.contains("/nowhere/longhaul-curator"), "{agent:?}");
    let warnings = daemon.warnings().await;
    let [Warning { kind, message, hint }] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!(kind, "curator_missing");
    assert!(message.contains("/nowhere/longhaul-curator"), "{message}");
    assert!(hint.as_deref().is_some_and(|hint| hint.contains("workers/curator")), "{hint:?}");
    daemon.stop().await;
}

#[tokio::test]
async fn what_another_worker_claimed_first_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let gate = gate(folder.path());
    std::fs::write(folder.path().join("held"), "").unwrap();
    let curator = program(folder.path(), "longhaul-curator", NOTED);
    let daemon = Daemon::start(&curator).await;
    daemon.make().await;
    let process = process(folder.path()).await;
    let wanted = ClaimParams { kind: "curate".to_owned(), worker: "mine".to_owned() };
    let claim = daemon.client.call::<Claim>(wanted).await.unwrap().claim.expect("it was first");
    let Some(WorkInput::Curate { files, .. }) = claim.input else { panic!("{claim:?}") };
    tokio::task::spawn_blocking(move || std::fs::write(gate, "go\n")).await.unwrap().unwrap();
    eventually("the daemon's own worker ends", || !process.exists()).await;
    let (job, token) = (claim.job.job, claim.token);
    let params = TokenParams { job: job.clone(), token: token.clone() };
    daemon.client.call::<Heartbeat>(params).await.unwrap();
    let params = CompleteParams { job, token, result: Some(WorkResult::Curate { files }) };
    let taken = daemon.client.call::<Complete>(params).await.unwrap();
    assert_eq!(taken.job.state, "done");
    let agent = daemon.ended().await;
    assert_eq!((agent.outcome.as_str(), agent.turns), ("unchanged", 0), "{agent:?}");
    daemon.stop().await;
}

#[tokio::test]
async fn it_ends_with_its_daemon_and_the_next_one_starts_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let curator = program(folder.path(), "longhaul-curator", NOTED);
    let home = tempfile::tempdir().unwrap();
    transcript(home.path());
    gate(home.path());
    let silent = home.path().join("silent");
    std::fs::write(&silent, "").unwrap();
    let daemon = Daemon::over(home, &curator).await;
    daemon.make().await;
    let first = process(folder.path()).await;
    let asked = daemon.home.path().join("asked");
    eventually("the model receives a request for a step", || asked.exists()).await;
    assert!(first.exists());
    let home = daemon.stop().await;
    eventually("the worker ends with its daemon", || !first.exists()).await;

    std::fs::remove_file(silent).unwrap();
    let daemon = Daemon::over(home, &curator).await;
    let agent = daemon.ended().await;
    assert_eq!((agent.outcome.as_str(), agent.turns), ("unchanged", 1), "{agent:?}");
    assert_ne!(process(folder.path()).await, first);
    daemon.stop().await;
}

#[tokio::test]
async fn a_kernel_without_landlock_edits_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let stub = folder.path().join("longhaul-curator");
    // What a thread is denied, so is a process that it starts: the daemon's own thread is not to be denied it.
    let started = |socket: &Path| {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                longhaul_confine::without_landlock().unwrap();
                std::process::Command::new(CURATOR).arg("--socket").arg(socket).output().unwrap()
            });
            thread.join().unwrap()
        })
    };
    let daemon = Daemon::start(&stub).await;
    let socket = daemon.deps.config.now().socket.to_path_buf();
    let output = tokio::task::spawn_blocking(move || started(&socket)).await.unwrap();
    assert_eq!(output.status.code(), Some(69), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("Landlock"), "{message}");
    let script = format!("#!/bin/sh\necho '{}' >&2\nexit 69\n", message.trim().replace('\'', ""));
    program(folder.path(), "longhaul-curator", &script);
    let agent = daemon.edited().await;
    assert_eq!(agent.outcome, "sandbox_unavailable", "{agent:?}");
    assert!(agent.detail.contains("Landlock"), "{agent:?}");
    daemon.stop().await;
}

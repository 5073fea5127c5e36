//! Compares a whole run of `longhaul hook` with starting `/bin/true`.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use super::corpus::Corpus;
use super::report::{Report, Times};
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;

const WARM_UP: usize = 10;
const HOOKS: usize = 4;

pub(super) fn measure(
    longhauld: &Path,
    corpus: &Corpus,
    rounds: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    corpus.copy_to(home.path())?;
    let daemon = Daemon::start(longhauld, home.path())?;
    daemon.wait_idle(1)?;
    let threads = daemon.connect()?.call("thread/list", &json!({ "limit": 1 }))?;
    let thread = threads.pointer("/threads/0").context("no thread was read")?;
    let hook = |event: &str, member: &str, value: &str| {
        let payload = json!({
            "session_id": thread["thread_id"], "transcript_path": thread["path"],
            "cwd": thread["cwd"], "hook_event_name": event, member: value,
        });
        (event.to_owned(), payload.to_string())
    };
    let hooks: [_; HOOKS] = [
        hook("SessionStart", "source", "compact"),
        hook("UserPromptSubmit", "prompt", "go on"),
        hook("PreCompact", "trigger", "auto"),
        hook("Stop", "last_assistant_message", "done"),
    ];
    let longhaul = longhauld.with_file_name("longhaul");
    let run = |arguments: &[&str], payload: &str| {
        let mut command = Command::new(&longhaul);
        timed(command.arg("--socket").arg(daemon.socket()).args(arguments), payload)
    };
    let [idle, version, hooked @ ..]: [Times; 2 + HOOKS] =
        Times::in_turn((WARM_UP, rounds), |_| {
            let mut times = [Duration::ZERO; 2 + HOOKS];
            times[0] = timed(&mut Command::new("/bin/true"), "")?;
            times[1] = run(&["--version"], "")?;
            for ((event, payload), time) in hooks.iter().zip(&mut times[2..]) {
                *time = run(&["hook", event, "--agent", "codex"], payload)?;
            }
            Ok(times)
        })?;
    report.add("process: /bin/true", idle.show(), "");
    report.add("process: longhaul --version", version.show(), "");
    for ((event, _), times) in hooks.iter().zip(hooked) {
        report.add(format!("process: longhaul hook {event}"), times.show(), "p99 <= 200 ms");
    }
    for program in ["longhaul", "longhaul-mcp", "longhauld", "longhaul-curator"] {
        if let Ok(file) = longhauld.with_file_name(program).metadata() {
            let mib = file.len() as f64 / f64::from(1 << 20);
            report.add(format!("shipped: {program}"), format!("{mib:.1} MiB"), "");
        }
    }
    daemon.stop()
}

/// Time from before the process starts until it has ended and its answer is read.
fn timed(command: &mut Command, payload: &str) -> anyhow::Result<Duration> {
    let watch = Stopwatch::start();
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = piped.spawn()?;
    let mut stdin = child.stdin.take().context("no pipe")?;
    // Fails if the program has ended without reading its input.
    stdin.write_all(payload.as_bytes()).unwrap_or_default();
    drop(stdin);
    child.wait_with_output()?;
    Ok(watch.elapsed())
}

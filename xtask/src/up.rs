//! `cargo xtask up`: shows a compacted view of a real session, from a fresh clone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::place::{self, Binaries};
use crate::process;
use crate::sample::{self, Sample};
use crate::wire::Wire;

#[derive(clap::Args)]
pub(crate) struct UpArgs {
    /// Use the sample session even if there are sessions of your own
    #[arg(long)]
    sample: bool,
    /// Maximum tokens of the view
    #[arg(long, default_value_t = 2000)]
    max_tokens: u32,
}

/// Maximum path length of a Unix socket on Linux, without the final zero byte.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The daemon to use: the user's own, or a private one for the sample.
struct Target {
    transcript: PathBuf,
    variables: Vec<(&'static str, PathBuf)>,
    is_private: bool,
}

pub(crate) fn run(options: &UpArgs) -> anyhow::Result<()> {
    println!("==> building longhaul (release)");
    let binaries = place::build_release()?;
    let scene = match own_scene() {
        Some(scene) if !options.sample => scene,
        _ => sample_scene()?,
    };
    println!("==> starting the daemon");
    if scene.is_private {
        // A daemon of an earlier run may be an earlier build.
        drop(longhaul(&scene, &binaries, &["down"]).output());
    }
    show(&scene, &binaries, &["up"])?;

    println!("\n==> the newest thread: {}", scene.transcript.display());
    let thread = catch_up(&scene, &binaries)?;
    show(&scene, &binaries, &["status"])?;
    show(&scene, &binaries, &["thread", "list", "--limit", "5"])?;

    println!("\n==> its history, compacted to at most {} tokens", options.max_tokens);
    let budget = options.max_tokens.to_string();
    show(&scene, &binaries, &["compact", &thread, "--max-tokens", &budget])?;
    farewell(&scene, &binaries);
    Ok(())
}

/// The user's own sessions and store, if there are sessions.
fn own_scene() -> Option<Target> {
    let home = match std::env::var_os("CODEX_HOME").filter(|home| !home.is_empty()) {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".codex"),
    };
    let transcript = sample::newest_of_codex(&home)?;
    Some(Target { transcript, variables: vec![("CODEX_HOME", home)], is_private: false })
}

/// The sample, with its own store and socket under the build folder.
fn sample_scene() -> anyhow::Result<Target> {
    let folder = place::target()?.join("sample");
    let sample = Sample::lay_out(&place::workspace()?.join("samples"), &folder)?;
    println!("==> no Codex sessions are used: showing the sample session shipped with longhaul");
    println!("    its project:  {}", sample.project.display());
    println!(
        "    its store:    {} (your own store is not touched)",
        folder.join("state").display()
    );
    let transcript = sample::newest_of_codex(&sample.codex_home).context("no sample session")?;
    let variables = vec![
        ("LONGHAUL_STATE_DIR", folder.join("state")),
        ("LONGHAUL_SOCKET", sample_socket(&folder)),
        ("LONGHAUL_CONFIG", empty_config(&folder)?),
        ("CODEX_HOME", sample.codex_home),
        ("CLAUDE_CONFIG_DIR", folder.join("no-claude")),
    ];
    Ok(Target { transcript, variables, is_private: true })
}

/// The sample daemon's socket: under the build folder if the path is short enough.
fn sample_socket(folder: &Path) -> PathBuf {
    let beside = folder.join("run/v1.sock");
    if beside.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return beside;
    }
    let user = rustix::process::getuid().as_raw();
    std::env::temp_dir().join(format!("longhaul-sample-{user}/v1.sock"))
}

fn empty_config(folder: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join("config.toml");
    std::fs::write(&path, "")?;
    Ok(path)
}

/// Waits until the transcript is ingested; returns its thread.
fn catch_up(scene: &Target, binaries: &Binaries) -> anyhow::Result<String> {
    let status = longhaul(scene, binaries, &["status", "--json"]).output()?;
    ensure!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let status: serde_json::Value = serde_json::from_slice(&status.stdout)?;
    let socket = status["socket"].as_str().context("the status names no socket")?;
    let params = json!({"path": scene.transcript, "timeout_ms": 60_000});
    let synced = Wire::connect(Path::new(socket))?.call("thread/sync", &params)?;
    let thread = synced["thread_id"].as_str().context("the transcript belongs to no thread")?;
    Ok(thread.to_owned())
}

fn longhaul(scene: &Target, binaries: &Binaries, arguments: &[&str]) -> Command {
    let mut command = Command::new(&binaries.longhaul);
    command.args(arguments).envs(scene.variables.iter().map(|(name, value)| (name, value)));
    command
}

/// Prints and runs a command line.
fn show(scene: &Target, binaries: &Binaries, arguments: &[&str]) -> anyhow::Result<()> {
    println!("\n$ longhaul {}", arguments.join(" "));
    process::check(&mut longhaul(scene, binaries, arguments))
}

fn farewell(scene: &Target, binaries: &Binaries) {
    println!("\n==> the daemon keeps running");
    if scene.is_private {
        println!("    it is the sample's; to talk to it or to end it, set these first:");
        for (name, value) in &scene.variables {
            println!("    export {name}={}", value.display());
        }
    }
    println!("    look:   {} status", binaries.longhaul.display());
    println!("    end it: {} down", binaries.longhaul.display());
}

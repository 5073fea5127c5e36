//! Our hooks and our MCP server in the real Claude Code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::compare::Row;
use super::hooks::{ATTEMPTS, RULE, RULE_EXCERPT, note_rule};
use super::mock::{Mock, ask};
use super::tools;
use crate::daemon::Daemon;
use crate::process::{Deadline, finish};
use crate::wire::Wire;

const KEY: &str = "sk-ant-none";
/// Its window is 200,000 tokens in every version.
const SMALL_MODEL: &str = "claude-sonnet-4-5";

/// An installed version with its own home and project.
pub(super) struct Claude {
    binary: PathBuf,
    folder: tempfile::TempDir,
    model: String,
    deadline: Deadline,
    /// The folder of our programs and the daemon's socket, for a plugin that `longhaul install` did not set up.
    ours: Option<(PathBuf, PathBuf)>,
}

/// Starts a mock model and a daemon for a version, and installs nothing into it.
pub(super) fn set_up(
    longhauld: &Path,
    binary: PathBuf,
    deadline: Deadline,
    config: &str,
) -> anyhow::Result<(Claude, Mock, Daemon)> {
    let mock = Mock::start()?;
    let claude = Claude::new(binary, mock.address(), deadline)?;
    let no_codex = claude.home().join("no-codex");
    let daemon = Daemon::start_with(longhauld, &no_codex, &claude.home(), config)?;
    Ok((claude, mock, daemon))
}

impl Claude {
    pub(super) fn new(binary: PathBuf, model: &str, deadline: Deadline) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("longhaul-agents-").tempdir()?;
        let model = model.to_owned();
        let claude = Self { binary, folder, model, deadline, ours: None };
        fs::create_dir_all(claude.home())?;
        fs::create_dir_all(claude.project())?;
        Ok(claude)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home/.claude")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Adds our programs to its `PATH`, which a plugin from a marketplace needs.
    pub(super) fn with_our_programs(
        self,
        longhaul: &Path,
        daemon: &Daemon,
    ) -> anyhow::Result<Self> {
        let folder = longhaul.parent().context("a program without a folder")?.canonicalize()?;
        Ok(Self { ours: Some((folder, daemon.socket())), ..self })
    }

    /// Sets its home and settings, and adds it to the `PATH`.
    pub(super) fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some((_, socket)) = &self.ours {
            command.env("LONGHAUL_SOCKET", socket);
        }
        let ours = self.ours.iter().map(|(folder, _)| folder.clone());
        let folders = self.binary.parent().map(Path::to_owned).into_iter().chain(ours);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&path)));
        command
            .env("HOME", self.folder.path().join("home"))
            .env("CLAUDE_CONFIG_DIR", self.home())
            .env("PATH", path.unwrap_or_default())
    }

    /// Installs our hooks, our server and, if this version supports it, our plugin; returns the output.
    pub(super) fn install(&self, longhaul: &Path, daemon: &Daemon) -> anyhow::Result<String> {
        self.install_with(longhaul, daemon, &[])
    }

    pub(super) fn install_with(
        &self,
        longhaul: &Path,
        daemon: &Daemon,
        options: &[&str],
    ) -> anyhow::Result<String> {
        let mut install = Command::new(longhaul);
        install.arg("--socket").arg(daemon.socket()).args(["install", "claude", "--yes"]);
        install.args(options);
        let output = self.environment(&mut install).output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "longhaul install claude failed: {printed}");
        Ok(printed)
    }

    /// `claude --print ARGUMENTS`.
    pub(super) fn print(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        self.in_project(&mut command)
            .args(["--print", "--dangerously-skip-permissions"])
            .args(arguments)
            // The smallest window it accepts; it compacts as soon as the mock reports it as full.
            .env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000");
        self.run(&mut command, arguments)
    }

    /// Runs `claude --print ARGUMENTS` in the window of a small model, with features that its servers would switch
    /// on; returns its debug log. It reaches nothing but the mock.
    pub(super) fn print_with(
        &self,
        features: &Value,
        arguments: &[&str],
    ) -> anyhow::Result<String> {
        let path = self.home().join(".claude.json");
        let mut state: Value = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)?,
            Err(_) => json!({}),
        };
        state["cachedGrowthBookFeatures"] = features.clone();
        fs::write(path, state.to_string())?;
        let (debug, nobody) = (self.folder.path().join("debug"), "http://127.0.0.1:9");
        let mut command = Command::new(&self.binary);
        self.in_project(&mut command)
            .args(["--print", "--dangerously-skip-permissions", "--model", SMALL_MODEL])
            .arg("--debug-file")
            .arg(&debug)
            .args(arguments)
            // It reads no features then, known or not.
            .env_remove("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
            .envs([("HTTP_PROXY", nobody), ("HTTPS_PROXY", nobody), ("NO_PROXY", "127.0.0.1")]);
        self.run(&mut command, arguments)?;
        Ok(fs::read_to_string(debug)?)
    }

    /// `claude plugin ARGUMENTS`.
    pub(super) fn plugin(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        self.in_project(&mut command).arg("plugin").args(arguments);
        self.run(&mut command, &[&["plugin"], arguments].concat())
    }

    /// Runs a command to its end; a failure names `arguments`.
    fn run(&self, command: &mut Command, arguments: &[&str]) -> anyhow::Result<()> {
        let (is_done, printed) = finish(command, &self.folder.path().join("log"), self.deadline)?;
        ensure!(is_done, "claude {} failed: {printed}", arguments.join(" "));
        Ok(())
    }

    /// Answers in advance what it asks at its first start on a terminal.
    pub(super) fn skip_onboarding(&self) -> anyhow::Result<()> {
        let project = self.project();
        let state = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
            "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
            "projects": { project.to_string_lossy(): { "hasTrustDialogAccepted": true } },
        });
        Ok(fs::write(self.home().join(".claude.json"), state.to_string())?)
    }

    /// Runs Claude Code on a terminal, by `script`, with a prompt that must not contain a single quote.
    pub(super) fn on_terminal<'a>(
        &self,
        command: &'a mut Command,
        prompt: &str,
    ) -> &'a mut Command {
        let line = format!(
            "stty rows 50 cols 160; exec '{}' --dangerously-skip-permissions '{prompt}'",
            self.binary.display()
        );
        let command = self.in_project(command).args(["--quiet", "--flush", "--command"]);
        command.arg(line).arg("/dev/null").env("TERM", "xterm-256color")
    }

    /// Sets its home, its project and the mock model.
    fn in_project<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        self.environment(command)
            .current_dir(self.project())
            .env("ANTHROPIC_BASE_URL", format!("http://{}", self.model))
            // A killed daemon must not be restarted.
            .env("LONGHAUL_AUTOSTART", "0")
            .env("ANTHROPIC_API_KEY", KEY)
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            // Without it, Claude Code refuses to run as root, as CI often does.
            .env("IS_SANDBOX", "1")
    }
}

/// Runs a task, `/compact`, a task after it, and calls of our tools.
pub(super) fn play(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    daemon: &Daemon,
) -> anyhow::Result<Vec<Row>> {
    let installed = claude.install(longhaul, daemon)?;
    claude.print(&[&format!("rename the parser. {RULE}")])?;
    note_rule(daemon, &claude.project())?;
    let (mut is_sent, mut receipts) = (false, 0);
    for _ in 0..ATTEMPTS {
        claude.print(&["--continue", "/compact"])?;
        mock.take();
        claude.print(&["--continue", "and the lexer"])?;
        let sent = sent(mock);
        is_sent = sent.contains(r#"<longhaul_context about=\"compaction\">"#)
            && sent.contains("[SESSION_CHECKPOINT v1]")
            && sent.contains("remembers from earlier threads")
            && sent.contains(RULE_EXCERPT);
        receipts = daemon.compactions()?;
        // A hook may have been late on a busy machine.
        if is_sent && receipts > 0 {
            break;
        }
    }
    let detail = "in the request after /compact".to_owned();
    let mut rows = vec![Row::new("checkpoint and memory after", is_sent, detail)];
    let is_named = installed.contains("by Claude Code itself, with our hooks");
    rows.push(Row::new("install names the hooks", is_named, "in its output".into()));
    rows.push(Row::new("state kept before it", receipts > 0, format!("{receipts} receipts")));
    rows.push(hook_row(
        claude,
        mock,
        ("memory at a start", "memory", RULE_EXCERPT),
        &["a new task"],
    )?);
    let resumed = ("checkpoint at a resume", "resume", "[SESSION_CHECKPOINT v1]");
    rows.push(hook_row(claude, mock, resumed, &["--continue", "go on"])?);
    daemon.wait_idle(1)?;
    daemon.wait_indexed()?;
    let mut wire = daemon.connect()?;
    let oldest = oldest_thread(&mut wire)?;
    let mut calls = tools::calls(&mut wire, &oldest)?;
    let summary = json!({ "server": "longhaul", "uri": "longhaul://memory/summary" });
    calls.push(("ReadMcpResourceTool", summary, RULE_EXCERPT));
    for (tool, arguments, wanted) in calls {
        rows.push(tools::row(tool, &tool_answer(claude, mock, tool, &arguments)?, wanted));
    }
    rows.push(tools::note_row(&mut wire)?);
    rows.push(continuation_row(claude, mock, &mut wire, &oldest)?);
    Ok(rows)
}

/// Continues a thread in a new transcript of ours: the first request has the view and the person's last request.
fn continuation_row(
    claude: &Claude,
    mock: &Mock,
    wire: &mut Wire,
    thread: &str,
) -> anyhow::Result<Row> {
    let params = json!({ "thread_id": thread, "to": "claude", "strategy": "checkpoint" });
    let continued = wire.call("thread/continue", &params)?;
    let id = continued["thread_id"].as_str().context("a continuation without an id")?;
    mock.take();
    claude.print(&["--resume", id, "go on then"])?;
    let sent = sent(mock);
    let messages: Value = serde_json::from_str(&sent).unwrap_or_default();
    let count = messages.as_array().map_or(0, Vec::len);
    let is_resumed = sent.contains("[SESSION_CHECKPOINT v1]")
        && sent.contains("The conversation so far was compacted.")
        && sent.contains("go on then");
    let detail = format!("in the first request, of {count} messages");
    Ok(Row::new("a continuation of ours", is_resumed, detail))
}

/// The oldest thread, in which the rule was stated.
fn oldest_thread(wire: &mut Wire) -> anyhow::Result<String> {
    let threads = wire.call("thread/list", &json!({}))?;
    let oldest = threads["threads"].as_array().and_then(|threads| threads.last());
    let id = oldest.and_then(|thread| thread["thread_id"].as_str());
    Ok(id.context("no session of Claude Code was read")?.to_owned())
}

/// Checks that a session, new or continued, receives a hook's text.
fn hook_row(
    claude: &Claude,
    mock: &Mock,
    (step, about, wanted): (&'static str, &str, &str),
    arguments: &[&str],
) -> anyhow::Result<Row> {
    let mark = format!(r#"<longhaul_context about=\"{about}\">"#);
    let mut is_sent = false;
    for _ in 0..ATTEMPTS {
        mock.take();
        claude.print(arguments)?;
        let sent = sent(mock);
        is_sent = sent.contains(&mark) && sent.contains(wanted);
        if is_sent {
            break;
        }
    }
    Ok(Row::new(step, is_sent, "in the first request".to_owned()))
}

/// Makes the model call one of our tools and returns the answer that Claude Code sends back.
fn tool_answer(
    claude: &Claude,
    mock: &Mock,
    tool: &'static str,
    arguments: &Value,
) -> anyhow::Result<String> {
    mock.take();
    claude.print(&["--continue", &ask(tool, arguments)])?;
    let sent = sent(mock);
    let messages: Value = serde_json::from_str(&sent).unwrap_or_default();
    let messages = messages.as_array().map_or(&[][..], Vec::as_slice);
    let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let mut results = parts.filter(|part| part["type"] == "tool_result");
    Ok(results.next_back().map(Value::to_string).unwrap_or_default())
}

/// The messages of the last request that had tools.
pub(super) fn sent(mock: &Mock) -> String {
    let requests = mock.take();
    let has_tools = |request: &&Value| request["tools"].as_array().is_some_and(|it| !it.is_empty());
    requests.iter().rev().find(has_tools).map(|it| it["messages"].to_string()).unwrap_or_default()
}

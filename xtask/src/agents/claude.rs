//! Our hooks and our MCP server in the real Claude Code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::compare::Row;
use super::hooks::{ATTEMPTS, RULE, RULE_EXCERPT, note_rule};
use super::memory;
use super::stage::{Stage, TestedAgent};
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

impl TestedAgent for Claude {
    const NAME: &'static str = "claude";
    const WITH_HOOKS: &'static [&'static str] = &[];
    const RESOURCE_TOOL: &'static str = "ReadMcpResourceTool";

    fn new(binary: &Path, model: &str, deadline: Deadline) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("longhaul-agents-").tempdir()?;
        let (binary, model) = (binary.to_owned(), model.to_owned());
        let claude = Self { binary, folder, model, deadline, ours: None };
        fs::create_dir_all(claude.home())?;
        fs::create_dir_all(claude.project())?;
        Ok(claude)
    }

    fn homes(&self) -> [PathBuf; 2] {
        [self.home().join("no-codex"), self.home()]
    }

    /// Also adds it to the `PATH`.
    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
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

    /// `claude --print ARGUMENTS`.
    fn run(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        self.in_project(&mut command)
            .args(["--print", "--dangerously-skip-permissions"])
            .args(arguments)
            // The smallest window it accepts; it compacts as soon as the mock reports it as full.
            .env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000");
        self.finish(&mut command, arguments)
    }

    fn resuming(_: &str) -> Vec<&str> {
        vec!["--continue"]
    }

    fn hook_text(requests: &[Value], about: &str) -> Option<String> {
        let mark = format!(r#"<longhaul_context about=\"{about}\">"#);
        Some(messages(requests)).filter(|sent| sent.contains(&mark))
    }

    fn tool_answer(requests: &[Value]) -> Option<String> {
        let messages: Value = serde_json::from_str(&messages(requests)).ok()?;
        let messages = messages.as_array()?.iter();
        let parts = messages.filter_map(|message| message["content"].as_array()).flatten();
        let mut results = parts.filter(|part| part["type"] == "tool_result");
        results.next_back().map(Value::to_string)
    }
}

impl Claude {
    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home/.claude")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Adds our programs to its `PATH`, which a plugin from a marketplace needs.
    pub(super) fn add_programs(&mut self, longhaul: &Path, daemon: &Daemon) -> anyhow::Result<()> {
        let folder = longhaul.parent().context("a program without a folder")?.canonicalize()?;
        self.ours = Some((folder, daemon.socket()));
        Ok(())
    }

    /// Runs `claude --print ARGUMENTS` in the window of a small model, with features that its servers would switch
    /// on; returns its debug log. It reaches nothing but the mock.
    pub(super) fn run_with(&self, features: &Value, arguments: &[&str]) -> anyhow::Result<String> {
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
        self.finish(&mut command, arguments)?;
        Ok(fs::read_to_string(debug)?)
    }

    /// `claude plugin ARGUMENTS`.
    pub(super) fn plugin(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        self.in_project(&mut command).arg("plugin").args(arguments);
        self.finish(&mut command, &[&["plugin"], arguments].concat())
    }

    /// Runs a command to its end; a failure names `arguments`.
    fn finish(&self, command: &mut Command, arguments: &[&str]) -> anyhow::Result<()> {
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
pub(super) fn play(stage: Stage<Claude>) -> anyhow::Result<Vec<Row>> {
    let Stage { agent: claude, daemon, .. } = &stage;
    let installed = stage.install(&[])?;
    claude.run(&[&format!("rename the parser. {RULE}")])?;
    note_rule(daemon, &claude.project())?;
    let (mut is_sent, mut receipts) = (false, 0);
    for _ in 0..ATTEMPTS {
        claude.run(&["--continue", "/compact"])?;
        let requests = stage.requests(&["--continue", "and the lexer"])?;
        let wanted = ["[SESSION_CHECKPOINT v1]", "remembers from earlier threads", RULE_EXCERPT];
        is_sent = Claude::hook_text(&requests, "compaction")
            .is_some_and(|sent| wanted.iter().all(|text| sent.contains(text)));
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
    daemon.wait_idle(1)?;
    daemon.wait_indexed()?;
    let mut wire = daemon.connect()?;
    let oldest = oldest_thread(&mut wire)?;
    rows.extend(memory::play(&stage, &mut wire, &oldest)?);
    rows.push(continuation_row(&stage, &mut wire, &oldest)?);
    stage.daemon.stop()?;
    Ok(rows)
}

/// Continues a thread in a new transcript of ours: the first request has the view and the person's last request.
fn continuation_row(stage: &Stage<Claude>, wire: &mut Wire, thread: &str) -> anyhow::Result<Row> {
    let params = json!({ "thread_id": thread, "to": "claude", "strategy": "checkpoint" });
    let continued = wire.call("thread/continue", &params)?;
    let id = continued["thread_id"].as_str().context("a continuation without an id")?;
    let sent = messages(&stage.requests(&["--resume", id, "go on then"])?);
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

/// The messages of the last request that had tools.
pub(super) fn messages(requests: &[Value]) -> String {
    let has_tools = |request: &&Value| request["tools"].as_array().is_some_and(|it| !it.is_empty());
    requests.iter().rev().find(has_tools).map(|it| it["messages"].to_string()).unwrap_or_default()
}

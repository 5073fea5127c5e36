//! Our hooks and our MCP server in the real Claude Code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::compare::Row;
use super::hooks::{RULE, RULED, note_rule};
use super::mock::{Mock, ask};
use super::tools;
use crate::daemon::Daemon;
use crate::process::{Deadline, finish};
use crate::wire::Wire;

const KEY: &str = "sk-ant-none";
/// Its window is 200,000 tokens in every version.
const SMALL_MODEL: &str = "claude-sonnet-4-5";

/// As `hooks::ATTEMPTS`.
const ATTEMPTS: usize = 3;

/// One installed version with a home and a project of its own.
pub(super) struct Claude {
    binary: PathBuf,
    folder: tempfile::TempDir,
    model: String,
    deadline: Deadline,
    /// The folder of our programs and the daemon's socket, where nothing of ours is installed that names them.
    ours: Option<(PathBuf, PathBuf)>,
}

/// A version with a model and a daemon of its own, and nothing of ours installed.
pub(super) fn on_stage(
    longhauld: &Path,
    binary: PathBuf,
    deadline: Deadline,
    config: &str,
) -> anyhow::Result<(Claude, Mock, Daemon)> {
    let mock = Mock::start()?;
    let claude = Claude::new(binary, mock.address(), deadline)?;
    let nobody = claude.home().join("no-codex");
    let daemon = Daemon::start_with(longhauld, &nobody, &claude.home(), config)?;
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

    /// The same with our programs on its `PATH`, as a plugin from a marketplace needs them.
    pub(super) fn beside(self, longhaul: &Path, daemon: &Daemon) -> anyhow::Result<Self> {
        let folder = longhaul.parent().context("a program without a folder")?.canonicalize()?;
        Ok(Self { ours: Some((folder, daemon.socket())), ..self })
    }

    /// Its home, its settings, and itself on the `PATH`.
    pub(super) fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some((_, socket)) = &self.ours {
            command.env("LONGHAUL_SOCKET", socket);
        }
        let ours = self.ours.iter().map(|(folder, _)| folder.clone());
        let beside = self.binary.parent().map(Path::to_owned).into_iter().chain(ours);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(beside.chain(std::env::split_paths(&path)));
        command
            .env("HOME", self.folder.path().join("home"))
            .env("CLAUDE_CONFIG_DIR", self.home())
            .env("PATH", path.unwrap_or_default())
    }

    /// Puts our hooks, our server and, where this version takes it, our plugin in; what was said about it.
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
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "longhaul install claude failed: {said}");
        Ok(said)
    }

    /// `claude --print ARGUMENTS`.
    pub(super) fn print(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        self.surround(&mut command)
            .args(["--print", "--dangerously-skip-permissions"])
            .args(arguments)
            // The least window it takes, and a compaction as soon as the mock says it is full.
            .env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000");
        let (is_done, said) = finish(&mut command, &self.folder.path().join("log"), self.deadline)?;
        ensure!(is_done, "claude {} failed: {said}", arguments.join(" "));
        Ok(())
    }
}

impl Claude {
    /// `claude --print ARGUMENTS` in the window of a small model, with features that its servers would switch on; what it did. Nothing
    /// but the mock is reached.
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
        self.surround(&mut command)
            .args(["--print", "--dangerously-skip-permissions", "--model", SMALL_MODEL])
            .arg("--debug-file")
            .arg(&debug)
            .args(arguments)
            // It reads no features then, known or not.
            .env_remove("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
            .envs([("HTTP_PROXY", nobody), ("HTTPS_PROXY", nobody), ("NO_PROXY", "127.0.0.1")]);
        let (is_done, said) = finish(&mut command, &self.folder.path().join("log"), self.deadline)?;
        ensure!(is_done, "claude {} failed: {said}", arguments.join(" "));
        Ok(fs::read_to_string(debug)?)
    }

    /// `claude plugin ARGUMENTS`.
    pub(super) fn plugin(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        self.surround(&mut command).arg("plugin").args(arguments);
        let (is_done, said) = finish(&mut command, &self.folder.path().join("log"), self.deadline)?;
        ensure!(is_done, "claude plugin {} failed: {said}", arguments.join(" "));
        Ok(())
    }

    /// Has it ask nothing at its first start on a terminal.
    pub(super) fn know_person(&self) -> anyhow::Result<()> {
        let project = self.project();
        let state = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
            "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
            "projects": { project.to_string_lossy(): { "hasTrustDialogAccepted": true } },
        });
        Ok(fs::write(self.home().join(".claude.json"), state.to_string())?)
    }

    /// `script` with it on a terminal, at work on a prompt of plain words.
    pub(super) fn on_terminal<'a>(
        &self,
        command: &'a mut Command,
        prompt: &str,
    ) -> &'a mut Command {
        let line = format!(
            "stty rows 50 cols 160; exec '{}' --dangerously-skip-permissions '{prompt}'",
            self.binary.display()
        );
        let command = self.surround(command).args(["--quiet", "--flush", "--command"]);
        command.arg(line).arg("/dev/null").env("TERM", "xterm-256color")
    }

    /// Its home, its project, and the mock model.
    fn surround<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        self.environment(command)
            .current_dir(self.project())
            .env("ANTHROPIC_BASE_URL", format!("http://{}", self.model))
            // A daemon that was killed stays so.
            .env("LONGHAUL_AUTOSTART", "0")
            .env("ANTHROPIC_API_KEY", KEY)
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            // Without it, Claude Code refuses to run as root, as CI often does.
            .env("IS_SANDBOX", "1")
    }
}

/// A task, a compaction by the person's command, a task after it, a task for a tool of ours.
pub(super) fn play(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    daemon: &Daemon,
) -> anyhow::Result<Vec<Row>> {
    let installed = claude.install(longhaul, daemon)?;
    claude.print(&[&format!("rename the parser. {RULE}")])?;
    note_rule(daemon, &claude.project())?;
    let (mut is_given, mut made) = (false, 0);
    for _ in 0..ATTEMPTS {
        claude.print(&["--continue", "/compact"])?;
        mock.take();
        claude.print(&["--continue", "and the lexer"])?;
        let sent = sent(mock);
        is_given = sent.contains(r#"<longhaul_context about=\"compaction\">"#)
            && sent.contains("[SESSION_CHECKPOINT v1]")
            && sent.contains("remembers from earlier threads")
            && sent.contains(RULED);
        let receipts = daemon.connect()?.call("compaction/list", &json!({}))?;
        made = receipts["compactions"].as_array().map_or(0, Vec::len);
        // Each hook has its time: on a busy machine one of them may have been late.
        if is_given && made > 0 {
            break;
        }
    }
    let place = "in the request after /compact".to_owned();
    let mut rows = vec![Row::told("checkpoint and memory after", is_given, place)];
    let is_said = installed.contains("by Claude Code itself, with our hooks");
    rows.push(Row::told("the classic route is named", is_said, "by install".into()));
    rows.push(Row::told("state kept before it", made > 0, format!("{made} receipts")));
    rows.push(told(claude, mock, ("memory at a start", "memory", RULED), &["a new task"])?);
    let resumed = ("checkpoint at a resume", "resume", "[SESSION_CHECKPOINT v1]");
    rows.push(told(claude, mock, resumed, &["--continue", "go on"])?);
    daemon.wait_idle(1)?;
    daemon.wait_indexed()?;
    let mut wire = daemon.connect()?;
    let ruled = ruled_thread(&mut wire)?;
    let mut calls = tools::calls(&mut wire, &ruled)?;
    let summary = json!({ "server": "longhaul", "uri": "longhaul://memory/summary" });
    calls.push(("ReadMcpResourceTool", summary, RULED));
    for (tool, arguments, wanted) in calls {
        rows.push(tools::row(tool, &asked(claude, mock, tool, &arguments)?, wanted));
    }
    rows.push(tools::noted(&mut wire)?);
    rows.push(continuation(claude, mock, &mut wire, &ruled)?);
    Ok(rows)
}

/// A thread goes on in a new transcript of ours: the first request has the view and the last request of the person.
fn continuation(
    claude: &Claude,
    mock: &Mock,
    wire: &mut Wire,
    thread: &str,
) -> anyhow::Result<Row> {
    let of = json!({ "thread_id": thread, "to": "claude", "strategy": "checkpoint" });
    let made = wire.call("thread/continue", &of)?;
    let id = made["thread_id"].as_str().context("a continuation without an id")?;
    mock.take();
    claude.print(&["--resume", id, "go on then"])?;
    let sent = sent(mock);
    let messages: Value = serde_json::from_str(&sent).unwrap_or_default();
    let count = messages.as_array().map_or(0, Vec::len);
    let is_resumed = sent.contains("[SESSION_CHECKPOINT v1]")
        && sent.contains("The conversation so far was compacted.")
        && sent.contains("go on then");
    let place = format!("in the first request, of {count} messages");
    Ok(Row::told("a continuation of ours", is_resumed, place))
}

/// The thread in which the rule was stated: the oldest.
fn ruled_thread(wire: &mut Wire) -> anyhow::Result<String> {
    let threads = wire.call("thread/list", &json!({}))?;
    let oldest = threads["threads"].as_array().and_then(|threads| threads.last());
    let id = oldest.and_then(|thread| thread["thread_id"].as_str());
    Ok(id.context("no session of Claude Code was read")?.to_owned())
}

/// Checks that a session, new or continued, receives a hook's text.
fn told(
    claude: &Claude,
    mock: &Mock,
    of: (&'static str, &str, &str),
    to: &[&str],
) -> anyhow::Result<Row> {
    let (step, about, wanted) = of;
    let mark = format!(r#"<longhaul_context about=\"{about}\">"#);
    let mut is_told = false;
    for _ in 0..ATTEMPTS {
        mock.take();
        claude.print(to)?;
        let sent = sent(mock);
        is_told = sent.contains(&mark) && sent.contains(wanted);
        if is_told {
            break;
        }
    }
    Ok(Row::told(step, is_told, "in the first request".to_owned()))
}

/// Makes the model call one of our tools and checks what Claude Code sends back.
fn asked(
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

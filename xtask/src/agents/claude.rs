//! Our hooks and our MCP server in the real Claude Code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::ensure;
use serde_json::{Value, json};

use super::compare::Row;
use super::hooks::{RULE, RULED};
use super::mock::{Mock, ask};
use crate::daemon::Daemon;
use crate::process::{self, Deadline, finish};

/// As `hooks::ATTEMPTS`.
const ATTEMPTS: usize = 3;

/// One installed version with a home and a project of its own.
pub(super) struct Claude {
    binary: PathBuf,
    folder: tempfile::TempDir,
    model: String,
    deadline: Deadline,
}

impl Claude {
    pub(super) fn new(binary: PathBuf, model: &str, deadline: Deadline) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("longhaul-agents-").tempdir()?;
        let claude = Self { binary, folder, model: model.to_owned(), deadline };
        fs::create_dir_all(claude.home())?;
        fs::create_dir_all(claude.folder.path().join("project"))?;
        Ok(claude)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home/.claude")
    }

    /// `claude --print ARGUMENTS`.
    fn print(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        command
            .args(["--print", "--dangerously-skip-permissions"])
            .args(arguments)
            .current_dir(self.folder.path().join("project"))
            .env("HOME", self.folder.path().join("home"))
            .env("CLAUDE_CONFIG_DIR", self.home())
            .env("ANTHROPIC_BASE_URL", format!("http://{}", self.model))
            .env("ANTHROPIC_API_KEY", "sk-ant-none")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            // It refuses root otherwise, whom CI often is.
            .env("IS_SANDBOX", "1");
        let (is_done, said) = finish(&mut command, &self.folder.path().join("log"), self.deadline)?;
        ensure!(is_done, "claude {} failed: {said}", arguments.join(" "));
        Ok(())
    }
}

/// A task, a compaction by the person's command, a task after it, a task for a tool of ours.
pub(super) fn play(
    longhaul: &Path,
    claude: &Claude,
    mock: &Mock,
    daemon: &Daemon,
) -> anyhow::Result<Vec<Row>> {
    let mut install = Command::new(longhaul);
    install.arg("--socket").arg(daemon.socket()).args(["install", "claude", "--yes"]);
    install.env("CLAUDE_CONFIG_DIR", claude.home()).stdout(Stdio::null());
    process::check(&mut install)?;
    claude.print(&[&format!("rename the parser. {RULE}")])?;
    daemon.connect()?.call("memory/run", &json!({ "all": true }))?;
    let mut is_given = false;
    for _ in 0..ATTEMPTS {
        claude.print(&["--continue", "/compact"])?;
        mock.take();
        claude.print(&["--continue", "and the lexer"])?;
        let sent = sent(mock);
        is_given = sent.contains(r#"<longhaul_context about=\"compaction\">"#)
            && sent.contains("[SESSION_CHECKPOINT v1]")
            && sent.contains("remembers from earlier threads")
            && sent.contains(RULED);
        if is_given {
            break;
        }
    }
    let told = "in the request after /compact".to_owned();
    let mut rows = vec![Row::told("checkpoint and memory after", is_given, told)];
    let made = daemon.connect()?.call("compaction/list", &json!({}))?;
    let made = made["compactions"].as_array().map_or(0, Vec::len);
    rows.push(Row::told("state kept before it", made > 0, format!("{made} receipts")));
    rows.push(told_at_start(claude, mock)?);
    for (tool, arguments, wanted) in [
        ("checkpoint_view", json!({}), "[SESSION_CHECKPOINT v1]"),
        ("memory_search", json!({ "query": "money floats" }), RULED),
        ("memory_read", json!({ "path": "MEMORY.md" }), RULED),
        ("memory_note", json!({ "text": "The build is run by just." }), "Noted"),
    ] {
        rows.push(asked(claude, mock, tool, &arguments, wanted)?);
    }
    Ok(rows)
}

/// A new session is told what earlier ones left.
fn told_at_start(claude: &Claude, mock: &Mock) -> anyhow::Result<Row> {
    let mut is_told = false;
    for _ in 0..ATTEMPTS {
        mock.take();
        claude.print(&["a new task"])?;
        let sent = sent(mock);
        is_told = sent.contains(r#"<longhaul_context about=\"memory\">"#) && sent.contains(RULED);
        if is_told {
            break;
        }
    }
    Ok(Row::told("memory at a start", is_told, "in the first request".to_owned()))
}

/// Has the model call a tool of ours, and looks at what Claude Code sends back to it.
fn asked(
    claude: &Claude,
    mock: &Mock,
    tool: &'static str,
    arguments: &Value,
    wanted: &str,
) -> anyhow::Result<Row> {
    mock.take();
    claude.print(&["--continue", &ask(tool, arguments)])?;
    let sent = sent(mock);
    let messages: Value = serde_json::from_str(&sent).unwrap_or_default();
    let messages = messages.as_array().map_or(&[][..], Vec::as_slice);
    let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let mut results = parts.filter(|part| part["type"] == "tool_result");
    let answer = results.next_back().map(Value::to_string).unwrap_or_default();
    let shown = answer.chars().take(if answer.contains(wanted) { 60 } else { 600 }).collect();
    Ok(Row::told(tool, answer.contains(wanted), shown))
}

/// The messages of the last request that had tools.
fn sent(mock: &Mock) -> String {
    let requests = mock.take();
    let has_tools = |request: &&Value| request["tools"].as_array().is_some_and(|it| !it.is_empty());
    requests.iter().rev().find(has_tools).map(|it| it["messages"].to_string()).unwrap_or_default()
}

//! Our hooks and our MCP server in the real Claude Code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::ensure;
use serde_json::{Value, json};

use super::Deadline;
use super::codex::finish;
use super::compare::Row;
use super::mock::{ASK_LONGHAUL, Mock};
use crate::daemon::Daemon;
use crate::process;

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
    claude.print(&["rename the parser"])?;
    let mut is_given = false;
    for _ in 0..ATTEMPTS {
        claude.print(&["--continue", "/compact"])?;
        mock.take();
        claude.print(&["--continue", "and the lexer"])?;
        let sent = sent(mock);
        is_given = sent.contains(r#"<longhaul_context about=\"compaction\">"#)
            && sent.contains("[SESSION_CHECKPOINT v1]");
        if is_given {
            break;
        }
    }
    let told = "in the request after /compact".to_owned();
    let mut rows = vec![Row::told("checkpoint after compaction", is_given, told)];
    let made = daemon.connect()?.call("compaction/list", &json!({}))?;
    let made = made["compactions"].as_array().map_or(0, Vec::len);
    rows.push(Row::told("state kept before it", made > 0, format!("{made} receipts")));
    mock.take();
    claude.print(&["--continue", ASK_LONGHAUL])?;
    let sent = sent(mock);
    let answer = sent.rsplit_once("mcp__longhaul__checkpoint_view").map(|(_, answer)| answer);
    let is_asked = answer.is_some_and(|answer| answer.contains("[SESSION_CHECKPOINT v1]"));
    rows.push(Row::told("tool over MCP", is_asked, format!("{} bytes of messages", sent.len())));
    Ok(rows)
}

/// The messages of the last request that had tools.
fn sent(mock: &Mock) -> String {
    let requests = mock.take();
    let has_tools = |request: &&Value| request["tools"].as_array().is_some_and(|it| !it.is_empty());
    requests.iter().rev().find(has_tools).map(|it| it["messages"].to_string()).unwrap_or_default()
}

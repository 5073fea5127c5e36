//! A real agent with a mock model and a daemon, for one route.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::compare::Row;
use super::mock::Mock;
use crate::daemon::{self, Daemon};
use crate::process::{Deadline, POLL};

/// An installed version of an agent with its own home and project.
pub(super) trait TestedAgent: Sized {
    /// Its name in `longhaul install`.
    const NAME: &'static str;
    /// Arguments of a run with our hooks.
    const WITH_HOOKS: &'static [&'static str];
    /// Its own tool that reads resources.
    const RESOURCE_TOOL: &'static str;

    /// `model` is the address of the mock.
    fn new(binary: &Path, model: &str, deadline: Deadline) -> anyhow::Result<Self>;

    /// The homes of Codex and of Claude Code, of which one exists.
    fn homes(&self) -> [PathBuf; 2];

    /// Sets its folders, and none of the user's, for a program of ours.
    fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command;

    /// Runs it without a terminal, to its end.
    fn run(&self, arguments: &[&str]) -> anyhow::Result<()>;

    /// Arguments that resume this thread, the newest.
    fn resuming(thread: &str) -> Vec<&str>;

    /// The text about `about` that our hook put into a run's requests.
    fn hook_text(requests: &[Value], about: &str) -> Option<String>;

    /// The answer of the last tool, as the agent sends it to the model.
    fn tool_answer(requests: &[Value]) -> Option<String>;
}

pub(super) struct Stage<A> {
    pub(super) longhaul: PathBuf,
    pub(super) agent: A,
    pub(super) mock: Mock,
    pub(super) daemon: Daemon,
}

impl<A: TestedAgent> Stage<A> {
    /// Starts a mock model and a daemon for a version, and installs nothing into it.
    pub(super) fn set_up(
        longhauld: &Path,
        binary: &Path,
        deadline: Deadline,
        config: &str,
    ) -> anyhow::Result<Self> {
        let mock = Mock::start()?;
        let agent = A::new(binary, mock.address(), deadline)?;
        let [codex, claude] = agent.homes();
        let daemon = Daemon::start_with(longhauld, &codex, &claude, config)?;
        Ok(Self { longhaul: longhauld.with_file_name("longhaul"), agent, mock, daemon })
    }

    /// The requests of a run.
    pub(super) fn requests(&self, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
        self.mock.take();
        self.agent.run(arguments)?;
        Ok(self.mock.take())
    }

    /// The first request of a run.
    pub(super) fn first_request(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        self.requests(arguments)?.into_iter().next().context("no request was sent")
    }

    /// The requests of a run with our hooks.
    pub(super) fn requests_with_hooks(&self, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
        self.requests(&[A::WITH_HOOKS, arguments].concat())
    }

    /// The requests of a turn during which the daemon is killed.
    pub(super) fn killed_during(
        &mut self,
        turn: impl FnOnce(&A) -> anyhow::Result<()> + Send,
    ) -> anyhow::Result<Vec<Value>>
    where
        A: Sync,
    {
        let Self { agent, mock, daemon, .. } = self;
        mock.take();
        thread::scope(|scope| {
            let turn = scope.spawn(|| turn(agent));
            while mock.count() == 0 && !turn.is_finished() {
                daemon::pause(POLL);
            }
            daemon.kill()?;
            turn.join().map_err(|_| anyhow::anyhow!("the turn panicked"))?
        })?;
        Ok(mock.take())
    }

    /// Our command line with the agent's folders.
    pub(super) fn longhaul(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.longhaul);
        command.arg("--socket").arg(self.daemon.socket()).args(arguments);
        self.agent.environment(&mut command);
        command
    }

    /// `longhaul install AGENT OPTIONS`; returns the output.
    pub(super) fn install(&self, options: &[&str]) -> anyhow::Result<String> {
        let output = self.longhaul(&["install", A::NAME, "--yes"]).args(options).output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "longhaul install {} failed: {error}", A::NAME);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What `longhaul doctor` says in its checks of this name.
    pub(super) fn doctor(&self, check: &str) -> anyhow::Result<Vec<String>> {
        let output = self.longhaul(&["doctor", "--json"]).output()?;
        let page: Value =
            serde_json::from_slice(&output.stdout).context("doctor printed no JSON")?;
        let checks = page["checks"].as_array().into_iter().flatten();
        let named = checks.filter(|row| row["name"] == check);
        Ok(named.filter_map(|row| row["detail"].as_str().map(str::to_owned)).collect())
    }

    /// Whether the check of the compaction route says `text`.
    pub(super) fn doctor_row(&self, step: &str, text: &str) -> anyhow::Result<Row> {
        let details = self.doctor("compaction")?;
        let detail = details.into_iter().next().unwrap_or_else(|| "no such check".to_owned());
        Ok(Row::new(step, detail.contains(text), detail))
    }
}

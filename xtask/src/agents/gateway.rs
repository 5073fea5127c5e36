//! Our gateway with the real Codex: in either form it compacts without a model and the turn continues; if the daemon is
//! killed in the middle, Codex compacts by itself.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::codex::{Codex, TRUSTED};
use super::compare::Row;
use super::mock::is_compaction;
use super::scenario::{COMPACT_AT_ONCE, thread_id};
use super::stage::Stage;
use crate::daemon::Daemon;
use crate::process;

/// The beginnings of every briefing, of its view, and of the marker that replaces it in Codex's history.
pub(super) const BRIEFING: &str = "The conversation so far was compacted.";
const VIEW: &str = "[SESSION_CHECKPOINT v1]";
const MARKER: &str = "longhaul-view-";
/// A pinned text, and its section in a view.
const PINNED: &str = "Amounts are whole cents.";
const PINS: &str = "[PINNED]";
/// A dropped text, which the person said before.
const DROPPED: &str = "second task";
/// The beginning of the hook's text, which would repeat the view.
const HOOK_CONTEXT: &str = r#"<longhaul_context about=\"compaction\">"#;

/// The form in which a provider compacts, which its name selects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Of a custom provider.
    Plain,
    /// Of the built-in one.
    Opaque,
}

/// The rows of a route in either form.
pub(super) fn in_both_forms(
    play: impl Fn(Form) -> anyhow::Result<Vec<Row>>,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = play(Form::Plain).context("the plain form")?;
    let mut opaque = play(Form::Opaque).context("the opaque form")?;
    opaque.iter_mut().for_each(|row| row.step.push_str(", opaque"));
    rows.extend(opaque);
    Ok(rows)
}

/// Selects Codex's own provider, at the mock's address. It stores opaque items and tries websockets first.
fn use_built_in_provider(Stage { agent: codex, mock, .. }: &Stage<Codex>) -> anyhow::Result<()> {
    let path = codex.home().join("config.toml");
    let text = fs::read_to_string(&path)?;
    let (own, _) = text.split_once("[model_providers.mock]").context("the mock's table")?;
    let url = format!("openai_base_url = \"http://{}/v1\"\n", mock.address());
    let login = json!({ "OPENAI_API_KEY": "none" }).to_string();
    fs::write(codex.home().join("auth.json"), login)?;
    Ok(fs::write(path, url + &own.replace("model_provider = \"mock\"\n", ""))?)
}

pub(super) fn play(mut stage: Stage<Codex>, form: Form) -> anyhow::Result<Vec<Row>> {
    let config = stage.agent.home().join("config.toml");
    stage.select(form)?;
    let before = fs::read_to_string(&config)?;
    let mut gateway = stage.install_gateway()?;
    let mut rows = stage.fill_in_turn()?;
    rows.push(stage.doctor_row("doctor names the route", "1 compaction answered")?);
    let records = stage.daemon.compactions()?;
    rows.push(Row::new("one record", records == 1, format!("{records} records")));
    rows.push(stage.other_user_row()?);
    let thread = thread_id(&stage.agent.newest()?)?;
    // A view needs nothing from this process, and a hook starts another one.
    gateway.kill()?;
    rows.push(stage.view_row("resume", &["resume", &thread, "second task"])?);
    gateway = stage.gateway()?;
    rows.push(stage.view_row("fork", &["fork", &thread, "another way"])?);
    rows.extend(stage.choice_rows(&thread)?);
    rows.push(undo_row(&stage.daemon, &thread)?);
    rows.push(stage.kill_daemon()?);
    rows.push(stage.doctor_row("doctor names the fallback", "left to the provider: no daemon")?);
    process::check(stage.longhaul(&["uninstall", "codex", "--yes"]).stdout(Stdio::null()))?;
    gateway.kill()?;
    let after = fs::read_to_string(&config)?;
    rows.push(Row::new("uninstalled", after == before, format!("{} bytes", after.len())));
    Ok(rows)
}

impl Stage<Codex> {
    /// Selects the provider of a form.
    pub(super) fn select(&self, form: Form) -> anyhow::Result<()> {
        match form {
            Form::Plain => Ok(()),
            Form::Opaque => use_built_in_provider(self),
        }
    }

    /// Installs the gateway, which runs then.
    pub(super) fn install_gateway(&self) -> anyhow::Result<GatewayProcess> {
        self.install(&["--gateway"])?;
        self.gateway()
    }

    /// Fills the window in the middle of the first turn.
    fn fill_in_turn(&self) -> anyhow::Result<Vec<Row>> {
        let requests = self.requests_with_hooks(&["-c", COMPACT_AT_ONCE, "rename the parser"])?;
        let summaries = requests.iter().filter(|request| is_compaction(request)).count();
        let last = requests.last().context("no request was sent")?.to_string();
        let has_view =
            last.contains(BRIEFING) && last.contains(VIEW) && last.contains("rename the parser");
        let is_clean = requests.iter().all(|request| !request.to_string().contains(MARKER));
        Ok(vec![
            Row::new(
                "compacts without a model",
                summaries == 0,
                format!("{summaries} compactions in {} requests", requests.len()),
            ),
            Row::new(
                "the turn continues",
                has_view && is_clean,
                format!("{} bytes in the next request", last.len()),
            ),
            Row::new(
                "one view",
                last.matches(VIEW).count() == 1 && !last.contains(HOOK_CONTEXT),
                format!("{} views", last.matches(VIEW).count()),
            ),
        ])
    }

    /// Another user of the machine cannot find the gateway's secret, and is refused without it.
    fn other_user_row(&self) -> anyhow::Result<Row> {
        let step = "another user is refused";
        if !rustix::process::getuid().is_root() {
            return Ok(Row::new(step, true, "not tried: needs root".into()));
        }
        let (state, home) = (self.agent.state(), self.agent.home());
        // So that only the permissions of the files protect them.
        for folder in home.ancestors().take(3).chain([state.as_path()]) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
        let public = state.join("public");
        fs::write(&public, "for everyone")?;
        let settings: Value = serde_json::from_slice(&fs::read(state.join("gateway.json"))?)?;
        let secret = settings["secret"].as_str().context("no secret")?;
        let script = r#"cat "$1"/* "$2"/* /proc/[0-9]*/cmdline; echo; exec 3<>"/dev/tcp/127.0.0.1/$3"; \
            printf 'POST /responses HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}' >&3; cat <&3"#;
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "bash",
            "-c",
            script,
            "-",
        ]);
        command.args([&state, &home]).arg(settings["port"].to_string());
        self.mock.take();
        let output = command.output().context("cannot run setpriv of util-linux")?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let refusal =
            printed.lines().find(|line| line.starts_with("HTTP/1.1")).unwrap_or("nothing");
        let is_safe = printed.contains("for everyone")
            && !printed.contains(secret)
            && refusal.starts_with("HTTP/1.1 404")
            && self.mock.count() == 0;
        Ok(Row::new(step, is_safe, format!("{} bytes read, {}", printed.len(), refusal.trim())))
    }

    /// Checks that the first request of a run contains the view, and no marker.
    fn view_row(&self, step: &str, arguments: &[&str]) -> anyhow::Result<Row> {
        let first = self.first_request(&[&[TRUSTED], arguments].concat())?.to_string();
        let is_view = first.contains(BRIEFING) && !first.contains(MARKER);
        Ok(Row::new(step, is_view, format!("{} bytes in its first request", first.len())))
    }

    /// Checks that the view of the next compaction contains the pinned text and not the dropped one.
    fn choice_rows(&self, thread: &str) -> anyhow::Result<Vec<Row>> {
        let mut wire = self.daemon.connect()?;
        let before = wire.call("checkpoint/view", &json!({ "thread_id": thread }))?.to_string();
        for (action, text) in [("pin", PINNED), ("drop", DROPPED)] {
            let choice = json!({ "thread_id": thread, "action": action, "text": text });
            wire.call("checkpoint/choose", &choice)?;
        }
        let arguments = ["-c", COMPACT_AT_ONCE, "resume", thread, "and the tests"];
        let requests = self.requests_with_hooks(&arguments)?;
        let summaries = requests.iter().filter(|request| is_compaction(request)).count();
        let last = requests.last().context("no request was sent")?;
        // Codex also keeps the person's last messages, beside the view.
        let items = last["input"].as_array().into_iter().flatten().map(Value::to_string);
        let view: String = items.filter(|item| item.contains(VIEW)).collect();
        let is_pinned = view.contains(PINS) && view.contains(PINNED);
        let detail = format!("in a view of {} bytes, {summaries} summary requests", view.len());
        let is_left_out = before.contains(DROPPED) && !view.contains(DROPPED) && !view.is_empty();
        let was = if before.contains(DROPPED) { "was" } else { "was not" };
        Ok(vec![
            Row::new("a pin is kept", is_pinned && summaries == 0, detail),
            Row::new("a drop is left out", is_left_out, format!("{was} in the view before")),
        ])
    }

    /// Kills the daemon during a turn that fills the window.
    fn kill_daemon(&mut self) -> anyhow::Result<Row> {
        let arguments = [TRUSTED, "-c", COMPACT_AT_ONCE, "and the lexer"];
        let requests = self.killed_during(|codex| codex.run_without_autostart(&arguments))?;
        let summary = requests.iter().position(is_compaction);
        let continues = summary.is_some_and(|at| at + 1 < requests.len());
        let detail = format!("{} requests, including the compaction", requests.len());
        Ok(Row::new("killed: Codex compacts", continues, detail))
    }

    /// The running gateway, from its own status.
    fn gateway(&self) -> anyhow::Result<GatewayProcess> {
        let settings = fs::read(self.agent.state().join("gateway.json"))?;
        let settings: Value = serde_json::from_slice(&settings)?;
        let secret = settings["secret"].as_str().context("no secret")?;
        let port = u16::try_from(settings["port"].as_u64().context("no port")?)?;
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        write!(stream, "GET /{secret} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        let status: Value = serde_json::from_str(body)?;
        Ok(GatewayProcess { pid: status["pid"].as_u64().context("no process")?.to_string() })
    }
}

/// A gateway, which normally outlives the process that started it. Killed when dropped.
pub(super) struct GatewayProcess {
    pid: String,
}

impl GatewayProcess {
    fn kill(&mut self) -> anyhow::Result<()> {
        let pid = std::mem::take(&mut self.pid);
        ensure!(!pid.is_empty(), "the gateway was killed already");
        process::check(Command::new("kill").arg("-9").arg(pid))
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        if !self.pid.is_empty() {
            // An error here hides no failed check.
            self.kill().unwrap_or_default();
        }
    }
}

/// Undoes the newest compaction in the daemon. Codex cannot load the restored history.
fn undo_row(daemon: &Daemon, thread: &str) -> anyhow::Result<Row> {
    let mut wire = daemon.connect()?;
    let listed = wire.call("compaction/list", &json!({ "thread_id": thread }))?;
    let id =
        listed["compactions"][0]["compaction_id"].as_str().context("no compaction is recorded")?;
    let undone = wire.call("compaction/undo", &json!({ "compaction_id": id }))?;
    let items = undone["history"].as_array().map_or(0, Vec::len);
    Ok(Row::new("undo returns the history", items > 0, format!("{items} items")))
}

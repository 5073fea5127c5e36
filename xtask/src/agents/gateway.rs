//! Our gateway with the real Codex: in either form it compacts without a model and the turn continues; if the daemon is
//! killed in the middle, Codex compacts by itself.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::CONFIG;
use super::codex::Codex;
use super::compare::Row;
use super::doctor;
use super::hooks::TRUSTED;
use super::mock::{Mock, is_compaction};
use super::scenario::{COMPACT_AT_ONCE, thread_id};
use crate::daemon::{self, Daemon};
use crate::process::{self, Deadline, POLL};

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

/// The two forms: of a custom provider, which its name selects, and of the built-in one.
pub(super) const PLAIN: Form = Form {
    name: "plain",
    steps: [
        "compacts without a model",
        "the turn continues",
        "one view",
        "resume",
        "fork",
        "a pin is kept",
        "a drop is left out",
        "the policy, in a terminal",
        "view and handoff",
    ],
};
pub(super) const OPAQUE: Form = Form {
    name: "opaque",
    steps: [
        "without a model, opaque",
        "the turn continues, opaque",
        "one view, opaque",
        "resume, opaque",
        "fork, opaque",
        "a pin is kept, opaque",
        "a drop is left out, opaque",
        "the policy, opaque",
        "view and handoff, opaque",
    ],
};

pub(super) struct Form {
    pub(super) name: &'static str,
    /// Steps of the rows.
    pub(super) steps: [&'static str; 9],
}

pub(super) fn play(longhauld: &Path, binary: &Path, limit: Duration) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for form in [PLAIN, OPAQUE] {
        let stage = Stage::new(longhauld, binary, limit, form)?;
        let daemon = stage.daemon(longhauld, CONFIG)?;
        rows.extend(stage.play(daemon).with_context(|| format!("the {} form", stage.form.name))?);
    }
    Ok(rows)
}

/// Selects Codex's own provider, at the mock's address. It stores opaque items and tries websockets first.
fn use_built_in_provider(codex: &Codex, mock: &Mock) -> anyhow::Result<()> {
    let path = codex.home().join("config.toml");
    let text = fs::read_to_string(&path)?;
    let (own, _) = text.split_once("[model_providers.mock]").context("the mock's table")?;
    let url = format!("openai_base_url = \"http://{}/v1\"\n", mock.address());
    let login = json!({ "OPENAI_API_KEY": "none" }).to_string();
    fs::write(codex.home().join("auth.json"), login)?;
    Ok(fs::write(path, url + &own.replace("model_provider = \"mock\"\n", ""))?)
}

pub(super) struct Stage {
    pub(super) longhaul: PathBuf,
    pub(super) codex: Codex,
    pub(super) mock: Mock,
    pub(super) form: Form,
}

impl Stage {
    /// Codex with a mock model, whose provider is named as the form needs it.
    pub(super) fn new(
        longhauld: &Path,
        binary: &Path,
        limit: Duration,
        form: Form,
    ) -> anyhow::Result<Self> {
        let mock = Mock::start()?;
        let codex = Codex::new(binary.to_owned(), mock.address(), Deadline::after(limit))?;
        if form.name == OPAQUE.name {
            use_built_in_provider(&codex, &mock)?;
        }
        Ok(Self { longhaul: longhauld.with_file_name("longhaul"), codex, mock, form })
    }

    pub(super) fn daemon(&self, longhauld: &Path, config: &str) -> anyhow::Result<Daemon> {
        Daemon::start_with(longhauld, &self.codex.home(), Path::new("/nonexistent"), config)
    }

    fn play(&self, mut daemon: Daemon) -> anyhow::Result<Vec<Row>> {
        let config = self.codex.home().join("config.toml");
        let before = fs::read_to_string(&config)?;
        self.longhaul(&daemon, &["install", "codex", "--gateway", "--yes"])?;
        let mut gateway = self.gateway()?;
        let mut rows = self.fill_in_turn()?;
        rows.push(self.doctor_row(&daemon, "doctor names the route", "1 compaction answered")?);
        let records = daemon.compactions()?;
        rows.push(Row::new("one record", records == 1, format!("{records} records")));
        rows.push(self.other_user_row()?);
        let thread = thread_id(&self.codex.newest()?)?;
        // A view needs nothing from this process, and a hook starts another one.
        gateway.kill()?;
        rows.push(self.view_row(self.form.steps[3], &["resume", &thread, "second task"])?);
        gateway = self.gateway()?;
        rows.push(self.view_row(self.form.steps[4], &["fork", &thread, "another way"])?);
        rows.extend(self.choice_rows(&daemon, &thread)?);
        rows.push(undo_row(&daemon, &thread)?);
        rows.push(self.kill_daemon(&mut daemon)?);
        rows.push(self.doctor_row(
            &daemon,
            "doctor names the fallback",
            "left to the provider: no daemon",
        )?);
        self.longhaul(&daemon, &["uninstall", "codex", "--yes"])?;
        gateway.kill()?;
        let after = fs::read_to_string(&config)?;
        rows.push(Row::new("uninstalled", after == before, format!("{} bytes", after.len())));
        Ok(rows)
    }

    /// Fills the window in the middle of the first turn.
    fn fill_in_turn(&self) -> anyhow::Result<Vec<Row>> {
        self.mock.take();
        self.codex.exec(&[TRUSTED, "-c", COMPACT_AT_ONCE, "rename the parser"])?;
        let requests = self.mock.take();
        let summaries = requests.iter().filter(|request| is_compaction(request)).count();
        let last = requests.last().context("no request was sent")?.to_string();
        let has_view =
            last.contains(BRIEFING) && last.contains(VIEW) && last.contains("rename the parser");
        let [no_model, turn, one_view, ..] = self.form.steps;
        let is_clean = requests.iter().all(|request| !request.to_string().contains(MARKER));
        Ok(vec![
            Row::new(
                no_model,
                summaries == 0,
                format!("{summaries} compactions in {} requests", requests.len()),
            ),
            Row::new(
                turn,
                has_view && is_clean,
                format!("{} bytes in the next request", last.len()),
            ),
            Row::new(
                one_view,
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
        let (state, home) = (self.codex.state(), self.codex.home());
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
    fn view_row(&self, step: &'static str, arguments: &[&str]) -> anyhow::Result<Row> {
        let first = first_request(&self.codex, &self.mock, arguments)?;
        let is_view = first.contains(BRIEFING) && !first.contains(MARKER);
        Ok(Row::new(step, is_view, format!("{} bytes in its first request", first.len())))
    }

    /// Checks that the view of the next compaction contains the pinned text and not the dropped one.
    fn choice_rows(&self, daemon: &Daemon, thread: &str) -> anyhow::Result<Vec<Row>> {
        let mut wire = daemon.connect()?;
        let before = wire.call("checkpoint/view", &json!({ "thread_id": thread }))?.to_string();
        for (action, text) in [("pin", PINNED), ("drop", DROPPED)] {
            let choice = json!({ "thread_id": thread, "action": action, "text": text });
            wire.call("checkpoint/choose", &choice)?;
        }
        self.mock.take();
        self.codex.exec(&[TRUSTED, "-c", COMPACT_AT_ONCE, "resume", thread, "and the tests"])?;
        let requests = self.mock.take();
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
            Row::new(self.form.steps[5], is_pinned && summaries == 0, detail),
            Row::new(self.form.steps[6], is_left_out, format!("{was} in the view before")),
        ])
    }

    /// Kills the daemon during a turn that fills the window.
    fn kill_daemon(&self, daemon: &mut Daemon) -> anyhow::Result<Row> {
        self.mock.take();
        let done = thread::scope(|scope| {
            let arguments = [TRUSTED, "-c", COMPACT_AT_ONCE, "and the lexer"];
            let turn = scope.spawn(move || self.codex.exec_without_autostart(&arguments));
            while self.mock.count() == 0 && !turn.is_finished() {
                daemon::pause(POLL);
            }
            daemon.kill()?;
            turn.join().map_err(|_| anyhow::anyhow!("the turn panicked"))?
        });
        done?;
        let requests = self.mock.take();
        let summary = requests.iter().position(is_compaction);
        let continues = summary.is_some_and(|at| at + 1 < requests.len());
        let detail = format!("{} requests, including the compaction", requests.len());
        Ok(Row::new("killed: Codex compacts", continues, detail))
    }

    fn doctor_row(&self, daemon: &Daemon, step: &'static str, text: &str) -> anyhow::Result<Row> {
        doctor::compaction_row(step, &mut self.command(daemon, &[]), text)
    }

    pub(super) fn longhaul(&self, daemon: &Daemon, arguments: &[&str]) -> anyhow::Result<()> {
        process::check(self.command(daemon, arguments).stdout(Stdio::null()))
    }

    /// Our command line with Codex's folders and nothing of the user's.
    pub(super) fn command(&self, daemon: &Daemon, arguments: &[&str]) -> Command {
        let home = self.codex.home();
        let mut command = Command::new(&self.longhaul);
        command.arg("--socket").arg(daemon.socket()).args(arguments);
        command.env("CODEX_HOME", &home).env("LONGHAUL_STATE_DIR", self.codex.state());
        command.env("HOME", home.parent().unwrap_or(&home)).env_remove("XDG_CONFIG_HOME");
        command.env_remove("CLAUDE_CONFIG_DIR");
        command
    }

    pub(super) fn gateway(&self) -> anyhow::Result<GatewayProcess> {
        running(&self.codex)
    }
}

/// The running gateway, from its own status.
pub(super) fn running(codex: &Codex) -> anyhow::Result<GatewayProcess> {
    let settings = fs::read(codex.state().join("gateway.json"))?;
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

/// The first request of a run.
pub(super) fn first_request(
    codex: &Codex,
    mock: &Mock,
    arguments: &[&str],
) -> anyhow::Result<String> {
    mock.take();
    codex.exec(&[&[TRUSTED], arguments].concat())?;
    Ok(mock.take().first().context("no request was sent")?.to_string())
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

//! Our gateway before the real Codex: a compaction asks no model, in either form, the turn goes on, and with the daemon
//! killed in the middle Codex compacts in its own way.

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
use super::hooks::TRUSTED;
use super::mock::{Mock, is_compaction};
use super::scenario::{COMPACT_AT_ONCE, thread_id};
use crate::daemon::{self, Daemon};
use crate::process::{self, Deadline, POLL};

/// How every briefing begins, how its view does, and what stands for it in Codex's own history.
pub(super) const BRIEFING: &str = "The conversation so far was compacted.";
const VIEW: &str = "[SESSION_CHECKPOINT v1]";
const MARKER: &str = "longhaul-view-";
/// What the person pins, and where it stands in a view.
const PINNED: &str = "Amounts are whole cents.";
const PINS: &str = "[PINNED]";
/// What the person said before, and wants in no view any more.
const DROPPED: &str = "second task";
/// What a hook of ours would say again.
const HOOK_CONTEXT: &str = r#"<longhaul_context about=\"compaction\">"#;

/// The two forms: a provider of one's own, whose name decides, and the built-in one.
pub(super) const PLAIN: Form = Form {
    name: "plain",
    words: [
        "asks no model",
        "the turn goes on",
        "told once",
        "a resume",
        "a fork",
        "a pin stands",
        "a drop is left out",
        "the policy, in a terminal",
        "view and handoff in it",
    ],
};
pub(super) const OPAQUE: Form = Form {
    name: "opaque",
    words: [
        "asks no model, opaque",
        "the turn goes on, opaque",
        "told once, opaque",
        "a resume, opaque",
        "a fork, opaque",
        "a pin stands, opaque",
        "a drop is left out, opaque",
        "the policy, opaque",
        "view and handoff, opaque",
    ],
};

pub(super) struct Form {
    pub(super) name: &'static str,
    /// What each row is about.
    pub(super) words: [&'static str; 9],
}

pub(super) fn play(longhauld: &Path, binary: &Path, limit: Duration) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for form in [PLAIN, OPAQUE] {
        let mock = Mock::start()?;
        let codex = Codex::new(binary.to_owned(), mock.address(), Deadline::after(limit))?;
        if form.name == OPAQUE.name {
            go_to_built_in(&codex, &mock)?;
        }
        let daemon =
            Daemon::start_with(longhauld, &codex.home(), Path::new("/nonexistent"), CONFIG)?;
        let stage = Stage { longhaul: longhauld.with_file_name("longhaul"), codex, mock, form };
        rows.extend(stage.play(daemon).with_context(|| format!("the {} form", stage.form.name))?);
    }
    Ok(rows)
}

/// Codex's own provider at another address: the form of an opaque item, and websockets are tried first.
pub(super) fn go_to_built_in(codex: &Codex, mock: &Mock) -> anyhow::Result<()> {
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
    fn play(&self, mut daemon: Daemon) -> anyhow::Result<Vec<Row>> {
        let config = self.codex.home().join("config.toml");
        let before = fs::read_to_string(&config)?;
        self.longhaul(&daemon, &["install", "codex", "--gateway", "--yes"])?;
        let mut gateway = self.gateway()?;
        let mut rows = self.in_a_turn()?;
        rows.push(self.doctor(&daemon, "doctor names the route", "1 compaction answered")?);
        rows.push(one_record(&daemon, 1)?);
        rows.push(self.another_user()?);
        let thread = thread_id(&self.codex.newest()?)?;
        // Nothing that a view needs is in the process, and a hook starts another one.
        gateway.kill()?;
        rows.push(self.sends_the_view(self.form.words[3], &["resume", &thread, "second task"])?);
        gateway = self.gateway()?;
        rows.push(self.sends_the_view(self.form.words[4], &["fork", &thread, "another way"])?);
        rows.extend(self.chosen(&daemon, &thread)?);
        rows.push(undone(&daemon, &thread)?);
        rows.push(self.killed(&mut daemon)?);
        rows.push(self.doctor(&daemon, "and doctor says so", "left to the provider: no daemon")?);
        self.longhaul(&daemon, &["uninstall", "codex", "--yes"])?;
        gateway.kill()?;
        let after = fs::read_to_string(&config)?;
        rows.push(Row::told("uninstalled", after == before, format!("{} bytes", after.len())));
        Ok(rows)
    }

    /// The window fills in the middle of the first turn.
    fn in_a_turn(&self) -> anyhow::Result<Vec<Row>> {
        self.mock.take();
        self.codex.exec(&[TRUSTED, "-c", COMPACT_AT_ONCE, "rename the parser"])?;
        let requests = self.mock.take();
        let asked = requests.iter().filter(|request| is_compaction(request)).count();
        let last = requests.last().context("no request was sent")?.to_string();
        let goes_on =
            last.contains(BRIEFING) && last.contains(VIEW) && last.contains("rename the parser");
        let [no_model, turn, once, ..] = self.form.words;
        let is_clean = requests.iter().all(|request| !request.to_string().contains(MARKER));
        Ok(vec![
            Row::told(
                no_model,
                asked == 0,
                format!("{asked} compactions in {} requests", requests.len()),
            ),
            Row::told(
                turn,
                goes_on && is_clean,
                format!("{} bytes in the next request", last.len()),
            ),
            Row::told(
                once,
                last.matches(VIEW).count() == 1 && !last.contains(HOOK_CONTEXT),
                format!("{} views", last.matches(VIEW).count()),
            ),
        ])
    }

    /// Another user of the machine finds the gateway's secret nowhere, and is refused without it.
    fn another_user(&self) -> anyhow::Result<Row> {
        let step = "another user is refused";
        if !rustix::process::getuid().is_root() {
            return Ok(Row::told(step, true, "not tried: only root can become another".into()));
        }
        let (state, home) = (self.codex.state(), self.codex.home());
        // Only the files' own rights stand between them.
        for folder in home.ancestors().take(3).chain([state.as_path()]) {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
        let anybodys = state.join("anybodys");
        fs::write(&anybodys, "for anybody")?;
        let settings: Value = serde_json::from_slice(&fs::read(state.join("gateway.json"))?)?;
        let secret = settings["secret"].as_str().context("no secret")?;
        let look = r#"cat "$1"/* "$2"/* /proc/[0-9]*/cmdline; echo; exec 3<>"/dev/tcp/127.0.0.1/$3"; \
            printf 'POST /responses HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}' >&3; cat <&3"#;
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", look, "-"]);
        command.args([&state, &home]).arg(settings["port"].to_string());
        self.mock.take();
        let output = command.output().context("cannot run setpriv of util-linux")?;
        let seen = String::from_utf8_lossy(&output.stdout);
        let refusal = seen.lines().find(|line| line.starts_with("HTTP/1.1")).unwrap_or("nothing");
        let is_kept = seen.contains("for anybody")
            && !seen.contains(secret)
            && refusal.starts_with("HTTP/1.1 404")
            && self.mock.count() == 0;
        Ok(Row::told(step, is_kept, format!("{} bytes seen, {}", seen.len(), refusal.trim())))
    }

    /// The first request of a run holds the view, and no marker of ours.
    fn sends_the_view(&self, step: &'static str, arguments: &[&str]) -> anyhow::Result<Row> {
        let first = first_request(&self.codex, &self.mock, arguments)?;
        let holds = first.contains(BRIEFING) && !first.contains(MARKER);
        Ok(Row::told(step, holds, format!("{} bytes in its first request", first.len())))
    }

    /// What the person pinned stands in the view of the next compaction, as the next request carries it, and what they
    /// dropped does not.
    fn chosen(&self, daemon: &Daemon, thread: &str) -> anyhow::Result<Vec<Row>> {
        let mut wire = daemon.connect()?;
        let before = wire.call("checkpoint/view", &json!({ "thread_id": thread }))?.to_string();
        for (action, text) in [("pin", PINNED), ("drop", DROPPED)] {
            let choice = json!({ "thread_id": thread, "action": action, "text": text });
            wire.call("checkpoint/choose", &choice)?;
        }
        self.mock.take();
        self.codex.exec(&[TRUSTED, "-c", COMPACT_AT_ONCE, "resume", thread, "and the tests"])?;
        let requests = self.mock.take();
        let asked = requests.iter().filter(|request| is_compaction(request)).count();
        let last = requests.last().context("no request was sent")?;
        // Codex itself keeps the person's last messages beside the view.
        let items = last["input"].as_array().into_iter().flatten().map(Value::to_string);
        let view: String = items.filter(|item| item.contains(VIEW)).collect();
        let stands = view.contains(PINS) && view.contains(PINNED);
        let told = format!("in a view of {} bytes, {asked} asked of the model", view.len());
        let is_left_out = before.contains(DROPPED) && !view.contains(DROPPED) && !view.is_empty();
        let was = if before.contains(DROPPED) { "it stood" } else { "it never stood" };
        Ok(vec![
            Row::told(self.form.words[5], stands && asked == 0, told),
            Row::told(self.form.words[6], is_left_out, format!("{was} in the view before")),
        ])
    }

    /// The daemon dies while a turn runs whose window is about to fill.
    fn killed(&self, daemon: &mut Daemon) -> anyhow::Result<Row> {
        self.mock.take();
        let done = thread::scope(|scope| {
            let arguments = [TRUSTED, "-c", COMPACT_AT_ONCE, "and the lexer"];
            let turn = scope.spawn(move || self.codex.exec_without_start(&arguments));
            while self.mock.count() == 0 && !turn.is_finished() {
                daemon::pause(POLL);
            }
            daemon.kill()?;
            turn.join().map_err(|_| anyhow::anyhow!("the turn panicked"))?
        });
        done?;
        let requests = self.mock.take();
        let asked = requests.iter().position(is_compaction);
        let goes_on = asked.is_some_and(|at| at + 1 < requests.len());
        let told = format!("{} requests, the compaction among them", requests.len());
        Ok(Row::told("killed: Codex's own way", goes_on, told))
    }

    fn doctor(&self, daemon: &Daemon, step: &'static str, wanted: &str) -> anyhow::Result<Row> {
        let output = self.command(daemon, &["doctor", "--json"]).output()?;
        let page: Value = serde_json::from_slice(&output.stdout).context("doctor gave no JSON")?;
        let checks = page["checks"].as_array().map_or(&[][..], Vec::as_slice);
        let route = checks.iter().find(|check| check["name"] == "compaction");
        let detail = route.and_then(|check| check["detail"].as_str()).unwrap_or("nothing");
        Ok(Row::told(step, detail.contains(wanted), detail.to_owned()))
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

/// The gateway that runs now, by what it says of itself.
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

/// A gateway that outlives what started it, as it is meant to; here it must not.
pub(super) struct GatewayProcess {
    pid: String,
}

impl GatewayProcess {
    fn kill(&mut self) -> anyhow::Result<()> {
        let pid = std::mem::take(&mut self.pid);
        ensure!(!pid.is_empty(), "it was ended already");
        process::check(Command::new("kill").arg("-9").arg(pid))
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        if !self.pid.is_empty() {
            // The check that failed before says why.
            self.kill().unwrap_or_default();
        }
    }
}

/// The hook that announces a compaction and the answer to it make one record.
pub(super) fn one_record(daemon: &Daemon, compactions: usize) -> anyhow::Result<Row> {
    let listed = daemon.connect()?.call("compaction/list", &json!({ "limit": 100 }))?;
    let records = listed["compactions"].as_array().map_or(0, Vec::len);
    let told = format!("{records} records of {compactions}");
    Ok(Row::told("one record of a compaction", records == compactions, told))
}

/// The daemon gives back what the newest compaction replaced. Codex has no way to take it up.
fn undone(daemon: &Daemon, thread: &str) -> anyhow::Result<Row> {
    let mut wire = daemon.connect()?;
    let made = wire.call("compaction/list", &json!({ "thread_id": thread }))?;
    let id =
        made["compactions"][0]["compaction_id"].as_str().context("no compaction was logged")?;
    let undone = wire.call("compaction/undo", &json!({ "compaction_id": id }))?;
    let items = undone["history"].as_array().map_or(0, Vec::len);
    Ok(Row::told("undo gives the history back", items > 0, format!("{items} items")))
}

//! The real Codex on a terminal, held by its app server: the policy is carried out between two turns, packet and handoff
//! included, and an undo arrives in the open session.

mod sequences;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::codex::{Codex, TRUSTED};
use super::compare::{Row, compare};
use super::gateway::{BRIEFING, Form};
use super::mock::{PART, is_compaction};
use super::policy::{decided, is_over};
use super::scenario;
use super::stage::Stage;
use super::terminal::Terminal;
use super::trust;
use crate::daemon;
use crate::process::{Deadline, POLL};
use crate::wire::Wire;

/// A tier that holds at once, and the agent's own packet.
pub(super) const CONFIG: &str = "[policy]\nmode = \"auto\"\npacket_author = \"agent\"\n[policy.asap]\npercent_remaining_lt = 100\n";
/// How what we ask of the agent begins, and what we give back to it.
const PACKET: &str = r#"<longhaul_context about=\"packet\">"#;
const HANDOFF: &str = r#"<longhaul_context about=\"handoff\">"#;
/// How Codex refuses a command in the middle of a turn.
const DISABLED: &str = "is disabled while a task is in progress";
/// The time of each step of the session.
const STEP_TIMEOUT: Duration = Duration::from_secs(40);

/// All of it behind the gateway's plain form; the compaction with its handoff behind the opaque one.
pub(super) fn play(stage: Stage<Codex>, form: Form) -> anyhow::Result<Vec<Row>> {
    stage.select(form)?;
    settle(&stage.agent)?;
    let _gateway = stage.install_gateway()?;
    trust::approve(&stage.agent)?;
    let server = Server::start(&stage.agent)?;
    let play = Play { wire: stage.daemon.connect()?, stage: &stage, form };
    let rows = play.rows(server)?;
    stage.daemon.stop()?;
    Ok(rows)
}

/// What Codex would ask a person first, and a line that is typed faster than by one.
fn settle(codex: &Codex) -> anyhow::Result<()> {
    let path = codex.home().join("config.toml");
    let text = fs::read_to_string(&path)?.replace("gpt-5.5", "mock-model");
    fs::write(&path, format!("disable_paste_burst = true\n{text}"))?;
    let mut config = OpenOptions::new().append(true).open(path)?;
    let project = codex.project().canonicalize()?;
    Ok(writeln!(config, "\n[projects.\"{}\"]\ntrust_level = \"trusted\"", project.display())?)
}

struct Play<'a> {
    wire: Wire,
    stage: &'a Stage<Codex>,
    form: Form,
}

impl Play<'_> {
    fn rows(mut self, server: Server) -> anyhow::Result<Vec<Row>> {
        let codex = &self.stage.agent;
        let mut script = codex.on_terminal(&format!("{PART}, then rename the parser"));
        let mut session = Terminal::open(&mut script, &codex.home())?;
        let decision = self.wait(&session, "a compaction of the policy", |wire| {
            let decision = decided(wire, "compaction_id")?;
            Ok(match decision {
                Some(decision) if is_over(wire, &decision)? => Some(decision),
                _ => None,
            })
        })?;
        let mut rows = self.compacted(&decision)?;
        rows.push(self.goes_on(&mut session)?);
        if self.form == Form::Plain {
            rows.extend(self.sequences(&mut session)?);
            // Behind the opaque form a request never has the bytes of the transcript.
            rows.push(self.undone_in_session(&mut session)?);
            let (history, made) = self.regretted(&mut session)?;
            session.close("/quit", Deadline::after(STEP_TIMEOUT))?;
            drop(server);
            rows.push(self.undone_in_closed(&history, &made)?);
            return Ok(rows);
        }
        session.close("/quit", Deadline::after(STEP_TIMEOUT))?;
        drop(server);
        Ok(rows)
    }

    fn compacted(&mut self, decision: &Value) -> anyhow::Result<Vec<Row>> {
        let requests = self.stage.mock.take();
        let asked = requests.iter().filter(|request| is_compaction(request)).count();
        let packets = requests.iter().filter(|request| last(request).contains(PACKET)).count();
        let log = self.wire.call("policy/log", &json!({ "policy": "default" }))?;
        let about = |row: &&Value| row["decision"]["action"] == "compact";
        let decisions = log["decisions"].as_array().into_iter().flatten().filter(about).count();
        let id = &decision["compaction_id"];
        let made = self.wire.call("compaction/get", &json!({ "compaction_id": id }))?;
        let is_tied = made["policy"]["decision_id"] == decision["decision"]["decision_id"];
        let listed = self.wire.call("compaction/list", &json!({}))?;
        let records = listed["compactions"].as_array().map_or(0, Vec::len);
        let told = format!("{packets} packets and {asked} summaries asked of the model");
        Ok(vec![
            Row::new("the policy, in a terminal", asked == 0 && packets > 0, told),
            Row::new("one decision, tied to it", decisions == 1 && is_tied, id.to_string()),
            Row::new("one record of it", records == 1, format!("{records} in the list")),
        ])
    }

    /// The person writes again, to a session that was compacted meanwhile.
    fn goes_on(&self, session: &mut Terminal) -> anyhow::Result<Row> {
        let sent = self.turn(session, "and the lexer")?.to_string();
        let is_whole = sent.contains(BRIEFING) && sent.contains(HANDOFF);
        Ok(Row::new("view and handoff", is_whole, format!("{} bytes", sent.len())))
    }

    /// The person compacts, regrets it, and writes again: the request has the history of before.
    fn undone_in_session(&mut self, session: &mut Terminal) -> anyhow::Result<Row> {
        let step = "undo in the open session";
        let (history, made) = self.regretted(session)?;
        let told = self.undo(&made)?;
        if told["in_codex"] != true {
            return Ok(Row::failed(step, told["not_in_codex"].to_string()));
        }
        let sent = self.turn(session, "what now")?;
        let input = sent["input"].as_array().context("no input")?;
        Ok(compare(step, &history, input))
    }

    /// A turn and a compaction by hand: the history before it, and its id.
    fn regretted(&mut self, session: &mut Terminal) -> anyhow::Result<(Vec<Value>, String)> {
        self.turn(session, "and the docs")?;
        let path = self.stage.agent.newest()?;
        let history = scenario::history(&mut self.wire, &path)?;
        let made = self.compacted_by_hand(session, &path)?;
        Ok((history, made.as_str().context("no id")?.to_owned()))
    }

    /// The session is closed, and no app server runs: a resume sends the history of before.
    fn undone_in_closed(&self, history: &[Value], made: &str) -> anyhow::Result<Row> {
        let step = "undo in a closed session";
        let told = self.undo(made)?;
        if told["in_codex"] != true {
            return Ok(Row::failed(step, told["not_in_codex"].to_string()));
        }
        let thread = told["thread_id"].as_str().context("no thread")?;
        let arguments = [TRUSTED, "resume", thread, "what then"];
        scenario::run_row(self.stage, (step, &arguments), history)
    }

    /// Types `/compact`, and again where Codex refuses it: the transcript may have a turn's end before the screen has.
    fn compacted_by_hand(&mut self, session: &mut Terminal, path: &Path) -> anyhow::Result<Value> {
        let until = Deadline::after(STEP_TIMEOUT);
        let before = self.newest_compaction()?;
        let mut refusals = session.count(DISABLED)?;
        session.enter("/compact")?;
        loop {
            let made = self.newest_compaction()?;
            let params = json!({ "path": path, "timeout_ms": 1_000 });
            let synced = self.wire.call("thread/sync", &params)?;
            let items = json!({ "thread_id": synced["thread_id"], "last": 1 });
            let items = self.wire.call("thread/items", &items)?;
            if made != before && items["items"][0]["kind"] != "assistant_message" {
                return Ok(made);
            }
            if session.count(DISABLED)? > refusals {
                refusals = session.count(DISABLED)?;
                session.enter("/compact")?;
            }
            ensure!(!until.is_over(), "no compaction by hand: {}", session.shown());
            daemon::pause(POLL);
        }
    }

    /// The id of the newest compaction of ours.
    fn newest_compaction(&mut self) -> anyhow::Result<Value> {
        let listed = self.wire.call("compaction/list", &json!({ "limit": 1 }))?;
        Ok(listed["compactions"][0]["compaction_id"].clone())
    }

    fn undo(&self, compaction_id: &str) -> anyhow::Result<Value> {
        let codex = &self.stage.agent;
        let mut undo = self.stage.longhaul(&["undo", compaction_id, "--json"]);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let programs = codex.programs().map(Path::to_owned).into_iter();
        let path = std::env::join_paths(programs.chain(std::env::split_paths(&path)))?;
        let output = undo
            .env("PATH", path)
            .env("MOCK_KEY", "none")
            .env("TMPDIR", codex.temporary())
            .stderr(Stdio::inherit())
            .output()?;
        serde_json::from_slice(&output.stdout).context("undo gave no JSON")
    }

    /// The request of a turn that the person begins; the turn is over then.
    fn turn(&self, session: &mut Terminal, words: &str) -> anyhow::Result<Value> {
        self.stage.mock.take();
        session.enter(words)?;
        let until = Deadline::after(STEP_TIMEOUT);
        let mut sent = None;
        while sent.is_none() || !is_turn_over(&self.stage.agent.newest()?)? {
            let is_its_own = |request: &Value| last(request).contains(words);
            sent = sent.or_else(|| self.stage.mock.take().into_iter().find(is_its_own));
            ensure!(!until.is_over(), "no turn of \"{words}\": {}", session.shown());
            daemon::pause(POLL);
        }
        sent.context("no request")
    }

    fn wait<T>(
        &mut self,
        session: &Terminal,
        what: &str,
        mut look: impl FnMut(&mut Wire) -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        let until = Deadline::after(STEP_TIMEOUT);
        loop {
            if let Some(found) = look(&mut self.wire)? {
                return Ok(found);
            }
            if until.is_over() {
                let log = self.wire.call("policy/log", &json!({}))?;
                anyhow::bail!(
                    "waited for {what}; the log: {log}; the session: {}",
                    session.shown()
                );
            }
            daemon::pause(POLL);
        }
    }
}

fn is_turn_over(transcript: &Path) -> anyhow::Result<bool> {
    let text = fs::read_to_string(transcript)?;
    let marks = ["\"task_started\"", "\"task_complete\""];
    let mut lines = text.lines().rev();
    let newest = lines.find(|line| marks.iter().any(|mark| line.contains(mark)));
    Ok(newest.is_some_and(|line| line.contains(marks[1])))
}

/// The last item of a request.
fn last(request: &Value) -> String {
    let items = request["input"].as_array();
    items.and_then(|items| items.last()).map(Value::to_string).unwrap_or_default()
}

/// The app server as Codex starts it beside its terminals, here one that ends with the test.
struct Server(Child);

impl Server {
    fn start(codex: &Codex) -> anyhow::Result<Self> {
        let mut command = codex.command("app-server");
        command.args(["--listen", "unix://"]).stdin(Stdio::null()).process_group(0);
        let server = Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let socket = codex.home().join("app-server-control/app-server-control.sock");
        let until = Deadline::after(STEP_TIMEOUT);
        while !socket.exists() {
            ensure!(!until.is_over(), "codex app-server does not listen");
            daemon::pause(POLL);
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Codex from npm is a script around its program.
        let group = self.0.id().try_into().ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            kill_process_group(group, Signal::TERM).unwrap_or_default();
        }
        drop(self.0.wait());
    }
}

//! Each way of the policy's sequence, one turn of the session after another: notes in a file, a wait for the person's
//! message, a judge who says no, one who does not answer.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::super::compare::Row;
use super::super::hooks::ATTEMPTS;
use super::super::mock::{PART, is_compaction};
use super::super::policy::is_over;
use super::super::terminal::Terminal;
use super::{Play, last};
use crate::daemon;
use crate::process::{Deadline, POLL};
use crate::wire::Wire;

/// The time of each attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);

/// How what we ask for notes in a file begins.
const NOTES: &str = r#"<longhaul_context about=\"scratch\">"#;
/// What the judge says.
const BUSY: &str = "the lexer is half done";

/// A way, and what stands behind `[policy]` for it.
struct Way {
    step: &'static str,
    config: &'static str,
    judge: Option<&'static str>,
    is_made: bool,
    asks_for_notes: bool,
}

const WAYS: [Way; 4] = [
    Way {
        step: "notes in a file first",
        config: "scratch = true",
        judge: None,
        is_made: true,
        asks_for_notes: true,
    },
    Way {
        step: "a turn's end: made at once",
        config: "[policy.asap]\nrequires_any_boundary = [\"turn_complete\"]",
        judge: None,
        is_made: true,
        asks_for_notes: false,
    },
    Way {
        step: "a judge says no",
        config: "[policy.asap]\njudgment = true",
        judge: Some(
            r#"cat > /dev/null; echo '{"should_compact": false, "reason": "the lexer is half done"}'"#,
        ),
        is_made: false,
        asks_for_notes: false,
    },
    Way {
        step: "a judge fails: made",
        config: "[policy.asap]\njudgment = true",
        judge: Some("exit 1"),
        is_made: true,
        asks_for_notes: false,
    },
];

impl Way {
    fn config(&self) -> String {
        let tier = "percent_remaining_lt = 100";
        let policy = match self.config.contains("[policy.asap]") {
            true => format!("{}\n{tier}", self.config),
            false => format!("{}\n[policy.asap]\n{tier}", self.config),
        };
        let judge = self.judge.map_or_else(String::new, |script| {
            format!(
                "[model]\nprovider = \"judge\"\nname = \"mock\"\n[providers.judge]\nkind = \"command\"\n\
                 command = [\"/bin/sh\", \"-c\", '''{script}''']\n"
            )
        });
        format!("[policy]\nmode = \"auto\"\ncompactions_per_hour = 1000\n{policy}\n{judge}")
    }
}

impl Play<'_> {
    pub(super) fn sequences(&mut self, session: &mut Terminal) -> anyhow::Result<Vec<Row>> {
        WAYS.iter().map(|way| self.sequence(session, way)).collect()
    }

    fn sequence(&mut self, session: &mut Terminal, way: &Way) -> anyhow::Result<Row> {
        fs::write(self.stage.daemon.folder().join("config.toml"), way.config())?;
        self.wire.call("daemon/reload", &json!({}))?;
        let before = newest(&mut self.wire)?["decision"]["decision_id"].clone();
        let made = self.stage.daemon.compactions()?;
        let mut ended = None;
        // After a hook that was late, the end of the next turn decides.
        for _ in 0..ATTEMPTS {
            // What is compacted again must have grown since.
            self.turn(session, &format!("and more, before {}", way.step))?;
            self.stage.mock.take();
            session.enter(&format!("{PART}, for {}", way.step))?;
            ended = self.ended(&before)?;
            if ended.is_some() {
                break;
            }
        }
        let Some(decision) = ended else {
            let log = self.wire.call("policy/log", &json!({}))?;
            let why =
                format!("it decides nothing; the log: {log}; the session: {}", session.shown());
            return Ok(Row::failed(way.step, why));
        };
        let requests = self.stage.mock.take();
        let asked = requests.iter().filter(|request| is_compaction(request)).count();
        let notes = requests.iter().filter(|request| last(request).contains(NOTES)).count();
        let records = self.stage.daemon.compactions()? - made;
        let why = decision["not_made"].as_str().unwrap_or_default();
        let agrees = asked == 0
            && records == usize::from(way.is_made)
            && decision["compaction_id"].is_string() == way.is_made
            && (way.is_made || why.contains(BUSY))
            && (notes > 0) == way.asks_for_notes;
        let told = format!(
            "{records} records, {notes} requests for notes, {asked} summaries asked of the model {why}"
        );
        Ok(Row::new(way.step, agrees, told))
    }

    /// The decision after `before`, once it has its end.
    fn ended(&mut self, before: &Value) -> anyhow::Result<Option<Value>> {
        let until = Deadline::after(ATTEMPT_TIMEOUT);
        while !until.is_over() {
            let decision = newest(&mut self.wire)?;
            let is_new = decision["decision"]["decision_id"] != *before;
            let is_ended =
                decision["compaction_id"].is_string() || decision["not_made"].is_string();
            if is_new && is_ended && is_over(&mut self.wire, &decision)? {
                return Ok(Some(decision));
            }
            daemon::pause(POLL);
        }
        Ok(None)
    }
}

/// The newest decision in force that wants a compaction.
fn newest(wire: &mut Wire) -> anyhow::Result<Value> {
    let log = wire.call("policy/log", &json!({ "policy": "default" }))?;
    let decisions = log["decisions"].as_array().context("no log")?;
    let wanted = decisions.iter().find(|row| row["decision"]["action"] != "wait");
    Ok(wanted.cloned().unwrap_or_default())
}

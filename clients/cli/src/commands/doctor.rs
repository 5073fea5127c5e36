//! `longhaul doctor`: checks the whole installation.
//!
//! Checks are independent: a failed one does not stop the others. Those that need the daemon are skipped if it does
//! not answer.

use clap::Args;
use longhaul_client::{ClientError, socket};
use longhaul_protocol::daemon::{NoParams, Status, StatusResult};
use longhaul_protocol::policy::{TemplateInfo, TemplatesParams};
use longhaul_protocol::{compaction, policy};
use serde::Serialize;

use crate::commands::rescue;
use crate::failure::{CONFIG, Failure};
use crate::holder::{self, Unreached};
use crate::session::{Page, Session};
use crate::style::Style;

mod agents;
mod agents_socket;
mod archive;
mod check;
mod daemon;
mod gateway;
mod host;
mod place;
mod program;
mod route;

use check::{Check, State};

/// Check the installation and show how to fix problems
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul doctor
  longhaul doctor --json | jq '.checks[] | select(.state != \"ok\")'

Exits with 0 if no check failed (warnings do not count), else with 78.")]
pub(crate) struct DoctorArgs {}

pub(crate) async fn run(_: DoctorArgs, session: &Session) -> Result<(), Failure> {
    let path = session.socket.clone().or_else(socket::default_socket);
    // Connect first: systemd may recreate a removed socket.
    let answer = ask(session).await;
    let mut checks = place::checks(path.as_deref());
    let status = match answer {
        Ok((status, round_trip_ms, templates)) => {
            checks.extend(daemon::checks(&status, round_trip_ms, session.style.now_ms));
            checks.extend(program::check_next_start());
            checks.push(daemon::templates(&templates));
            checks.push(archive::check(session).await);
            checks.extend(check_blocked(session).await);
            checks.extend(agents_socket::checks(session).await);
            Some(status)
        }
        Err(unanswered) => {
            if unanswered.is_held {
                // Another start would not help.
                checks
                    .iter_mut()
                    .filter(|check| check.name == "socket")
                    .for_each(|check| check.hint = None);
            }
            checks.push(unanswered.check);
            checks.push(program::check());
            None
        }
    };
    checks.extend(host::checks(status.as_ref(), session.style.now_ms));
    checks.extend(agents::checks(&session.style));
    let page = DoctorPage { checks };
    session.print(&page)?;
    match page.count(State::Fail) {
        0 => Ok(()),
        1 => Err(Failure::new(CONFIG, "one check failed")),
        failed => Err(Failure::new(CONFIG, format!("{failed} checks failed"))),
    }
}

/// Threads that cannot continue by themselves; `None` if the daemon cannot report them.
async fn check_blocked(session: &Session) -> Option<Check> {
    let client = session.connect().await.ok()?;
    let threads = rescue::blocked(&client).await.ok()?;
    Some(match rescue::describe(&threads) {
        Some(words) => Check::warn("threads", words, "run longhaul rescue"),
        None => Check::ok("threads", "none blocked"),
    })
}

/// Why there is no answer.
struct Unanswered {
    check: Check,
    /// A daemon runs, but not on this socket, or it hangs.
    is_held: bool,
}

/// The daemon's status, its response time in milliseconds and the overridable templates.
async fn ask(session: &Session) -> Result<(StatusResult, u64, Vec<TemplateInfo>), Box<Unanswered>> {
    let client = match holder::connect(session).await {
        Ok(client) => client,
        Err(Unreached::Held(holder)) => {
            let check = Check::fail("daemon", holder.to_string(), holder.hint());
            return Err(Box::new(Unanswered { check, is_held: true }));
        }
        Err(Unreached::Client(error)) => return Err(unanswered(&error)),
    };
    let answer = async {
        let begun = tokio::time::Instant::now();
        let status = client.call::<Status>(NoParams {}).await?;
        let round_trip_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        // An older daemon has no such methods.
        let params = TemplatesParams { seed: None };
        let policy = client.call::<policy::Templates>(params.clone()).await;
        let compaction = client.call::<compaction::Templates>(params).await;
        let templates = policy.into_iter().chain(compaction).flat_map(|group| group.templates);
        Ok((status, round_trip_ms, templates.collect()))
    };
    answer.await.map_err(|error| unanswered(&error))
}

fn unanswered(error: &ClientError) -> Box<Unanswered> {
    let check = Check::fail("daemon", error.to_string(), error.hint().unwrap_or_default());
    Box::new(Unanswered { check, is_held: false })
}

#[derive(Debug, Serialize)]
struct DoctorPage {
    checks: Vec<Check>,
}

impl DoctorPage {
    fn count(&self, state: State) -> usize {
        self.checks.iter().filter(|check| check.state == state).count()
    }
}

impl Page for DoctorPage {
    fn text(&self, style: &Style) -> String {
        let width = self.checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
        let line = |check: &Check| {
            let state = match check.state {
                State::Ok => style.good("ok  "),
                State::Warn => style.warn("warn"),
                State::Fail => style.bad("fail"),
            };
            let indent = " ".repeat(width + 8);
            let hint = check
                .hint
                .iter()
                .map(|hint| style.dim(&style.wrap(&format!("{indent}{hint}\n"), indent.len())));
            let found = format!("{state}  {:<width$}  {}\n", check.name, check.detail);
            style.wrap(&found, indent.len()) + &hint.collect::<String>()
        };
        self.checks.iter().map(line).collect()
    }
}

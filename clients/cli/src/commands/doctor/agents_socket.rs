//! The agents' socket: whether it is private, and whether the daemon treats callers on it as agents.

use std::path::Path;

use longhaul_client::{Client, ClientError, socket};
use longhaul_protocol::daemon::{NoParams, Shutdown};
use longhaul_protocol::socket::of_agents;
use longhaul_protocol::thread::{ThreadList, ThreadListParams};
use longhaul_protocol::{ErrorKind, Method};

use super::check::Check;
use super::place;
use crate::session::Session;

const NAME: &str = "agents' socket";
const RESTART: &str = "restart the daemon: longhaul down, then longhaul up; with systemd units: \
                       longhaul install systemd";

const UNSEEN: &str = "set server.trust_stated_folder = true (SECURITY.md explains the risk), or use \
                      longhaul up instead of systemd units";

pub(super) async fn checks(session: &Session) -> Vec<Check> {
    let Some(person) = session.socket.clone().or_else(socket::default_socket) else {
        return Vec::new();
    };
    let there = place::check_socket(NAME, &of_agents(&person));
    match answers(session, &person).await {
        Ok(answers) => there.into_iter().chain([answers]).collect(),
        // The check of the file explains the failure better.
        Err(error) if there.is_none() => vec![unanswered(&error)],
        Err(ClientError::NotRunning { .. }) => there.into_iter().collect(),
        Err(error) => there.into_iter().chain([unanswered(&error)]).collect(),
    }
}

fn unanswered(error: &ClientError) -> Check {
    Check::fail(NAME, error.to_string(), error.hint().unwrap_or_default())
}

/// Calls as an agent does.
async fn answers(session: &Session, person: &Path) -> Result<Check, ClientError> {
    let client = Client::connect(session.options().socket(person).agent()).await?;
    let is_offered = |hello: &longhaul_protocol::daemon::InitializeResult| {
        hello.methods.iter().any(|method| method == Shutdown::NAME)
    };
    // Do not call it if the daemon would allow it: that would stop the daemon.
    if client.session().is_none_or(is_offered) {
        let detail = "agents are offered calls reserved for you, such as stopping the daemon";
        return Ok(Check::fail(NAME, detail, RESTART));
    }
    if !is_forbidden(client.call::<Shutdown>(NoParams {}).await.as_ref().err()) {
        return Ok(Check::fail(
            NAME,
            "an agent's attempt to stop the daemon is not rejected",
            RESTART,
        ));
    }
    let own = ThreadListParams { limit: Some(1), ..Default::default() };
    let listed = client.call::<ThreadList>(own).await;
    Ok(match listed.as_ref().err() {
        refused if is_forbidden(refused) => Check::warn(
            NAME,
            "the daemon cannot see which folder an agent works in, so agents get no data",
            UNSEEN,
        ),
        Some(error) => unanswered(error),
        None => {
            Check::ok(NAME, "answers an agent of this folder and does not let it stop the daemon")
        }
    })
}

fn is_forbidden(error: Option<&ClientError>) -> bool {
    matches!(error, Some(ClientError::Refused(error)) if error.kind() == ErrorKind::Forbidden)
}

//! The archive: whether it is up to date and intact.

use longhaul_client::Client;
use longhaul_protocol::archive::{ArchiveState, Overview, OverviewParams, OverviewResult};

use super::check::Check;
use crate::commands::archive::share;
use crate::session::Session;
use crate::style::{Style, bytes, count, counted};

pub(super) async fn check(session: &Session) -> Check {
    let asked = async {
        let client = Client::connect(session.options()).await?;
        client.call::<Overview>(OverviewParams {}).await
    };
    match asked.await {
        Ok(status) => of(&status, &session.style),
        Err(error) => Check::warn(
            "archive",
            format!("it does not answer: {error}"),
            "try again in a moment; the daemon's log says why it cannot be opened",
        ),
    }
}

fn of(status: &OverviewResult, style: &Style) -> Check {
    let since = status.oldest_at.map(|at| format!(", back to {}", style.ago(at)));
    let verified = match status.verified_at {
        Some(at) => format!("verified {}", style.ago(at)),
        None => "not fully verified yet".to_owned(),
    };
    let evicted = match status.evicted {
        0 => String::new(),
        evicted => format!(", {} dropped because of the limits", counted(evicted, "transcript")),
    };
    let holds = format!(
        "{} in {}{}{}, {verified}{evicted}",
        counted(status.threads, "thread"),
        bytes(status.bytes),
        share(status),
        since.unwrap_or_default(),
    );
    if status.damaged > 0 {
        let detail = format!("{} damaged ({holds})", counted(status.damaged, "file"));
        return Check::warn(
            "archive",
            detail,
            "longhaul archive verify lists what is lost, and says what to do",
        );
    }
    match status.state {
        ArchiveState::Off => Check::warn(
            "archive",
            format!("off: transcripts that an agent deletes are lost ({holds})"),
            "set archive.enabled = true in config.toml",
        ),
        ArchiveState::Stalled => Check::warn(
            "archive",
            format!("cannot be written: {}", status.problem.as_deref().unwrap_or("see the log")),
            "free disk space or lower archive.max_bytes; it retries by itself",
        ),
        ArchiveState::Archiving => Check::ok(
            "archive",
            format!("{holds}, {} transcripts left", count(status.files_behind)),
        ),
        ArchiveState::Idle | ArchiveState::Other => Check::ok("archive", holds),
    }
}

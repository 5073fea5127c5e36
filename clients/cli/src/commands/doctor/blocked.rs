//! Threads that cannot continue by themselves.

use super::check::Check;
use crate::commands::rescue;
use crate::session::Session;

/// `None` if the daemon cannot report it.
pub(super) async fn check(session: &Session) -> Option<Check> {
    let client = session.connect().await.ok()?;
    let threads = rescue::blocked(&client).await.ok()?;
    Some(match rescue::describe(&threads) {
        Some(words) => Check::warn("threads", words, "run longhaul rescue"),
        None => Check::ok("threads", "none blocked"),
    })
}

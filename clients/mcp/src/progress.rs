//! Tells the agent that a long call is still at work.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use tokio::time::{Instant, interval};

/// Seconds between two messages.
const TICK_SECONDS: u64 = 5;

/// Waits for `work`; until then an agent that asked for progress gets `what` at once and again at each tick.
pub(crate) async fn while_waiting<T>(
    request: &RequestContext<RoleServer>,
    what: &str,
    work: impl Future<Output = T>,
) -> T {
    let Some(token) = request.meta.get_progress_token() else { return work.await };
    let begun = Instant::now();
    let mut ticks = interval(Duration::from_secs(TICK_SECONDS));
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => {
                let seconds = begun.elapsed().as_secs_f64();
                let progress = ProgressNotificationParam::new(token.clone(), seconds);
                let told = request.peer.notify_progress(progress.with_message(what));
                // The answer matters even if the agent no longer listens to progress.
                drop(told.await);
            }
        }
    }
}

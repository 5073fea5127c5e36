//! Follows a thread's events over restarts of the daemon.

use std::time::Duration;

use longhaul_client::{Client, ClientError, Subscription};
use longhaul_protocol::Retry;
use longhaul_protocol::event::{EventKind, SubscribeParams};

use crate::session::Session;

/// Shortest and longest pause before reconnecting.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Events of these kinds from now on.
pub(super) async fn subscribe(
    client: &Client,
    kinds: &[EventKind],
) -> Result<Subscription, ClientError> {
    let kinds = Some(kinds.to_vec());
    client.subscribe(SubscribeParams { kinds, since_seq: None }).await
}

/// Connects again and subscribes. Retries without a time limit, unless the same attempt would fail again.
pub(super) async fn reconnect(
    session: &Session,
    kinds: &[EventKind],
) -> Result<(Client, Subscription), ClientError> {
    let mut pause = PAUSE_MIN;
    loop {
        let connected = connect(session, kinds).await;
        if !connected.as_ref().is_err_and(|error| error.retry() != Retry::Never) {
            return connected;
        }
        if pause == PAUSE_MIN {
            session.note("note: the daemon has ended; waiting for it to start again");
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

async fn connect(
    session: &Session,
    kinds: &[EventKind],
) -> Result<(Client, Subscription), ClientError> {
    let client = Client::connect(session.options()).await?;
    let events = subscribe(&client, kinds).await?;
    Ok((client, events))
}

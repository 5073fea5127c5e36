//! A conversation's connection to a daemon that may restart or be absent.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use longhaul_protocol::compaction::Run;
use longhaul_protocol::{ErrorKind, Method, Retry};
use tokio::time::{Instant, sleep, timeout};

use crate::{Client, ClientError, ConnectOptions};

/// Pause before looking for an absent daemon again.
const REST: Duration = Duration::from_secs(2);
/// Pause between two attempts to reach a daemon that was there.
const PAUSE: Duration = Duration::from_millis(50);

/// A daemon that may come and go. Its calls must be idempotent.
#[derive(Debug)]
pub(super) struct Daemon {
    options: ConnectOptions,
    patience: Duration,
    client: Option<Client>,
    /// Whether it was ever reached; then it may be restarting.
    is_known: bool,
    trouble: Option<ClientError>,
    rests_until: Option<Instant>,
    ids: (u64, u64),
}

/// Whether the same request would fail again.
pub(super) fn is_mistake(error: &ClientError) -> bool {
    match error {
        ClientError::Refused(error) => {
            matches!(error.kind(), ErrorKind::InvalidParams | ErrorKind::LimitExceeded)
        }
        ClientError::TooLarge { .. } => true,
        _ => false,
    }
}

impl Daemon {
    pub(super) fn new(options: ConnectOptions, patience_ms: u64) -> Self {
        Self {
            options,
            patience: Duration::from_millis(patience_ms),
            client: None,
            is_known: false,
            trouble: None,
            rests_until: None,
            ids: (RandomState::new().hash_one(std::process::id()), 0),
        }
    }

    /// An id unique over all conversations.
    pub(super) fn new_id(&mut self) -> String {
        self.ids.1 += 1;
        format!("{:016x}-{}", self.ids.0, self.ids.1)
    }

    pub(super) fn trouble(&self) -> Option<&ClientError> {
        self.trouble.as_ref()
    }

    /// Whether the daemon no longer knows the thread.
    pub(super) fn lost_the_thread(&self) -> bool {
        matches!(&self.trouble, Some(ClientError::Refused(error)) if error.kind() == ErrorKind::ThreadNotFound)
    }

    /// Records the outcome of a call; returns only errors of the caller.
    pub(super) fn note(&mut self, outcome: Result<(), ClientError>) -> Result<(), ClientError> {
        let Err(error) = outcome else {
            self.trouble = None;
            return Ok(());
        };
        if is_mistake(&error) {
            return Err(error);
        }
        self.rests_until.get_or_insert_with(|| Instant::now() + REST);
        self.trouble = Some(error);
        Ok(())
    }

    /// Makes the next call look for the daemon, without the pause.
    pub(super) fn look_again(&mut self) {
        self.rests_until = None;
    }

    /// Calls a method, on a new connection if the daemon was restarted.
    pub(super) async fn ask<M: Method>(
        &mut self,
        params: impl Fn() -> M::Params,
    ) -> Result<M::Result, ClientError> {
        let mut ends = None;
        loop {
            let error = match self.once::<M>(params()).await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            if error.retry() == Retry::Reconnect {
                self.client = None;
            }
            let ends = *ends.get_or_insert_with(|| Instant::now() + self.patience);
            let is_over = !self.is_known || self.rests_until.is_some() || Instant::now() >= ends;
            if is_over || !matches!(error.retry(), Retry::Reconnect | Retry::Backoff) {
                return Err(error);
            }
            sleep(PAUSE).await;
        }
    }

    async fn once<M: Method>(&mut self, params: M::Params) -> Result<M::Result, ClientError> {
        let client = self.connected().await?;
        if M::NAME == Run::NAME {
            return client.call::<M>(params).await;
        }
        let after_ms = u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX);
        let late = ClientError::Timeout { method: M::NAME, after_ms };
        timeout(self.patience, client.call::<M>(params)).await.unwrap_or(Err(late))
    }

    async fn connected(&mut self) -> Result<Client, ClientError> {
        if let Some(client) = &self.client {
            return Ok(client.clone());
        }
        if let Some(until) = self.rests_until
            && Instant::now() < until
        {
            return Err(ClientError::Broken("the daemon was not there a moment ago".to_owned()));
        }
        let client = Client::connect(self.options.clone()).await?;
        (self.is_known, self.rests_until) = (true, None);
        Ok(self.client.insert(client).clone())
    }
}

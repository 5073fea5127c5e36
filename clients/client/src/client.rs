//! Calls of methods by their types.

use std::sync::Arc;
use std::time::Duration;

use longhaul_protocol::Method;
use longhaul_protocol::daemon::InitializeResult;
use longhaul_protocol::event::{Subscribe, SubscribeParams};
use longhaul_protocol::limit::FRAME_BYTES_MAX;
use tokio::net::UnixStream;

use crate::connection::Connection;
use crate::subscription::Router;
use crate::time_limit::limit_ms;
use crate::{ClientError, Subscription};

/// Bytes of a message around its params: version, id, name of the method.
const ENVELOPE_BYTES: usize = 256;

/// A connection to the daemon. Clones share it; calls may be made at the same time.
#[derive(Debug, Clone)]
pub struct Client {
    connection: Arc<Connection>,
    /// `None`: each call has its own.
    timeout_ms: Option<u64>,
    session: Option<Arc<InitializeResult>>,
}

impl Client {
    /// A client on an open connection, before the handshake.
    pub(crate) fn new(stream: UnixStream, timeout_ms: Option<u64>) -> Self {
        Self { connection: Arc::new(Connection::new(stream)), timeout_ms, session: None }
    }

    pub(crate) fn with_session(self, session: InitializeResult) -> Self {
        Self { session: Some(Arc::new(session)), ..self }
    }

    pub(crate) fn router(&self) -> &Router {
        self.connection.router()
    }

    /// The result of the handshake.
    #[must_use]
    pub fn session(&self) -> Option<&InitializeResult> {
        self.session.as_deref()
    }

    /// Calls a method and waits for its answer.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with the daemon's own error; [`ClientError::Broken`] and
    /// [`ClientError::Timeout`], after which the daemon may or may not have done it.
    pub async fn call<M: Method>(&self, params: M::Params) -> Result<M::Result, ClientError> {
        let unreadable = |error: serde_json::Error| ClientError::Unreadable {
            method: M::NAME,
            reason: error.to_string(),
        };
        let params = serde_json::to_string(&params).map_err(unreadable)?;
        // The daemon would reject a longer message without its id, so no call would get the answer.
        let (bytes, max) = (params.len(), FRAME_BYTES_MAX - ENVELOPE_BYTES);
        if bytes > max {
            return Err(ClientError::TooLarge { bytes, max, item: None });
        }
        let method = M::NAME;
        let request = self.connection.request(method, &params);
        let result = match self.timeout_ms.or_else(|| limit_ms::<M>(&params)) {
            Some(after_ms) => tokio::time::timeout(Duration::from_millis(after_ms), request)
                .await
                .map_err(|_| ClientError::Timeout { method, after_ms })??,
            None => request.await?,
        };
        serde_json::from_str(&result).map_err(unreadable)
    }

    /// Subscribes to events.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn subscribe(&self, params: SubscribeParams) -> Result<Subscription, ClientError> {
        let begun = self.call::<Subscribe>(params).await?;
        Ok(Subscription::new(begun.subscription, begun.seq, self.clone()))
    }

    /// Waits until the connection has ended, at either end.
    pub async fn closed(&self) {
        self.connection.closed().await;
    }
}

//! Calls of methods by their types.

use std::sync::Arc;
use std::time::Duration;

use jsonrpsee::core::JsonRawValue;
use jsonrpsee::core::client::{Client as RpcClient, ClientBuilder, ClientT};
use jsonrpsee::core::traits::ToRpcParams;
use longhaul_protocol::Method;
use longhaul_protocol::daemon::InitializeResult;
use longhaul_protocol::event::{Subscribe, SubscribeParams};
use longhaul_protocol::limit::{FRAME_BYTES_MAX, INFLIGHT_PER_CONNECTION_MAX};
use tokio::net::UnixStream;

use crate::subscription::Router;
use crate::transport::{Parting, Receiver, Sender};
use crate::{ClientError, Subscription};

/// Bytes of a message around its params: version, id, name of the method.
const ENVELOPE_BYTES: usize = 256;

/// A connection to the daemon. Clones share it; calls may be made at the same time.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
    session: Option<Arc<InitializeResult>>,
}

/// What clones and subscriptions share.
#[derive(Debug)]
pub(crate) struct Inner {
    rpc: RpcClient,
    router: Arc<Router>,
    parting: Parting,
    timeout_ms: u64,
}

impl Inner {
    pub(crate) fn router(&self) -> &Router {
        &self.router
    }
}

impl Client {
    /// A client on an open connection, before the handshake.
    pub(crate) fn new(stream: UnixStream, timeout_ms: u64) -> Self {
        let (router, parting) = (Arc::new(Router::default()), Parting::default());
        let (read, write) = stream.into_split();
        let rpc = ClientBuilder::default()
            .request_timeout(Duration::from_millis(timeout_ms))
            .max_concurrent_requests(INFLIGHT_PER_CONNECTION_MAX)
            .build_with_tokio(
                Sender { stream: write },
                Receiver::new(read, Arc::clone(&router), Arc::clone(&parting)),
            );
        Self { inner: Arc::new(Inner { rpc, router, parting, timeout_ms }), session: None }
    }

    pub(crate) const fn from_inner(inner: Arc<Inner>) -> Self {
        Self { inner, session: None }
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    pub(crate) fn with_session(self, session: InitializeResult) -> Self {
        Self { session: Some(Arc::new(session)), ..self }
    }

    /// What the handshake agreed on.
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
        let params = Params::of::<M>(&params)?;
        let answer = self.inner.rpc.request(M::NAME, params).await;
        answer.map_err(|error| match ClientError::from_rpc(error, M::NAME, self.inner.timeout_ms) {
            broken @ ClientError::Broken(_) => match self.inner.parting.get() {
                Some(why) => ClientError::Refused(Box::new(why.clone())),
                None => broken,
            },
            error => error,
        })
    }

    /// Subscribes to events.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn subscribe(&self, params: SubscribeParams) -> Result<Subscription, ClientError> {
        let begun = self.call::<Subscribe>(params).await?;
        Ok(Subscription::new(begun.subscription, begun.seq, Arc::clone(&self.inner)))
    }

    /// Waits until the connection has ended, whoever ended it.
    pub async fn closed(&self) {
        self.inner.rpc.on_disconnect().await;
    }
}

/// Params that are written already, and known to fit into a message.
struct Params(Box<JsonRawValue>);

impl Params {
    fn of<M: Method>(params: &M::Params) -> Result<Self, ClientError> {
        let written = serde_json::value::to_raw_value(params).map_err(|error| {
            ClientError::Unreadable { method: M::NAME, reason: error.to_string() }
        })?;
        // A message over the bound would be refused without its id, which no call could be matched to.
        let (bytes, max) = (written.get().len(), FRAME_BYTES_MAX - ENVELOPE_BYTES);
        match bytes > max {
            true => Err(ClientError::TooLarge { bytes, max }),
            false => Ok(Self(written)),
        }
    }
}

impl ToRpcParams for Params {
    fn to_rpc_params(self) -> Result<Option<Box<JsonRawValue>>, serde_json::Error> {
        Ok(Some(self.0))
    }
}

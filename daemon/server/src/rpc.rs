//! The method table: every method of the protocol, registered once.
//!
//! A method is registered by its marker type, so that its name, its params and its result cannot come
//! apart, and in one of three ways: [`Table::on`] answers at once on the connection's own task,
//! [`Table::on_async`] awaits, [`Table::on_blocking`] keeps a processor busy on a thread of its own. A name
//! that is missing or unknown to the protocol makes [`Table::finish`] fail, which is the daemon's start.

use std::sync::Arc;

use futures_util::FutureExt;
use jsonrpsee::types::{Id, Params};
use jsonrpsee::{Extensions, MethodCallback, MethodResponse, Methods, ResponsePayload};
use longhaul_protocol::daemon::Initialize;
use longhaul_protocol::method::{self, CAPABILITIES};
use longhaul_protocol::{ErrorKind, METHODS, Method};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::link::CallContext;
use crate::service::Services;

mod checkpoint;
mod compaction;
mod context;
mod convert;
mod cursor;
mod daemon;
pub mod error;
mod event;
mod history;
mod job;
mod memory;
mod message_history;
mod params;
mod policy;
mod search;
mod texts;
mod thread;

use error::Failure;

/// A method table that does not fit the protocol: a defect found at the start.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A method was registered twice.
    #[error("{0} is registered twice")]
    Twice(&'static str),
    /// A method of the protocol has no handler.
    #[error("{0} has no handler")]
    Missing(&'static str),
    /// A handler's method is not in the protocol.
    #[error("{0} is no method of the protocol")]
    Unknown(&'static str),
}

/// The table of all methods over `services`.
///
/// # Errors
/// [`TableError`]: the table and the protocol differ.
pub fn table(services: Arc<Services>) -> Result<Methods, TableError> {
    let mut table = Table::new(services);
    daemon::register(&mut table)?;
    event::register(&mut table)?;
    thread::register(&mut table)?;
    search::register(&mut table)?;
    history::register(&mut table)?;
    compaction::register(&mut table)?;
    checkpoint::register(&mut table)?;
    context::register(&mut table)?;
    job::register(&mut table)?;
    memory::register(&mut table)?;
    message_history::register(&mut table)?;
    policy::register(&mut table)?;
    table.finish()
}

/// A method table in the making.
#[derive(Debug)]
pub struct Table {
    services: Arc<Services>,
    methods: Methods,
}

/// What every call of one method shares.
struct Entry {
    services: Arc<Services>,
    name: &'static str,
    /// The bit of the capability it needs.
    capability: u32,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(services: Arc<Services>) -> Self {
        Self { services, methods: Methods::new() }
    }

    /// Registers a method that is answered at once: it neither waits nor computes for long.
    ///
    /// # Errors
    /// [`TableError`]: the name is taken or unknown.
    pub fn on<M: Method>(
        &mut self,
        handler: impl Fn(&Services, &CallContext, M::Params) -> Result<M::Result, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), TableError> {
        let entry = self.entry::<M>()?;
        let callback =
            move |id: Id<'_>, params: Params<'_>, response_max, extensions: Extensions| {
                let Some(context) = extensions.get::<CallContext>() else { return no_context(id) };
                let result = entry.read::<M>(context, &params);
                let result = result.and_then(|params| handler(&entry.services, context, params));
                entry.respond(id, result, response_max, context)
            };
        self.insert(M::NAME, MethodCallback::Sync(Arc::new(callback)))
    }

    /// Registers a method that waits. Dropping its future, when the client is gone, gives the work up.
    ///
    /// # Errors
    /// [`TableError`]: the name is taken or unknown.
    pub fn on_async<M, F>(
        &mut self,
        handler: impl Fn(Arc<Services>, CallContext, M::Params) -> F + Send + Sync + 'static,
    ) -> Result<(), TableError>
    where
        M: Method,
        F: Future<Output = Result<M::Result, Failure>> + Send + 'static,
    {
        let (entry, handler) = (Arc::new(self.entry::<M>()?), Arc::new(handler));
        let callback = move |id: Id<'static>,
                             params: Params<'static>,
                             _,
                             response_max,
                             extensions: Extensions| {
            let (entry, handler) = (entry.clone(), handler.clone());
            async move {
                let Some(context) = extensions.get::<CallContext>() else { return no_context(id) };
                let result = match entry.read::<M>(context, &params) {
                    Ok(params) => handler(entry.services.clone(), context.clone(), params).await,
                    Err(failure) => Err(failure),
                };
                if matches!(&result, Err(failure) if failure.kind() == ErrorKind::StoreCorrupt) {
                    entry.services.repair().await;
                }
                entry.respond(id, result, response_max, context)
            }
            .boxed()
        };
        self.insert(M::NAME, MethodCallback::Async(Arc::new(callback)))
    }

    /// Registers a method that keeps a processor busy.
    ///
    /// It runs on a thread for blocking work, a bounded number at the same time; a call that waits for its
    /// turn is given up with its connection, one that runs is not, and its answer is thrown away.
    ///
    /// # Errors
    /// [`TableError`]: the name is taken or unknown.
    pub fn on_blocking<M: Method>(
        &mut self,
        handler: impl Fn(&Services, &CallContext, M::Params) -> Result<M::Result, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), TableError> {
        let handler = Arc::new(handler);
        self.on_async::<M, _>(move |services, context, params| {
            let handler = handler.clone();
            async move {
                let permit =
                    services.blocking.clone().acquire_owned().await.map_err(Failure::internal)?;
                let work = move || {
                    let _permit = permit;
                    handler(&services, &context, params)
                };
                match tokio::task::spawn_blocking(work).await {
                    Ok(result) => result,
                    // The dispatcher answers a panic; it has to arrive there as one.
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(error) => Err(Failure::internal(error)),
                }
            }
        })
    }

    /// The finished table: every method of the protocol has a handler.
    ///
    /// # Errors
    /// [`TableError::Missing`].
    pub fn finish(self) -> Result<Methods, TableError> {
        match METHODS.iter().find(|info| self.methods.method(info.name).is_none()) {
            Some(info) => Err(TableError::Missing(info.name)),
            None => Ok(self.methods),
        }
    }

    fn entry<M: Method>(&self) -> Result<Entry, TableError> {
        let info = method::find(M::NAME).ok_or(TableError::Unknown(M::NAME))?;
        let capability = match info.name == Initialize::NAME {
            true => HANDSHAKE,
            false => capability_bit(info.capability),
        };
        Ok(Entry { services: self.services.clone(), name: info.name, capability })
    }

    fn insert(&mut self, name: &'static str, callback: MethodCallback) -> Result<(), TableError> {
        match self.methods.verify_and_insert(name, callback) {
            Ok(_) => Ok(()),
            Err(_) => Err(TableError::Twice(name)),
        }
    }
}

impl Entry {
    /// Checks that the connection may call the method, and reads its params.
    fn read<M: Method>(
        &self,
        context: &CallContext,
        params: &Params<'_>,
    ) -> Result<M::Params, Failure> {
        if context.link.granted() & self.capability == 0 {
            let message = format!("{} needs a capability that initialize did not grant", self.name);
            return Err(Failure::new(ErrorKind::CapabilityMissing, message));
        }
        params::read(params)
    }

    fn respond<R: Serialize>(
        &self,
        id: Id<'_>,
        result: Result<R, Failure>,
        response_max: usize,
        context: &CallContext,
    ) -> MethodResponse {
        match result {
            // Written at once: jsonrpsee's own writer looks at its bound for every comma.
            Ok(result) => match serde_json::value::to_raw_value(&result) {
                Ok(result) => {
                    let payload = ResponsePayload::success(Shared(result.into()));
                    MethodResponse::response(id, payload, response_max)
                }
                Err(error) => self.refuse(id, Failure::internal(error), context),
            },
            Err(failure) => self.refuse(id, failure, context),
        }
    }

    fn refuse(&self, id: Id<'_>, failure: Failure, context: &CallContext) -> MethodResponse {
        MethodResponse::error(id, failure.answer(self.name, context))
    }
}

/// A result as text that can be cloned, as jsonrpsee wants it, without being copied.
#[derive(Clone)]
struct Shared(Arc<RawValue>);

impl Serialize for Shared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The answer to a call that did not come through the socket's dispatcher, which is a defect.
fn no_context(id: Id<'_>) -> MethodResponse {
    MethodResponse::error(id, jsonrpsee::types::ErrorCode::InternalError)
}

/// The right to negotiate: always held, else a connection that asked for little could not ask again.
const HANDSHAKE: u32 = 1 << 31;

// The other bits stand for the capabilities, by their place in the list.
const _: () = assert!(CAPABILITIES.len() <= 31);

fn capability_bit(capability: &str) -> u32 {
    CAPABILITIES.iter().position(|known| *known == capability).map_or(0, |at| 1 << at)
}

#[cfg(test)]
mod tests;

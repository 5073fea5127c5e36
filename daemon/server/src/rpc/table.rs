//! The method table: handlers by their method's marker type.
//!
//! A method is registered by its marker type, so that its name, its params and its result cannot come
//! apart, over the service it needs, and in one of three ways: [`Handlers::on`] answers at once on the
//! connection's own task, [`Handlers::on_async`] awaits, [`Handlers::on_blocking`] keeps a processor busy
//! on a thread of its own. A name that is missing or unknown to the protocol makes [`Table::finish`] fail,
//! which is the daemon's start.

use std::sync::Arc;

use futures_util::FutureExt;
use jsonrpsee::types::{Id, Params};
use jsonrpsee::{Extensions, MethodCallback, MethodResponse, Methods, ResponsePayload};
use longhaul_protocol::daemon::Initialize;
use longhaul_protocol::method::{self, CAPABILITIES};
use longhaul_protocol::text::gated;
use longhaul_protocol::{AgentAccess, ErrorKind, METHODS, Method};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::agents::{AgentGate, readable, redacted};
use super::error::Failure;
use super::params;
use super::references::References;
use crate::ingest::Ingest;
use crate::link::{CallContext, Caller};
use crate::service::keeping::Keeping;
use crate::service::projects::Projects;

/// Calls that may keep a thread of the blocking pool busy at the same time.
///
/// # Source
/// Chosen: more than the processors of a laptop, fewer than the pool's threads, so that the store and
/// files always find one.
const BLOCKING_CALLS_MAX: usize = 4;

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
    /// A method for an agent's own project is answered at once: there its project cannot be looked up.
    #[error("{0} is for agents' own projects and must be registered by on_async or on_blocking")]
    Unheld(&'static str),
}

/// A method table in the making.
pub struct Table {
    ingest: Arc<Ingest>,
    keeping: Arc<Keeping>,
    gate: Arc<AgentGate>,
    references: Arc<References>,
    blocking: Arc<Semaphore>,
    pub(super) methods: Methods,
}

/// Registers the handlers of one service.
pub struct Handlers<'a, S> {
    table: &'a mut Table,
    service: Arc<S>,
}

/// What every call of one method shares.
pub(super) struct MethodEntry {
    ingest: Arc<Ingest>,
    keeping: Arc<Keeping>,
    gate: Arc<AgentGate>,
    references: Arc<References>,
    name: &'static str,
    /// What an agent may do with it.
    agents: AgentAccess,
    /// The bit of the capability it needs.
    capability: u32,
}

impl Table {
    /// An empty table. A call that finds the database damaged has `ingest` repair it, and nothing is answered that
    /// is not kept; one of an agent is held to its project by what `projects` tells.
    pub fn new((ingest, keeping): (Arc<Ingest>, Arc<Keeping>), projects: Arc<Projects>) -> Self {
        let blocking = Arc::new(Semaphore::new(BLOCKING_CALLS_MAX));
        let references = Arc::new(References::new(projects.clone()));
        let gate = Arc::new(AgentGate::new(projects));
        Self { ingest, keeping, gate, references, blocking, methods: Methods::new() }
    }

    /// What holds agents to their projects, for handlers that look in several folders.
    pub(super) fn gate(&self) -> Arc<AgentGate> {
        self.gate.clone()
    }

    /// Where the handlers of `service` are registered.
    pub fn of<S>(&mut self, service: &Arc<S>) -> Handlers<'_, S> {
        Handlers { table: self, service: service.clone() }
    }

    /// The finished table: every method of the protocol has a handler.
    pub fn finish(self) -> Result<Methods, TableError> {
        match METHODS.iter().find(|info| self.methods.method(info.name).is_none()) {
            Some(info) => Err(TableError::Missing(info.name)),
            None => Ok(self.methods),
        }
    }

    pub(super) fn entry<M: Method>(&self) -> Result<MethodEntry, TableError> {
        let info = method::find(M::NAME).ok_or(TableError::Unknown(M::NAME))?;
        let capability = match info.name == Initialize::NAME {
            true => HANDSHAKE,
            false => capability_bit(info.capability),
        };
        let Self { ingest, keeping, gate, references, .. } = self;
        Ok(MethodEntry {
            ingest: ingest.clone(),
            keeping: keeping.clone(),
            gate: gate.clone(),
            references: references.clone(),
            name: info.name,
            agents: info.agents,
            capability,
        })
    }

    pub(super) fn insert(
        &mut self,
        name: &'static str,
        callback: MethodCallback,
    ) -> Result<(), TableError> {
        match self.methods.verify_and_insert(name, callback) {
            Ok(_) => Ok(()),
            Err(_) => Err(TableError::Twice(name)),
        }
    }
}

impl<S: Send + Sync + 'static> Handlers<'_, S> {
    /// Registers a method that is answered at once: it neither waits nor computes for long.
    pub fn on<M: Method>(
        &mut self,
        handler: impl Fn(&S, &CallContext, M::Params) -> Result<M::Result, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), TableError> {
        let (entry, service) = (self.table.entry::<M>()?, self.service.clone());
        let callback =
            move |id: Id<'_>, params: Params<'_>, response_max, extensions: Extensions| {
                let Some(context) = extensions.get::<CallContext>() else { return no_context(id) };
                let result = entry.read::<M>(context, &params);
                let result = result.and_then(|params| handler(&service, context, params));
                match context.link.caller {
                    Caller::Person => entry.respond(id, result, response_max, context),
                    // Answers that are made at once are short: redacting one takes no thread of its own.
                    Caller::Agent => {
                        let result = result.and_then(|result| redacted(readable(&result)?));
                        entry.respond(id, result, response_max, context)
                    }
                }
            };
        if self.table.entry::<M>()?.agents == AgentAccess::OwnProject {
            return Err(TableError::Unheld(M::NAME));
        }
        self.table.insert(M::NAME, MethodCallback::Sync(Arc::new(callback)))
    }

    /// Registers a method that waits. Dropping its future, when the client is gone, gives the work up.
    pub fn on_async<M, F>(
        &mut self,
        handler: impl Fn(Arc<S>, CallContext, M::Params) -> F + Send + Sync + 'static,
    ) -> Result<(), TableError>
    where
        M: Method,
        F: Future<Output = Result<M::Result, Failure>> + Send + 'static,
    {
        let (entry, handler) = (Arc::new(self.table.entry::<M>()?), Arc::new(handler));
        let service = self.service.clone();
        let callback = move |id: Id<'static>,
                             params: Params<'static>,
                             _,
                             response_max,
                             extensions: Extensions| {
            let (entry, handler, service) = (entry.clone(), handler.clone(), service.clone());
            async move {
                let Some(context) = extensions.get::<CallContext>() else { return no_context(id) };
                let result = match entry.admit::<M>(context, &params).await {
                    Ok(params) => handler(service, context.clone(), params).await,
                    Err(failure) => Err(failure),
                };
                // Looked at when all is done: what was stored before is in the file that is there now.
                let result = entry.keeping.check().map_err(Failure::from).and(result);
                let result = match result {
                    Err(failure) => Err(entry.repaired(failure).await),
                    result => result,
                };
                match context.link.caller {
                    Caller::Person => entry.respond(id, result, response_max, context),
                    Caller::Agent => {
                        let result = entry.release(context, result).await;
                        entry.respond(id, result, response_max, context)
                    }
                }
            }
            .boxed()
        };
        self.table.insert(M::NAME, MethodCallback::Async(Arc::new(callback)))
    }

    /// Registers a method that keeps a processor busy.
    ///
    /// It runs on a thread for blocking work, a bounded number at the same time; a call that waits for its
    /// turn is given up with its connection, one that runs is not, and its answer is thrown away.
    pub fn on_blocking<M: Method>(
        &mut self,
        handler: impl Fn(&S, &CallContext, M::Params) -> Result<M::Result, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), TableError> {
        let handler = Arc::new(handler);
        let blocking = self.table.blocking.clone();
        self.on_async::<M, _>(move |service, context, params| {
            let (handler, blocking) = (handler.clone(), blocking.clone());
            async move {
                let permit = blocking.acquire_owned().await.map_err(Failure::internal)?;
                let work = move || {
                    let _permit = permit;
                    handler(&service, &context, params)
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
}

impl MethodEntry {
    /// Answers damage that a call met: the transcripts are read again, or the one whose lines are not what they were.
    /// Gives back what to tell of it.
    async fn repaired(&self, failure: Failure) -> Failure {
        match failure.kind() {
            ErrorKind::StoreCorrupt => match self.ingest.recover().await {
                Ok(true) => {}
                // SQLite tells damage also where the disk could not be read.
                Ok(false) => {
                    let message = "the database could not be read, and can be now";
                    return failure.replaced_by(ErrorKind::DiskFailed, message);
                }
                Err(error) => tracing::error!(%error, "the damaged database cannot be begun anew"),
            },
            ErrorKind::SourceChanged => {
                failure.path().into_iter().for_each(|path| self.ingest.doubt(path));
            }
            _ => {}
        }
        failure
    }

    /// Checks that the connection may call the method, and reads its params.
    pub(super) fn read<M: Method>(
        &self,
        context: &CallContext,
        params: &Params<'_>,
    ) -> Result<M::Params, Failure> {
        self.allow(context)?;
        params::read(params)
    }

    /// The same with ids and handles made whole; holds an agent to its own project.
    async fn admit<M: Method>(
        &self,
        context: &CallContext,
        params: &Params<'_>,
    ) -> Result<M::Params, Failure> {
        self.allow(context)?;
        let whole = self.references.resolved(self.name, context, params).await?;
        let whole = whole.as_deref().map(|text| Params::new(Some(text)));
        let params = whole.as_ref().unwrap_or(params);
        match (context.link.caller, self.agents) {
            (Caller::Agent, AgentAccess::OwnProject) => {
                let given = params::read(params)?;
                let admitted = self.gate.admit(self.name, context, given).await?;
                let text = Value::Object(admitted).to_string();
                params::read(&Params::new(Some(&text)))
            }
            _ => params::read(params),
        }
    }

    /// What an agent is answered: of its own project where the answer is about a thread, and redacted.
    async fn release<R: Serialize>(
        &self,
        context: &CallContext,
        result: Result<R, Failure>,
    ) -> Result<Box<RawValue>, Failure> {
        let answer = readable(&result?)?;
        self.gate.check_answer(context, &answer).await?;
        let redacting = tokio::task::spawn_blocking(move || redacted(answer));
        redacting.await.map_err(Failure::internal)?
    }

    /// Checks that the connection may call the method at all.
    fn allow(&self, context: &CallContext) -> Result<(), Failure> {
        if context.link.caller == Caller::Agent && self.agents == AgentAccess::No {
            return Err(Failure::forbidden(format!("{} is not for agents", self.name)));
        }
        if context.link.granted() & self.capability == 0 {
            let message = format!("{} needs a capability that initialize did not grant", self.name);
            return Err(Failure::new(ErrorKind::CapabilityMissing, message));
        }
        Ok(())
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
            Ok(result) => match gated(&result) {
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
pub(super) fn no_context(id: Id<'_>) -> MethodResponse {
    MethodResponse::error(id, jsonrpsee::types::ErrorCode::InternalError)
}

/// The right to negotiate: always held, else a connection that asked for little could not ask again.
pub(super) const HANDSHAKE: u32 = 1 << 31;

// The other bits stand for the capabilities, by their place in the list.
const _: () = assert!(CAPABILITIES.len() <= 31);

pub(super) fn capability_bit(capability: &str) -> u32 {
    CAPABILITIES.iter().position(|known| *known == capability).map_or(0, |at| 1 << at)
}

//! The method table: handlers by their method's marker type.
//!
//! A handler is registered by the marker type, which keeps its name, params and result together, with the service it
//! needs, in one of three ways: [`Handlers::on`] answers immediately on the connection's task, [`Handlers::on_async`]
//! awaits, [`Handlers::on_blocking`] computes on a thread for blocking work. A missing or unknown name makes
//! [`Table::finish`] fail, and with it the daemon's start.

use std::sync::Arc;

use futures_util::FutureExt;
use jsonrpsee::types::error::OVERSIZED_RESPONSE_CODE;
use jsonrpsee::types::{ErrorCode, Id, Params};
use jsonrpsee::{Extensions, MethodCallback, MethodResponse, Methods, ResponsePayload};
use longhaul_protocol::daemon::Initialize;
use longhaul_protocol::method::{self, CAPABILITIES, MethodInfo};
use longhaul_protocol::text::gate_into;
use longhaul_protocol::{AgentAccess, ErrorKind, METHODS, Method};
use serde::Serialize;
use serde::ser::Error as _;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::agent_params::{AgentGate, readable};
use super::answer::redacted;
use super::error::Failure;
use super::params;
use super::references::References;
use crate::ingest::Ingest;
use crate::peer::{CallContext, Caller, ReadyAnswer};
use crate::service::projects::Projects;
use crate::service::resolve::Resolver;
use crate::service::state_check::StateCheck;

/// Maximum concurrent calls on threads for blocking work.
///
/// # Source
/// Chosen: more than the processors of a laptop, fewer than the pool's threads, so that the store and file reads always
/// find one.
const BLOCKING_CALLS_MAX: usize = 4;

/// The method table does not match the protocol: a defect, found at the start.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("{0} is registered twice")]
    Twice(&'static str),
    #[error("{0} has no handler")]
    Missing(&'static str),
    #[error("{0} is not a method of the protocol")]
    Unknown(&'static str),
    /// A method for an agent's own project is registered by `on`, which cannot look up the project.
    #[error("{0} is for agents' own projects and must be registered by on_async or on_blocking")]
    NeedsGate(&'static str),
}

pub struct Table {
    guards: Arc<Guards>,
    blocking: Arc<Semaphore>,
    pub(super) methods: Methods,
}

/// What stands before and after every call.
struct Guards {
    /// Repairs a database that a call finds damaged.
    ingest: Arc<Ingest>,
    /// Rejects answers that would not be kept.
    state_check: Arc<StateCheck>,
    /// Restricts agents to their project.
    gate: Arc<AgentGate>,
    references: References,
}

/// Registers the handlers of one service.
pub struct Handlers<'a, S> {
    table: &'a mut Table,
    service: Arc<S>,
}

/// The state shared by all calls of one method.
pub(super) struct MethodEntry {
    guards: Arc<Guards>,
    info: &'static MethodInfo,
    /// The bit of the capability that the method needs.
    capability: u32,
}

impl Table {
    pub fn new(
        ingest: &Arc<Ingest>,
        state_check: &Arc<StateCheck>,
        projects: &Arc<Projects>,
    ) -> Self {
        let guards = Guards {
            ingest: ingest.clone(),
            state_check: state_check.clone(),
            gate: Arc::new(AgentGate { projects: projects.clone() }),
            references: References { resolver: Resolver { projects: projects.clone() } },
        };
        let blocking = Arc::new(Semaphore::new(BLOCKING_CALLS_MAX));
        Self { guards: Arc::new(guards), blocking, methods: Methods::new() }
    }

    /// The gate for agents, for handlers that search several folders.
    pub(super) fn gate(&self) -> Arc<AgentGate> {
        self.guards.gate.clone()
    }

    pub fn of<S>(&mut self, service: &Arc<S>) -> Handlers<'_, S> {
        Handlers { table: self, service: service.clone() }
    }

    /// Checks that every method of the protocol has a handler.
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
        Ok(MethodEntry { guards: self.guards.clone(), info, capability })
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
    /// Registers a handler that answers immediately: it neither waits nor computes for long.
    pub fn on<M: Method>(
        &mut self,
        handler: impl Fn(&S, &CallContext, M::Params) -> Result<M::Result, Failure>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), TableError> {
        let (entry, service) = (self.table.entry::<M>()?, self.service.clone());
        if entry.info.agents == AgentAccess::OwnProject {
            return Err(TableError::NeedsGate(M::NAME));
        }
        let callback =
            move |id: Id<'_>, params: Params<'_>, response_max, extensions: Extensions| {
                let Some(context) = extensions.get::<CallContext>() else { return no_context(id) };
                let result = entry.read::<M>(context, &params);
                let result = result.and_then(|params| handler(&service, context, params));
                match context.peer.caller {
                    Caller::Person => entry.respond(id, result, response_max, context),
                    // These answers are short, so redact them on this task.
                    Caller::Agent => {
                        let result = result.and_then(|result| {
                            redacted(readable(&result)?).map_err(Failure::internal)
                        });
                        entry.respond(id, result, response_max, context)
                    }
                }
            };
        self.table.insert(M::NAME, MethodCallback::Sync(Arc::new(callback)))
    }

    /// Registers a handler that awaits. Its future is dropped, and the work ends, when the client disconnects.
    pub fn on_async<M, F>(
        &mut self,
        handler: impl Fn(Arc<S>, M::Params) -> F + Send + Sync + 'static,
    ) -> Result<(), TableError>
    where
        M: Method,
        F: Future<Output = Result<M::Result, Failure>> + Send + 'static,
    {
        self.on_async_with_context::<M, F>(move |service, _, params| handler(service, params))
    }

    /// Like [`on_async`](Self::on_async), for a handler that depends on the caller.
    pub fn on_async_with_context<M, F>(
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
                // Check last: everything stored before is then in the current file.
                let result = entry.guards.state_check.check().map_err(Failure::from).and(result);
                let result = match result {
                    Err(failure) => Err(entry.repaired(failure).await),
                    result => result,
                };
                match context.peer.caller {
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

    /// Registers a handler that computes.
    ///
    /// It runs on a thread for blocking work, at most [`BLOCKING_CALLS_MAX`] at a time. A call that waits for its turn
    /// ends with its connection; one that runs continues, and its answer is dropped.
    pub fn on_blocking<M: Method>(
        &mut self,
        handler: impl Fn(&S, M::Params) -> Result<M::Result, Failure> + Send + Sync + 'static,
    ) -> Result<(), TableError> {
        let handler = Arc::new(handler);
        let blocking = self.table.blocking.clone();
        self.on_async::<M, _>(move |service, params| {
            let (handler, blocking) = (handler.clone(), blocking.clone());
            async move {
                let permit = blocking.acquire_owned().await.map_err(Failure::internal)?;
                let work = move || {
                    let _permit = permit;
                    handler(&service, params)
                };
                match tokio::task::spawn_blocking(work).await {
                    Ok(result) => result,
                    // Resume the panic here: the dispatcher answers it.
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(error) => Err(Failure::internal(error)),
                }
            }
        })
    }
}

impl MethodEntry {
    /// Handles damage that a call found: rebuilds the database, or reads the transcript with changed lines again.
    /// Returns the failure to answer.
    async fn repaired(&self, failure: Failure) -> Failure {
        match failure.kind() {
            ErrorKind::StoreCorrupt => match self.guards.ingest.recover().await {
                Ok(true) => {}
                // SQLite reports damage also if the disk could not be read.
                Ok(false) => {
                    let message = "the database could not be read before and is readable now";
                    return failure.replaced_by(ErrorKind::DiskFailed, message);
                }
                Err(error) => tracing::error!(%error, "cannot rebuild the damaged database"),
            },
            ErrorKind::SourceChanged => {
                failure.path().into_iter().for_each(|path| self.guards.ingest.doubt(path));
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

    /// Like `read`, after completing ids and handles; restricts an agent to its own project.
    async fn admit<M: Method>(
        &self,
        context: &CallContext,
        params: &Params<'_>,
    ) -> Result<M::Params, Failure> {
        self.allow(context)?;
        let whole = self.guards.references.complete(self.info.name, context, params).await?;
        let whole = whole.as_deref().map(|text| Params::new(Some(text)));
        let params = whole.as_ref().unwrap_or(params);
        match (context.peer.caller, self.info.agents) {
            (Caller::Agent, AgentAccess::OwnProject) => {
                let given = params::read(params)?;
                let admitted = self.guards.gate.admit(self.info.name, context, given).await?;
                let text = Value::Object(admitted).to_string();
                params::read(&Params::new(Some(&text)))
            }
            _ => params::read(params),
        }
    }

    /// Checks that an answer to an agent is about its own project, and redacts it.
    async fn release<R: Serialize>(
        &self,
        context: &CallContext,
        result: Result<R, Failure>,
    ) -> Result<Box<RawValue>, Failure> {
        let answer = readable(&result?)?;
        self.guards.gate.check_answer(context, &answer).await?;
        let redacting = tokio::task::spawn_blocking(move || redacted(answer));
        redacting.await.map_err(Failure::internal)?.map_err(Failure::internal)
    }

    fn allow(&self, context: &CallContext) -> Result<(), Failure> {
        let name = self.info.name;
        if context.peer.caller == Caller::Agent && self.info.agents == AgentAccess::No {
            return Err(Failure::forbidden(format!("{name} is not for agents")));
        }
        if context.peer.granted() & self.capability == 0 {
            let message = format!("{name} needs a capability that initialize did not grant");
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
        match result.and_then(|result| answer(&id, &result).map_err(Failure::internal)) {
            Ok(answer) if answer.len() > response_max => {
                MethodResponse::error(id, ErrorCode::from(OVERSIZED_RESPONSE_CODE))
            }
            Ok(answer) => {
                let mut carrier =
                    MethodResponse::response(id, ResponsePayload::success(()), response_max);
                carrier.extensions_mut().insert(ReadyAnswer(answer));
                carrier
            }
            Err(failure) => MethodResponse::error(id, failure.answer(self.info.name, context)),
        }
    }
}

fn answer(id: &Id<'_>, result: &impl Serialize) -> serde_json::Result<Box<str>> {
    let mut text = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    serde_json::to_writer(&mut text, id)?;
    text.extend_from_slice(br#","result":"#);
    gate_into(&mut text, result)?;
    text.push(b'}');
    String::from_utf8(text).map(String::into_boxed_str).map_err(serde_json::Error::custom)
}

/// The answer to a call without a context. It did not come through the socket's dispatcher, which is a defect.
pub(super) fn no_context(id: Id<'_>) -> MethodResponse {
    MethodResponse::error(id, ErrorCode::InternalError)
}

/// The right to negotiate. Every connection has it, so that one with few capabilities can ask for more.
pub(super) const HANDSHAKE: u32 = 1 << 31;

// The other bits are the capabilities, by their index in the list.
const _: () = assert!(CAPABILITIES.len() <= 31);

pub(super) fn capability_bit(capability: &str) -> u32 {
    CAPABILITIES.iter().position(|known| *known == capability).map_or(0, |at| 1 << at)
}

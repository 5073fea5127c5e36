//! `initialize` and `daemon/*`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use longhaul_protocol::daemon::{
    self as wire, ConfigChange, ConfigValue, Initialize, InitializeParams, InitializeResult,
    Metrics, NoParams, ReloadResult, ServerInfo, ShowConfig, ShowConfigResult, Shutdown,
    ShutdownResult,
};
use longhaul_protocol::limit::Limits;
use longhaul_protocol::method::CAPABILITIES;
use longhaul_protocol::version::PROTOCOL_REVISION_MIN;
use longhaul_protocol::{AgentAccess, ErrorKind, METHODS, Method, RevisionRange};
use serde_json::json;

use super::agent_params;
use super::error::Failure;
use super::table::{HANDSHAKE, Table, TableError, capability_bit};
use crate::config::Reloaded;
use crate::peer::{CallContext, Caller, Counters};
use crate::service::DaemonServices;
use crate::service::reload::Reload;
use crate::service::status::Status;
use crate::shutdown::Shutdown as Switch;

mod status;

/// Maximum bytes of a client's name and version, which are kept and logged.
const CLIENT_NAME_BYTES_MAX: usize = 128;
const CLIENT_VERSION_BYTES_MAX: usize = 64;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn register(
    table: &mut Table,
    services: &DaemonServices,
    counters: &Arc<Counters>,
    stop: &Switch,
) -> Result<(), TableError> {
    let daemon = &services.status;
    let mut on = table.of(daemon);
    on.on::<Initialize>(initialize)?;
    on.on::<ShowConfig>(config)?;
    let counts = counters.clone();
    on.on_async_with_context::<wire::Status, _>(move |daemon, context, NoParams {}| {
        let counts = counts.clone();
        async move {
            let mut status = status::status(&daemon, &counts).await;
            if context.peer.caller == Caller::Agent {
                // Errors name transcripts of other projects.
                status.ingest.errors.clear();
            }
            Ok(status)
        }
    })?;
    let counts = counters.clone();
    on.on::<Metrics>(move |daemon, _, NoParams {}| Ok(status::metrics(daemon, &counts)))?;
    // A request in flight is finished: the drain closes nothing before this answer is sent.
    let (counts, stop, pid) = (counters.clone(), stop.clone(), daemon.instance.pid);
    on.on::<Shutdown>(move |_, _, NoParams {}| {
        let requests_in_flight = counts.in_flight.load(Ordering::Relaxed);
        stop.begin("daemon/shutdown");
        Ok(ShutdownResult { pid, requests_in_flight })
    })?;
    table.of(&services.reload).on::<wire::Reload>(reload)
}

fn initialize(
    daemon: &Status,
    context: &CallContext,
    params: InitializeParams,
) -> Result<InitializeResult, Failure> {
    let InitializeParams { client, protocol, capabilities, folder } = params;
    bounded("client.name", &client.name, CLIENT_NAME_BYTES_MAX)?;
    bounded("client.version", &client.version, CLIENT_VERSION_BYTES_MAX)?;
    let is_agent = context.peer.caller == Caller::Agent;
    if let Some(folder) = folder.filter(|_| is_agent) {
        let is_trusted = *daemon.config.now().server.trust_stated_folder;
        agent_params::note_folder(context, &folder, is_trusted)?;
    }
    let oldest = RevisionRange { min: PROTOCOL_REVISION_MIN, max: PROTOCOL_REVISION_MIN };
    let protocol = agree(protocol.unwrap_or(oldest))?;
    let mut granted = CAPABILITIES.to_vec();
    if let Some(asked) = capabilities {
        granted.retain(|known| asked.iter().any(|name| name == known));
    }
    let may_call =
        |name: &str, capability: &str| name == Initialize::NAME || granted.contains(&capability);
    let is_open = |access: AgentAccess| !is_agent || access != AgentAccess::No;
    let methods =
        METHODS.iter().filter(|info| may_call(info.name, info.capability) && is_open(info.agents));
    let methods = methods.map(|info| info.name.to_owned()).collect();
    // Always grant the handshake, or a connection could not ask for more later.
    context.peer.grant(granted.iter().fold(HANDSHAKE, |bits, name| bits | capability_bit(name)));
    tracing::debug!(client = client.name, version = client.version, protocol, "handshake");
    Ok(InitializeResult {
        protocol,
        server: ServerInfo {
            name: "longhauld".to_owned(),
            version: VERSION.to_owned(),
            instance_id: daemon.instance.id.clone(),
            pid: daemon.instance.pid,
        },
        capabilities: granted.into_iter().map(str::to_owned).collect(),
        methods,
        limits: Limits {
            connections_max: *daemon.config.now().server.connections_max,
            ..Limits::OURS
        },
    })
}

fn bounded(field: &str, value: &str, max: usize) -> Result<(), Failure> {
    match value.len() {
        given if given <= max => Ok(()),
        given => {
            let message = format!("{field} has {given} bytes, the maximum is {max}");
            Err(Failure::over(message, field, max as u64, given as u64))
        }
    }
}

fn agree(client: RevisionRange) -> Result<u32, Failure> {
    if client.min > client.max {
        return Err(Failure::new(ErrorKind::InvalidParams, "params.protocol: min is above max"));
    }
    RevisionRange::OURS.agree(client).map_err(|disagreement| {
        let detail = json!({ "client": client, "daemon": RevisionRange::OURS, "disagreement": disagreement });
        Failure::new(ErrorKind::VersionUnsupported, "no protocol revision in common").with_detail(detail)
    })
}

fn config(daemon: &Status, _: &CallContext, _: NoParams) -> Result<ShowConfigResult, Failure> {
    let config = daemon.config.now();
    let values = config.entries().into_iter().map(|(key, value, origin)| ConfigValue {
        key,
        value,
        origin: origin.to_string(),
    });
    Ok(ShowConfigResult {
        file: config.file.as_ref().map(|path| path.display().to_string()),
        path: config.file_path().display().to_string(),
        values: values.collect(),
    })
}

fn reload(reloads: &Reload, _: &CallContext, _: NoParams) -> Result<ReloadResult, Failure> {
    let Reloaded { config, changes } = reloads.run()?;
    let changes = changes.into_iter().map(|change| ConfigChange {
        key: change.key,
        before: change.before,
        after: change.after,
        applied: change.is_applied,
    });
    Ok(ReloadResult {
        file: config.file.as_ref().map(|path| path.display().to_string()),
        changes: changes.collect(),
    })
}

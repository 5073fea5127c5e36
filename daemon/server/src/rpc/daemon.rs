//! `initialize` and `daemon/*`.

use std::sync::atomic::Ordering;

use longhaul_protocol::daemon::{
    ConfigChange, ConfigValue, Initialize, InitializeParams, InitializeResult, Metrics, NoParams,
    Reload, ReloadResult, ServerInfo, ShowConfig, ShowConfigResult, Shutdown, ShutdownResult,
    Status, StatusResult,
};
use longhaul_protocol::limit::Limits;
use longhaul_protocol::method::CAPABILITIES;
use longhaul_protocol::version::PROTOCOL_REVISION_MIN;
use longhaul_protocol::{ErrorKind, METHODS, Method, PROTOCOL_REVISION, RevisionRange};
use serde_json::json;

use super::error::Failure;
use super::{HANDSHAKE, Table, TableError, capability_bit};
use crate::config::Reloaded;
use crate::link::CallContext;
use crate::service::Services;

/// Bytes of a client's name and of its version; they are kept and logged.
const CLIENT_NAME_BYTES_MAX: usize = 128;
const CLIENT_VERSION_BYTES_MAX: usize = 64;

/// The program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn register(table: &mut Table) -> Result<(), TableError> {
    table.on::<Initialize>(initialize)?;
    table.on::<Status>(status)?;
    table.on::<Metrics>(|services, _, NoParams {}| Ok(services.metrics()))?;
    table.on::<ShowConfig>(config)?;
    table.on::<Reload>(reload)?;
    table.on::<Shutdown>(shutdown)
}

fn initialize(
    services: &Services,
    context: &CallContext,
    params: InitializeParams,
) -> Result<InitializeResult, Failure> {
    let InitializeParams { client, protocol, capabilities } = params;
    bounded("client.name", &client.name, CLIENT_NAME_BYTES_MAX)?;
    bounded("client.version", &client.version, CLIENT_VERSION_BYTES_MAX)?;
    let oldest = RevisionRange { min: PROTOCOL_REVISION_MIN, max: PROTOCOL_REVISION_MIN };
    let protocol = agree(protocol.unwrap_or(oldest))?;
    let mut granted = CAPABILITIES.to_vec();
    if let Some(asked) = capabilities {
        granted.retain(|known| asked.iter().any(|name| name == known));
    }
    let may_call =
        |name: &str, capability: &str| name == Initialize::NAME || granted.contains(&capability);
    let methods = METHODS.iter().filter(|info| may_call(info.name, info.capability));
    let methods = methods.map(|info| info.name.to_owned()).collect();
    // The handshake stays possible whatever was granted, else a connection could never widen it again.
    context.link.grant(granted.iter().fold(HANDSHAKE, |bits, name| bits | capability_bit(name)));
    tracing::debug!(client = client.name, version = client.version, protocol, "handshake");
    Ok(InitializeResult {
        protocol,
        server: ServerInfo {
            name: "longhauld".to_owned(),
            version: VERSION.to_owned(),
            instance_id: services.instance.id.clone(),
            pid: services.instance.pid,
        },
        capabilities: granted.into_iter().map(str::to_owned).collect(),
        methods,
        limits: Limits {
            connections_max: *services.deps.config.now().connections_max,
            ..Limits::OURS
        },
    })
}

fn bounded(field: &str, value: &str, max: usize) -> Result<(), Failure> {
    match value.len() {
        given if given <= max => Ok(()),
        given => Err(Failure::new(
            ErrorKind::LimitExceeded,
            format!("{field} has {given} bytes, at most {max} are taken"),
        )
        .with_detail(json!({ "limit": field, "max": max, "given": given }))),
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

fn status(services: &Services, _: &CallContext, _: NoParams) -> Result<StatusResult, Failure> {
    let deps = &services.deps;
    let progress = services.progress();
    let (ingest, sources) = services.ingest_status(&progress);
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    Ok(StatusResult {
        version: VERSION.to_owned(),
        protocol: PROTOCOL_REVISION,
        pid: services.instance.pid,
        instance_id: services.instance.id.clone(),
        started_at: services.instance.started_at,
        uptime_ms: services.uptime_ms(),
        socket: services.instance.socket.display().to_string(),
        state_dir: deps.config.now().state_dir.display().to_string(),
        store: services.store_status(),
        sources,
        ingest,
        search: services.index_status(),
        connections: count(&deps.counters.connections),
        requests: count(&deps.counters.requests),
        panics: count(&deps.counters.panics),
        model: services.model_status(),
        warnings: services.warnings(&progress),
    })
}

fn config(services: &Services, _: &CallContext, _: NoParams) -> Result<ShowConfigResult, Failure> {
    let config = services.deps.config.now();
    let values = config.entries().into_iter().map(|(key, value, origin)| ConfigValue {
        key: key.to_owned(),
        value,
        origin: origin.to_string(),
    });
    Ok(ShowConfigResult {
        file: config.file.as_ref().map(|path| path.display().to_string()),
        path: config.file_place().display().to_string(),
        values: values.collect(),
    })
}

fn reload(services: &Services, _: &CallContext, _: NoParams) -> Result<ReloadResult, Failure> {
    let Reloaded { config, changes } = services.reload()?;
    let changes = changes.into_iter().map(|change| ConfigChange {
        key: change.key.to_owned(),
        before: change.before,
        after: change.after,
        applied: change.is_applied,
    });
    Ok(ReloadResult {
        file: config.file.as_ref().map(|path| path.display().to_string()),
        changes: changes.collect(),
    })
}

/// The answer is on its way before the drain begins to close anything: a request in flight is finished.
fn shutdown(services: &Services, _: &CallContext, _: NoParams) -> Result<ShutdownResult, Failure> {
    let requests_in_flight = services.deps.counters.in_flight.load(Ordering::Relaxed);
    services.deps.shutdown.begin("daemon/shutdown");
    Ok(ShutdownResult { pid: services.instance.pid, requests_in_flight })
}

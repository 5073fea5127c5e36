//! Whether a model's server on this machine is there: a connection that is closed again, without a request.
//!
//! Servers elsewhere are not tried: a proxy may be on the way, and nobody who asks for the status should wait for them.

use std::time::Duration;

use reqwest::Url;
use tokio::net::TcpStream;

use super::{Kind, ModelSettings, Provider};

/// A program of this machine answers sooner, or its queue of connections is full.
const CONNECT: Duration = Duration::from_millis(500);

/// A provider in use that has no server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SilentProvider {
    pub name: String,
    /// Host and port; the rest of an address may be secret.
    pub address: String,
    pub why: String,
}

pub(super) async fn silent(settings: &ModelSettings) -> Vec<SilentProvider> {
    let choices = settings.default.iter().chain(settings.by_task.values());
    let mut names: Vec<&String> = choices.map(|choice| &choice.provider).collect();
    names.sort_unstable();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let Some((host, port)) = settings.providers.get(name).and_then(local_server) else {
            continue;
        };
        let connection = TcpStream::connect((host.trim_matches(['[', ']']), port));
        let why = match tokio::time::timeout(CONNECT, connection).await {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        found.push(SilentProvider { name: name.clone(), address: format!("{host}:{port}"), why });
    }
    found
}

/// The host and port of a server on this machine.
fn local_server(provider: &Provider) -> Option<(String, u16)> {
    let Kind::Http(_) = provider.kind else { return None };
    let url = Url::parse(&provider.base_url).ok()?;
    let host = url.host_str()?;
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    let is_local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    is_local.then_some((host.to_owned(), url.port_or_known_default()?))
}

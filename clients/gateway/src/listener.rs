//! The listener on 127.0.0.1 and its connections.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use listenfd::ListenFd;
use longhaul_client::gateway::GatewaySettings;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::exchange::Gateway;
use crate::{CONFIGURATION, Refusal, TRY_LATER};

const CONNECTIONS_MAX: usize = 256;
/// Seconds that streams under way have to end when the gateway is stopped.
const DRAIN_SECONDS: u64 = 60;
/// Milliseconds to wait where the system has no descriptor left for a connection.
const EXHAUSTED_MS: u64 = 20;

/// The listener that systemd hands over, else one of our own.
pub(crate) fn open(settings: &GatewaySettings) -> Result<TcpListener, Refusal> {
    let taken = ListenFd::from_env().take_tcp_listener(0);
    let listener = match taken.map_err(|error| unusable(&error))? {
        Some(listener) => listener,
        None => {
            std::net::TcpListener::bind(settings.address()).map_err(|error| match error.kind() {
                io::ErrorKind::AddrInUse => in_use(settings),
                _ => unusable(&error),
            })?
        }
    };
    let address = listener.local_addr().map_err(|error| unusable(&error))?;
    if !address.ip().is_loopback() {
        let message =
            format!("{address} is not of this machine alone; the gateway listens on 127.0.0.1");
        return Err(Refusal { code: CONFIGURATION, message });
    }
    listener.set_nonblocking(true).map_err(|error| unusable(&error))?;
    TcpListener::from_std(listener).map_err(|error| unusable(&error))
}

fn unusable(error: &io::Error) -> Refusal {
    Refusal { code: CONFIGURATION, message: format!("the port cannot be listened on: {error}") }
}

/// Another program has the port, or this one runs already.
fn in_use(settings: &GatewaySettings) -> Refusal {
    let address = settings.address();
    match settings.ask() {
        Ok(status) => {
            let message = format!("process {} serves {address} already", status.pid);
            Refusal { code: TRY_LATER, message }
        }
        Err(_) => {
            let message = format!(
                "{address} is in use by another program; `longhaul install codex --gateway --port PORT` takes another \
                 port"
            );
            Refusal { code: CONFIGURATION, message }
        }
    }
}

/// Serves until it is told to stop, then lets streams under way end.
pub(crate) async fn serve(listener: TcpListener, gateway: Arc<Gateway>) -> io::Result<()> {
    let (stop, connections) = (CancellationToken::new(), TaskTracker::new());
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        let next = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            next = next => next,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let served = connection(stream, Arc::clone(&gateway), stop.clone());
                connections.spawn(async move {
                    let _permit = permit;
                    served.await;
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(EXHAUSTED_MS)).await,
        }
    }
    drop(listener);
    stop.cancel();
    connections.close();
    // What has not ended by then is cut off, and asked for again by the client.
    tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS), connections.wait())
        .await
        .unwrap_or_default();
    Ok(())
}

/// One connection. That it ends early is its client's affair, and tells the upstream by being dropped.
async fn connection(stream: TcpStream, gateway: Arc<Gateway>, stop: CancellationToken) {
    // Events are small, and each is waited for. Without it they only come later.
    stream.set_nodelay(true).unwrap_or_default();
    let service = service_fn(move |request| {
        let gateway = Arc::clone(&gateway);
        async move { Ok::<_, Infallible>(gateway.reply(request).await) }
    });
    let mut http = http1::Builder::new();
    // What the provider sends has a date of its own, or none.
    http.auto_date_header(false);
    let mut served = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = served.as_mut() => return ended.unwrap_or_default(),
        () = stop.cancelled() => served.as_mut().graceful_shutdown(),
    }
    served.await.unwrap_or_default();
}

//! The listener on 127.0.0.1 and its connections.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
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
/// Time until the head of the next request must have arrived; then the connection is closed, so that nobody can hold all of
/// them. Codex's HTTP client drops its idle connections after 90 seconds.
const IDLE: Duration = Duration::from_secs(120);
/// Seconds that open streams have to end when the gateway stops.
const DRAIN_SECONDS: u64 = 60;
/// Milliseconds to wait if the system has no descriptor left for a connection.
const EXHAUSTED_MS: u64 = 20;

/// The listener from systemd, else a new one.
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

/// Another program has the port, or this one is already running.
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

/// Serves until stopped, then lets open streams end.
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
    // Later streams are cut off, and the client repeats them.
    tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS), connections.wait())
        .await
        .unwrap_or_default();
    Ok(())
}

/// HTTP as this server speaks it.
fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    // The provider's reply has its own date, or none.
    http.auto_date_header(false);
    http.timer(TokioTimer::new()).header_read_timeout(IDLE);
    http
}

/// Serves one connection. If the client ends it early, dropping it also ends the upstream request.
async fn connection(stream: TcpStream, gateway: Arc<Gateway>, stop: CancellationToken) {
    // Events are small, and the client waits for each. Without this they only arrive later.
    stream.set_nodelay(true).unwrap_or_default();
    let service = service_fn(move |request| {
        let gateway = Arc::clone(&gateway);
        async move { Ok::<_, Infallible>(gateway.reply(request).await) }
    });
    let mut served = std::pin::pin!(http().serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = served.as_mut() => return ended.unwrap_or_default(),
        () = stop.cancelled() => served.as_mut().graceful_shutdown(),
    }
    served.await.unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use http_body_util::Empty;
    use hyper::Response;
    use hyper::body::Bytes;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_is_closed() {
        for said in ["", "GET / HTTP/1.1\r\nhost: x\r\n\r\n", "GET / HTTP/1.1\r\nho"] {
            let (mut client, server) = tokio::io::duplex(1_024);
            let service =
                service_fn(|_| async { Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new())) });
            let (begun, served) =
                (Instant::now(), http().serve_connection(TokioIo::new(server), service));
            let client = async {
                client.write_all(said.as_bytes()).await.unwrap();
                let mut answer = String::new();
                client.read_to_string(&mut answer).await.unwrap();
                answer
            };
            let (answer, _) = tokio::join!(client, served);
            assert_eq!(answer.starts_with("HTTP/1.1 200"), said.ends_with("\r\n\r\n"), "{answer}");
            assert!((IDLE..2 * IDLE).contains(&begun.elapsed()), "{said:?}: {:?}", begun.elapsed());
        }
    }
}

//! NDJSON over a Unix stream as a transport of the jsonrpsee client.
//!
//! The reader does not pass on everything it reads, because the jsonrpsee client would break on it:
//!
//! - `event` notifications go to the [`Router`]: jsonrpsee wants a bare subscription id as the answer to a
//!   subscription, ours carries more;
//! - an answer with `"id": null` belongs to no request (one the daemon could not read) and would end the
//!   whole connection with every other call on it; it is passed over, but kept where it says why the daemon
//!   closes the connection ([`Parting`]);
//! - lines over the bound are passed over, and the call they answer runs into its timeout.

use std::io;
use std::sync::{Arc, OnceLock};

use jsonrpsee::core::client::{ReceivedMessage, TransportReceiverT, TransportSenderT};
use longhaul_protocol::event::NotificationParams;
use longhaul_protocol::frame::{self, Decoder, Frame};
use longhaul_protocol::method::EVENT_NOTIFICATION;
use longhaul_protocol::{ErrorKind, WireError};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::subscription::Router;

/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;

/// Why the daemon closed a connection, where it said so.
pub(crate) type Parting = Arc<OnceLock<WireError>>;

/// The writing half.
pub(crate) struct Sender {
    pub(crate) stream: OwnedWriteHalf,
}

impl TransportSenderT for Sender {
    type Error = io::Error;

    async fn send(&mut self, message: String) -> Result<(), Self::Error> {
        match self.stream.write_all(&frame::encode(message.as_bytes())).await {
            // The daemon has closed it. What it said before stands to be read: the reader finds the end.
            Err(error) if is_closed(&error) => Ok(()),
            written => written,
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.stream.shutdown().await
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// The reading half. Its state is all in itself, so that a dropped `receive` loses nothing.
pub(crate) struct Receiver {
    stream: OwnedReadHalf,
    decoder: Decoder,
    chunk: Box<[u8]>,
    router: Arc<Router>,
    parting: Parting,
}

impl Receiver {
    pub(crate) fn new(stream: OwnedReadHalf, router: Arc<Router>, parting: Parting) -> Self {
        let chunk = vec![0; READ_BYTES].into_boxed_slice();
        Self { stream, decoder: Decoder::default(), chunk, router, parting }
    }

    /// The next message that is for the jsonrpsee client, of those that are read already.
    fn next_answer(&mut self) -> Option<Vec<u8>> {
        while let Some(frame) = self.decoder.next_frame() {
            let Frame::Line(line) = frame else { continue };
            match destination(line) {
                Destination::Client => return Some(line.to_vec()),
                Destination::Router(event) => self.router.deliver(*event),
                Destination::Nobody => {
                    if let Some(parting) = parting(line) {
                        // Said once; the first one counts.
                        self.parting.get_or_init(|| parting);
                    }
                }
            }
        }
        None
    }
}

impl TransportReceiverT for Receiver {
    type Error = io::Error;

    async fn receive(&mut self) -> Result<ReceivedMessage, Self::Error> {
        loop {
            if let Some(answer) = self.next_answer() {
                return Ok(ReceivedMessage::Bytes(answer));
            }
            let bytes = self.stream.read(&mut self.chunk).await?;
            if bytes == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon closed it"));
            }
            self.decoder.push(&self.chunk[..bytes]);
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.router.close();
    }
}

/// The error by which a daemon that answers to no request in particular closes a connection.
fn parting(line: &[u8]) -> Option<WireError> {
    #[derive(Deserialize)]
    struct Said {
        error: WireError,
    }
    let Said { error } = serde_json::from_slice(line).ok()?;
    matches!(error.kind(), ErrorKind::ServerBusy | ErrorKind::Draining).then_some(error)
}

enum Destination {
    Client,
    Router(Box<NotificationParams>),
    Nobody,
}

/// The members that say what a message is. `id` is raw, because `null` and absent are not the same.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

fn destination(line: &[u8]) -> Destination {
    // What has no such head (a batch, no JSON at all) is for the client to judge.
    let Ok(head) = serde_json::from_slice::<Head<'_>>(line) else { return Destination::Client };
    match head {
        Head { method: Some(EVENT_NOTIFICATION), params: Some(params), .. } => {
            let event = serde_json::from_str(params.get());
            event.map_or(Destination::Nobody, |event| Destination::Router(Box::new(event)))
        }
        Head { method: Some(_), .. } | Head { id: None, .. } => Destination::Nobody,
        Head { id: Some(id), .. } if id.get() == "null" => Destination::Nobody,
        Head { .. } => Destination::Client,
    }
}

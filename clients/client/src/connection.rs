//! One connection: requests go out as lines, answers and events come in.
//!
//! One task owns the socket. It ends when the daemon closes the connection, when a line is not a JSON-RPC message, or
//! when the last [`Connection`] is dropped; pending calls then fail with the reason, and subscriptions end. A call
//! that is dropped or times out leaves nothing behind: a late answer is ignored. Lines over the bound are skipped, and
//! the calls they answer time out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longhaul_protocol::frame::{self, Decoder, Frame};
use longhaul_protocol::limit::INFLIGHT_PER_CONNECTION_MAX;
use longhaul_protocol::method::EVENT_NOTIFICATION;
use longhaul_protocol::{ErrorKind, WireError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};

use crate::ClientError;
use crate::subscription::Router;

/// Bytes per read.
const READ_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Connection {
    lines: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
    next_id: AtomicU64,
}

/// The result as JSON text, or the daemon's error.
type Answer = Result<String, Box<WireError>>;

/// State shared by the callers and the task.
#[derive(Debug, Default)]
struct Shared {
    calls: Mutex<Calls>,
    router: Router,
}

#[derive(Debug, Default)]
struct Calls {
    waiting: HashMap<u64, oneshot::Sender<Answer>>,
    /// The daemon's error that announced closing the connection.
    parting: Option<WireError>,
    /// Why the connection ended; `None` while it is open.
    ended: Option<String>,
}

impl Connection {
    pub(crate) fn new(stream: UnixStream) -> Self {
        let (lines, queued) = mpsc::channel(INFLIGHT_PER_CONNECTION_MAX);
        let shared = Arc::<Shared>::default();
        tokio::spawn(run(stream, queued, Arc::clone(&shared)));
        Self { lines, shared, next_id: AtomicU64::new(0) }
    }

    pub(crate) fn router(&self) -> &Router {
        &self.shared.router
    }

    /// Sends a request and waits for its result, as JSON text.
    pub(crate) async fn request(&self, method: &str, params: &str) -> Result<String, ClientError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let _waiting = self.shared.wait(id, sender)?;
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        // A closed queue means that the connection has ended; then `answer` is closed, too.
        drop(self.lines.send(frame::encode(line.as_bytes())).await);
        match answer.await {
            Ok(answer) => answer.map_err(ClientError::Refused),
            Err(_) => Err(self.shared.calls().why_ended()),
        }
    }

    /// Waits until the connection has ended.
    pub(crate) async fn closed(&self) {
        self.lines.closed().await;
    }
}

impl Shared {
    /// Registers a call until the guard is dropped.
    fn wait(&self, id: u64, sender: oneshot::Sender<Answer>) -> Result<Waiting<'_>, ClientError> {
        let mut calls = self.calls();
        if calls.ended.is_some() {
            return Err(calls.why_ended());
        }
        calls.waiting.insert(id, sender);
        Ok(Waiting { shared: self, id })
    }

    /// Delivers a line to its call or subscription; an error ends the connection.
    fn receive(&self, line: &[u8]) -> Result<(), serde_json::Error> {
        let message: Message<'_> = serde_json::from_slice(line)?;
        match (message.id.as_ref().and_then(Value::as_u64), message.method, message.error) {
            (_, Some(method), _) => {
                if method == EVENT_NOTIFICATION
                    && let Some(event) = message.params
                    && let Ok(event) = serde_json::from_str(event.get())
                {
                    self.router.deliver(event);
                }
            }
            (Some(id), None, error) => {
                // The call has timed out.
                let Some(sender) = self.calls().waiting.remove(&id) else { return Ok(()) };
                drop(sender.send(match error {
                    Some(error) => Err(Box::new(error.into())),
                    None => Ok(message.result.map_or("null", RawValue::get).to_owned()),
                }));
            }
            (None, None, Some(error)) => {
                let error = WireError::from(error);
                if matches!(error.kind(), ErrorKind::ServerBusy | ErrorKind::Draining) {
                    self.calls().parting.get_or_insert(error);
                }
            }
            (None, None, None) => {}
        }
        Ok(())
    }

    fn end(&self, reason: String) {
        let mut calls = self.calls();
        calls.ended = Some(reason);
        calls.waiting.clear();
        self.router.close();
    }

    /// No code panics while holding the lock, so a poisoned one is still consistent.
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    fn why_ended(&self) -> ClientError {
        match (&self.parting, &self.ended) {
            (Some(error), _) => ClientError::Refused(Box::new(error.clone())),
            (None, reason) => ClientError::Broken(reason.clone().unwrap_or_default()),
        }
    }
}

/// A registered call.
struct Waiting<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.calls().waiting.remove(&self.id);
    }
}

async fn run(mut stream: UnixStream, mut lines: mpsc::Receiver<Vec<u8>>, shared: Arc<Shared>) {
    let (read, write) = stream.split();
    let reason = tokio::select! {
        reason = read_lines(read, &shared) => reason,
        () = write_lines(write, &mut lines) => "this end closed it".to_owned(),
    };
    shared.end(reason);
}

/// Reads until the connection ends, and returns why.
async fn read_lines(mut stream: ReadHalf<'_>, shared: &Shared) -> String {
    let mut decoder = Decoder::default();
    let mut chunk = vec![0; READ_BYTES].into_boxed_slice();
    loop {
        match stream.read(&mut chunk).await {
            Ok(0) => return "the daemon closed it".to_owned(),
            Ok(bytes) => decoder.push(&chunk[..bytes]),
            Err(error) => return error.to_string(),
        }
        while let Some(frame) = decoder.next_frame() {
            if let Frame::Line(line) = frame
                && let Err(error) = shared.receive(line)
            {
                return format!("the daemon sent a line that is not a message: {error}");
            }
        }
    }
}

/// Writes until the last sender is dropped.
async fn write_lines(mut stream: WriteHalf<'_>, lines: &mut mpsc::Receiver<Vec<u8>>) {
    let mut is_open = true;
    while let Some(line) = lines.recv().await {
        // After a failed write the reader continues: what the daemon sent before it closed counts.
        is_open = is_open && stream.write_all(&line).await.is_ok();
    }
}

/// A message of the daemon: an answer, or a notification.
#[derive(Deserialize)]
struct Message<'a> {
    id: Option<Value>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<AnyError>,
}

/// An error of any server; `data` is used if it has our shape.
#[derive(Deserialize)]
struct AnyError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl From<AnyError> for WireError {
    fn from(AnyError { code, message, data }: AnyError) -> Self {
        Self { code, message, data: data.and_then(|data| serde_json::from_value(data).ok()) }
    }
}

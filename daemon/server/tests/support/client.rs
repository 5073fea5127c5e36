//! A client with the protocol's types, and below it one of plain lines.

use std::io;
use std::path::Path;
use std::time::Duration;

use longhaul_protocol::event::{EventKind, NotificationParams};
use longhaul_protocol::{ErrorKind, Method, WireError};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::{field, soon};

pub struct Client {
    stream: BufReader<UnixStream>,
    next_id: u64,
}

/// An answer on the wire: exactly one of `result` and `error` is present.
#[derive(Debug)]
pub struct Response {
    pub id: Value,
    pub outcome: Result<Value, WireError>,
}

/// A notification of `event/subscribe`.
#[derive(Debug)]
pub struct Event {
    pub seq: u64,
    pub kind: EventKind,
    pub data: Value,
}

impl Response {
    pub fn from_wire(message: &Value) -> Self {
        let id = field(message, "id").clone();
        let outcome = match (message.get("result"), message.get("error")) {
            (Some(result), None) => Ok(result.clone()),
            (None, Some(error)) => Err(serde_json::from_value(error.clone()).unwrap()),
            _ => panic!("neither a result nor an error: {message}"),
        };
        Self { id, outcome }
    }

    /// The kind of the error; `None` for a result.
    pub fn kind(&self) -> Option<ErrorKind> {
        self.outcome.as_ref().err().map(WireError::kind)
    }

    #[track_caller]
    pub fn result(&self) -> &Value {
        self.outcome.as_ref().unwrap()
    }

    #[track_caller]
    pub fn error(&self) -> &WireError {
        self.outcome.as_ref().unwrap_err()
    }
}

/// Connects when the daemon's accept queue has a place: Linux rejects at once if it is full.
pub async fn connected(socket: &Path) -> UnixStream {
    let connected = async {
        loop {
            match UnixStream::connect(socket).await {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                connected => return connected.unwrap(),
            }
        }
    };
    soon("a connection", connected).await
}

impl Client {
    pub async fn connect(socket: &Path) -> Self {
        Self { stream: BufReader::new(connected(socket).await), next_id: 1 }
    }

    /// Connects to a daemon that may not be running.
    pub async fn try_connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket).await?;
        Ok(Self { stream: BufReader::new(stream), next_id: 1 })
    }

    /// Calls a method of a daemon that may exit, without a time limit; `None` if there was no answer.
    pub async fn attempt<M: Method>(
        &mut self,
        params: M::Params,
    ) -> Option<Result<M::Result, WireError>> {
        let id = self.next_id;
        self.next_id += 1;
        let params = serde_json::to_value(params).unwrap();
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": M::NAME, "params": params });
        self.try_send(format!("{request}\n").as_bytes()).await;
        let mut line = String::new();
        if self.stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return None;
        }
        let answer = Response::from_wire(&serde_json::from_str(&line).unwrap());
        assert_eq!(answer.id, id, "{answer:?}");
        Some(answer.outcome.map(|result| serde_json::from_value(result).unwrap()))
    }

    /// Calls a method and reads its answer, which must be the next message.
    pub async fn call<M: Method>(&mut self, params: M::Params) -> Result<M::Result, WireError> {
        let answer = self.request(M::NAME, serde_json::to_value(params).unwrap()).await;
        answer.outcome.map(|result| {
            serde_json::from_value(result).unwrap_or_else(|error| panic!("{}: {error}", M::NAME))
        })
    }

    /// Sends a call without waiting for its answer; returns its id.
    pub async fn begin<M: Method>(&mut self, params: M::Params) -> u64 {
        self.send_request(M::NAME, serde_json::to_value(params).unwrap()).await
    }

    /// The next event of this connection's subscription.
    pub async fn event(&mut self) -> Event {
        let message = self.receive().await.expect("an event");
        let params: NotificationParams =
            serde_json::from_value(field(&message, "params").clone()).unwrap();
        let event = params.result;
        let kind = serde_json::from_value(Value::from(event.kind)).unwrap();
        Event { seq: event.seq, kind, data: event.data }
    }

    /// Calls a method by name with raw params, for tests of the wire itself.
    pub async fn request(&mut self, method: &str, params: Value) -> Response {
        let id = self.send_request(method, params).await;
        let answer = self.response().await;
        assert_eq!(answer.id, id, "{answer:?}");
        answer
    }

    /// The next message, which must be an answer.
    pub async fn response(&mut self) -> Response {
        Response::from_wire(&self.receive().await.expect("an answer"))
    }

    /// Sends a request without waiting for its answer; returns its id.
    pub async fn send_request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_message(&request).await;
        id
    }

    /// Sends one message as one line.
    pub async fn send_message(&mut self, message: &Value) {
        self.send(format!("{message}\n")).await;
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon("a write", self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Sends bytes to a server that may close the connection.
    pub async fn try_send(&mut self, bytes: &[u8]) {
        drop(soon("a write", self.stream.write_all(bytes)).await);
    }

    /// The next message; `None` at the end of the connection.
    pub async fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match soon("a line", self.stream.read_line(&mut line)).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Half-closes the connection: sends nothing more, and can still read.
    pub async fn stop_sending(&mut self) {
        self.stream.shutdown().await.unwrap();
    }
}

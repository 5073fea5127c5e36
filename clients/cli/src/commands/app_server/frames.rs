//! The transport of an app server: its control socket, or the pipes of one of our own.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as FrameError, Message};

use super::{CALL_TIMEOUT, ServerFault, within, words};

/// Maximum bytes of a message; twenty turns of a thread with their outputs are a few MiB.
const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
const PROGRAM: &str = "codex";
/// Time for a server of our own to end after its input has ended.
const END_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) enum Frames {
    Socket(Box<WebSocketStream<UnixStream>>),
    /// One message a line.
    Pipes(Box<Pipes>),
}

pub(super) struct Pipes {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Frames {
    pub(super) async fn connect(stream: UnixStream) -> Result<Self, ServerFault> {
        let bounds = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let asked =
            tokio_tungstenite::client_async_with_config("ws://localhost/", stream, Some(bounds));
        let handshake = within(CALL_TIMEOUT, "the handshake", async {
            asked.await.map_err(|error| ServerFault::InvalidMessage(words(&error.to_string())))
        });
        let (frames, _) = handshake.await?;
        Ok(Self::Socket(Box::new(frames)))
    }

    /// Starts Codex of the `PATH` in the thread's folder.
    pub(super) fn start(home: &Path, folder: Option<&Path>) -> Result<Self, ServerFault> {
        let mut command = Command::new(PROGRAM);
        command.arg("app-server").env("CODEX_HOME", home).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
            command.current_dir(folder);
        }
        let mut child = command.spawn().map_err(ServerFault::NotStarted)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ServerFault::Disconnected);
        };
        Ok(Self::Pipes(Box::new(Pipes { child, input, output: BufReader::new(output) })))
    }

    pub(super) async fn send(&mut self, message: String) -> Result<(), ServerFault> {
        let is_sent = match self {
            Self::Socket(frames) => frames.send(Message::text(message)).await.is_ok(),
            Self::Pipes(pipes) => pipes.input.write_all((message + "\n").as_bytes()).await.is_ok(),
        };
        if is_sent { Ok(()) } else { Err(ServerFault::Disconnected) }
    }

    /// The next message; `None` for a frame without one.
    pub(super) async fn receive(&mut self) -> Result<Option<String>, ServerFault> {
        match self {
            Self::Socket(frames) => match frames.next().await {
                Some(Ok(Message::Text(frame))) => Ok(Some(frame.as_str().to_owned())),
                Some(Ok(Message::Close(_))) | None => Err(ServerFault::Disconnected),
                Some(Ok(_)) => Ok(None),
                Some(Err(FrameError::Capacity(error))) => {
                    Err(ServerFault::InvalidMessage(words(&error.to_string())))
                }
                Some(Err(_)) => Err(ServerFault::Disconnected),
            },
            Self::Pipes(pipes) => pipes.receive().await.map(Some),
        }
    }

    /// Shuts down a server that we started.
    pub(super) async fn close(self) {
        if let Self::Pipes(pipes) = self {
            let Pipes { mut child, input, output: _output } = *pipes;
            drop(input);
            // It is killed then.
            drop(timeout(END_TIMEOUT, child.wait()).await);
        }
    }
}

impl Pipes {
    async fn receive(&mut self) -> Result<String, ServerFault> {
        let mut line = Vec::new();
        let mut bounded = (&mut self.output).take(MESSAGE_BYTES_MAX as u64);
        match bounded.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => Err(ServerFault::Disconnected),
            Ok(_) if !line.ends_with(b"\n") && line.len() >= MESSAGE_BYTES_MAX => {
                Err(ServerFault::InvalidMessage(format!("it has over {MESSAGE_BYTES_MAX} bytes")))
            }
            Ok(_) => String::from_utf8(line)
                .map_err(|_| ServerFault::InvalidMessage("it is not UTF-8".to_owned())),
        }
    }
}

//! The client against a scripted daemon.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod calls;
mod conversation;
mod events;
mod examples;

use longhaul_client::scripted::{Script, ScriptedServer};
use longhaul_client::{Client, ClientError, ConnectOptions};

/// A scripted daemon in a folder of its own.
struct Daemon {
    server: ScriptedServer,
    _folder: tempfile::TempDir,
}

impl Daemon {
    fn start(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = ScriptedServer::start(&folder.path().join("v1.sock"), script).unwrap();
        Self { server, _folder: folder }
    }

    fn options(&self) -> ConnectOptions {
        ConnectOptions::new("test", "0").socket(self.server.path())
    }

    async fn connect(&self) -> Result<Client, ClientError> {
        Client::connect(self.options()).await
    }
}

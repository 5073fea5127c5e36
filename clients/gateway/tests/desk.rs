//! The gateway's program in a folder of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use longhaul_client::gateway::{GatewayRoute, GatewaySettings, GatewayStatus};
use longhaul_client::scripted::{Script, ScriptedServer};

use crate::provider::{Message, exchange};

/// The route that every test uses.
pub(crate) const ROUTE: &str = "corp";

pub(crate) struct Desk {
    /// Dropped before the folder: it is woken up by its socket.
    daemon: Option<ScriptedServer>,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) settings: GatewaySettings,
    process: Child,
    /// What it writes to standard error after its first line.
    output: Option<JoinHandle<String>>,
}

impl Desk {
    /// A gateway before a provider, without a daemon.
    pub(crate) fn new(upstream: &str) -> Self {
        Self::with(upstream, None)
    }

    pub(crate) fn with_daemon(upstream: &str, script: Script) -> Self {
        Self::with(upstream, Some(script))
    }

    fn with(upstream: &str, script: Option<Script>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("v1.sock");
        let daemon = script.map(|script| ScriptedServer::start(&socket, script).unwrap());
        // A port of the system's choice; the program says which.
        let mut settings = GatewaySettings::new(0).unwrap();
        let compact_prompts = vec!["Sum it up.".to_owned()];
        let upstream = Some(upstream.to_owned());
        let route = GatewayRoute { upstream, compact_prompts, supports_websockets: None };
        settings.routes = BTreeMap::from([(ROUTE.to_owned(), route)]);
        let file = folder.path().join("gateway.json");
        std::fs::write(&file, serde_json::to_vec(&settings).unwrap()).unwrap();
        let (process, port, output) = start(folder.path());
        settings.port = port;
        Self { daemon, folder, settings, process, output: Some(output) }
    }

    /// Ends the process and starts another one with the same settings.
    pub(crate) fn restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let output;
        (self.process, self.settings.port, output) = start(self.folder.path());
        self.output = Some(output);
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.settings.address().into()
    }

    /// A path below the route.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/{}/{ROUTE}{rest}", self.settings.secret)
    }

    pub(crate) fn daemon(&self) -> &ScriptedServer {
        self.daemon.as_ref().unwrap()
    }

    pub(crate) fn send(&self, request: &[u8]) -> Message {
        exchange(self.address(), request)
    }

    pub(crate) fn status(&self) -> GatewayStatus {
        self.settings.ask().unwrap()
    }

    /// KiB of memory that the process holds.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Ends the process; all that it wrote to its streams.
    pub(crate) fn end(mut self) -> (String, tempfile::TempDir) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let output = self.output.take().unwrap().join().unwrap();
        self.daemon = None;
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        (output, folder)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // One that has ended already cannot be ended again.
        self.process.kill().unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
    }
}

/// The program with nothing of this machine around it.
pub(crate) fn program(settings: &PathBuf) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul-gateway"));
    command.env_clear().arg("--settings").arg(settings);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts the program; the port that it says it listens on, and the rest of what it says.
fn start(folder: &Path) -> (Child, u16, JoinHandle<String>) {
    let mut program = program(&folder.join("gateway.json"));
    let mut process = program.arg("--socket").arg(folder.join("v1.sock")).spawn().unwrap();
    let mut stderr = BufReader::new(process.stderr.take().unwrap());
    let mut stdout = process.stdout.take().unwrap();
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let port = line.trim().rsplit_once(':').unwrap_or_else(|| panic!("{line}")).1;
    let port = port.parse().unwrap_or_else(|_| panic!("{line}"));
    let rest = std::thread::spawn(move || {
        let mut output = line;
        stderr.read_to_string(&mut output).unwrap();
        stdout.read_to_string(&mut output).unwrap();
        output
    });
    (process, port, rest)
}

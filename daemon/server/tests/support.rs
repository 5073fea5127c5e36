//! What the tests share: a whole daemon on a temporary socket, a bare socket server with a table of its
//! own, and a client that says exactly what it is told to.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jsonrpsee::Methods;
use longhaul_daemon::app::{App, AppError, listen};
use longhaul_daemon::args::Args;
use longhaul_daemon::clock::Clock;
use longhaul_daemon::config::{Config, Surroundings};
use longhaul_daemon::link::Counters;
use longhaul_daemon::paths::Base;
use longhaul_daemon::service::Deps;
use longhaul_daemon::socket::bind::Bound;
use longhaul_daemon::socket::{Bounds, Server, accept};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a state may take to come about before a test gives up on it.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for `future`, or fails the test.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {PATIENCE:?}"),
    }
}

/// Waits until `state` holds. There is nothing to wait *on* in a counter, so the runtime is let go on in between.
pub async fn eventually(what: &str, mut state: impl FnMut() -> bool) {
    let poll = async {
        while !state() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(what, poll).await;
}

/// A configuration with everything under `root` and nothing from the surroundings.
pub fn config_under(root: &Path, text: &str) -> Config {
    let base = Base::under(root);
    std::fs::create_dir_all(base.config_file().parent().unwrap()).unwrap();
    std::fs::write(base.config_file(), text).unwrap();
    let around = Surroundings {
        base,
        current_dir: root.to_owned(),
        program: env!("CARGO_BIN_EXE_longhauld").into(),
        env: std::collections::BTreeMap::new(),
    };
    Config::load(&Args::default(), &around).unwrap()
}

/// A whole daemon in this process.
pub struct Daemon {
    pub deps: Deps,
    pub clock: Clock,
    pub socket: PathBuf,
    pub home: TempDir,
    task: JoinHandle<Result<(), AppError>>,
}

impl Daemon {
    pub async fn start() -> Self {
        Self::with_config("").await
    }

    pub async fn with_config(text: &str) -> Self {
        Self::over(tempfile::tempdir().unwrap(), text).await
    }

    /// A daemon of the user whose folders lie under `home`, on a manual clock; the Codex home is
    /// `home/.codex`.
    pub async fn over(home: TempDir, text: &str) -> Self {
        Self::on_clock(home, text, Clock::manual(1_763_700_000_000)).await
    }

    /// The same on a clock of the test's choosing: deadlines pass on one that goes.
    pub async fn on_clock(home: TempDir, text: &str, clock: Clock) -> Self {
        let config = config_under(home.path(), text);
        let held = listen(&config).unwrap();
        let socket = held.socket.path.clone();
        let app = App::build(config, clock.clone(), held).await.unwrap();
        let deps = app.deps();
        Self { deps, clock, socket, home, task: tokio::spawn(app.run()) }
    }

    /// Stops it and gives back its user's folders.
    pub async fn stopped(self) -> TempDir {
        self.deps.shutdown.begin("a test");
        soon("the daemon's end", self.task).await.unwrap().unwrap();
        self.home
    }

    pub async fn connect(&self) -> Client {
        Client::connect(&self.socket).await
    }

    /// Waits until the daemon has ended.
    pub async fn ended(self) -> Result<(), AppError> {
        soon("the daemon's end", self.task).await.unwrap()
    }
}

/// A socket server with a method table of the test's own.
pub struct Rig {
    pub counters: Arc<Counters>,
    pub clock: Clock,
    pub draining: CancellationToken,
    pub socket: PathBuf,
    _home: TempDir,
    task: JoinHandle<std::io::Result<()>>,
}

impl Rig {
    pub fn start(methods: impl Into<Methods>, bounds: Bounds) -> Self {
        Self::start_for(methods, bounds, None)
    }

    /// For the processes of the user `uid`, or of the test's own.
    pub fn start_for(methods: impl Into<Methods>, bounds: Bounds, uid: Option<u32>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("run/v1.sock");
        let Bound { listener, claim, .. } = Bound::bind(&socket).unwrap();
        let (counters, clock) = (Arc::<Counters>::default(), Clock::manual(0));
        let mut server = Server::new(methods.into(), bounds, counters.clone(), clock.clone());
        if let Some(uid) = uid {
            server = server.for_uid(uid);
        }
        let draining = CancellationToken::new();
        let accept = accept::serve(listener, Arc::new(server), draining.clone());
        let task = tokio::spawn(async move {
            let result = accept.await;
            drop(claim);
            result
        });
        Self { counters, clock, draining, socket, _home: home, task }
    }

    pub async fn connect(&self) -> Client {
        Client::connect(&self.socket).await
    }

    pub fn panics(&self) -> u64 {
        self.counters.panics.load(Ordering::Relaxed)
    }

    pub fn in_flight(&self) -> u64 {
        self.counters.in_flight.load(Ordering::Relaxed)
    }

    pub fn connections(&self) -> u64 {
        self.counters.connections.load(Ordering::Relaxed)
    }

    pub async fn ended(self) {
        soon("the server's end", self.task).await.unwrap().unwrap();
    }
}

/// A client of plain lines.
pub struct Client {
    stream: BufReader<UnixStream>,
    next_id: u64,
}

impl Client {
    pub async fn connect(socket: &Path) -> Self {
        Self { stream: BufReader::new(UnixStream::connect(socket).await.unwrap()), next_id: 1 }
    }

    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon("a write", self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Sends bytes to a server that may close meanwhile.
    pub async fn try_send(&mut self, bytes: &[u8]) {
        drop(soon("a write", self.stream.write_all(bytes)).await);
    }

    /// Sends one message as one line.
    pub async fn say(&mut self, message: &Value) {
        self.send(format!("{message}\n")).await;
    }

    /// Sends a request and answers its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// The next message; `None` at the end of the connection.
    pub async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        match soon("a line", self.stream.read_line(&mut line)).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    /// Asks and hears the answer, which must be the next message.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        let answer = self.hear().await.expect("an answer");
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Says that nothing more will be sent, and goes on reading.
    pub async fn stop_sending(&mut self) {
        self.stream.shutdown().await.unwrap();
    }
}

/// `longhauld` as a process of its own, with everything under a temporary home.
pub struct Process {
    child: Child,
    pub socket: PathBuf,
}

pub fn command(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhauld"));
    command
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Process {
    pub async fn start(home: &Path) -> Self {
        Self::spawn(command(home), home).await
    }

    /// Starts `command`, which leads to a daemon at `home`.
    pub async fn spawn(mut command: Command, home: &Path) -> Self {
        Self::watched(command.spawn().unwrap(), home).await
    }

    /// Waits until `child` answers.
    pub async fn watched(child: Child, home: &Path) -> Self {
        let socket = home.join(".local/state/longhaul/run/v1.sock");
        let mut process = Self { child, socket };
        eventually("the daemon answers", || {
            assert!(process.child.try_wait().unwrap().is_none(), "the daemon ended");
            std::os::unix::net::UnixStream::connect(&process.socket).is_ok()
        })
        .await;
        process
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub async fn exit_code(mut self) -> Option<i32> {
        let mut status = None;
        eventually("the daemon ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        })
        .await;
        status.unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended is as good.
        drop(self.child.kill());
    }
}

/// The kind of an error answer.
pub fn kind(answer: &Value) -> &str {
    answer["error"]["data"]["kind"].as_str().unwrap_or("no error")
}

//! The program with a scripted daemon: its requests, output and exit codes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod act;
mod answers;
mod ask;
mod codex_server;
mod eval;
mod exit;
mod gateway;
mod help;
mod hook;
mod hostile;
mod install;
mod install_again;
mod print;
mod rescue;
mod tail;
mod terminal;
mod up;
mod watch;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use longhaul_client::scripted::{Script, ScriptedServer, field, text_at};
use longhaul_protocol::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A scripted daemon, and the program connected to it.
struct Desk {
    server: ScriptedServer,
    folder: tempfile::TempDir,
}

/// The program's exit code and output.
#[derive(Debug)]
struct Done {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Desk {
    fn new(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = ScriptedServer::start(&folder.path().join("v1.sock"), script).unwrap();
        Self { server, folder }
    }

    /// A daemon that only listens on the agents' socket.
    fn of_agents(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = longhaul_protocol::socket::of_agents(&folder.path().join("v1.sock"));
        let server = ScriptedServer::start(&socket, script).unwrap();
        Self { server, folder }
    }

    fn run(&self, args: &[&str]) -> Done {
        run(self.program().args(args))
    }

    /// The program, connected to this daemon.
    fn program(&self) -> Command {
        let mut command = program(self.folder.path());
        command.arg("--socket").arg(self.server.path());
        command
    }

    /// The params of the last call of a method.
    fn last_params<M: Method>(&self) -> M::Params {
        self.server.calls::<M>().unwrap().pop().unwrap()
    }
}

impl Done {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The output of a command with `--json`.
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The checks of this name in the output of `longhaul doctor --json`.
    fn checks(&self, name: &str) -> Vec<Value> {
        let page = self.json();
        let checks = field(&page, "checks").as_array().unwrap().iter();
        checks.filter(|check| text_at(check, "name") == name).cloned().collect()
    }

    /// State and detail of the first check of this name.
    fn check(&self, name: &str) -> (String, String) {
        let checks = self.checks(name);
        let check = checks.first().unwrap_or_else(|| panic!("no {name}: {self:?}"));
        (text_at(check, "state").to_owned(), text_at(check, "detail").to_owned())
    }
}

/// The program in `folder`, with a clean environment.
fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
    surround(&mut command, folder);
    command
}

/// Ends a daemon, so that another one can take its place.
fn end(server: ScriptedServer) {
    let socket = server.path().to_owned();
    server.close_all();
    drop(server);
    std::fs::remove_file(socket).unwrap();
}

fn surround(command: &mut Command, folder: &Path) {
    command.env_clear().env("HOME", "/home/user").env("LONGHAUL_STATE_DIR", folder.join("state"));
    command.current_dir(folder);
}

fn run(command: &mut Command) -> Done {
    Done::of(command.output().unwrap())
}

/// Runs it with this input; its stdin stays open after that, as some agents leave it.
fn run_with(command: &mut Command, input: &str) -> Done {
    let mut child = piped(command.stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    Done::of(output)
}

fn piped(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The lines that a running program prints.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap)
}

/// Presses Ctrl-C, after which the program must end without an error.
fn interrupt(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

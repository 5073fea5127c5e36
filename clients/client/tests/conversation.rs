//! The chat of `examples/chat.rs` as a person has it: over 200 turns with a small window, a daemon that is killed, and
//! none at all.

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use longhaul_client::scripted::{field, text_at};
use longhaul_client::{ClientError, ConnectOptions, Conversation, ConversationOptions};
use longhaul_protocol::{ErrorKind, Retry};
use serde_json::{Value, json};
use tempfile::TempDir;

const WINDOW: usize = 8_000;
const TURNS: usize = 220;
const FIRST: &str =
    "Let us port the parser of Zanzibar to Rust, keeping its error codes E17 and E42.";

/// A program that cargo built beside this test, or builds now.
fn built(name: &str, package: &str, kind: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    let program = if kind == "--example" { folder.join("examples") } else { folder.into() };
    let program = program.join(name);
    if !program.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--package", package, kind, name, "--target-dir"]);
        assert!(cargo.arg(folder.parent().unwrap()).status().unwrap().success());
    }
    program
}

/// A daemon with its own home, killed when dropped.
struct Daemon {
    home: TempDir,
    process: Option<Child>,
}

impl Daemon {
    fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), process: None }
    }

    fn socket(&self) -> PathBuf {
        self.home.path().join(".local/state/longhaul/run/v1.sock")
    }

    fn start(&mut self) {
        let mut daemon = Command::new(built("longhauld", "longhaul-daemon", "--bin"));
        daemon.env_clear().env("HOME", self.home.path()).stderr(Stdio::null());
        self.process = Some(daemon.spawn().unwrap());
        let answers = (0..2_000_000).any(|_| {
            std::thread::yield_now();
            UnixStream::connect(self.socket()).is_ok()
        });
        assert!(answers, "the daemon does not answer");
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    fn conversation(&self, key: &str) -> Conversation {
        let connect = ConnectOptions::new("test", "1").socket(self.socket());
        let model = ("m", WINDOW as u64);
        let options = ConversationOptions::new(connect, key, "/w/project", model);
        Conversation::new(ConversationOptions { patience_ms: 300, ..options })
    }

    /// One whose window and patience are large enough for megabytes.
    fn large_conversation(&self, key: &str) -> Conversation {
        let connect = ConnectOptions::new("test", "1").socket(self.socket());
        let options = ConversationOptions::new(connect, key, "/w/project", ("m", 100_000_000));
        Conversation::new(ConversationOptions { patience_ms: 60_000, ..options })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A model that only plays: it counts what it is sent and refuses what overfills its window.
#[derive(Default)]
struct Model {
    /// The histories it was sent.
    inputs: Mutex<Vec<Vec<Value>>>,
    /// Sizes that it refused.
    refused: Mutex<Vec<usize>>,
}

impl Model {
    /// Listens; its base URL.
    fn start(self: &Arc<Self>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let model = Arc::clone(self);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                model.serve(stream);
            }
        });
        format!("http://{address}/v1")
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line).unwrap() > 2 {
            let header = line.to_ascii_lowercase();
            if let Some(bytes) = header.strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let (status, answer) = self.answer(&body);
        let head =
            format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}", answer.len());
        write!(reader.get_mut(), "{head}\r\n\r\n{answer}").unwrap();
    }

    /// Every third request reads a file, some larger than the window; else it answers at some length.
    fn answer(&self, body: &[u8]) -> (&'static str, String) {
        let request: Value = serde_json::from_slice(body).unwrap();
        let input = field(&request, "input").as_array().unwrap().clone();
        let is_answered =
            input.last().is_some_and(|item| text_at(item, "type") == "function_call_output");
        let mut inputs = self.inputs.lock().unwrap();
        let times = inputs.len();
        inputs.push(input);
        let output = if is_answered || !times.is_multiple_of(3) {
            let text = format!("Answer {times}: done as asked. {}", "It holds so far. ".repeat(12));
            json!([{ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] }])
        } else {
            let path = if times.is_multiple_of(2) { "small.txt" } else { "large.txt" };
            json!([{ "type": "function_call", "call_id": format!("call-{times}"), "name": "read_file",
                "arguments": json!({ "path": path }).to_string() }])
        };
        let tokens = (body.len() + output.to_string().len()) / 4;
        if tokens <= WINDOW {
            return ("200 OK", json!({ "output": output }).to_string());
        }
        self.refused.lock().unwrap().push(tokens);
        let error =
            json!({ "code": "context_length_exceeded", "message": format!("{tokens} tokens") });
        ("400 Bad Request", json!({ "error": error }).to_string())
    }
}

/// The example as a process: one line in, one line out.
struct Chat {
    process: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Chat {
    fn start(daemon: &Daemon, base: &str, folder: &Path) -> Self {
        let mut chat = Command::new(built("chat", "longhaul-client", "--example"));
        chat.args(["mock", &WINDOW.to_string()]).current_dir(folder).env_clear();
        chat.env("HOME", daemon.home.path()).env("LONGHAUL_SOCKET", daemon.socket());
        chat.env("OPENAI_BASE_URL", base).env("OPENAI_API_KEY", "none");
        chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = chat.spawn().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Self { process, answers }
    }

    fn says(&mut self, words: &str) -> String {
        writeln!(self.process.stdin.as_mut().unwrap(), "{words}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer
    }

    /// Ends it; what it remarked beside its answers.
    fn end(self) -> String {
        let ended = self.process.wait_with_output().unwrap();
        assert!(ended.status.success());
        String::from_utf8(ended.stderr).unwrap()
    }
}

/// Calls without an output behind them, and outputs without a call before them.
fn halves(items: &[Value]) -> Vec<String> {
    let (mut open, mut alone) = (HashSet::new(), Vec::new());
    for item in items {
        let call_id = || text_at(item, "call_id").to_owned();
        match text_at(item, "type") {
            "function_call" => drop(open.insert(call_id())),
            "function_call_output" if !open.remove(&call_id()) => alone.push(call_id()),
            _ => {}
        }
    }
    alone.extend(open);
    alone
}

fn words_of(turn: usize) -> String {
    match turn {
        0 => FIRST.to_owned(),
        _ => {
            format!("Request {turn}: now handle case {} as well.", turn * 7)
                + &" Mind the tests.".repeat(6)
        }
    }
}

#[test]
fn a_chat_of_220_turns_never_overflows_a_window_of_8000_tokens() {
    let (mut daemon, model) = (Daemon::new(), Arc::<Model>::default());
    let base = model.start();
    let folder = daemon.home.path().join("project");
    fs::create_dir(&folder).unwrap();
    fs::write(
        folder.join("large.txt"),
        "fn parse(line: &str) -> Result<Ast, Code>;\n".repeat(2_000),
    )
    .unwrap();
    fs::write(folder.join("small.txt"), "E17 = unclosed bracket\n".repeat(40)).unwrap();
    daemon.start();
    let mut chat = Chat::start(&daemon, &base, &folder);
    let mut remarks = String::new();
    for turn in 0..TURNS {
        match turn {
            // Killed, and started again by somebody.
            70 => {
                daemon.kill();
                daemon.start();
            }
            // The daemon is absent for some turns: the chat continues with its local items.
            120 => daemon.kill(),
            123 => daemon.start(),
            // The program itself is ended and started again.
            160 => {
                let again = Chat::start(&daemon, &base, &folder);
                remarks += &std::mem::replace(&mut chat, again).end();
            }
            _ => {}
        }
        let words = words_of(turn);
        assert!(chat.says(&words).starts_with("Answer"), "turn {turn}: {:?}", model.refused);
        let input = model.inputs.lock().unwrap().last().unwrap().clone();
        let sent = Value::from(input.clone()).to_string();
        assert!(sent.contains(FIRST), "turn {turn}: the first request is not there: {sent}");
        assert!(sent.contains(&words), "turn {turn}: the last words are not there: {sent}");
        assert_eq!(halves(&input), Vec::<String>::new(), "turn {turn}: half a pair");
    }
    remarks += &chat.end();
    assert_eq!(*model.refused.lock().unwrap(), Vec::<usize>::new());
    assert!(
        remarks.contains("continuing without longhaul") && remarks.contains("compacted"),
        "{remarks}"
    );
    assert_eq!(said(&daemon), (0..TURNS).map(words_of).collect::<Vec<_>>());
}

/// The words of the person in the one transcript of ours.
fn said(daemon: &Daemon) -> Vec<String> {
    let mut folder = daemon.home.path().join(".local/state/longhaul/threads");
    while folder.is_dir() {
        folder = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    }
    let text = fs::read_to_string(folder).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let words = |line: Value| {
        let role = line.pointer("/payload/role").and_then(Value::as_str);
        let is_said = text_at(&line, "type") == "response_item" && role == Some("user");
        is_said.then(|| text_at(&line, "payload.content.0.text").to_owned())
    };
    lines.filter_map(words).collect()
}

#[tokio::test]
async fn without_a_daemon_a_conversation_goes_on_says_why_and_is_saved_when_there_is_one() {
    let mut daemon = Daemon::new();
    let mut chat = daemon.conversation("k");
    let message =
        |role: &str, text: &str| vec![json!({ "type": "message", "role": role, "content": text })];
    chat.add(message("user", "One.")).await.unwrap();
    chat.add(message("assistant", "Two.")).await.unwrap();
    assert_eq!(chat.prompt().await.unwrap().items.len(), 2);
    let trouble = chat.trouble().unwrap();
    assert_eq!(trouble.retry(), Retry::Reconnect);
    assert!(trouble.hint().is_some());
    daemon.start();
    chat.close().await.unwrap();

    let mut chat = daemon.conversation("k");
    let refused = chat.add(vec![json!({ "type": "no such item" })]).await.unwrap_err();
    assert!(matches!(&refused, ClientError::Refused(e) if e.kind() == ErrorKind::InvalidParams));
    chat.add(message("user", "Three.")).await.unwrap();
    let items = chat.prompt().await.unwrap().items;
    assert!(chat.trouble().is_none());
    let texts: Vec<_> = items.iter().map(|item| text_at(item, "content.0.text")).collect();
    assert_eq!(texts, ["One.", "Two.", "Three."]);
}

#[tokio::test]
async fn a_refused_item_takes_no_other_with_it_and_a_long_history_is_saved_in_parts() {
    let mut daemon = Daemon::new();
    let message = |text: String| json!({ "type": "message", "role": "assistant", "content": text });
    let mut refusing = daemon.large_conversation("refusing");
    let said = [message("Same.".into()), message("a".repeat(5 << 20)), message("Same.".into())];
    refusing.add(vec![message("First.".into())]).await.unwrap();
    refusing.add(said.to_vec()).await.unwrap();
    let mut long = daemon.large_conversation("long");
    for number in 0..9 {
        let image = format!("data:image/png;base64,{number}{}", "A".repeat(2 << 20));
        let content = json!([{ "type": "input_image", "image_url": image }]);
        let item = json!({ "type": "message", "role": "user", "content": content });
        long.add(vec![item]).await.unwrap();
    }
    let mut oversized = daemon.large_conversation("oversized");
    oversized.add(vec![message("b".repeat(17 << 20))]).await.unwrap();
    daemon.start();
    let refused = oversized.close().await.unwrap_err();
    assert!(matches!(refused, ClientError::TooLarge { .. }), "{refused:?}");
    assert!(refused.hint().unwrap().ends_with("conversation: message assistant"), "{refused:?}");
    let refused = refusing.close().await.unwrap_err();
    assert!(matches!(&refused, ClientError::Refused(e) if e.kind() == ErrorKind::LimitExceeded));
    assert!(refused.hint().unwrap().contains(r#""content":"aaaa"#), "{refused:?}");
    let items = daemon.large_conversation("refusing").prompt().await.unwrap().items;
    let texts: Vec<_> = items.iter().map(|item| text_at(item, "content.0.text")).collect();
    assert_eq!(texts, ["First.", "Same.", "Same."]);

    long.close().await.unwrap();
    let prompt = daemon.large_conversation("long").prompt().await.unwrap();
    assert_eq!(prompt.items.len(), 9, "more than a message carries");
}

#[tokio::test]
async fn a_daemon_that_lost_its_state_gets_the_whole_conversation_again() {
    let mut daemon = Daemon::new();
    daemon.start();
    let mut chat = daemon.conversation("lost");
    let message = |text: &str| json!({ "type": "message", "role": "assistant", "content": text });
    chat.add(vec![message("One."), message("Two.")]).await.unwrap();
    daemon.kill();
    fs::remove_dir_all(daemon.home.path().join(".local/state/longhaul")).unwrap();
    // Marks of turns are no items.
    for _ in 0..2 {
        chat.end_turn().await.unwrap();
    }
    daemon.start();
    let mut prompt = chat.prompt().await.unwrap();
    for _ in 0..200 {
        if chat.trouble().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        prompt = chat.prompt().await.unwrap();
    }
    assert!(chat.trouble().is_none(), "{:?}", chat.trouble());
    assert_eq!(prompt.items.len(), 2);
}

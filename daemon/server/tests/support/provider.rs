//! A scripted model provider on loopback.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Debug, Clone)]
pub enum Answer {
    /// A stream of these events.
    Events(Vec<Value>),
    /// A status line with a JSON body.
    Status(&'static str, Value),
    Raw(String),
    /// Nothing until the client closes.
    Hang,
    /// This, once [`Provider::release`] is called.
    Held(Box<Answer>),
    /// Depends on the request's body.
    To(fn(&Value) -> Answer),
    /// These events of a stream, then nothing until the client closes.
    Stall(Vec<Value>),
    /// The connection is closed at once.
    Gone,
}

impl Answer {
    /// A whole streamed answer of the Responses form.
    pub fn says(words: &str) -> Self {
        let item = json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": words }] });
        Self::items(&[item])
    }

    pub fn items(items: &[Value]) -> Self {
        let mut events: Vec<Value> = items
            .iter()
            .map(|item| json!({ "type": "response.output_item.done", "item": item }))
            .collect();
        let usage = json!({ "input_tokens": 100, "output_tokens": 10 });
        events.push(json!({ "type": "response.completed", "response": { "usage": usage } }));
        Self::Events(events)
    }

    pub fn overflow() -> Self {
        let error = json!({ "code": "context_length_exceeded", "message": "too long" });
        Self::Status("400 Bad Request", json!({ "error": error }))
    }
}

/// Path and body of each request.
type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// The provider; it repeats the last answer of its script.
pub struct Provider {
    pub base_url: String,
    script: Arc<Mutex<Vec<Answer>>>,
    requests: Requests,
    heads: Arc<Mutex<Vec<String>>>,
    hanging: Arc<AtomicUsize>,
    released: watch::Sender<bool>,
}

impl Provider {
    pub async fn start(answers: Vec<Answer>) -> Self {
        let script = Arc::new(Mutex::new(answers));
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests: Requests = Arc::default();
        let log = Arc::clone(&requests);
        let hanging: Arc<AtomicUsize> = Arc::default();
        let hung = Arc::clone(&hanging);
        let (answers, head_log) = (Arc::clone(&script), Arc::clone(&heads));
        let released = watch::Sender::new(false);
        let gate = released.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let answer = {
                    let mut left = answers.lock().unwrap();
                    if left.len() > 1 { left.remove(0) } else { left[0].clone() }
                };
                let (log, hung) = (Arc::clone(&log), Arc::clone(&hung));
                let (heads, gate) = (Arc::clone(&head_log), gate.subscribe());
                let gated = (answer, gate);
                tokio::spawn(async move { serve(socket, gated, (log, heads), &hung).await });
            }
        });
        Self { base_url, script, requests, heads, hanging, released }
    }

    /// Replaces the script.
    pub fn answers(&self, script: Vec<Answer>) {
        *self.script.lock().unwrap() = script;
    }

    /// The head of each request: its line and headers.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Configuration that uses this provider.
    pub fn config(&self, more: &str) -> String {
        self.config_as("responses", more)
    }

    /// The same with the API `kind`.
    pub fn config_as(&self, kind: &str, more: &str) -> String {
        format!(
            "[model]\nprovider = \"p\"\nname = \"m\"\ncontext_window = 100000\n\
             [providers.p]\nkind = \"{kind}\"\nbase_url = \"{}\"\n{more}\n",
            self.base_url
        )
    }

    /// Hanging requests whose client is still connected.
    pub fn hanging(&self) -> usize {
        self.hanging.load(Ordering::SeqCst)
    }

    /// Releases held answers, now and later.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    /// Path and body of each request so far.
    pub fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(
    mut socket: TcpStream,
    (answer, mut gate): (Answer, watch::Receiver<bool>),
    (log, heads): (Requests, Arc<Mutex<Vec<String>>>),
    hanging: &AtomicUsize,
) {
    let mut request = Vec::new();
    let mut buffer = vec![0; 65_536];
    let (path, body) = loop {
        let read = socket.read(&mut buffer).await.unwrap_or(0);
        if read == 0 {
            return;
        }
        request.extend_from_slice(&buffer[..read]);
        if let Some(whole) = parse(&request) {
            break whole;
        }
    };
    if matches!(answer, Answer::Hang | Answer::Held(_) | Answer::Stall(_)) {
        hanging.fetch_add(1, Ordering::SeqCst);
    }
    let head = String::from_utf8_lossy(&request).split("\r\n\r\n").next().unwrap().to_owned();
    heads.lock().unwrap().push(head);
    let answer = match answer {
        Answer::To(made) => made(&body),
        answer => answer,
    };
    log.lock().unwrap().push((path, body));
    let answer = match answer {
        Answer::Held(answer) => {
            let is_released = tokio::select! {
                is_open = gate.wait_for(|is_open| *is_open) => is_open.is_ok(),
                _ = socket.read(&mut buffer) => false,
            };
            hanging.fetch_sub(1, Ordering::SeqCst);
            if !is_released {
                return;
            }
            *answer
        }
        answer => answer,
    };
    let bytes = match answer.clone() {
        Answer::Events(events) => stream(&events),
        Answer::Status(status, body) => {
            let body = body.to_string();
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n");
            format!("{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
        }
        Answer::Raw(bytes) => bytes,
        Answer::To(_) | Answer::Held(_) => unreachable!("it is answered above"),
        Answer::Gone => return,
        Answer::Hang | Answer::Stall(_) => {
            if let Answer::Stall(events) = &answer {
                let _closed_early = socket.write_all(stream(events).as_bytes()).await;
            }
            while socket.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
            hanging.fetch_sub(1, Ordering::SeqCst);
            return;
        }
    };
    let _closed_early = socket.write_all(bytes.as_bytes()).await;
    let _closed_early = socket.shutdown().await;
}

fn stream(events: &[Value]) -> String {
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    format!("{head}connection: close\r\n\r\n{events}")
}

fn parse(request: &[u8]) -> Option<(String, Value)> {
    let text = std::str::from_utf8(request).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let path = head.split(' ').nth(1)?.to_owned();
    Some((path, serde_json::from_str(body).ok()?))
}

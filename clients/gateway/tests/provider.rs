//! A provider on plain sockets: it notes every byte that comes and answers what a test tells it to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzEncoder;

/// Seconds after which a peer that does nothing fails its test.
pub(crate) const LIMIT_SECONDS: u64 = 20;

/// A message in its wire form: its first line, its headers in lower case and in order, its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) start: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the body came to the end that its headers announced.
    pub(crate) is_whole: bool,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// What is of the message and not of the connection that carried it.
    pub(crate) fn of_the_end(mut self) -> Self {
        let hop = ["connection", "transfer-encoding", "host", "date"];
        self.headers.retain(|(name, _)| !hop.contains(&name.as_str()));
        self.headers.sort();
        self
    }

    /// Reads a message; what is missing at its end is left out.
    pub(crate) fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let start = lines.remove(0);
        let headers = lines.iter().map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_lowercase(), value.trim().to_owned())
        });
        let mut message =
            Self { start, headers: headers.collect(), body: Vec::new(), is_whole: true };
        let length = message.header("content-length").map(|value| value.parse::<u64>().unwrap());
        let is_chunked = message.header("transfer-encoding") == Some("chunked");
        let is_answer = message.start.starts_with("HTTP/");
        match length {
            _ if is_chunked => message.is_whole = read_chunks(reader, &mut message.body).is_some(),
            Some(length) => {
                reader.take(length).read_to_end(&mut message.body).unwrap_or_default();
                message.is_whole = message.body.len() as u64 == length;
            }
            None if is_answer => {
                reader.read_to_end(&mut message.body).unwrap_or_default();
            }
            None => {}
        }
        Some(message)
    }
}

fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).ok()?;
        let size = u64::from_str_radix(size.trim(), 16).ok()?;
        let read = reader.take(size).read_to_end(body).ok()?;
        reader.read_line(&mut String::new()).ok()?;
        match size {
            0 => return Some(()),
            _ if read as u64 != size => return None,
            _ => {}
        }
    }
}

/// Headers of a request.
pub(crate) type Headers<'a> = &'a [(&'a str, &'a str)];

type Script = dyn Fn(&Message, &mut TcpStream) + Send + Sync;

/// A provider; it runs until the process ends.
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Vec<Message>>>,
}

impl Provider {
    /// Calls `script` with every request, then closes.
    pub(crate) fn start(script: impl Fn(&Message, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::<Mutex<Vec<Message>>>::default();
        let (seen, script): (_, Arc<Script>) = (Arc::clone(&received), Arc::new(script));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                std::thread::spawn(move || {
                    let limit = Some(Duration::from_secs(LIMIT_SECONDS));
                    stream.set_read_timeout(limit).unwrap();
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    if let Some(request) = Message::read(&mut reader) {
                        seen.lock().unwrap().push(request.clone());
                        script(&request, &mut stream);
                    }
                });
            }
        });
        Self { address, received }
    }

    /// Answers every request with these bytes.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, stream| stream.write_all(&answer).unwrap_or_default())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Message> {
        self.received.lock().unwrap().clone()
    }
}

/// Sends bytes and reads one answer.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Message {
    let mut stream = connect(address);
    stream.write_all(request).unwrap();
    Message::read(&mut BufReader::new(stream)).unwrap()
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(LIMIT_SECONDS))).unwrap();
    stream
}

/// A request as Codex sends it, with a body of known length.
pub(crate) fn post(path: &str, headers: Headers<'_>, body: &[u8]) -> Vec<u8> {
    let mut request = format!("POST {path} HTTP/1.1\r\nhost: gateway\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    [request.as_bytes(), body].concat()
}

pub(crate) fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    GzEncoder::new(body, Compression::fast()).read_to_end(&mut packed).unwrap();
    packed
}

/// An answer with a body of known length. It says that the connection ends, as it does: a request that were sent on
/// it again would be lost.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

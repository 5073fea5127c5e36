//! A daemon that answers from a script, for tests.
//!
//! It implements only the wire: it has every answer of `protocol/examples`, and a test can replace them. It runs on
//! plain threads, so that tests of programs can use it, too.

mod json;

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use longhaul_protocol::example::{examples, sample};
use longhaul_protocol::{ErrorKind, Method, WireError};
use serde_json::{Value, json};

pub use json::{field, set, text_at};

/// The script's reaction to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Answers with this result.
    Result(Value),
    /// Answers with this error.
    Error(WireError),
    /// Answers with this result, then sends these lines unchanged.
    ResultThen(Value, Vec<String>),
    /// Sends these lines unchanged, and no answer.
    Lines(Vec<String>),
    /// Closes the connection.
    Close,
}

type Answer = Box<dyn Fn(&Value) -> Reply + Send + Sync>;
type Change = Box<dyn Fn(Value) -> Value + Send + Sync>;

/// What to answer to which method.
#[derive(Default)]
pub struct Script {
    answers: HashMap<&'static str, Answer>,
    /// `(method, params, answer)` of the examples, with samples in place of placeholders.
    examples: Vec<(String, Value, Value)>,
    change: Option<Change>,
}

impl Script {
    /// A script with every exchange of `protocol/examples`.
    ///
    /// # Errors
    /// An example that cannot be read.
    pub fn from_examples() -> io::Result<Self> {
        let mut script = Self::default();
        let of_methods = examples()?.into_iter().filter(|example| example.method.is_some());
        for exchange in of_methods.flat_map(|example| example.exchanges) {
            let (request, response) = (sample(&exchange.request), sample(&exchange.response));
            if let Some(method) = request["method"].as_str() {
                script.examples.push((method.to_owned(), params_of(&request), response));
            }
        }
        Ok(script)
    }

    /// Answers this method with a function of its params; rejects params that the daemon would reject.
    #[must_use]
    pub fn on<M: Method>(
        mut self,
        answer: impl Fn(M::Params) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let answer = move |params: &Value| match serde_json::from_value(params.clone()) {
            Ok(params) => answer(params),
            Err(error) => {
                Reply::Error(WireError::new(ErrorKind::InvalidParams, format!("params: {error}")))
            }
        };
        self.answers.insert(M::NAME, Box::new(answer));
        self
    }

    /// Answers this method always with this result, which can be one that the daemon would not send.
    #[must_use]
    pub fn result<M: Method>(self, result: Value) -> Self {
        self.on::<M>(move |_| Reply::Result(result.clone()))
    }

    /// Modifies every result and error before it is sent.
    #[must_use]
    pub fn changed(mut self, change: impl Fn(Value) -> Value + Send + Sync + 'static) -> Self {
        self.change = Some(Box::new(change));
        self
    }

    fn reply(&self, method: &str, params: &Value) -> Reply {
        let reply = self.known(method, params);
        match (&self.change, reply) {
            (Some(change), Reply::Result(result)) => Reply::Result(change(result)),
            (Some(change), Reply::Error(error)) => {
                let changed = serde_json::to_value(&error).ok().map(change);
                let changed = changed.and_then(|changed| serde_json::from_value(changed).ok());
                Reply::Error(changed.unwrap_or(error))
            }
            (_, reply) => reply,
        }
    }

    fn known(&self, method: &str, params: &Value) -> Reply {
        if let Some(answer) = self.answers.get(method) {
            return answer(params);
        }
        let of_method = || self.examples.iter().filter(|(name, ..)| name == method);
        // The example with these params, else the first one that succeeds.
        let found = of_method()
            .find(|(_, known, _)| known == params)
            .or_else(|| of_method().find(|(.., response)| response.get("result").is_some()));
        let Some((.., response)) = found else { return Reply::Close };
        match serde_json::from_value(response["error"].clone()) {
            Ok(error) => Reply::Error(error),
            Err(_) => Reply::Result(response["result"].clone()),
        }
    }
}

/// A scripted daemon on a socket; it ends when it is dropped.
pub struct ScriptedServer {
    path: PathBuf,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    open: Arc<Mutex<Vec<UnixStream>>>,
    is_ended: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Listens on `path`, whose folder must exist.
    ///
    /// # Errors
    /// The socket cannot be created.
    pub fn start(path: &Path, script: Script) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        let requests = Arc::<Mutex<Vec<(String, Value)>>>::default();
        let open = Arc::<Mutex<Vec<UnixStream>>>::default();
        let is_ended = Arc::new(AtomicBool::new(false));
        let streams = Arc::clone(&open);
        let (log, ended, script) = (Arc::clone(&requests), Arc::clone(&is_ended), Arc::new(script));
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    break;
                }
                let (log, script) = (Arc::clone(&log), Arc::clone(&script));
                streams.lock().unwrap_or_else(PoisonError::into_inner).extend(stream.try_clone());
                // Some tests disconnect in the middle.
                std::thread::spawn(move || serve(&stream, &script, &log).unwrap_or_default());
            }
        });
        Ok(Self { path: path.to_owned(), requests, open, is_ended, acceptor: Some(acceptor) })
    }

    /// The socket.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Closes all connections, like a daemon that ends.
    pub fn close_all(&self) {
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // The client may have closed it.
            stream.shutdown(std::net::Shutdown::Both).unwrap_or_default();
        }
    }

    /// Every request so far as `(method, params)`, over all connections.
    #[must_use]
    pub fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The params of every call of a method so far, over all connections.
    ///
    /// # Errors
    /// Params that the daemon would reject.
    pub fn calls<M: Method>(&self) -> serde_json::Result<Vec<M::Params>> {
        let of_method = self.requests().into_iter().filter(|(method, _)| method == M::NAME);
        of_method.map(|(_, params)| serde_json::from_value(params)).collect()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::SeqCst);
        // Wakes the acceptor; if that fails, it has ended already.
        drop(UnixStream::connect(&self.path));
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap_or_default();
        }
        // A client that connected after the last `close_all` would wait forever.
        self.close_all();
    }
}

fn serve(
    stream: &UnixStream,
    script: &Script,
    log: &Mutex<Vec<(String, Value)>>,
) -> io::Result<()> {
    let mut writer = stream;
    for line in BufReader::new(stream).lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let method = request["method"].as_str().unwrap_or_default();
        let (id, params) = (request["id"].clone(), params_of(&request));
        log.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((method.to_owned(), params.clone()));
        let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
        let lines = match script.reply(method, &params) {
            Reply::Result(value) => vec![result(value).to_string()],
            Reply::Error(error) => {
                vec![json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()]
            }
            Reply::ResultThen(value, then) => {
                std::iter::once(result(value).to_string()).chain(then).collect()
            }
            Reply::Lines(lines) => lines,
            Reply::Close => return stream.shutdown(std::net::Shutdown::Both),
        };
        writer.write_all((lines.join("\n") + "\n").as_bytes())?;
    }
    Ok(())
}

fn params_of(request: &Value) -> Value {
    request.get("params").cloned().unwrap_or_else(|| json!({}))
}

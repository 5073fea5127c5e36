//! A minimal client of the daemon: one line out, one line in, over a Unix socket.
//!
//! It deliberately shares no code with longhaul, to measure what any client sees.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// Timeout of one answer; longer waits for ingestion are split.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) struct Wire {
    stream: BufReader<UnixStream>,
    last_id: u64,
}

impl Wire {
    pub(crate) fn connect(socket: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(socket)
            .with_context(|| format!("no daemon is listening on {}", socket.display()))?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Self { stream: BufReader::new(stream), last_id: 0 })
    }

    /// Calls a method and returns its result; an error answer is an error.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let request = self.request(method, params);
        let mut answer = Vec::new();
        self.round_trip(&request, &mut answer)?;
        let mut answer: Value =
            serde_json::from_slice(&answer).context("the answer is not JSON")?;
        ensure!(answer["id"] == json!(self.last_id), "an answer to another request: {answer}");
        if let Some(error) = answer.get("error") {
            bail!(
                "{method}: {}",
                error["message"].as_str().unwrap_or("an error without a message")
            );
        }
        Ok(answer["result"].take())
    }

    /// All rows of a list, page by page; `member` of a result has them.
    pub(crate) fn rows(
        &mut self,
        method: &str,
        mut params: Value,
        member: &str,
    ) -> anyhow::Result<Vec<Value>> {
        let mut rows = Vec::new();
        loop {
            let mut page = self.call(method, &params)?;
            rows.append(page[member].as_array_mut().with_context(|| format!("no {member}"))?);
            params["cursor"] = page["next_cursor"].take();
            if params["cursor"].is_null() {
                return Ok(rows);
            }
        }
    }

    /// A request line, newline included.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Vec<u8> {
        self.last_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        let mut line = request.to_string().into_bytes();
        line.push(b'\n');
        line
    }

    /// Sends one line and reads one line.
    pub(crate) fn round_trip(&mut self, line: &[u8], answer: &mut Vec<u8>) -> anyhow::Result<()> {
        answer.clear();
        self.stream.get_mut().write_all(line)?;
        let read = self.stream.read_until(b'\n', answer)?;
        ensure!(read > 0, "the daemon closed the connection");
        Ok(())
    }
}

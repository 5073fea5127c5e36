//! The child's whole life: lock itself in, then answer until nobody asks.

use std::io::{self, BufRead as _, Read as _};
use std::path::Path;

use super::confine::{bound, confine};
use super::tools::Tools;
use super::{Hello, LINE_BYTES_MAX, Reply};

/// Serves the tools of `folder` on standard input and output.
///
/// # Errors
/// The folder or a pipe fails. That it cannot be locked in is told to the other side, and ends it.
pub fn serve(folder: &Path) -> io::Result<()> {
    let folder = folder.canonicalize()?;
    let locked = bound().and_then(|()| confine(&folder));
    let mut out = io::stdout().lock();
    let hello = match &locked {
        Ok(()) => Hello::Ready,
        Err(reason) => Hello::Refused(reason.clone()),
    };
    say(&mut out, &hello)?;
    if locked.is_err() {
        return Ok(());
    }
    let tools = Tools::new(folder);
    let mut input = io::BufReader::new(io::stdin().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = LINE_BYTES_MAX as u64;
        if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let reply = match serde_json::from_slice(&line) {
            Ok(call) => tools.run(call),
            Err(error) => Reply { ok: false, text: error.to_string() },
        };
        say(&mut out, &reply)?;
    }
}

fn say(out: &mut impl io::Write, value: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

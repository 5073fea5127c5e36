//! Normalizing and estimating a history of a million tokens: the calls of a client before each request.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use super::report::{Report, Times};
use super::synth::{self, Length};
use crate::daemon::Daemon;
use crate::stopwatch::Stopwatch;

const TOKENS: u64 = 1_000_000;

/// Number of rounds; one takes some tens of milliseconds.
const ROUNDS_MAX: usize = 100;

const WARM_UP: usize = 3;

const AIM: &str = "p50 <= 50 ms";

/// Over the socket: `context/normalize`, then `context/estimate` of the same items.
pub(super) fn measure(longhauld: &Path, rounds: usize, report: &mut Report) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let daemon = Daemon::start(longhauld, home.path())?;
    let mut wire = daemon.connect()?;
    let params = json!({ "items": history()? });
    let requests =
        ["context/normalize", "context/estimate"].map(|name| wire.request(name, &params));
    let mut answer = Vec::new();
    let mut time = |request: &[u8]| -> anyhow::Result<Duration> {
        let watch = Stopwatch::start();
        wire.round_trip(request, &mut answer)?;
        let time = watch.elapsed();
        let is_answered = memchr::memmem::find(&answer, b"\"result\":").is_some();
        ensure!(is_answered, "a history was refused");
        Ok(time)
    };
    let rounds = rounds.min(ROUNDS_MAX);
    let [normalizes, estimates, both] = Times::in_turn((WARM_UP, rounds), |_| {
        let (normalize, estimate) = (time(&requests[0])?, time(&requests[1])?);
        Ok([normalize, estimate, normalize + estimate])
    })?;
    let label = format!("context/normalize of {} bytes", requests[0].len());
    report.add(label, normalizes.show(), "");
    report.add("context/estimate of the same", estimates.show(), "");
    report.add("normalize + estimate over the socket", both.show(), AIM);
    daemon.stop()
}

/// The items of a generated history.
fn history() -> anyhow::Result<Vec<Value>> {
    let home = tempfile::tempdir()?;
    let transcript = fs::read_to_string(synth::write(home.path(), 7, Length::Tokens(TOKENS))?)?;
    let item = |line: &str| {
        let mut line: Value = serde_json::from_str(line).ok()?;
        (line["type"] == "response_item").then(|| line["payload"].take())
    };
    Ok(transcript.lines().filter_map(item).collect())
}

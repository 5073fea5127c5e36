//! The log: one line per event on standard error, formatted for the journal.
//!
//! It contains no transcript text: events have ids, paths, counts and durations. A panic's message is left out as well,
//! since the standard library includes the string it failed on; its location suffices.

use std::io::{self, Write};
use std::sync::OnceLock;

use longhaul_printable as printable;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use crate::config::ConfigError;

/// The filter of this process, once it logs.
static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

/// Starts logging for the whole process with a tracing filter (`info`, `longhaul_daemon=debug`, …).
pub fn start(filter: &str) -> Result<(), ParseError> {
    let (filter, handle) = reload::Layer::new(EnvFilter::try_new(filter)?);
    let lines = fmt::layer().with_writer(|| GatedStderr).with_target(false);
    // The journal stamps every line itself.
    let lines = match std::env::var_os("JOURNAL_STREAM") {
        Some(_) => lines.without_time().boxed(),
        None => lines.boxed(),
    };
    // A test process starts several daemons, which share the first one's logging.
    if tracing_subscriber::registry().with(filter).with(lines).try_init().is_ok() {
        drop(FILTER.set(handle));
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            tracing::error!(place = place.as_deref().unwrap_or("unknown"), "panic");
        }));
    }
    Ok(())
}

/// Standard error behind the text gate: paths and names in fields may contain anything.
struct GatedStderr;

impl Write for GatedStderr {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        io::stderr().write_all(printable::block(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Replaces the filter; without a log it is only parsed.
///
/// # Errors
/// The filter is invalid; the old one remains.
pub fn filter(filter: &str) -> Result<(), ConfigError> {
    let invalid = |reason: String| ConfigError::Invalid { key: "log".to_owned(), reason };
    let filter = EnvFilter::try_new(filter).map_err(|error| invalid(error.to_string()))?;
    match FILTER.get() {
        Some(handle) => handle.reload(filter).map_err(|error| invalid(error.to_string())),
        None => Ok(()),
    }
}

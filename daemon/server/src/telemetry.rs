//! What goes to the log: standard error, one line an event, made for the journal.
//!
//! No transcript text: events carry ids, paths, counts and durations. A panic's message is left out as
//! well, since the standard library puts the string it failed on into it; its place is enough.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// Starts logging for the whole process with a tracing filter (`info`, `longhaul_daemon=debug`, …).
///
/// # Errors
/// The filter cannot be read.
pub fn start(filter: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::try_new(filter)?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    // The journal stamps every line itself; a second stamp would only push the text to the right.
    let started = match std::env::var_os("JOURNAL_STREAM") {
        Some(_) => subscriber.without_time().try_init(),
        None => subscriber.try_init(),
    };
    // A test process starts several daemons; the first one's logging serves them all.
    if started.is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            tracing::error!(place = place.as_deref().unwrap_or("unknown"), "panic");
        }));
    }
    Ok(())
}

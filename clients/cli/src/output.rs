//! Sanitizes and writes everything this program prints. Colors of untrusted text are removed earlier: painted text has
//! passed through [`printable::block`], here or in the daemon.

use std::borrow::Cow;
use std::io::{self, Write};

use longhaul_printable as printable;

pub(crate) fn text(text: &str, is_color: bool) -> Cow<'_, str> {
    match is_color {
        true => printable::painted(text),
        false => printable::block(text),
    }
}

/// Writes to standard output and flushes it.
pub(crate) fn to_stdout(shown: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(shown.as_bytes())?;
    stdout.flush()
}

/// Writes to standard error, ignoring errors.
pub(crate) fn to_stderr(shown: &str) {
    io::stderr().write_all(shown.as_bytes()).unwrap_or_default();
}

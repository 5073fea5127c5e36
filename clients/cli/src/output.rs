//! Output: everything this program prints is sanitized here. Colours of untrusted text are removed earlier: painted text
//! has passed through [`printable::block`], here or in the daemon.

use std::borrow::Cow;
use std::io::{self, Write};

use longhaul_printable as printable;

/// Text for people.
pub(crate) fn text(text: &str, is_color: bool) -> Cow<'_, str> {
    match is_color {
        true => printable::painted(text),
        false => printable::block(text),
    }
}

/// To standard output, flushed.
///
/// # Errors
/// The output is closed.
pub(crate) fn to_stdout(shown: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(shown.as_bytes())?;
    stdout.flush()
}

/// To standard error, ignoring errors.
pub(crate) fn to_stderr(shown: &str) {
    io::stderr().write_all(shown.as_bytes()).unwrap_or_default();
}

//! The way out: everything this program prints passes one gate here. A colour that text of others brings along is
//! left out by the gate before: what is painted has passed [`printable::block`], here or in the daemon.

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
/// Nobody reads it.
pub(crate) fn to_stdout(shown: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(shown.as_bytes())?;
    stdout.flush()
}

/// To standard error. With nobody left to read it there is nobody to tell, either.
pub(crate) fn to_stderr(shown: &str) {
    io::stderr().write_all(shown.as_bytes()).unwrap_or_default();
}

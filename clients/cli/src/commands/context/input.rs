//! Reads a command's input text.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, USAGE};

/// Maximum bytes of a text: with every byte escaped it still fits into one message.
const TEXT_BYTES_MAX: u64 = longhaul_protocol::limit::FRAME_BYTES_MAX as u64 / 2;

/// Reads a file, or standard input for `-` or no file.
pub(in crate::commands) fn read(file: Option<&PathBuf>) -> Result<String, Failure> {
    let (mut bytes, name) = (Vec::new(), file.map_or(Path::new("-"), PathBuf::as_path));
    let source: Box<dyn Read> = match name == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(name).map_err(|error| unread(name, &error))?),
    };
    let read = source.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| unread(name, &error))?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        let message = format!("{} is longer than {TEXT_BYTES_MAX} bytes", name.display());
        return Err(Failure::new(USAGE, message).with_hint("split it"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unread(name: &Path, error: &std::io::Error) -> Failure {
    Failure::new(USAGE, format!("cannot read {}: {error}", name.display()))
}

//! Paths of a database: of the files next to it, and in a URI.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The database's companion file with a suffix.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// In the name of a database that was moved aside, before the time: it was damaged, or of an older version.
pub(crate) const DAMAGED: &str = ".corrupt-";
pub(crate) const OLDER: &str = ".older-";

/// What follows [`DAMAGED`] or [`OLDER`] in a file name that begins with the one of this database.
pub(crate) fn aside_stamp<'a>(database: &Path, name: &'a str) -> Option<&'a str> {
    let rest = name.strip_prefix(database.file_name()?.to_str()?)?;
    rest.strip_prefix(DAMAGED).or_else(|| rest.strip_prefix(OLDER))
}

/// The database that was moved aside last, and the time in its name.
pub(crate) fn newest_aside(database: &Path) -> Option<(i64, PathBuf)> {
    let entries = std::fs::read_dir(database.parent()?).ok()?.flatten();
    let stamped = entries.filter_map(|entry| {
        let name = entry.file_name();
        let stamp: i64 = aside_stamp(database, name.to_str()?)?.parse().ok()?;
        Some((stamp, name))
    });
    let (stamp, name) = stamped.max()?;
    Some((stamp, database.with_file_name(name)))
}

/// Percent-encodes a path for a URI.
pub(crate) fn percent_encode(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let bytes = path.as_os_str().as_bytes().iter().map(|&byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    bytes.collect()
}

/// Makes the names of a file and of its companions durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The outcome of an operation on a file, without the error that it does not exist.
pub(crate) fn if_there(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Bytes of a database with its write-ahead log; 0 if it does not exist.
pub(crate) fn bytes(path: &Path) -> u64 {
    let bytes = |suffix| std::fs::metadata(with_suffix(path, suffix)).map(|meta| meta.len());
    ["", "-wal"].into_iter().map(|suffix| bytes(suffix).unwrap_or(0)).sum()
}

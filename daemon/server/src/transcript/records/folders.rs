//! Sessions in many files: one for the session, and one for each message and part in folders next to it.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use longhaul_core::rollout::records::{MessageRecords, Record, RecordFolders, SessionRecords};
use longhaul_store::FileStat;

use super::StoredSession;
use crate::no_follow;

/// Maximum records of one session; more are ignored.
const RECORDS_MAX: usize = 200_000;

struct Places {
    session: PathBuf,
    messages: PathBuf,
    parts: PathBuf,
}

/// The folder with the messages of all sessions, given the folder with the sessions.
pub(crate) fn messages_folder(folders: RecordFolders, sessions: &Path) -> Option<PathBuf> {
    let is_sessions = sessions.file_name() == Some(OsStr::new(folders.sessions));
    is_sessions.then(|| sessions.with_file_name(folders.messages))
}

/// The session that a message's record belongs to, if it exists.
pub(crate) fn session_of(folders: RecordFolders, message: &Path) -> Option<PathBuf> {
    let (id, messages) = (message.parent()?.file_name()?, message.parent()?.parent()?);
    if messages.file_name() != Some(OsStr::new(folders.messages)) {
        return None;
    }
    let mut name = id.to_owned();
    name.push(".json");
    let projects = fs::read_dir(messages.with_file_name(folders.sessions)).ok()?;
    let places = projects.filter_map(|project| Some(project.ok()?.path().join(&name)));
    places.into_iter().find(|place| place.is_file())
}

/// The newest change and the bytes of all records, under the identity of the session's own record.
pub(super) fn stat(folders: RecordFolders, path: &Path) -> io::Result<Option<FileStat>> {
    let Some(places) = Places::of(folders, path) else { return Ok(None) };
    let meta = match fs::symlink_metadata(&places.session) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    let mut stat = FileStat::of(&meta);
    let mut add = |record: &Path| {
        if let Ok(meta) = fs::symlink_metadata(record) {
            let record = FileStat::of(&meta);
            stat.size += record.size;
            stat.mtime_ns = stat.mtime_ns.max(record.mtime_ns);
        }
    };
    for message in records_in(&places.messages) {
        add(&message);
        records_in(&places.parts_of(&message)).iter().for_each(|part| add(part));
    }
    Ok(Some(stat))
}

pub(super) fn read(
    folders: RecordFolders,
    path: &Path,
    bytes_max: u64,
) -> io::Result<Option<StoredSession>> {
    let Some(places) = Places::of(folders, path) else { return Ok(None) };
    // Stat first: a change during the read causes another read.
    let Some(stat) = stat(folders, path)? else { return Ok(None) };
    if stat.size > bytes_max {
        return Ok(Some(StoredSession { stat, session: None }));
    }
    let session = match Record::of(&no_follow::read(&places.session, bytes_max)?) {
        Record::Object(session) => session,
        // Without the session's record its messages belong to no one; usually it is being written.
        Record::Broken(_) => {
            return Err(io::Error::new(ErrorKind::InvalidData, "the session's record is not JSON"));
        }
    };
    let mut records = SessionRecords { session, messages: Vec::new() };
    for path in records_in(&places.messages) {
        let parts = records_in(&places.parts_of(&path));
        let parts = parts.iter().filter_map(|part| record(part, bytes_max).transpose());
        let parts = parts.collect::<io::Result<_>>()?;
        let Some(message) = record(&path, bytes_max)? else { continue };
        let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        records.messages.push(MessageRecords { id: id.unwrap_or_default(), message, parts });
    }
    Ok(Some(StoredSession { stat, session: Some(records) }))
}

impl Places {
    fn of(folders: RecordFolders, session: &Path) -> Option<Self> {
        let top = session.parent()?.parent()?.parent()?;
        Some(Self {
            session: session.to_owned(),
            messages: top.join(folders.messages).join(session.file_stem()?),
            parts: top.join(folders.parts),
        })
    }

    fn parts_of(&self, message: &Path) -> PathBuf {
        self.parts.join(message.file_stem().unwrap_or_default())
    }
}

/// Record files in a folder, sorted by id.
fn records_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let is_record = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
    let mut paths: Vec<_> =
        entries.take(RECORDS_MAX).map(|entry| entry.path()).filter(is_record).collect();
    paths.sort_unstable();
    paths
}

/// `None` if it was deleted after its folder was read.
fn record(path: &Path, bytes_max: u64) -> io::Result<Option<Record>> {
    match no_follow::read(path, bytes_max) {
        Ok(bytes) => Ok(Some(Record::of(&bytes))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

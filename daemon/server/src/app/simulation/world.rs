//! The simulation's knowledge of its world, stored in a file, so that it survives each daemon.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_core::digest::Digest128;
use notify::event::{CreateKind, DataChange, ModifyKind, RemoveKind, RenameMode};
use notify::{Event, EventKind};
use serde::{Deserialize, Serialize};

/// The paths of one seed.
pub(super) struct SeedFolder(pub(super) PathBuf);

impl SeedFolder {
    pub(super) fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.home().join(".local/state/longhaul")
    }

    pub(super) fn agents(&self) -> PathBuf {
        self.home().join(".codex")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// The seed's choices, the clocks, and the answers.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct World {
    pub(super) seed: u64,
    /// Daemons until now.
    pub(super) life: u64,
    pub(super) is_last: bool,
    pub(super) steps: u64,
    pub(super) step: u64,
    pub(super) wall_ms: i64,
    pub(super) boot_ms: u64,
    pub(super) boots: u64,
    /// Counts lines, so that all differ, and times of files.
    pub(super) count: u64,
    pub(super) transcripts: Vec<Transcript>,
    /// Changes of files without a notification so far.
    pub(super) changes: Vec<Change>,
    pub(super) own: Option<OwnThread>,
    pub(super) compactions: Vec<CompactionPromise>,
    pub(super) pins: Vec<(String, String)>,
    /// Compactions that were started as jobs, with their threads.
    pub(super) started: Vec<(String, String)>,
    /// The newest epoch of each job.
    pub(super) epochs: BTreeMap<String, u64>,
    pub(super) archiving: ArchiveSettings,
    /// The database that was lost before this daemon began.
    pub(super) lost: Option<LostDatabase>,
}

/// Settings of the archive.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct ArchiveSettings {
    pub(super) max_bytes: Option<u64>,
    pub(super) max_age_days: u64,
    pub(super) redact: bool,
}

impl ArchiveSettings {
    /// Whether it may evict threads.
    pub(super) fn has_bounds(&self) -> bool {
        self.max_bytes.is_some() || self.max_age_days > 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LostDatabase {
    ArchiveIndex,
    Store,
    SearchIndex,
}

impl World {
    pub(super) fn read(place: &SeedFolder) -> Self {
        serde_json::from_slice(&fs::read(place.file("world.json")).unwrap()).unwrap()
    }

    pub(super) fn write(&self, place: &SeedFolder) {
        fs::write(place.file("world.json"), serde_json::to_vec(self).unwrap()).unwrap();
    }

    pub(super) fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }
}

/// The transcript of an agent.
#[derive(Serialize, Deserialize)]
pub(super) struct Transcript {
    pub(super) thread_id: String,
    /// `None` after it was deleted.
    pub(super) path: Option<PathBuf>,
    /// The rest of its half-written last line.
    pub(super) rest: Option<String>,
    /// The archive had this much of it at the end of a pass, and since then it only grew.
    pub(super) archived: Option<TextPromise>,
    /// By the archive.
    pub(super) forgotten: ForgetState,
    /// By everything.
    pub(super) erased: ErasureState,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ErasureState {
    No,
    /// Whether the answer is missing.
    Asked,
    /// Lines up to this number are nowhere, nor is the thread unless its agent has written it again.
    Yes {
        until: u64,
        is_written_again: bool,
    },
}

/// Only lines with this word have a secret.
pub(super) const SECRETIVE: &[u8] = b"credential";

/// The beginning of a text in the archive.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct TextPromise {
    pub(super) bytes: usize,
    exact: u128,
    lines: usize,
    /// Of its lines without a secret, which redaction does not change.
    innocent: u128,
}

impl TextPromise {
    pub(super) fn of(text: &[u8]) -> Self {
        let lines = text.split_inclusive(|byte| *byte == b'\n').count();
        let innocent = innocent(text, lines);
        Self { bytes: text.len(), exact: digest(text), lines, innocent }
    }

    /// Whether an archived text begins with it.
    pub(super) fn is_in(&self, text: &[u8], is_redacted: bool) -> bool {
        match is_redacted {
            false => text.get(..self.bytes).is_some_and(|text| digest(text) == self.exact),
            true => innocent(text, self.lines) == self.innocent,
        }
    }
}

/// The digest of the innocent ones of the first lines.
fn innocent(text: &[u8], lines: usize) -> u128 {
    let mut kept = Vec::new();
    let all = text.split_inclusive(|byte| *byte == b'\n').map(Some).chain(std::iter::repeat(None));
    for line in all.take(lines) {
        match line.map(|line| line.strip_suffix(b"\n").unwrap_or(line)) {
            Some(line) if memchr::memmem::find(line, SECRETIVE).is_some() => kept.push(b'.'),
            Some(line) => kept.extend(line),
            None => kept.push(b'!'),
        }
        kept.push(b'\n');
    }
    digest(&kept)
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ForgetState {
    No,
    /// Whether the answer is missing.
    Asked,
    Yes,
}

impl Transcript {
    /// Its text, whether or not it is compressed.
    pub(super) fn text(&self) -> Option<Vec<u8>> {
        let path = self.path.as_ref()?;
        let bytes = fs::read(path).unwrap();
        match path.extension().is_some_and(|end| end == "zst") {
            true => Some(zstd::decode_all(bytes.as_slice()).unwrap()),
            false => Some(bytes),
        }
    }
}

/// A thread that a client appends to.
#[derive(Serialize, Deserialize)]
pub(super) struct OwnThread {
    pub(super) thread_id: String,
    pub(super) path: PathBuf,
    /// Items with an acknowledged append.
    pub(super) answered: Vec<String>,
    /// Items with an unacknowledged append.
    pub(super) open: Vec<String>,
}

/// An acknowledged compaction.
#[derive(Serialize, Deserialize)]
pub(super) struct CompactionPromise {
    pub(super) id: String,
    pub(super) thread_id: String,
    pub(super) view: u128,
    pub(super) is_undone: bool,
}

pub(super) fn digest(bytes: &[u8]) -> u128 {
    Digest128::of(bytes).0
}

/// A notification of the file system.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Change {
    Created(PathBuf),
    Written(PathBuf),
    Removed(PathBuf),
    Renamed(PathBuf, PathBuf),
}

impl Change {
    pub(super) fn event(&self) -> Event {
        let (kind, paths): (EventKind, Vec<&Path>) = match self {
            Self::Created(path) => (EventKind::Create(CreateKind::File), vec![path]),
            Self::Written(path) => {
                (EventKind::Modify(ModifyKind::Data(DataChange::Any)), vec![path])
            }
            Self::Removed(path) => (EventKind::Remove(RemoveKind::File), vec![path]),
            Self::Renamed(from, to) => {
                (EventKind::Modify(ModifyKind::Name(RenameMode::Both)), vec![from, to])
            }
        };
        paths.into_iter().fold(Event::new(kind), |event, path| event.add_path(path.to_owned()))
    }
}

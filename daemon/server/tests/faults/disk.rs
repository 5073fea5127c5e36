//! The files that a journal leaves after a power cut.
//!
//! # Theory of operation
//! A file has its synced content and later changes; a folder has durable names and later changes of names. At a power cut
//! each pending change is kept, lost, torn at a sector or kept without earlier ones, as the seed decides: everything that a
//! file system may do within the promise of `fsync`.
//!
//! [`Keeping::Journalled`] treats names as ext4, XFS and btrfs do: in order, and syncing anything makes all earlier ones
//! durable. [`Keeping::Strict`] is the minimum of POSIX: only a sync of the folder makes its names durable, and the others are
//! kept or lost one by one. [`Keeping::All`] loses nothing: only the process was killed.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Chance;
use super::journal::Record;

/// The unit that a disk writes atomically.
const SECTOR: u64 = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    All,
    Journalled,
    Strict,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Cut { length: u64 },
}

#[derive(Debug, Default)]
struct Content {
    synced: Vec<u8>,
    mtime_ns: u64,
    since: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Node {
    File(usize),
    Folder,
    Symlink(PathBuf),
}

#[derive(Debug, Clone)]
enum Naming {
    Put { path: PathBuf, node: Node },
    Rename { from: PathBuf, to: PathBuf },
    Link { from: PathBuf, to: PathBuf },
    Remove { path: PathBuf },
}

impl Naming {
    /// The folder whose sync makes the name durable.
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Put { path, .. } | Self::Remove { path } => path.parent(),
            Self::Rename { to, .. } | Self::Link { to, .. } => to.parent(),
        }
    }
}

/// The files of a folder while a journal is replayed.
#[derive(Debug)]
pub struct Disk {
    keeping: Keeping,
    contents: Vec<Content>,
    by_inode: HashMap<u64, usize>,
    /// Pending changes in order, with whether each is durable.
    namings: Vec<(Naming, bool)>,
}

impl Disk {
    /// A disk with the current, durable content of `folder`; empty if there is no such folder.
    pub fn over(folder: &Path, keeping: Keeping) -> Self {
        let (contents, by_inode, namings) = Default::default();
        let mut disk = Self { keeping, contents, by_inode, namings };
        disk.take_in(folder);
        disk
    }

    fn take_in(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let node = if kind.is_dir() {
                Node::Folder
            } else if kind.is_symlink() {
                Node::Symlink(fs::read_link(&path).unwrap())
            } else {
                let found = entry.metadata().unwrap();
                // A kill between link and unlink leaves two names for one file.
                let known = self.by_inode.get(&found.ino()).copied();
                Node::File(known.unwrap_or_else(|| {
                    let mtime_ns = found.mtime() * 1_000_000_000 + found.mtime_nsec();
                    let (synced, mtime_ns) = (fs::read(&path).unwrap(), mtime_ns.cast_unsigned());
                    self.by_inode.insert(found.ino(), self.contents.len());
                    self.contents.push(Content { synced, mtime_ns, since: Vec::new() });
                    self.contents.len() - 1
                }))
            };
            self.namings.push((Naming::Put { path: path.clone(), node }, true));
            if kind.is_dir() {
                self.take_in(&path);
            }
        }
    }

    /// The disk after these calls.
    pub fn after(mut self, records: &[Record]) -> Self {
        records.iter().for_each(|record| self.apply(record));
        self
    }

    fn apply(&mut self, record: &Record) {
        match record {
            Record::Created { file, path } => {
                let content = self.contents.len();
                self.contents.push(Content::default());
                self.by_inode.insert(*file, content);
                self.name(Naming::Put { path: path.clone(), node: Node::File(content) });
            }
            Record::Cut { file, length } => {
                self.content(*file).since.push(Change::Cut { length: *length });
            }
            Record::Written { file, offset, bytes } => {
                let write = Change::Write { offset: *offset, bytes: bytes.clone() };
                self.content(*file).since.push(write);
            }
            Record::Synced { file, mtime_ns } => {
                let content = self.content(*file);
                content.mtime_ns = *mtime_ns;
                for change in std::mem::take(&mut content.since) {
                    make(&mut content.synced, &change);
                }
                self.names_are_durable(None);
            }
            Record::SyncedFolder { path } => self.names_are_durable(Some(path)),
            Record::Renamed { from, to } => {
                self.name(Naming::Rename { from: from.clone(), to: to.clone() });
            }
            Record::Linked { from, to } => {
                self.name(Naming::Link { from: from.clone(), to: to.clone() });
            }
            Record::Removed { path } => self.name(Naming::Remove { path: path.clone() }),
            Record::Made { path } => {
                self.name(Naming::Put { path: path.clone(), node: Node::Folder });
            }
            Record::Symlinked { target, path } => {
                let node = Node::Symlink(target.clone());
                self.name(Naming::Put { path: path.clone(), node });
            }
            Record::Sent { .. } => {}
        }
    }

    fn content(&mut self, inode: u64) -> &mut Content {
        let content = self.by_inode.get(&inode).expect("only what the daemon made is written");
        &mut self.contents[*content]
    }

    fn name(&mut self, naming: Naming) {
        self.namings.push((naming, false));
    }

    fn names_are_durable(&mut self, folder: Option<&Path>) {
        for (naming, is_durable) in &mut self.namings {
            let is_of_it = match self.keeping {
                Keeping::All | Keeping::Journalled => true,
                Keeping::Strict => folder.is_some() && naming.folder() == folder,
            };
            *is_durable |= is_of_it;
        }
    }

    /// Cuts the power: writes the remaining files to a folder; `from` is the journal's folder.
    pub fn write_to(mut self, (from, to): (&Path, &Path), chance: &mut Chance) {
        let tree = self.tree(chance);
        for (path, node) in &tree {
            let Ok(below) = path.strip_prefix(from) else { continue };
            let path = to.join(below);
            match node {
                Node::Folder if !path.is_dir() => {
                    fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
                }
                Node::Folder => {}
                Node::Symlink(target) => symlink(target, &path).unwrap(),
                Node::File(content) => {
                    let content = &mut self.contents[*content];
                    settle(content, self.keeping, chance);
                    write(&path, content);
                }
            }
        }
    }

    /// The remaining names, folders before their content.
    fn tree(&self, chance: &mut Chance) -> BTreeMap<PathBuf, Node> {
        let pending = self.namings.iter().filter(|(_, is_durable)| !is_durable).count() as u64;
        let first = match self.keeping {
            Keeping::All => pending,
            Keeping::Journalled | Keeping::Strict => chance.below(pending + 1),
        };
        let (mut tree, mut seen) = (BTreeMap::new(), 0);
        for (naming, is_durable) in &self.namings {
            seen += u64::from(!is_durable);
            let is_kept = match self.keeping {
                Keeping::Strict => chance.below(2) == 0,
                Keeping::All | Keeping::Journalled => seen <= first,
            };
            if *is_durable || is_kept {
                rename(&mut tree, naming);
            }
        }
        // The content of a lost folder is lost with it.
        let folders: Vec<PathBuf> = tree.keys().cloned().collect();
        let has_folders = |path: &Path| {
            path.ancestors().skip(1).all(|above| {
                folders.binary_search(&above.to_owned()).is_ok() || !self.is_made(above)
            })
        };
        tree.retain(|path, _| has_folders(path));
        tree
    }

    fn is_made(&self, folder: &Path) -> bool {
        self.namings.iter().any(|(naming, _)| match naming {
            Naming::Put { path, node: Node::Folder } => path == folder,
            Naming::Rename { to, .. } => to == folder,
            _ => false,
        })
    }
}

fn rename(tree: &mut BTreeMap<PathBuf, Node>, naming: &Naming) {
    match naming {
        Naming::Put { path, node } => {
            tree.insert(path.clone(), node.clone());
        }
        Naming::Link { from, to } => {
            if let Some(node) = tree.get(from).cloned() {
                tree.insert(to.clone(), node);
            }
        }
        Naming::Remove { path } => {
            tree.remove(path);
        }
        Naming::Rename { from, to } => {
            let moved: Vec<PathBuf> =
                tree.keys().filter(|path| path.starts_with(from)).cloned().collect();
            for path in moved {
                let below = path.strip_prefix(from).unwrap_or(Path::new("")).to_owned();
                let place = if below.as_os_str().is_empty() { to.clone() } else { to.join(below) };
                if let Some(node) = tree.remove(&path) {
                    tree.insert(place, node);
                }
            }
        }
    }
}

/// Decides which pending changes of a file are on disk.
fn settle(content: &mut Content, keeping: Keeping, chance: &mut Chance) {
    let since = std::mem::take(&mut content.since);
    let count = since.len() as u64;
    // All, none, the first ones with a torn last one, or any of their sectors.
    let way = if keeping == Keeping::All { 0 } else { chance.below(4) };
    let first = chance.below(count + 1);
    for (index, change) in (0..).zip(since) {
        match way {
            0 => make(&mut content.synced, &change),
            1 => {}
            2 if index < first => make(&mut content.synced, &change),
            2 if index == first => tear(&mut content.synced, &change, chance),
            2 => {}
            _ => scatter(&mut content.synced, &change, chance),
        }
    }
}

fn make(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Cut { length } => bytes.resize(usize::try_from(*length).unwrap(), 0),
        Change::Write { offset, bytes: written } => {
            let start = usize::try_from(*offset).unwrap();
            let end = start + written.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[start..end].copy_from_slice(written);
        }
    }
}

/// The parts of a write that a disk writes separately.
fn sectors(change: &Change) -> Vec<Change> {
    let Change::Write { offset, bytes } = change else { return vec![change.clone()] };
    let mut parts = Vec::new();
    let (mut at, mut rest) = (*offset, bytes.as_slice());
    while !rest.is_empty() {
        let whole = usize::try_from(SECTOR - at % SECTOR).unwrap().min(rest.len());
        let (part, later) = rest.split_at(whole);
        parts.push(Change::Write { offset: at, bytes: part.to_vec() });
        at += whole as u64;
        rest = later;
    }
    parts
}

fn tear(bytes: &mut Vec<u8>, change: &Change, chance: &mut Chance) {
    let parts = sectors(change);
    let kept = usize::try_from(chance.below(parts.len() as u64 + 1)).unwrap();
    parts[..kept].iter().for_each(|part| make(bytes, part));
}

fn scatter(bytes: &mut Vec<u8>, change: &Change, chance: &mut Chance) {
    for part in sectors(change) {
        match (chance.below(3), &part) {
            (0, _) => make(bytes, &part),
            // The file has its new length, but not its new content.
            (1, Change::Write { offset, bytes: lost }) => {
                let end = usize::try_from(*offset).unwrap() + lost.len();
                bytes.resize(end.max(bytes.len()), 0);
            }
            _ => {}
        }
    }
}

fn write(path: &Path, content: &Content) {
    let mut options = File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(path).unwrap();
    std::io::Write::write_all(&mut &file, &content.synced).unwrap();
    if content.mtime_ns > 0 {
        let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(content.mtime_ns);
        file.set_modified(time).unwrap();
    }
}

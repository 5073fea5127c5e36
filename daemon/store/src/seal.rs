//! Digests of a database's pages, stored next to it while it is idle.
//!
//! # Theory of operation
//! SQLite detects a malformed page, but returns any other change that a failing disk makes to one: a number, a word, a
//! name in the schema. So a database at rest is *sealed*: `<name>.seal` has a 128-bit digest of each page. While the
//! log is empty nothing writes to the file, and every page must match its digest.
//!
//! *Written* when the log was truncated and nothing was written since, and when the database is closed.
//! *Removed*, and the folder synced, before the file is written again, so that an existing seal always describes the
//! current file. A crash in between leaves a database without a seal, which gets only SQLite's own checks.
//!
//! *Checked* before a database is opened, and once an hour while it rests. A single flipped bit in a page is
//! repaired: among all pages that differ in one bit only the original has the digest. A page with more damage cannot
//! be repaired; it is copied to `<name>.corrupt-<ms>.damaged-pages` and cleared, so that SQLite rejects its rows, and the database
//! is rebuilt from the transcripts and the salvaged rows. So no row of a damaged page is ever returned. This holds for
//! a file that was not written since. If a person restored an older copy, the file differs and its seal is ignored.
//!
//! *Not covered*: a write unseals the database, so the next seal describes whatever changed between the last check and
//! that write. The daemon checks before its own hourly writes. The log has SQLite's own checksums. A damaged seal
//! counts as none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use longhaul_core::digest::Digest128;

use crate::descriptor;
use crate::path::{sync_folder_of, with_suffix};

/// First bytes of a seal, with its version.
const MAGIC: &[u8; 8] = b"lhSEAL1\n";

const DIGEST_BYTES: usize = 16;

/// Maximum pages to repair: a failing disk may have many pages with several flipped bits, and each search is slow.
const REPAIRS_MAX: usize = 256;

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SealCheck {
    /// There is no seal, or it belongs to another file.
    Unsealed,
    Sound,
    /// These pages had one flipped bit each, now repaired.
    Repaired(Vec<u64>),
    /// These pages do not match their digests.
    Damaged(Vec<u64>),
}

fn path_of(database: &Path) -> PathBuf {
    with_suffix(database, ".seal")
}

/// Seals an idle database; does nothing while its log has content.
pub(crate) fn write(database: &Path) -> io::Result<()> {
    if has_log(database) {
        return Ok(());
    }
    let file = descriptor::of(database)?;
    let Some(page_bytes) = page_bytes(&file)? else { return Ok(()) };
    let mut bytes = MAGIC.to_vec();
    bytes.extend(u32::try_from(page_bytes).unwrap_or(0).to_be_bytes());
    bytes.extend(mtime_ns(&file)?.to_be_bytes());
    let mut pages = Pages::of(&file, page_bytes);
    while let Some(page) = pages.next()? {
        bytes.extend(Digest128::of(page).0.to_be_bytes());
    }
    bytes.extend(Digest128::of(&bytes).0.to_be_bytes());
    let new = with_suffix(database, ".seal-new");
    let mut seal =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    seal.write_all(&bytes)?;
    seal.sync_all()?;
    fs::rename(new, path_of(database))
}

/// Removes the seal, synced, before the database is written.
pub(crate) fn remove(database: &Path) -> io::Result<()> {
    match fs::remove_file(path_of(database)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        removed => removed?,
    }
    sync_folder_of(database)
}

/// Checks every page, and repairs single flipped bits.
pub(crate) fn check(database: &Path) -> io::Result<SealCheck> {
    let Some(seal) = read(database)?.filter(|_| !has_log(database)) else {
        return Ok(SealCheck::Unsealed);
    };
    let file = descriptor::of(database)?;
    let (mut flipped, mut damaged) = (Vec::new(), Vec::new());
    let mut pages = Pages::of(&file, seal.page_bytes);
    for (number, digest) in (0..).zip(&seal.digests) {
        let Some(page) = pages.next()? else {
            damaged.push(number);
            continue;
        };
        if Digest128::of(page) == *digest {
            continue;
        }
        match (flipped.len() < REPAIRS_MAX).then(|| repair_bit(page, *digest)).flatten() {
            Some(at) => flipped.push((number, at as u64, page[at])),
            None => damaged.push(number),
        }
    }
    if !damaged.is_empty() {
        let is_unmodified = mtime_ns(&file)? == seal.mtime_ns;
        return Ok(if is_unmodified { SealCheck::Damaged(damaged) } else { SealCheck::Unsealed });
    }
    // A write while the pages were read is not damage.
    if has_log(database) {
        return Ok(SealCheck::Unsealed);
    }
    for (number, at, byte) in &flipped {
        file.write_all_at(&[*byte], number * seal.page_bytes as u64 + at)?;
    }
    if flipped.is_empty() {
        return Ok(SealCheck::Sound);
    }
    file.sync_all()?;
    Ok(SealCheck::Repaired(flipped.into_iter().map(|(number, ..)| number).collect()))
}

/// Clears the damaged pages of a database that was moved aside, so that none of their rows is salvaged. Keeps the first
/// page, which describes the format of the others.
///
/// They are first copied to a file, from which an interrupted call goes on: the seal no longer fits once a page is cleared.
pub(crate) fn clear(database: &Path) -> io::Result<()> {
    let copies = with_suffix(database, ".damaged-pages");
    if !copies.exists() {
        let Ok(SealCheck::Damaged(numbers)) = check(database) else { return Ok(()) };
        copy(database, &numbers, &copies)?;
    }
    let Some(Seal { page_bytes, .. }) = read(database)? else { return Ok(()) };
    let (file, blank) = (descriptor::of(database)?, vec![0; page_bytes]);
    for copied in fs::read(copies)?.chunks_exact(size_of::<u64>() + page_bytes) {
        let Some((number, _)) = copied.split_first_chunk() else { continue };
        file.write_all_at(&blank, u64::from_be_bytes(*number) * page_bytes as u64)?;
    }
    file.sync_all()
}

/// Copies pages, each after its number, to a file that is there completely or not at all.
fn copy(database: &Path, numbers: &[u64], to: &Path) -> io::Result<()> {
    let Some(Seal { page_bytes, .. }) = read(database)? else { return Ok(()) };
    let (file, new) = (descriptor::of(database)?, with_suffix(to, "-new"));
    let mut copies = File::create(&new)?;
    for number in numbers.iter().filter(|number| **number > 0) {
        let mut page = vec![0; page_bytes];
        if file.read_exact_at(&mut page, number * page_bytes as u64).is_ok() {
            copies.write_all(&number.to_be_bytes())?;
            copies.write_all(&page)?;
        }
    }
    copies.sync_all()?;
    fs::rename(new, to)?;
    sync_folder_of(to)
}

/// Flips the bit that makes the page match its digest, and returns its byte offset.
fn repair_bit(page: &mut [u8], digest: Digest128) -> Option<usize> {
    for at in 0..page.len() {
        for bit in 0..8 {
            page[at] ^= 1 << bit;
            if Digest128::of(page) == digest {
                return Some(at);
            }
            page[at] ^= 1 << bit;
        }
    }
    None
}

struct Seal {
    page_bytes: usize,
    /// Modification time of the database.
    mtime_ns: i64,
    /// One per page.
    digests: Vec<Digest128>,
}

fn mtime_ns(file: &File) -> io::Result<i64> {
    let found = file.metadata()?;
    Ok(found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec()))
}

fn read(database: &Path) -> io::Result<Option<Seal>> {
    let mut bytes = Vec::new();
    match File::open(path_of(database)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?.read_to_end(&mut bytes)?,
    };
    let number =
        |bytes: &[u8]| bytes.try_into().ok().map(|bytes| Digest128(u128::from_be_bytes(bytes)));
    let Some((head, last)) = bytes.split_last_chunk::<DIGEST_BYTES>() else { return Ok(None) };
    let is_whole = number(last).is_some_and(|digest| digest == Digest128::of(head));
    let Some(rest) = head.strip_prefix(MAGIC).filter(|_| is_whole) else { return Ok(None) };
    let Some((page_bytes, digests)) = rest.split_first_chunk::<4>() else { return Ok(None) };
    let Some((mtime_ns, digests)) = digests.split_first_chunk::<8>() else { return Ok(None) };
    Ok(Some(Seal {
        page_bytes: u32::from_be_bytes(*page_bytes) as usize,
        mtime_ns: i64::from_be_bytes(*mtime_ns),
        digests: digests.chunks_exact(DIGEST_BYTES).filter_map(number).collect(),
    }))
}

pub(crate) fn exists(database: &Path) -> bool {
    path_of(database).exists()
}

/// Whether the log has content: something was written since it was last truncated.
pub(crate) fn has_log(database: &Path) -> bool {
    fs::metadata(with_suffix(database, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// Page size from the header; `None` if the file is not an SQLite database.
fn page_bytes(file: &File) -> io::Result<Option<usize>> {
    let mut head = [0; 18];
    if file.read_exact_at(&mut head, 0).is_err() || !head.starts_with(b"SQLite format 3\0") {
        return Ok(None);
    }
    // 1 means 65,536.
    let size = usize::from(u16::from_be_bytes([head[16], head[17]]));
    Ok(Some(if size == 1 { 65_536 } else { size }).filter(|size| size.is_power_of_two()))
}

/// Reads the pages of a file in order.
struct Pages<'a> {
    file: &'a File,
    page: Vec<u8>,
    at: u64,
}

impl<'a> Pages<'a> {
    fn of(file: &'a File, page_bytes: usize) -> Self {
        Self { file, page: vec![0; page_bytes], at: 0 }
    }

    fn next(&mut self) -> io::Result<Option<&mut [u8]>> {
        match self.file.read_exact_at(&mut self.page, self.at) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        self.at += self.page.len() as u64;
        Ok(Some(&mut self.page))
    }
}

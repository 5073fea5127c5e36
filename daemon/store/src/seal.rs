//! Digests of a database's pages, kept beside it while nothing is written.
//!
//! # Theory of operation
//! SQLite tells a page that is no page, and gives out whatever else a failing disk made of one: a number, a word, a
//! name in the schema. So a database at rest is *sealed*: a digest of 128 bits for each page, in `<name>.seal`. While
//! all is written into the file and the log is empty, nobody changes it, and every page must have its digest.
//!
//! *Written* when the log has been emptied and nothing was written since, and when the database is closed.
//! *Removed*, and the folder synced, before the first write after that: a seal that is there is of the file as it
//! is. A crash in between leaves a database without one, which is checked as far as SQLite can.
//!
//! *Checked* before a database is opened, and once an hour while it rests. One bit in a page that flipped is turned
//! back: of all pages with one other bit only the true one has the digest. A page with more damage cannot be told;
//! it is written to `<name>.damaged-pages` and emptied, so that SQLite refuses its rows, and the database is rebuilt
//! from the transcripts and from what can be salvaged. So no row of a damaged page is ever given out. That holds for
//! a file that nobody has written since; one that was, by a person who put an older copy back, is another file, and
//! its seal counts for nothing.
//!
//! *Not covered*: what flips while the database is in use is found at its next rest, at the latest an hour later.
//! The log has checksums of SQLite's own. A seal that is damaged itself counts as none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use longhaul_core::digest::Digest128;

use crate::descriptor;
use crate::open::with_suffix;

/// First bytes of a seal, with its version.
const MAGIC: &[u8; 8] = b"lhSEAL1\n";

const DIGEST_BYTES: usize = 16;

/// Pages with more than one flipped bit are not rare on a disk that fails: after so many, searching ends.
const MENDED_MAX: usize = 256;

/// What a look at the pages found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There is no seal, or it is of another file.
    Unsealed,
    Sound,
    /// These pages had one flipped bit each, which was turned back.
    Mended(Vec<u64>),
    /// These pages are not what they were.
    Damaged(Vec<u64>),
}

fn path_of(database: &Path) -> PathBuf {
    with_suffix(database, ".seal")
}

/// Seals a database that nobody writes; nothing is done while its log holds something.
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

/// Breaks the seal, on the disk, before the database is written.
pub(crate) fn remove(database: &Path) -> io::Result<()> {
    match fs::remove_file(path_of(database)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        removed => removed?,
    }
    match database.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Looks at every page; turns back single bits.
pub(crate) fn check(database: &Path) -> io::Result<Verdict> {
    let Some(seal) = read(database)?.filter(|_| !has_log(database)) else {
        return Ok(Verdict::Unsealed);
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
        match (flipped.len() < MENDED_MAX).then(|| turned_back(page, *digest)).flatten() {
            Some(at) => flipped.push((number, at as u64, page[at])),
            None => damaged.push(number),
        }
    }
    if !damaged.is_empty() {
        let is_as_left = mtime_ns(&file)? == seal.mtime_ns;
        return Ok(if is_as_left { Verdict::Damaged(damaged) } else { Verdict::Unsealed });
    }
    // What was written while the pages were read is no damage.
    if has_log(database) {
        return Ok(Verdict::Unsealed);
    }
    for (number, at, byte) in &flipped {
        file.write_all_at(&[*byte], number * seal.page_bytes as u64 + at)?;
    }
    if flipped.is_empty() {
        return Ok(Verdict::Sound);
    }
    file.sync_all()?;
    Ok(Verdict::Mended(flipped.into_iter().map(|(number, ..)| number).collect()))
}

/// Empties these pages of a database that was moved aside, so that no row of them is salvaged; what stood there
/// is kept beside it. The first page is left: it says how the others are to be read.
pub(crate) fn empty(database: &Path, numbers: &[u64]) -> io::Result<()> {
    let file = descriptor::of(database)?;
    let Some(Seal { page_bytes, .. }) = read(database)? else { return Ok(()) };
    let mut kept = File::create(with_suffix(database, ".damaged-pages"))?;
    let blank = vec![0; page_bytes];
    for number in numbers.iter().filter(|number| **number > 0) {
        let (mut page, at) = (vec![0; page_bytes], number * page_bytes as u64);
        if file.read_exact_at(&mut page, at).is_ok() {
            kept.write_all(&number.to_be_bytes())?;
            kept.write_all(&page)?;
            file.write_all_at(&blank, at)?;
        }
    }
    kept.sync_all()?;
    file.sync_all()
}

/// Turns back the one bit that makes the page have its digest; answers its byte.
fn turned_back(page: &mut [u8], digest: Digest128) -> Option<usize> {
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
    /// When the database was written last.
    mtime_ns: i64,
    /// Of each page.
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

fn has_log(database: &Path) -> bool {
    fs::metadata(with_suffix(database, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// Size of a page, which stands in the header; `None` of a file that is none of SQLite's.
fn page_bytes(file: &File) -> io::Result<Option<usize>> {
    let mut head = [0; 18];
    if file.read_exact_at(&mut head, 0).is_err() || !head.starts_with(b"SQLite format 3\0") {
        return Ok(None);
    }
    // 1 stands for 65,536.
    let size = usize::from(u16::from_be_bytes([head[16], head[17]]));
    Ok(Some(if size == 1 { 65_536 } else { size }).filter(|size| size.is_power_of_two()))
}

/// The pages of a file, one after another.
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

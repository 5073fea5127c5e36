//! One file of the archive: written whole or not at all, and never again.
//!
//! `MAGIC`, the compressed text of the chunks, the compressed list of what the pack holds, and the trailer with the
//! lengths and the digest of all bytes before it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Take, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use longhaul_core::archive::chunk::ChunkDigest;
use longhaul_core::archive::pack::{
    MAGIC, PackContents, PackedChunk, PackedPiece, TRAILER_BYTES, Trailer, TranscriptName,
};
use longhaul_core::digest::{Digest128, DigestStream};
use longhaul_store::NewPack;
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

/// End of the name of a pack that is being written.
pub(super) const NEW_EXTENSION: &str = "new";

/// How hard zstd tries.
///
/// # Source
/// Measured with zstd's command line on the chunks of 73 MB of transcripts in packs of 16 MiB: level 3 takes 11.4 percent, 6 11.0, 9 10.7, 12 10.5, 19 9.9
/// (25 times as long). In packs of 16 MiB of whole transcripts 9 takes 3 percent fewer bytes than 6 in 0.6 s instead of 0.5 s for 73 MB, 12
/// another 1 percent in twice the time. Above 9 the tables take tens of MiB of memory.
const LEVEL: i32 = 9;

/// The window, as a power of two: a pack fits into it, and matches are found over all of it.
const WINDOW_LOG: u32 = 24;

/// Bytes of a pack's list that are read: thousands of times what one has.
const CONTENTS_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// Its bytes are not what was written.
    #[error("the pack {} is damaged", .0.display())]
    Damaged(PathBuf),
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A pack in the making; dropped before it is finished, it leaves nothing.
pub struct PackWriter {
    number: i64,
    path: PathBuf,
    new: PathBuf,
    encoder: Option<Encoder<'static, Digested>>,
    contents: PackContents,
    text_bytes: u64,
}

impl PackWriter {
    /// Begins the pack `number` with `text_bytes` of text.
    pub fn begin(folder: &Path, number: i64, text_bytes: u64) -> io::Result<Self> {
        let path = super::pack_at(folder, number);
        let new = path.with_extension(NEW_EXTENSION);
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let mut out = Digested { file, digest: DigestStream::default(), bytes: 0 };
        out.write_all(MAGIC)?;
        let mut encoder = Encoder::new(out, LEVEL)?;
        encoder.set_pledged_src_size(Some(text_bytes))?;
        encoder.long_distance_matching(true)?;
        encoder.window_log(WINDOW_LOG)?;
        let contents = PackContents::default();
        Ok(Self { number, path, new, encoder: Some(encoder), contents, text_bytes: 0 })
    }

    /// Adds a chunk.
    pub fn add(&mut self, digest: ChunkDigest, chunk: &[u8]) -> io::Result<()> {
        let Some(encoder) = &mut self.encoder else { return Ok(()) };
        encoder.write_all(chunk)?;
        let (offset, bytes) = (self.text_bytes, chunk.len() as u64);
        self.contents.chunks.push(PackedChunk { digest, offset, bytes });
        self.text_bytes += bytes;
        Ok(())
    }

    /// Says which texts have its chunks, or chunks of other packs, and where.
    pub fn describe(&mut self, transcripts: Vec<TranscriptName>, pieces: Vec<PackedPiece>) {
        (self.contents.transcripts, self.contents.pieces) = (transcripts, pieces);
    }

    /// Publishes the pack: it is on the disk when this returns.
    ///
    /// # Errors
    /// Those of writing: nothing is left.
    pub fn finish(mut self) -> io::Result<NewPack> {
        let Some(encoder) = self.encoder.take() else {
            return Err(io::Error::other("a pack is finished once"));
        };
        let mut out = encoder.finish()?;
        let text_bytes = out.bytes - MAGIC.len() as u64;
        let contents = zstd::encode_all(self.contents.encode().as_slice(), LEVEL)?;
        out.write_all(&contents)?;
        let contents_bytes = contents.len() as u64;
        let lengths =
            Trailer { contents_bytes, text_bytes, digest: Digest128::default() }.lengths();
        out.write_all(&lengths)?;
        let digest = out.digest.finish();
        out.write_all(&digest.0.to_be_bytes())?;
        out.file.sync_all()?;
        fs::rename(&self.new, &self.path)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(NewPack {
            pack: self.number,
            bytes: out.bytes,
            text_bytes: self.text_bytes,
            chunks: std::mem::take(&mut self.contents.chunks),
        })
    }
}

impl Drop for PackWriter {
    fn drop(&mut self) {
        // Gone already where it was published; what cannot be removed is removed at the next start.
        fs::remove_file(&self.new).ok();
    }
}

/// A file, and the digest of what was written to it.
struct Digested {
    file: File,
    digest: DigestStream,
    bytes: u64,
}

impl Write for Digested {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The text of a pack, read from its beginning to its end.
pub(super) struct PackText {
    decoder: Decoder<'static, BufReader<Take<File>>>,
    at: u64,
}

impl PackText {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let trailer = trailer(&mut file)?;
        file.seek(SeekFrom::Start(MAGIC.len() as u64))?;
        let mut decoder = Decoder::new(file.take(trailer.text_bytes))?;
        decoder.window_log_max(WINDOW_LOG)?;
        Ok(Self { decoder, at: 0 })
    }

    /// The first byte that is not read yet: only from there on can it be read.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The bytes from `offset` on, which is not before [`PackText::at`].
    pub(super) fn read(&mut self, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let skipped = io::copy(&mut (&mut self.decoder).take(offset - self.at), &mut io::sink())?;
        self.at += skipped;
        let mut read = Vec::new();
        (&mut self.decoder).take(bytes).read_to_end(&mut read)?;
        self.at += read.len() as u64;
        Ok(read)
    }
}

fn trailer(file: &mut File) -> io::Result<Trailer> {
    let length = file.seek(SeekFrom::End(0))?;
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a pack has lost its end");
    let overhead = (MAGIC.len() + TRAILER_BYTES) as u64;
    if length < overhead {
        return Err(damaged());
    }
    file.seek(SeekFrom::Start(length - TRAILER_BYTES as u64))?;
    let mut bytes = [0; TRAILER_BYTES];
    file.read_exact(&mut bytes)?;
    let trailer = Trailer::decode(&bytes);
    let parts = trailer.contents_bytes.checked_add(trailer.text_bytes);
    match parts.and_then(|parts| parts.checked_add(overhead)) {
        Some(whole) if whole == length => Ok(trailer),
        _ => Err(damaged()),
    }
}

/// What a pack says of itself. Blocking.
pub fn contents_of_pack(path: &Path) -> Result<PackContents, PackError> {
    let read = || -> io::Result<Option<PackContents>> {
        let mut file = File::open(path)?;
        let trailer = trailer(&mut file)?;
        file.seek(SeekFrom::Start(MAGIC.len() as u64 + trailer.text_bytes))?;
        let decoder = Decoder::new(file.take(trailer.contents_bytes))?;
        let mut bytes = Vec::new();
        decoder.take(CONTENTS_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(PackContents::decode(&bytes))
    };
    sorted(path, read())?.ok_or_else(|| PackError::Damaged(path.to_owned()))
}

/// Reads a pack whole and compares its digest. Blocking.
pub fn check_pack(path: &Path) -> Result<(), PackError> {
    let read = || -> io::Result<bool> {
        let mut file = File::open(path)?;
        let trailer = trailer(&mut file)?;
        let end = file.seek(SeekFrom::End(0))? - 16;
        file.seek(SeekFrom::Start(0))?;
        let (mut digest, mut buffer) = (DigestStream::default(), vec![0; 256 << 10]);
        let mut rest = file.take(end);
        let mut is_first = true;
        loop {
            let count = rest.read(&mut buffer)?;
            if count == 0 {
                return Ok(digest.finish() == trailer.digest);
            }
            if std::mem::take(&mut is_first) && !buffer[..count].starts_with(MAGIC) {
                return Ok(false);
            }
            digest.update(&buffer[..count]);
        }
    };
    match sorted(path, read())? {
        true => Ok(()),
        false => Err(PackError::Damaged(path.to_owned())),
    }
}

/// A pack that cannot be understood, or is not there, is damaged; a disk that cannot be read may be well tomorrow.
fn sorted<T>(path: &Path, read: io::Result<T>) -> Result<T, PackError> {
    read.map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::NotFound
        | io::ErrorKind::Other => PackError::Damaged(path.to_owned()),
        _ => PackError::Io { path: path.to_owned(), source },
    })
}

/// Gives `each` of these chunks of a pack, in the order of the pack, after comparing it with its digest. Blocking.
pub fn chunks_of_pack(
    path: &Path,
    mut chunks: Vec<PackedChunk>,
    mut each: impl FnMut(ChunkDigest, &[u8]) -> Result<(), PackError>,
) -> Result<(), PackError> {
    if chunks.is_empty() {
        return Ok(());
    }
    // A pack is read once, from its beginning to its end.
    chunks.sort_by_key(|chunk| chunk.offset);
    let mut text = sorted(path, PackText::open(path))?;
    for PackedChunk { digest, offset, bytes } in chunks {
        let chunk = text.read(offset, bytes).ok().filter(|chunk| ChunkDigest::of(chunk) == digest);
        each(digest, &chunk.ok_or_else(|| PackError::Damaged(path.to_owned()))?)?;
    }
    Ok(())
}

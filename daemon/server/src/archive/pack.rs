//! A file of the archive: written completely or not at all, and never changed.
//!
//! It contains `MAGIC`, the compressed text of the chunks, the compressed list of its contents, and a trailer with the
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

/// Extension of a pack that is being written.
pub(super) const NEW_EXTENSION: &str = "new";

/// Compression level of zstd.
///
/// # Source
/// Measured with zstd's command line on the chunks of 73 MB of transcripts in packs of 16 MiB: level 3 takes 11.4 percent,
/// 6 11.0, 9 10.7, 12 10.5, 19 9.9 (in 25 times the time). In packs of 16 MiB of whole transcripts, 9 takes 3 percent fewer
/// bytes than 6 in 0.6 s instead of 0.5 s for 73 MB, 12 another 1 percent in twice the time. Above 9 the tables take tens of
/// MiB of memory.
const LEVEL: i32 = 9;

/// The window as a power of two: a whole pack fits into it, so matches are found everywhere in the pack.
const WINDOW_LOG: u32 = 24;

/// Maximum bytes of a pack's list to read: thousands of times its usual size.
const CONTENTS_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// Its bytes have changed since it was written.
    #[error("the pack {} is damaged", .0.display())]
    Damaged(PathBuf),
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Writes a pack; dropped before `finish`, it leaves nothing.
pub struct PackWriter {
    number: i64,
    path: PathBuf,
    new: PathBuf,
    encoder: Option<Encoder<'static, DigestWriter>>,
    contents: PackContents,
    text_bytes: u64,
}

impl PackWriter {
    /// Starts the pack `number` with `text_bytes` of text.
    pub fn begin(folder: &Path, number: i64, text_bytes: u64) -> io::Result<Self> {
        let path = super::pack_at(folder, number);
        let new = path.with_extension(NEW_EXTENSION);
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        let mut out = DigestWriter { file, digest: DigestStream::default(), bytes: 0 };
        out.write_all(MAGIC)?;
        let mut encoder = Encoder::new(out, LEVEL)?;
        encoder.set_pledged_src_size(Some(text_bytes))?;
        encoder.long_distance_matching(true)?;
        encoder.window_log(WINDOW_LOG)?;
        let contents = PackContents::default();
        Ok(Self { number, path, new, encoder: Some(encoder), contents, text_bytes: 0 })
    }

    pub fn add(&mut self, digest: ChunkDigest, chunk: &[u8]) -> io::Result<()> {
        let Some(encoder) = &mut self.encoder else { return Ok(()) };
        encoder.write_all(chunk)?;
        let (offset, bytes) = (self.text_bytes, chunk.len() as u64);
        self.contents.chunks.push(PackedChunk { digest, offset, bytes });
        self.text_bytes += bytes;
        Ok(())
    }

    /// Sets which texts have its chunks, or chunks of other packs, and where.
    pub fn describe(&mut self, transcripts: Vec<TranscriptName>, pieces: Vec<PackedPiece>) {
        (self.contents.transcripts, self.contents.pieces) = (transcripts, pieces);
    }

    /// Publishes the pack, durably.
    ///
    /// # Errors
    /// Those of writing; nothing is left on disk then.
    pub fn finish(mut self) -> io::Result<NewPack> {
        let Some(encoder) = self.encoder.take() else {
            return Err(io::Error::other("the pack is already finished"));
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
        if let Some(folder) = self.path.parent()
            && let Err(error) = File::open(folder).and_then(|folder| folder.sync_all())
        {
            fs::remove_file(&self.path).ok();
            return Err(error);
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
        // After publishing, there is no such file. If removing fails, the next start removes it.
        fs::remove_file(&self.new).ok();
    }
}

/// A file, with the digest of everything written to it.
struct DigestWriter {
    file: File,
    digest: DigestStream,
    bytes: u64,
}

impl Write for DigestWriter {
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

/// Reads the text of a pack sequentially.
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

    /// The next byte to read; earlier ones cannot be read again.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Reads `bytes` from `offset`, which must not be before [`PackText::at`].
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

/// The contents of a pack, as described in it. Blocking.
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
    classify(path, read())?.ok_or_else(|| PackError::Damaged(path.to_owned()))
}

/// Reads a pack completely and compares its digest. Blocking.
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
    match classify(path, read())? {
        true => Ok(()),
        false => Err(PackError::Damaged(path.to_owned())),
    }
}

/// Classifies a read error. An invalid or missing pack is damaged; an unreadable disk may be readable later.
fn classify<T>(path: &Path, read: io::Result<T>) -> Result<T, PackError> {
    read.map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::NotFound
        | io::ErrorKind::Other => PackError::Damaged(path.to_owned()),
        _ => PackError::Io { path: path.to_owned(), source },
    })
}

/// Calls `each` with those of these chunks of a damaged pack that can still be read. Blocking.
pub fn readable_chunks(
    path: &Path,
    mut chunks: Vec<PackedChunk>,
    mut each: impl FnMut(ChunkDigest, Vec<u8>),
) {
    chunks.sort_by_key(|chunk| chunk.offset);
    let Ok(mut text) = PackText::open(path) else { return };
    for PackedChunk { digest, offset, bytes } in chunks {
        let Ok(chunk) = text.read(offset, bytes) else { return };
        if ChunkDigest::of(&chunk) == digest {
            each(digest, chunk);
        }
    }
}

/// Calls `each` with these chunks of a pack, in the order of the pack, after verifying their digests. Blocking.
pub fn chunks_of_pack(
    path: &Path,
    mut chunks: Vec<PackedChunk>,
    mut each: impl FnMut(ChunkDigest, &[u8]) -> Result<(), PackError>,
) -> Result<(), PackError> {
    if chunks.is_empty() {
        return Ok(());
    }
    // A pack can only be read from start to end.
    chunks.sort_by_key(|chunk| chunk.offset);
    let mut text = classify(path, PackText::open(path))?;
    for PackedChunk { digest, offset, bytes } in chunks {
        let chunk = classify(path, text.read(offset, bytes))?;
        if ChunkDigest::of(&chunk) != digest {
            return Err(PackError::Damaged(path.to_owned()));
        }
        each(digest, &chunk)?;
    }
    Ok(())
}

//! Opens a transcript, plain or compressed, for reading only.
//!
//! Offsets are those of the decompressed text. A compressed file cannot be entered in the middle, which costs
//! nothing: agents compress only what they have stopped writing. A transcript edited in place is assembled when it
//! is opened, and its offsets are those of the generated lines.

use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use longhaul_core::rollout::source::{Assembly, Layout, TranscriptPlace};
use longhaul_core::thread::Source;
use longhaul_store::{FileRow, FileStat};
use zstd::stream::read::Decoder;

use super::lines::Lines;
use super::records::{self, ASSEMBLED_BYTES_MAX, too_large};
use crate::archive::{Archive, ArchivedReader, ArchivedText};
use crate::no_follow;

/// Largest window a frame may request, as a power of two: 16 MiB of memory. Codex writes 2 MiB.
const WINDOW_LOG_MAX: u32 = 24;

/// Folders above a transcript that are searched for its marker.
const MARKER_FOLDERS: usize = 4;

/// Maximum bytes of a marker, which holds a path.
const MARKER_BYTES_MAX: u64 = 4 << 10;

pub(crate) struct Transcript {
    pub(crate) stat: FileStat,
    /// Its text can only be read from the beginning: it is compressed, or generated on opening.
    pub(crate) compressed: bool,
    medium: Medium,
}

enum Medium {
    File(Arc<File>),
    /// Lines generated on opening.
    Lines(Arc<[u8]>),
    Archived(Arc<ArchivedText>),
}

/// Archived text to read instead of a transcript that was deleted or changed, or that cannot be read.
#[derive(Debug, Clone)]
pub struct Fallback {
    pub archive: Arc<Archive>,
    /// Generation of the file that was read.
    pub generation: u64,
}

impl Fallback {
    pub fn of(archive: Arc<Archive>, file: &FileRow) -> Self {
        Self { archive, generation: file.cursor.generation }
    }
}

/// The text of a transcript, from some offset.
pub(crate) enum Text {
    Plain(Arc<File>),
    Compressed(Box<Decoder<'static, BufReader<Arc<File>>>>),
    Assembled(Cursor<Arc<[u8]>>),
    Archived(ArchivedReader),
}

impl Transcript {
    /// Opens a transcript for reading.
    ///
    /// A link as the last component is refused and a pipe does not block: the scan resolved the path, so either
    /// was put there since.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] also for an agent's file of lines that has none.
    pub(crate) fn open(source: Source, path: &Path) -> io::Result<Self> {
        // Given items are in files of lines whose names carry no agent's suffix.
        let agents_layout = path.to_str().and_then(|path| source.spec().layout(path));
        let layout = agents_layout.unwrap_or(Layout::Lines);
        if let Layout::Records(records) = layout {
            let (stat, lines) = records::read(records, path)?;
            return Ok(Self { stat, compressed: true, medium: Medium::Lines(lines) });
        }
        let (file, meta) = no_follow::regular(path)?;
        let stat = FileStat::of(&meta);
        if meta.len() == 0 && matches!(agents_layout, Some(Layout::Lines)) {
            // Emptied is deleted: nothing of its text is left.
            return Err(ErrorKind::NotFound.into());
        }
        if let Layout::Assembled(assembly) = layout {
            let lines = assemble(assembly, path, &file, meta.len())?;
            return Ok(Self { stat, compressed: true, medium: Medium::Lines(lines) });
        }
        let compressed = path.extension().is_some_and(|extension| extension == "zst");
        Ok(Self { stat, compressed, medium: Medium::File(Arc::new(file)) })
    }

    /// Opens a transcript; if that fails, its archived text. Blocking, on a thread of the runtime.
    pub(super) fn open_or_archived(
        source: Source,
        path: &Path,
        fallback: &Fallback,
    ) -> io::Result<Self> {
        Self::open(source, path).or_else(|error| Self::archived(path, fallback).map_err(|_| error))
    }

    /// Reads a transcript with `read`; if that fails, or it cannot be opened, its archived text. Blocking, on a thread of
    /// the runtime.
    pub(crate) fn read_or_archived<T>(
        source: Source,
        path: &Path,
        fallback: Option<&Fallback>,
        read: impl Fn(&Self) -> io::Result<T>,
    ) -> io::Result<T> {
        let done = Self::open(source, path).and_then(|transcript| read(&transcript));
        match (done, fallback) {
            (Err(error), Some(fallback)) => match Self::archived(path, fallback) {
                Ok(archived) => read(&archived),
                Err(_) => Err(error),
            },
            (done, _) => done,
        }
    }

    /// The archived text of a transcript. Blocking, on a thread of the runtime.
    pub(crate) fn archived(path: &Path, fallback: &Fallback) -> io::Result<Self> {
        let name = path.to_str().ok_or(ErrorKind::NotFound)?;
        let text = fallback.archive.text_of(name, fallback.generation)?;
        Ok(Self::of_archived(text))
    }

    pub(crate) fn of_archived(text: ArchivedText) -> Self {
        let stat = FileStat::default();
        Self { stat, compressed: false, medium: Medium::Archived(Arc::new(text)) }
    }

    /// The archived text, if that is what is open.
    pub(crate) fn archived_text(&self) -> Option<&ArchivedText> {
        match &self.medium {
            Medium::Archived(text) => Some(text),
            Medium::File(_) | Medium::Lines(_) => None,
        }
    }

    /// Whether it is a compressed file that ends within a frame: its writer is not done, or a part was lost.
    pub(crate) fn is_cut_off(&self) -> io::Result<bool> {
        let Text::Compressed(mut decoder) = self.text_from(0)? else { return Ok(false) };
        match io::copy(&mut decoder, &mut io::sink()) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(true),
            read => read.map(|_| false),
        }
    }

    pub(crate) fn lines_from(&self, offset: u64, bytes_max: usize) -> io::Result<Lines<Text>> {
        Ok(Lines::new(self.text_from(offset)?, offset, bytes_max))
    }

    pub(crate) fn text_from(&self, offset: u64) -> io::Result<Text> {
        let mut file = match &self.medium {
            Medium::File(file) => Arc::clone(file),
            Medium::Lines(lines) => {
                let mut text = Cursor::new(Arc::clone(lines));
                text.set_position(offset);
                return Ok(Text::Assembled(text));
            }
            Medium::Archived(text) => {
                return Ok(Text::Archived(ArchivedReader::new(Arc::clone(text), offset)));
            }
        };
        if !self.compressed {
            file.seek(SeekFrom::Start(offset))?;
            return Ok(Text::Plain(file));
        }
        file.seek(SeekFrom::Start(0))?;
        let mut decoder = Decoder::new(file)?;
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        let mut text = Text::Compressed(Box::new(decoder));
        io::copy(&mut text.by_ref().take(offset), &mut io::sink())?;
        Ok(text)
    }

    /// At most `count` bytes of text from `offset`. In a plain file this does not disturb a [`Text`] being read; a
    /// compressed one has a single position.
    pub(crate) fn bytes_at(&self, offset: u64, count: u64) -> io::Result<Vec<u8>> {
        let file = match &self.medium {
            Medium::File(file) if !self.compressed => file,
            _ => {
                let mut bytes = Vec::new();
                self.text_from(offset)?.take(count).read_to_end(&mut bytes)?;
                return Ok(bytes);
            }
        };
        // The file may have grown since it was opened: `count` is the bound, not its size then.
        let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

impl Read for Text {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(into),
            Self::Assembled(text) => text.read(into),
            Self::Archived(text) => text.read(into),
            // A truncated frame means that the writer is not done: read what is there; the rest waits like a torn
            // line.
            Self::Compressed(decoder) => match decoder.read(into) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
                other => other,
            },
        }
    }
}

/// The lines of a transcript edited in place.
fn assemble(assembly: Assembly, path: &Path, file: &File, size: u64) -> io::Result<Arc<[u8]>> {
    if size > ASSEMBLED_BYTES_MAX {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(ASSEMBLED_BYTES_MAX).read_to_end(&mut bytes)?;
    let folders = path.ancestors().skip(1).take(MARKER_FOLDERS);
    let marker = assembly.marker.and_then(|name| {
        folders.map(|folder| folder.join(name)).find_map(|marker| {
            let mut text = String::new();
            let marker = File::open(marker).ok()?;
            marker.take(MARKER_BYTES_MAX).read_to_string(&mut text).ok().map(|_| text)
        })
    });
    let beside =
        TranscriptPlace { path: path.to_str().unwrap_or_default(), marker: marker.as_deref() };
    let lines = (assembly.lines)(&bytes, beside);
    let lines = lines
        .ok_or_else(|| io::Error::new(ErrorKind::UnexpectedEof, "the file is not complete"))?;
    Ok(lines.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_frame_yields_the_bytes_before_the_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl.zst");
        let text: String = (0..200_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
        let whole = zstd::encode_all(text.as_bytes(), 3).unwrap();
        std::fs::write(&path, &whole).unwrap();
        let opened = Transcript::open(Source::Codex, &path).unwrap();
        assert_eq!(opened.bytes_at(0, u64::MAX).unwrap(), text.as_bytes());
        assert_eq!(opened.bytes_at(9, 8).unwrap(), &text.as_bytes()[9..17]);
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let torn = Transcript::open(Source::Codex, &path).unwrap().bytes_at(0, u64::MAX).unwrap();
        assert!(!torn.is_empty() && text.as_bytes().starts_with(&torn));
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "x").unwrap();
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("b")).unwrap();
        assert!(Transcript::open(Source::Codex, &folder.path().join("a")).is_ok());
        assert!(Transcript::open(Source::Codex, &folder.path().join("b")).is_err());
        assert!(Transcript::open(Source::Codex, folder.path()).is_err());
    }
}

//! Replays a thread's transcript under every configured policy.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use longhaul_core::context::window::{self, WindowSources};
use longhaul_core::fold::{Fold, Place};
use longhaul_core::policy::Policy;
use longhaul_core::policy::replay::{Replay, Track};
use longhaul_core::thread::Source;

use super::thread_state::Subject;
use crate::config::Live;
use crate::service::context::window_facts::{KnownWindow, WindowFacts};
use crate::service::error::ServiceError;
use crate::service::snapshot::Snapshots;

/// Maximum bytes of a transcript to replay.
const BYTES_MAX: u64 = 256 << 20;

/// Maximum bytes of a line; longer ones are skipped.
const LINE_BYTES_MAX: u64 = 8 << 20;

#[derive(Debug)]
pub struct ReplayReport {
    pub turns: u64,
    pub compactions: u64,
    /// The transcript exceeds the replay limit.
    pub is_cut: bool,
    pub tracks: Vec<Track>,
}

/// Window facts for the replay.
struct ReplayWindow {
    asked: Option<u64>,
    known: KnownWindow,
}

impl ReplayWindow {
    fn at(&self, fold: &Fold) -> window::Window {
        let known = self.known.sources(Some(fold), fold.head().model.as_deref());
        window::decide(&WindowSources { asked: self.asked, ..known })
    }
}

pub struct Replays {
    pub(in crate::service) windows: WindowFacts,
    pub(in crate::service) snapshots: Arc<Snapshots>,
    pub(in crate::service) config: Live,
}

impl Replays {
    /// Replays a thread under every policy.
    pub async fn report(&self, subject: &Subject) -> Result<ReplayReport, ServiceError> {
        let snapshot = self.snapshots.of(&subject.thread_id, None).await?;
        let config = self.config.now();
        let thread_id = Some(subject.thread_id.as_str());
        let known = self.windows.of(thread_id, Some(&snapshot.fold)).await?;
        let file = snapshot.file;
        let policies: Vec<Policy> = config.policies.all().cloned().collect();
        let window = ReplayWindow { asked: subject.context_window, known };
        let work = move || {
            let path = Path::new(&file.path);
            replay(path, file.source, &window, policies)
                .map_err(|error| ServiceError::file(path, error))
        };
        tokio::task::spawn_blocking(work).await?
    }
}

fn replay(
    path: &Path,
    source: Source,
    known: &ReplayWindow,
    policies: Vec<Policy>,
) -> io::Result<ReplayReport> {
    let file = BufReader::new(File::open(path)?);
    let mut reader: Box<dyn BufRead> = match path.extension().is_some_and(|ext| ext == "zst") {
        true => Box::new(BufReader::new(zstd::stream::read::Decoder::with_buffer(file)?)),
        false => Box::new(file),
    };
    let (mut fold, mut replay) = (Fold::new(source), Replay::new(policies));
    let (mut line, mut offset) = (Vec::new(), 0);
    loop {
        line.clear();
        let read = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
        if read == 0 || offset >= BYTES_MAX {
            break;
        }
        offset += read;
        let is_whole = line.pop_if(|last| *last == b'\n').is_some();
        if !is_whole && read == LINE_BYTES_MAX {
            offset += reader.skip_until(b'\n')? as u64;
            line.clear();
        }
        let place = Place { line: fold.next_seq(), offset, bytes: line.len() as u64 };
        fold.line(place, &line);
        let window = known.at(&fold);
        replay.line(&mut fold, &window, &mut |_, _, _| {});
    }
    let window = known.at(&fold);
    replay.end(&fold, &window, &mut |_, _, _| {});
    Ok(ReplayReport {
        turns: fold.signals().turn(),
        compactions: fold.head().compactions,
        is_cut: offset >= BYTES_MAX,
        tracks: replay.tracks,
    })
}

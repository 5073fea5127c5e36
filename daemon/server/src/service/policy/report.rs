//! Replays a thread's transcript under every configured policy.

use std::io;
use std::path::Path;
use std::sync::Arc;

use longhaul_core::context::window::{self, WindowSources};
use longhaul_core::fold::Fold;
use longhaul_core::policy::Policy;
use longhaul_core::policy::replay::{Replay, Track};
use longhaul_store::FileRow;

use super::thread_state::Subject;
use crate::archive::Archive;
use crate::config::Live;
use crate::service::context::window_facts::{KnownWindow, WindowFacts};
use crate::service::error::ServiceError;
use crate::service::snapshot::Snapshots;
use crate::transcript::each_line;

const BYTES_MAX: u64 = 256 << 20;

#[derive(Debug)]
pub struct ReplayReport {
    pub turns: u64,
    pub compactions: u64,
    /// The transcript exceeds the replay limit.
    pub is_cut: bool,
    pub tracks: Vec<Track>,
}

pub struct Replays {
    pub(in crate::service) windows: WindowFacts,
    pub(in crate::service) snapshots: Arc<Snapshots>,
    pub(in crate::service) archive: Arc<Archive>,
    pub(in crate::service) config: Live,
}

impl Replays {
    pub async fn report(&self, subject: &Subject) -> Result<ReplayReport, ServiceError> {
        let snapshot = self.snapshots.of(&subject.thread_id, None).await?;
        let config = self.config.now();
        let thread_id = Some(subject.thread_id.as_str());
        let known = self.windows.of(thread_id, Some(&snapshot.fold)).await?;
        let file = snapshot.file;
        let policies: Vec<Policy> = config.policies.all().cloned().collect();
        let asked = subject.context_window;
        let archive = Arc::clone(&self.archive);
        let work = move || {
            replay(&file, &archive, (&known, asked), policies)
                .map_err(|error| ServiceError::file(Path::new(&file.path), error))
        };
        tokio::task::spawn_blocking(work).await?
    }
}

fn replay(
    file: &FileRow,
    archive: &Arc<Archive>,
    (known, asked): (&KnownWindow, Option<u64>),
    policies: Vec<Policy>,
) -> io::Result<ReplayReport> {
    let window_at = |fold: &Fold| {
        let known = known.sources(Some(fold), fold.head().model.as_deref());
        window::decide(&WindowSources { asked, ..known })
    };
    let (mut fold, mut replay) = (Fold::new(file.source), Replay::new(policies));
    let mut is_cut = false;
    each_line(file, archive, |place, line| {
        is_cut = place.offset >= BYTES_MAX;
        if !is_cut {
            fold.line(place, line);
            let window = window_at(&fold);
            replay.line(&mut fold, &window, &mut |_, _, _| {});
        }
        !is_cut
    })?;
    let window = window_at(&fold);
    replay.end(&fold, &window, &mut |_, _, _| {});
    Ok(ReplayReport {
        turns: fold.signals().turn(),
        compactions: fold.head().compactions,
        is_cut,
        tracks: replay.tracks,
    })
}

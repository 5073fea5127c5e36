//! Threads that are forgotten, by the archive alone or by everything, of which no file may have anything then.

use std::fs;
use std::path::{Path, PathBuf};

use super::life::{Life, outcome};
use super::world::{ErasureState, ForgetState, SeedFolder, Transcript, World};
use crate::service::ServiceError;

impl Life {
    /// `archive/forget` of a thread.
    pub(super) fn forget(&mut self) -> String {
        let count = self.world.transcripts.len() as u64;
        let at = usize::try_from(self.chance.below(count * 4)).unwrap();
        match at < self.world.transcripts.len() {
            true => self.forget_at(at),
            false => "nothing is forgotten".to_owned(),
        }
    }

    pub(super) fn forget_at(&mut self, at: usize) -> String {
        let thread_id = self.begins_to_forget(at);
        let done = self.front.run(self.services.archive.forget(&thread_id));
        if done.is_ok() {
            self.world.transcripts[at].forgotten = ForgetState::Yes;
            self.ends_maybe();
        }
        outcome("forget", &done)
    }

    fn begins_to_forget(&mut self, at: usize) -> String {
        let transcript = &mut self.world.transcripts[at];
        transcript.archived = None;
        if transcript.forgotten == ForgetState::No {
            transcript.forgotten = ForgetState::Asked;
        }
        let thread_id = transcript.thread_id.clone();
        self.save();
        thread_id
    }

    /// `thread/forget` of a thread, which is refused while its transcript exists.
    pub(super) fn erase(&mut self) -> String {
        let at = self.some_transcript();
        let Transcript { thread_id, path, .. } = &self.world.transcripts[at];
        if path.is_none() {
            return self.erase_at(at);
        }
        let refused = self.front.run(self.services.thread.forgetting.forget(thread_id));
        let is_refused = matches!(
            refused,
            Err(ServiceError::TranscriptExists(_) | ServiceError::ThreadNotFound(_))
        );
        assert!(is_refused, "{thread_id} was erased, but its transcript exists: {refused:?}");
        outcome("erase", &refused)
    }

    pub(super) fn erase_at(&mut self, at: usize) -> String {
        let was_forgotten = self.world.transcripts[at].forgotten;
        let thread_id = self.world.transcripts[at].thread_id.clone();
        self.world.transcripts[at].erased = ErasureState::Asked;
        self.world.compactions.retain(|made| made.thread_id != thread_id);
        self.world.pins.retain(|(of, _)| *of != thread_id);
        self.world.started.retain(|(_, of)| *of != thread_id);
        self.begins_to_forget(at);
        let done = self.front.run(self.services.thread.forgetting.forget(&thread_id));
        let until = self.world.count;
        let transcript = &mut self.world.transcripts[at];
        match &done {
            Ok(_) => {
                transcript.forgotten = ForgetState::Yes;
                transcript.erased = ErasureState::Yes { until, is_written_again: false };
                self.ends_maybe();
            }
            // Nobody knows it.
            Err(ServiceError::ThreadNotFound(_)) => {
                transcript.forgotten = was_forgotten;
                transcript.erased = ErasureState::No;
            }
            Err(error) => panic!("{thread_id} cannot be erased: {error}"),
        }
        outcome("erase", &done)
    }

    /// Files are searched when no daemon runs: often at once, before other work removes the traces that were left.
    fn ends_maybe(&mut self) {
        self.is_over |= self.chance.below(2) == 0;
    }

    /// Calls without an answer are repeated.
    pub(super) fn finish_forgetting(&mut self) {
        for at in 0..self.world.transcripts.len() {
            let transcript = &self.world.transcripts[at];
            if transcript.erased == ErasureState::Asked && transcript.path.is_none() {
                self.erase_at(at);
            }
            if self.world.transcripts[at].forgotten == ForgetState::Asked {
                self.forget_at(at);
                assert!(self.world.transcripts[at].forgotten == ForgetState::Yes, "not forgotten");
            }
        }
    }
}

/// What a file below the state folder still has of a forgotten thread, and secrets. No daemon runs.
pub(super) fn look_for_forgotten(place: &SeedFolder) -> Result<(), String> {
    let world = World::read(place);
    let mut files = Vec::new();
    list(&place.state(), &mut files);
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let is_in_archive = path.starts_with(place.state().join("archive"));
        for transcript in &world.transcripts {
            let is_forgotten = transcript.forgotten == ForgetState::Yes && is_in_archive;
            if let Some(what) = found(transcript, is_forgotten, &bytes) {
                return Err(format!("{} has {what}", path.display()));
            }
        }
        if memchr::memmem::find(&bytes, super::agents::SECRET_END).is_some() {
            return Err(format!("{} has a secret", path.display()));
        }
    }
    Ok(())
}

fn found(transcript: &Transcript, is_forgotten: bool, bytes: &[u8]) -> Option<String> {
    let name = transcript.thread_id.as_bytes();
    let mut places = memchr::memmem::find_iter(bytes, name);
    let at = match transcript.erased {
        _ if is_forgotten => places.next(),
        // Memory must not learn from it again: its list has the kind and the id, one after the other, and so has the
        // journal of a generation.
        ErasureState::Yes { is_written_again: false, .. } => places.find(|at| {
            let before = &bytes[..*at];
            !before.ends_with(b"thread") && !before.ends_with(b"[\"thread\",\"")
        }),
        ErasureState::Yes { until, is_written_again: true } => {
            places.find(|at| line_before(&bytes[..*at]).is_some_and(|number| number <= until))
        }
        _ => None,
    }?;
    let around = &bytes[at.saturating_sub(80)..bytes.len().min(at + 120)];
    let around = around.escape_ascii();
    Some(format!("something of {}, which was forgotten, at {at}: {around}", transcript.thread_id))
}

/// The number of the line whose words, up to its thread, are at the end of these bytes.
fn line_before(bytes: &[u8]) -> Option<u64> {
    let words = bytes.strip_suffix(b" of ")?;
    let digits = words.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (step, number) = words.split_at(words.len() - digits);
    step.strip_suffix(b"step ")?;
    str::from_utf8(number).ok()?.parse().ok()
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => list(&entry.path(), files),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}

//! One thread, line by line → what a later thread can use, without a model.

use super::learning::RolloutMemory;
use super::own::Own;
use crate::fold::Place;
use crate::thread::Source;

/// The thread that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRef {
    /// Its id.
    pub thread_id: String,
    /// Who wrote it.
    pub source: Source,
    /// What scopes the learnings: the repository (its root or remote) where the caller knows it;
    /// `None`: the working folder.
    pub project: Option<String>,
}

/// Reads a thread. Bounded whatever the transcript.
#[derive(Debug)]
pub struct Extractor {
    memory: RolloutMemory,
    own: Own,
    source: Source,
}

impl Extractor {
    /// Before the first line.
    pub fn new(thread: ThreadRef, own: Own) -> Self {
        let memory = RolloutMemory {
            thread_id: thread.thread_id,
            project: thread.project,
            ..RolloutMemory::default()
        };
        Self { memory, own, source: thread.source }
    }

    /// Reads the next line, given without its newline.
    pub fn line(&mut self, place: Place, line: &[u8]) {
        self.memory.last_seq = place.line;
        let _ = (&self.own, self.source, line);
    }

    /// What was learned; `None` when a later thread would be none the wiser.
    pub fn finish(self) -> Option<RolloutMemory> {
        (!self.memory.learnings.is_empty()).then_some(self.memory)
    }
}

//! What the daemon itself put into a thread, so that memory never learns from itself.
//!
//! A thread meets our memory in three ways: injected as a framed text, read from the memory folder by a
//! command or tool, or repeated line by line by whoever read it. All three are left out of extraction:
//! the frame by its marks, the reads by their paths, the repetitions by digests of the published lines.
//! Otherwise every session would confirm what the one before it was told.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Files, usage};
use crate::digest::Digest128;
use crate::rollout::tool::Call;

/// First line of a text that injects memory.
pub const OPENING: &str = "<longhaul_memory>";

/// Its last line.
pub const CLOSING: &str = "</longhaul_memory>";

/// Bytes of a line below which it says too little to be told as ours.
const LINE_BYTES_MIN: usize = 24;

/// What is known as ours. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Own {
    roots: Vec<String>,
    lines: Arc<HashSet<u128>>,
}

impl Own {
    /// The memory folder, by every absolute path that leads to it, and the files published there.
    pub fn new(roots: Vec<String>, published: &Files) -> Self {
        let lines = published.values().flat_map(|text| text.lines()).filter_map(mark).collect();
        Self { roots, lines: Arc::new(lines) }
    }

    /// The text without what we injected: framed parts, and lines that repeat a published one.
    pub fn strip(&self, text: &str) -> String {
        let mut kept = String::with_capacity(text.len());
        let mut framed = false;
        for line in text.lines() {
            let bare = line.trim();
            framed = match bare {
                line if line.starts_with(OPENING) => !line.ends_with(CLOSING),
                _ => framed,
            };
            let is_ours = framed
                || bare.starts_with(OPENING)
                || bare.ends_with(CLOSING)
                || mark(bare).is_some_and(|mark| self.lines.contains(&mark));
            if bare.ends_with(CLOSING) {
                framed = false;
            }
            if !is_ours {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        kept
    }

    /// Whether a call only reads memory, so that neither it nor its answer counts.
    pub fn is_read(&self, call: &Call<'_>) -> bool {
        let named = |text: &str| text.starts_with("memory_") || text.contains("longhaul");
        named(&call.name)
            || call.namespace.as_deref().is_some_and(named)
            || call.arguments.contains("longhaul memory")
            || self.roots.iter().any(|root| call.arguments.contains(root.as_str()))
    }

    /// The memory files that a script reads.
    pub fn reads(&self, script: &str, workdir: Option<&str>) -> Vec<usage::MemoryRead> {
        let roots: Vec<&str> = self.roots.iter().map(String::as_str).collect();
        usage::reads(script, workdir, &roots)
    }
}

/// A line told again: list marks, quotes and white space apart.
fn mark(line: &str) -> Option<u128> {
    let bare = line.trim().trim_start_matches(['-', '*', '>', '#', ' ']).trim();
    (bare.len() >= LINE_BYTES_MIN).then(|| Digest128::of(bare.as_bytes()).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_said_is_left_out() {
        let said = "- always run `just check` before a commit";
        let own = Own::new(vec![], &Files::from([("MEMORY.md".into(), format!("# M\n{said}\n"))]));
        let text = format!("fix it\n{OPENING}\nuse tabs\n{CLOSING}\n> {said}\nthen stop");
        assert_eq!(own.strip(&text), "fix it\nthen stop\n");
        assert_eq!(own.strip("use tabs"), "use tabs\n");
    }
}

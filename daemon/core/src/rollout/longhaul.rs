//! Transcripts of clients that write none: the daemon's own, in the form of Codex ([`super::compose`]).

use super::codex;
use super::source::{FilePattern, Layout, SourceSpec};

pub(super) const SPEC: SourceSpec = SourceSpec {
    title: "longhaul",
    home: None,
    folders: &[],
    files: &[FilePattern { prefix: "", suffix: ".jsonl", layout: Layout::Lines }],
    resume: &[],
    continuation: None,
    ..codex::SPEC
};

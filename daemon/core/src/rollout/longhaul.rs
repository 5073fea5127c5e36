//! The daemon's own transcripts, for clients that write none. They use Codex's format ([`super::compose`]).

use super::codex;
use super::source::{FilePattern, Layout, SourceSpec};

pub(super) const SPEC: SourceSpec = SourceSpec {
    title: "longhaul",
    home: None,
    folders: &[],
    files: &[FilePattern { prefix: "", suffix: ".jsonl", layout: Layout::Lines }],
    resume: &[],
    session_undo: "",
    continuation: None,
    ..codex::SPEC
};

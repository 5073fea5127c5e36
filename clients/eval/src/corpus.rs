//! The sessions of a run, and which of them are copies.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::transcript::{StepKind, Transcript, claude};

#[derive(Debug, Clone)]
pub struct Session {
    /// The name to show, usually the file's.
    pub name: String,
    /// Sessions of one repository count together in the statistics.
    pub repository: String,
    /// The decompressed file.
    pub bytes: Vec<u8>,
}

/// Sessions, loaded one at a time to bound memory by the largest.
pub trait Corpus {
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loads one session, `0 <= number < len()`. It is called more than once per session and must return the same
    /// bytes. A session with an error is skipped and reported as unreadable.
    fn load(&self, number: usize) -> Result<Session, String>;
}

impl Corpus for [Session] {
    fn len(&self) -> usize {
        <[Session]>::len(self)
    }

    fn load(&self, number: usize) -> Result<Session, String> {
        self.get(number).cloned().ok_or_else(|| format!("there is no session {number}"))
    }
}

/// Lines at the start of a file that may contain its header.
const HEADER_LINES: usize = 20;

/// Whether Claude Code wrote a session, judging by the lines at its start.
pub fn is_claude(bytes: &[u8]) -> bool {
    bytes
        .split(|&byte| byte == b'\n')
        .take(HEADER_LINES)
        .filter_map(|line| serde_json::from_slice::<Map<String, Value>>(line).ok())
        .any(|line| claude::is_line(&line))
}

/// The repository of a rollout: the remote in its header, else its folder.
pub fn repository_of(bytes: &[u8]) -> Option<String> {
    bytes.split(|&byte| byte == b'\n').take(HEADER_LINES).find_map(|line| {
        let line: Value = serde_json::from_slice(line).ok()?;
        let header = line.get("payload").unwrap_or(&line);
        let remote = header.get("git").and_then(|git| git.get("repository_url"));
        remote.or_else(|| header.get("cwd"))?.as_str().map(str::to_owned)
    })
}

/// Identifies copies: checkpoints of one session share the thread id, forks that copied their parent share the first
/// steps.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Position in the corpus.
    pub number: usize,
    thread_id: Option<String>,
    prefix: u64,
    steps: usize,
}

/// Steps in the prefix hash.
const PREFIX_STEPS: usize = 12;

impl Identity {
    pub fn new(number: usize, transcript: &Transcript) -> Self {
        let texts = transcript.steps.iter().filter_map(|step| match &step.kind {
            StepKind::Context(_) => None,
            StepKind::User { text, .. } | StepKind::Assistant(text) => Some(text.as_str()),
            StepKind::Call(call) => call.arguments.first().map(String::as_str),
            StepKind::Output(output) => Some(output.text.as_str()),
        });
        let mut prefix = Fnv::default();
        for text in texts.take(PREFIX_STEPS) {
            prefix.write(text.as_bytes());
            prefix.write(&[0xff]);
        }
        Self {
            number,
            thread_id: transcript.thread_id.clone(),
            prefix: prefix.0,
            steps: transcript.steps.len(),
        }
    }
}

/// The sessions to score, ascending: the longest of each group with the same thread id or prefix (the first of equals).
pub fn distinct(identities: &[Identity]) -> Vec<usize> {
    let mut order: Vec<&Identity> = identities.iter().collect();
    order.sort_by_key(|identity| (std::cmp::Reverse(identity.steps), identity.number));
    let mut threads = BTreeSet::new();
    let mut prefixes = BTreeSet::new();
    let mut kept = Vec::new();
    for identity in order {
        let is_known_thread =
            identity.thread_id.as_ref().is_some_and(|id| !threads.insert(id.clone()));
        let is_known_prefix = !prefixes.insert(identity.prefix);
        if !is_known_thread && !is_known_prefix {
            kept.push(identity.number);
        }
    }
    kept.sort_unstable();
    kept
}

/// FNV-1a, 64 bits: equal in every build, which the standard hasher does not promise.
#[derive(Debug)]
pub(crate) struct Fnv(pub(crate) u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(crate) fn of(bytes: &[u8]) -> u64 {
        let mut hash = Self::default();
        hash.write(bytes);
        hash.0
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

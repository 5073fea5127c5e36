//! State of a git repository as an input to decisions, and parsers for git's output. The shell runs git.
//!
//! A transcript shows commits that an agent typed, but not those made by a script, a release tool or an alias;
//! the reflog shows them. This adds to the transcript and never replaces it: a fold must be the same on any
//! machine, so this state is stored with the decision it was read for.

use serde::{Deserialize, Serialize};

use crate::{redact, text};

pub const COMMITS_MAX: usize = 20;

/// Maximum bytes of a name or subject.
const WORDS_BYTES: usize = 200;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Unix milliseconds.
    pub seen_ms: i64,
    /// The checked-out commit; `None` before the first one.
    pub head: Option<String>,
    /// The branch; `None` if detached.
    pub branch: Option<String>,
    pub upstream: Option<String>,
    /// Commits ahead of and behind the upstream.
    pub ahead_behind: Option<(u64, u64)>,
    pub staged: u64,
    pub unstaged: u64,
    pub untracked: u64,
    pub conflicts: u64,
    /// The file counts are truncated.
    pub is_cut: bool,
    /// Commits made here, newest first, at most [`COMMITS_MAX`]: reflog entries of kind commit, so those of a
    /// pull, a checkout or a rebase are excluded.
    pub commits: Vec<Commit>,
    /// Position in a Graphite stack, if any.
    pub stack: Option<Stack>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub id: String,
    /// Unix milliseconds, rounded to seconds.
    pub at_ms: i64,
    pub subject: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    pub parent: Option<String>,
    pub trunk: Option<String>,
    pub pull_request: Option<u64>,
}

/// A repository as seen by one decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryView {
    pub repository: Repository,
    /// Commits since the turn began, or since the last compaction in it.
    pub commits_in_turn: u64,
    /// Another session works in the same folder, so commits cannot be attributed.
    pub is_shared: bool,
}

impl RepositoryView {
    /// Counts the commits after `since_ms`; 0 if the start of the turn is unknown. Commit times are whole
    /// seconds, so one in the turn's first second is not counted.
    pub fn since(repository: Repository, since_ms: i64, is_shared: bool) -> Self {
        let made = repository.commits.iter().filter(|commit| commit.at_ms >= since_ms);
        let commits_in_turn = if since_ms > 0 { made.count() as u64 } else { 0 };
        Self { repository, commits_in_turn, is_shared }
    }

    pub fn shows_commit(&self) -> bool {
        self.commits_in_turn > 0 && !self.is_shared
    }

    /// Description for a reason or a prompt.
    pub fn words(&self) -> String {
        let mut words = self.repository.words();
        match (self.commits_in_turn, self.is_shared) {
            (0, _) => {}
            (_, true) => words.push_str("; commits of this turn may be another session's"),
            (1, false) => words.push_str("; 1 commit in this turn"),
            (made, false) => words.push_str(&format!("; {made} commits in this turn")),
        }
        words
    }
}

impl Repository {
    /// Branch, commit, distance and changes in one line.
    pub fn words(&self) -> String {
        let head = self.head.as_deref().map_or("no commit yet", |head| text::prefix(head, 10));
        let mut words = match &self.branch {
            Some(branch) => format!("{branch} at {head}"),
            None => format!("no branch, at {head}"),
        };
        if let Some((ahead, behind)) = self.ahead_behind {
            words.push_str(&format!(", {ahead} ahead and {behind} behind"));
        }
        if let Some(parent) = self.stack.as_ref().and_then(|stack| stack.parent.as_ref()) {
            words.push_str(&format!(", stacked on {parent}"));
        }
        let counts = [
            (self.conflicts, "in conflict"),
            (self.staged, "staged"),
            (self.unstaged, "changed"),
            (self.untracked, "untracked"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let dirty: Vec<_> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        match dirty.is_empty() {
            true => words.push_str(", clean"),
            false => words.push_str(&format!(", {}", dirty.join(", "))),
        }
        words
    }

    /// Parses `git status --porcelain=v2 --branch -z`; `is_cut` if its end is missing.
    pub fn read_status(&mut self, printed: &[u8], is_cut: bool) {
        self.is_cut = is_cut;
        let mut entries = printed.split(|byte| *byte == 0);
        while let Some(entry) = entries.next() {
            match entry.first() {
                Some(b'#') => self.read_header(&String::from_utf8_lossy(entry)),
                Some(b'1') => self.count(entry),
                Some(b'2') => {
                    self.count(entry);
                    // The previous name follows as a separate entry.
                    entries.next();
                }
                Some(b'u') => self.conflicts += 1,
                Some(b'?') => self.untracked += 1,
                _ => {}
            }
        }
    }

    fn read_header(&mut self, header: &str) {
        let Some((key, value)) = header.strip_prefix("# ").and_then(|rest| rest.split_once(' '))
        else {
            return;
        };
        match key {
            "branch.oid" if is_id(value) => self.head = Some(value.to_owned()),
            "branch.head" if value != "(detached)" => self.branch = Some(clean(value)),
            "branch.upstream" => self.upstream = Some(clean(value)),
            "branch.ab" => {
                let number = |count: &str| count.get(1..)?.parse::<u64>().ok();
                let mut counts = value.split(' ').map(number);
                self.ahead_behind = counts.next().flatten().zip(counts.next().flatten());
            }
            _ => {}
        }
    }

    /// `XY` after the kind: index and work tree; a dot means unchanged.
    fn count(&mut self, entry: &[u8]) {
        self.staged += u64::from(entry.get(2).is_some_and(|state| *state != b'.'));
        self.unstaged += u64::from(entry.get(3).is_some_and(|state| *state != b'.'));
    }

    /// Parses a reflog whose entries are `id`, `HEAD@{seconds}` and the action, separated by byte 1f, each
    /// terminated by a zero byte.
    pub fn read_reflog(&mut self, printed: &[u8]) {
        for entry in printed.split(|byte| *byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            let mut fields = entry.trim_start_matches('\n').splitn(3, '\u{1f}');
            let (Some(id), Some(at), Some(done)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let seconds = at.rsplit_once('{').and_then(|(_, rest)| rest.strip_suffix('}'));
            let Some(seconds) = seconds.and_then(|seconds| seconds.parse::<i64>().ok()) else {
                continue;
            };
            // `commit: x`, `commit (amend): x`, `commit (initial): x`, `commit (merge): x`.
            let Some((act, subject)) = done.split_once(": ") else { continue };
            let is_commit = act == "commit" || act.starts_with("commit (");
            if is_commit && is_id(id) && self.commits.len() < COMMITS_MAX {
                let at_ms = seconds.saturating_mul(1_000);
                self.commits.push(Commit { id: id.to_owned(), at_ms, subject: clean(subject) });
            }
        }
    }
}

impl Stack {
    /// Parses Graphite's records of a branch and of the repository. Unreadable records are ignored.
    pub fn read(of_branch: Option<&[u8]>, of_repository: &[u8]) -> Option<Self> {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct Branch {
            parent_branch_name: Option<String>,
            pr_info: Option<PullRequest>,
        }
        #[derive(Deserialize)]
        struct PullRequest {
            number: Option<u64>,
        }
        #[derive(Deserialize)]
        struct RepositorySettings {
            trunk: Option<String>,
        }
        let whole: RepositorySettings = serde_json::from_slice(of_repository).ok()?;
        let branch = of_branch.and_then(|json| serde_json::from_slice::<Branch>(json).ok());
        let branch = branch.unwrap_or_default();
        Some(Self {
            parent: branch.parent_branch_name.as_deref().map(clean),
            trunk: whole.trunk.as_deref().map(clean),
            pull_request: branch.pr_info.and_then(|info| info.number),
        })
    }
}

fn is_id(word: &str) -> bool {
    matches!(word.len(), 40 | 64) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Foreign text: one line, bounded, redacted.
fn clean(words: &str) -> String {
    let line = words.replace(|c: char| c.is_control(), " ");
    let redacted = redact::redact(text::prefix(&line, 4 * WORDS_BYTES));
    text::cut(&redacted.text, WORDS_BYTES).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d";

    #[test]
    fn a_status_is_counted_for_any_file_name() {
        let printed = format!(
            "# branch.oid {ID}\0# branch.head topic\0# branch.upstream origin/topic\0# branch.ab +2 -1\0\
             1 M. N... 1 1 1 a b src/a b.rs\x001 .M N... 1 1 1 a b ? weird\0\
             2 R. N... 1 1 1 a b R100 new\0? old name\0u UU N... 1 1 1 1 a b c both\0? junk\0"
        );
        let mut seen = Repository::default();
        seen.read_status(printed.as_bytes(), false);
        assert_eq!((seen.head.as_deref(), seen.branch.as_deref()), (Some(ID), Some("topic")));
        assert_eq!(seen.upstream.as_deref(), Some("origin/topic"));
        assert_eq!(seen.ahead_behind, Some((2, 1)));
        assert_eq!((seen.staged, seen.unstaged, seen.untracked, seen.conflicts), (2, 1, 1, 1));
        let words = "topic at 1a2b3c4d5e, 2 ahead and 1 behind, 1 in conflict, 2 staged, 1 changed, 1 untracked";
        assert_eq!(seen.words(), words);
        let mut bare = Repository::default();
        bare.read_status(
            b"# branch.oid (initial)\0# branch.head (detached)\0# branch.ab + \0#\0\xff\0",
            true,
        );
        assert_eq!(
            (bare.words().as_str(), bare.is_cut),
            ("no branch, at no commit yet, clean", true)
        );
    }

    #[test]
    fn only_commit_entries_of_the_reflog_count() {
        let entry = |done: &str| format!("{ID}\u{1f}HEAD@{{1763700000}}\u{1f}{done}\0");
        let printed = [
            entry("commit (amend): retry: again"),
            entry("pull: Fast-forward"),
            entry("checkout: moving from commit: to main"),
            entry("rebase (pick): x"),
            entry("commit (initial): first, with ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"),
            "nonsense\0".to_owned(),
        ];
        let mut seen = Repository::default();
        seen.read_reflog(printed.concat().as_bytes());
        let subjects: Vec<_> = seen.commits.iter().map(|commit| commit.subject.as_str()).collect();
        assert_eq!(subjects[0], "retry: again");
        assert!(subjects.len() == 2 && !subjects[1].contains("a1B2a1B2"), "{subjects:?}");

        let long =
            entry(&format!("commit: {} ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2", "x".repeat(180)));
        let many: String = (0..=COMMITS_MAX).map(|n| entry(&format!("commit: {n}"))).collect();
        for (printed, count, first) in [(long, 1, "xxx"), (many, COMMITS_MAX, "0")] {
            let mut seen = Repository::default();
            seen.read_reflog(printed.as_bytes());
            assert_eq!(seen.commits.len(), count);
            let subject = &seen.commits[0].subject;
            assert!(subject.starts_with(first) && !subject.contains("a1B2"), "{subject}");
        }

        let since = |ms, shared| RepositoryView::since(seen.clone(), ms, shared);
        assert!(since(1_763_700_000_000, false).shows_commit());
        assert!(!since(1_763_700_000_001, false).shows_commit(), "before the turn");
        assert!(!since(1_763_700_000_000, true).shows_commit(), "perhaps another session's");
        assert!(!since(0, false).shows_commit(), "the start of the turn is unknown");
    }

    #[test]
    fn a_stack_is_parsed_from_graphites_records() {
        let branch = br#"{"parentBranchName":"base","prInfo":{"number":7,"state":"OPEN"}}"#;
        let found = Stack::read(Some(branch), br#"{"trunk":"main","x":1}"#).unwrap();
        assert_eq!((found.parent.as_deref(), found.pull_request), (Some("base"), Some(7)));
        assert_eq!(Stack::read(Some(b"{"), b"{}"), Some(Stack::default()));
        assert_eq!(Stack::read(None, b"not json"), None);
    }

    #[test]
    fn the_commits_of_a_turn_are_counted_unless_they_may_be_anothers() {
        let repository = Repository { branch: Some("topic".into()), ..Repository::default() };
        for (commits_in_turn, is_shared, expected) in [
            (0, false, ""),
            (0, true, ""),
            (1, false, "; 1 commit in this turn"),
            (3, false, "; 3 commits in this turn"),
            (1, true, "; commits of this turn may be another session's"),
        ] {
            let repository = repository.clone();
            let words = RepositoryView { repository, commits_in_turn, is_shared }.words();
            assert_eq!(words, format!("topic at no commit yet, clean{expected}"));
        }
    }
}

//! Selects a thread's current file; pure.

use longhaul_core::fold::ThreadHead;

/// One file of a thread.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) file_id: i64,
    /// Name of its source; not interpreted here.
    pub(crate) source: String,
    pub(crate) path: String,
    pub(crate) gone: bool,
    pub(crate) head: Option<ThreadHead>,
}

/// Picks the current file of a thread.
///
/// An existing file wins over a deleted one; a plain file over its `.zst` twin (the agent compresses cold
/// files in place and may briefly leave both); a file that continues the same thread (a revert) over the one
/// it continues; then the newest, then the one with more items, and finally the greater path, so that the
/// result never depends on the order of rows.
pub(crate) fn pick(candidates: &[Candidate]) -> Option<&Candidate> {
    candidates.iter().max_by_key(|candidate| {
        let (revert, updated, items) = match &candidate.head {
            Some(head) => (continues_itself(head), head.updated_at_ms, head.items),
            None => (false, i64::MIN, 0),
        };
        let shadowed = has_plain_twin(candidate, candidates);
        (!candidate.gone, !shadowed, revert, updated, items, candidate.path.as_str())
    })
}

fn continues_itself(head: &ThreadHead) -> bool {
    match (&head.history_base, &head.thread_id) {
        (Some(base), Some(thread)) => base.thread_id == *thread,
        _ => false,
    }
}

fn has_plain_twin(candidate: &Candidate, all: &[Candidate]) -> bool {
    candidate
        .path
        .strip_suffix(".zst")
        .is_some_and(|plain| all.iter().any(|other| other.path == plain && !other.gone))
}

#[cfg(test)]
mod tests {
    use longhaul_core::fold::{Fold, HistoryBase, Source};

    use super::*;

    fn file(path: &str, updated_at_ms: i64, items: u64) -> Candidate {
        let mut head = Fold::new(Source::Codex).head().clone();
        head.thread_id = Some("t".into());
        head.updated_at_ms = updated_at_ms;
        head.items = items;
        let source = "codex".into();
        Candidate { file_id: 0, source, path: path.into(), gone: false, head: Some(head) }
    }

    fn gone(candidate: Candidate) -> Candidate {
        Candidate { gone: true, ..candidate }
    }

    fn revert(mut candidate: Candidate) -> Candidate {
        if let Some(head) = &mut candidate.head {
            let base = HistoryBase {
                thread_id: "t".into(),
                end_ordinal_exclusive: 1,
                end_byte_offset: None,
            };
            head.history_base = Some(base);
        }
        candidate
    }

    fn check(candidates: Vec<Candidate>, expected: &str) {
        let mut candidates = candidates;
        assert_eq!(pick(&candidates).unwrap().path, expected);
        candidates.reverse();
        assert_eq!(pick(&candidates).unwrap().path, expected, "the order of rows decided");
    }

    #[test]
    fn the_current_file_is_picked_by_the_rules() {
        check(vec![file("a", 1, 9), file("b", 2, 1)], "b");
        check(vec![file("a", 1, 9), file("b", 1, 1)], "a");
        check(vec![file("a", 1, 1), file("b", 1, 1)], "b");
        check(vec![file("a", 9, 9), gone(file("b", 99, 99))], "a");
        check(vec![file("a", 9, 9), revert(file("b", 5, 2))], "b");
        check(vec![revert(file("a", 9, 9)), revert(file("b", 5, 2))], "a");
        check(vec![file("a.jsonl", 5, 5), file("a.jsonl.zst", 6, 6)], "a.jsonl");
        check(vec![gone(file("a.jsonl", 5, 5)), file("a.jsonl.zst", 5, 5)], "a.jsonl.zst");
        check(vec![gone(file("a", 1, 1)), gone(file("b", 2, 2))], "b");
        assert!(pick(&[]).is_none());
    }
}

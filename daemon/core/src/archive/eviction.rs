//! What leaves the archive when it is over its bounds.

use std::cmp::Reverse;

/// One part in so many of the bound is left free when something had to go: the next line must not evict again.
const FREE_PART: u64 = 20;

/// A thread in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvictionCandidate {
    pub thread_id: String,
    /// A person pinned a text of it.
    pub has_pin: bool,
    /// A compaction's receipt names it.
    pub has_receipt: bool,
    /// When its transcript last grew, Unix milliseconds.
    pub updated_ms: i64,
    /// Time in use since it was archived last.
    pub age_ms: i64,
    /// Bytes on the disk that go with it, estimated.
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub max_bytes: u64,
    pub max_age_ms: Option<i64>,
}

/// The threads that go, given the `bytes` that the archive has now: those over their age that neither a receipt nor a pin
/// holds, then the oldest ones until the rest fits, those that receipts name after all others, those with pins last of all.
#[must_use]
pub fn plan(mut threads: Vec<EvictionCandidate>, bytes: u64, bounds: Bounds) -> Vec<String> {
    // Last is first: candidates are popped.
    threads.sort_by(|a, b| {
        let key = |one: &EvictionCandidate| (one.has_pin, one.has_receipt, one.updated_ms);
        key(b).cmp(&key(a)).then_with(|| Reverse(&a.thread_id).cmp(&Reverse(&b.thread_id)))
    });
    let is_over_age = |thread: &EvictionCandidate| {
        let is_held = thread.has_pin || thread.has_receipt;
        !is_held && bounds.max_age_ms.is_some_and(|max| thread.age_ms > max)
    };
    let (old, mut rest): (Vec<_>, Vec<_>) = threads.into_iter().partition(is_over_age);
    let mut left = old.iter().fold(bytes, |left, thread| left.saturating_sub(thread.bytes));
    let mut going: Vec<String> = old.into_iter().rev().map(|thread| thread.thread_id).collect();
    if left > bounds.max_bytes {
        let goal = bounds.max_bytes - bounds.max_bytes / FREE_PART;
        while left > goal {
            let Some(thread) = rest.pop() else { break };
            left = left.saturating_sub(thread.bytes);
            going.push(thread.thread_id);
        }
    }
    going
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(id: &str, updated_ms: i64, has_receipt: bool) -> EvictionCandidate {
        EvictionCandidate {
            thread_id: id.to_owned(),
            has_pin: id.starts_with("pin"),
            has_receipt,
            updated_ms,
            age_ms: -updated_ms,
            bytes: 100,
        }
    }

    #[test]
    fn what_is_pinned_outlives_what_receipts_name() {
        let threads =
            vec![thread("pinned", 10, false), thread("a", 20, true), thread("b", 30, false)];
        let bounds = Bounds { max_bytes: 150, max_age_ms: None };
        assert_eq!(plan(threads, 300, bounds), ["b", "a"]);
    }

    #[test]
    fn the_oldest_go_first_and_those_with_receipts_last() {
        let threads = || {
            vec![
                thread("c", 30, false),
                thread("a", 10, true),
                thread("b", 20, false),
                thread("d", 40, false),
            ]
        };
        let bounds = |max_bytes| Bounds { max_bytes, max_age_ms: None };
        for (max_bytes, expected) in [
            (400, vec![]),
            (399, vec!["b"]),
            (300, vec!["b", "c"]),
            (200, vec!["b", "c", "d"]),
            (50, vec!["b", "c", "d", "a"]),
        ] {
            assert_eq!(plan(threads(), 400, bounds(max_bytes)), expected, "{max_bytes}");
        }
        let aged = Bounds { max_bytes: 1_000, max_age_ms: Some(-25) };
        assert_eq!(plan(threads(), 400, aged), ["b"], "a receipt holds the older one");
        let aged = Bounds { max_bytes: 150, max_age_ms: Some(-25) };
        assert_eq!(plan(threads(), 400, aged), ["b", "c", "d"], "it goes for room alone");
    }
}

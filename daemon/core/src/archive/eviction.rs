//! Selects the threads to evict when the archive exceeds its bounds.

use std::cmp::Reverse;

/// After an eviction 1/20 of the bound stays free, so that the next line does not evict again.
const FREE_PART: u64 = 20;

/// A thread in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvictionCandidate {
    pub thread_id: String,
    /// A person pinned text of it.
    pub has_pin: bool,
    /// A compaction's receipt names it.
    pub has_receipt: bool,
    /// When its transcript last grew, Unix milliseconds.
    pub updated_ms: i64,
    /// Milliseconds that the machine ran since it was last archived.
    pub age_ms: i64,
    /// Estimated bytes on disk that its eviction frees.
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub max_bytes: u64,
    pub max_age_ms: Option<i64>,
}

impl Bounds {
    /// Whether these allow clearly more than `before`: threads that were evicted under those may fit. A disk whose size
    /// changes a little, and with it the default bound, must not archive and evict the same threads again and again.
    pub fn are_wider_than(self, before: Self) -> bool {
        let is_older_allowed = match (self.max_age_ms, before.max_age_ms) {
            (None, Some(_)) => true,
            (Some(now), Some(before)) => now > before,
            (_, None) => false,
        };
        let much = before.max_bytes.saturating_add(before.max_bytes / FREE_PART);
        is_older_allowed || self.max_bytes > much
    }
}

/// Selects threads to evict from an archive of `bytes` bytes: first all over the maximum age that have neither a
/// receipt nor a pin, then the oldest until the rest fits: those with receipts after all others, those with pins last.
pub fn plan(mut threads: Vec<EvictionCandidate>, bytes: u64, bounds: Bounds) -> Vec<String> {
    // In reverse order, since candidates are popped.
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
    let mut evicted: Vec<String> = old.into_iter().rev().map(|thread| thread.thread_id).collect();
    if left > bounds.max_bytes {
        let goal = bounds.max_bytes - bounds.max_bytes / FREE_PART;
        while left > goal {
            let Some(thread) = rest.pop() else { break };
            left = left.saturating_sub(thread.bytes);
            evicted.push(thread.thread_id);
        }
    }
    evicted
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
    fn bounds_are_wider_if_they_allow_older_threads_or_clearly_more_bytes() {
        let bounds = |max_bytes, max_age_ms| Bounds { max_bytes, max_age_ms };
        let before = bounds(1_000, Some(30));
        for (now, expected) in [
            (before, false),
            (bounds(1_050, Some(30)), false),
            (bounds(1_051, Some(30)), true),
            (bounds(1_000, Some(31)), true),
            (bounds(10, None), true),
            (bounds(999, Some(29)), false),
        ] {
            assert_eq!(now.are_wider_than(before), expected, "{now:?}");
        }
        assert!(!bounds(1_000, Some(30)).are_wider_than(bounds(1_000, None)));
        assert!(!bounds(u64::MAX, None).are_wider_than(bounds(u64::MAX, None)));
    }

    #[test]
    fn threads_with_pins_outlive_threads_with_receipts() {
        let threads =
            vec![thread("pinned", 10, false), thread("a", 20, true), thread("b", 30, false)];
        let bounds = Bounds { max_bytes: 150, max_age_ms: None };
        assert_eq!(plan(threads, 300, bounds), ["b", "a"]);
    }

    #[test]
    fn the_oldest_are_evicted_first_and_those_with_receipts_last() {
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
            // 200 bytes are what may stay.
            (210, vec!["b", "c"]),
            (200, vec!["b", "c", "d"]),
            (50, vec!["b", "c", "d", "a"]),
        ] {
            assert_eq!(plan(threads(), 400, bounds(max_bytes)), expected, "{max_bytes}");
        }
        let aged = Bounds { max_bytes: 1_000, max_age_ms: Some(-20) };
        assert_eq!(plan(threads(), 400, aged), Vec::<String>::new(), "as old as allowed");
        let aged = Bounds { max_bytes: 1_000, max_age_ms: Some(-25) };
        assert_eq!(plan(threads(), 400, aged), ["b"], "a receipt keeps the older one");
        let aged = Bounds { max_bytes: 150, max_age_ms: Some(-25) };
        assert_eq!(plan(threads(), 400, aged), ["b", "c", "d"], "it is evicted only for space");
    }
}

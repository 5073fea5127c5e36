//! Selects the threads to evict when the archive exceeds its bounds.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

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
}

/// Chunks that the same threads use. They are freed when the last of these threads is evicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkGroup {
    pub threads: Vec<String>,
    /// Estimated bytes on disk.
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

/// Adds to each group its share of `bytes`, which other files need for it: its entries in the index.
pub fn share(chunks: &mut [ChunkGroup], bytes: u64) {
    let total: u128 = chunks.iter().map(|group| u128::from(group.bytes)).sum();
    for group in chunks {
        let share = u128::from(bytes) * u128::from(group.bytes);
        let share = share.checked_div(total).and_then(|share| u64::try_from(share).ok());
        group.bytes = group.bytes.saturating_add(share.unwrap_or(0));
    }
}

/// Selects threads to evict from an archive of these chunks and `fixed` other bytes, which no eviction frees: first all over
/// the maximum age that have neither a receipt nor a pin, then the oldest until the rest fits: those with receipts after all
/// others, those with pins last. A thread whose chunks are all in use by threads that stay is evicted only for its age.
pub fn plan(
    mut threads: Vec<EvictionCandidate>,
    chunks: &[ChunkGroup],
    fixed: u64,
    bounds: Bounds,
) -> Vec<String> {
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
    let mut left = BytesLeft::of(chunks, fixed);
    let mut evicted = Vec::new();
    for thread in old.into_iter().rev() {
        left.evict(&thread.thread_id);
        evicted.push(thread.thread_id);
    }
    if left.bytes > bounds.max_bytes {
        let goal = bounds.max_bytes - bounds.max_bytes / FREE_PART;
        let mut for_space = Vec::new();
        while left.bytes > goal {
            let Some(thread) = rest.pop() else { break };
            left.evict(&thread.thread_id);
            for_space.push(thread.thread_id);
        }
        for_space.retain(|thread| left.has_freed_any(thread));
        evicted.extend(for_space);
    }
    evicted
}

/// What is left of the archive while threads are evicted.
struct BytesLeft<'a> {
    bytes: u64,
    groups: HashMap<&'a str, Vec<usize>>,
    /// The threads left that use a group, and its bytes.
    users: Vec<(usize, u64)>,
}

impl<'a> BytesLeft<'a> {
    fn of(chunks: &'a [ChunkGroup], fixed: u64) -> Self {
        let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
        let (mut bytes, mut users) = (fixed, Vec::new());
        for (number, group) in chunks.iter().enumerate() {
            let threads: HashSet<&str> = group.threads.iter().map(String::as_str).collect();
            users.push((threads.len(), group.bytes));
            bytes = bytes.saturating_add(group.bytes);
            for thread in threads {
                groups.entry(thread).or_default().push(number);
            }
        }
        Self { bytes, groups, users }
    }

    fn evict(&mut self, thread: &str) {
        for number in self.groups.get(thread).into_iter().flatten() {
            let (users, bytes) = &mut self.users[*number];
            *users -= 1;
            if *users == 0 {
                self.bytes = self.bytes.saturating_sub(*bytes);
            }
        }
    }

    /// Whether evicting this thread, and the others evicted, has freed any chunk of it.
    fn has_freed_any(&self, thread: &str) -> bool {
        self.groups.get(thread).into_iter().flatten().any(|number| self.users[*number].0 == 0)
    }
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
        }
    }

    /// The threads that use some chunks, and the bytes of these.
    fn group(threads: &[&str], bytes: u64) -> ChunkGroup {
        ChunkGroup { threads: threads.iter().map(|id| (*id).to_owned()).collect(), bytes }
    }

    #[test]
    fn other_bytes_are_shared_by_the_chunks_that_need_them() {
        let mut chunks = [group(&["a"], 300), group(&["b", "c"], 100), group(&["d"], 0)];
        share(&mut chunks, 40);
        assert_eq!(chunks.map(|group| group.bytes), [330, 110, 0]);
        let mut none = [group(&["a"], 0)];
        share(&mut none, 40);
        assert_eq!(none[0].bytes, 0);
        let mut huge = [group(&["a"], u64::MAX)];
        share(&mut huge, u64::MAX);
        assert_eq!(huge[0].bytes, u64::MAX);
    }

    /// Plans for threads with 100 bytes each.
    fn plan_alike(threads: Vec<EvictionCandidate>, bounds: Bounds) -> Vec<String> {
        let chunks: Vec<_> = threads.iter().map(|one| group(&[&one.thread_id], 100)).collect();
        plan(threads, &chunks, 0, bounds)
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
        assert_eq!(plan_alike(threads, bounds), ["b", "a"]);
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
            assert_eq!(plan_alike(threads(), bounds(max_bytes)), expected, "{max_bytes}");
        }
        let aged = Bounds { max_bytes: 1_000, max_age_ms: Some(-20) };
        assert_eq!(plan_alike(threads(), aged), Vec::<String>::new(), "as old as allowed");
        let aged = Bounds { max_bytes: 1_000, max_age_ms: Some(-25) };
        assert_eq!(plan_alike(threads(), aged), ["b"], "a receipt keeps the older one");
        let aged = Bounds { max_bytes: 150, max_age_ms: Some(-25) };
        assert_eq!(plan_alike(threads(), aged), ["b", "c", "d"], "it is evicted only for space");
    }

    #[test]
    fn shared_chunks_are_freed_with_their_last_thread() {
        let threads =
            || vec![thread("a", 10, false), thread("b", 20, false), thread("c", 30, false)];
        let chunks =
            [group(&["a", "b"], 100), group(&["a"], 1), group(&["b"], 1), group(&["c"], 100)];
        let bounds = |max_bytes| Bounds { max_bytes, max_age_ms: None };
        assert_eq!(plan(threads(), &chunks, 0, bounds(202)), Vec::<String>::new());
        assert_eq!(
            plan(threads(), &chunks, 0, bounds(150)),
            ["a", "b"],
            "both free it, so c stays"
        );
        assert_eq!(plan(threads(), &chunks, 100, bounds(150)), ["a", "b", "c"], "an index stays");
        let aged = Bounds { max_bytes: 150, max_age_ms: Some(-15) };
        assert_eq!(plan(threads(), &chunks, 0, aged), ["a", "b"], "a frees only its own chunk");
        let twice = [group(&["a", "a", "b"], 100), group(&["c"], 100)];
        assert_eq!(plan(threads(), &twice, 0, bounds(150)), ["a", "b"], "named twice");
    }

    #[test]
    fn a_thread_that_frees_nothing_stays() {
        let threads =
            || vec![thread("a", 10, false), thread("b", 20, false), thread("c", 30, false)];
        let chunks = [group(&["a", "c"], 100), group(&["b"], 100)];
        let bounds = |max_bytes| Bounds { max_bytes, max_age_ms: None };
        assert_eq!(plan(threads(), &chunks, 0, bounds(150)), ["b"], "c keeps the text of a");
        assert_eq!(plan(threads(), &chunks, 0, bounds(50)), ["a", "b", "c"]);
        let aged = Bounds { max_bytes: 200, max_age_ms: Some(-15) };
        assert_eq!(plan(threads(), &chunks, 0, aged), ["a"], "its age counts in any case");
    }
}

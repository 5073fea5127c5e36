//! Which threads may be extracted, and why others may not.

use crate::limits::{DAY_MS, HOUR_MS};
use crate::thread::ThreadKind;

/// Facts about a candidate thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadFacts {
    pub kind: ThreadKind,
    /// In use: it requested the memory, or a client has it open.
    pub is_current: bool,
    /// Its program opted out of memory.
    pub is_ephemeral: bool,
    /// The person excluded it, or its project.
    pub is_excluded: bool,
    /// It used the network or external tools.
    pub reached_outside: bool,
    /// Unix milliseconds of its newest line.
    pub updated_at_ms: i64,
    pub items: u64,
    pub requests: u64,
    /// Line after the last one.
    pub next_seq: u64,
    /// Line after the last one extracted by this version; `None` if never.
    pub extracted_seq: Option<u64>,
    /// Extracted by an older version, so it may be redone at any age.
    pub is_outdated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Milliseconds a thread must be idle. Default 6 h.
    pub min_idle_ms: i64,
    /// Maximum age in milliseconds. Default 90 days: extraction without a model costs nothing, so old threads
    /// are worth reading once.
    pub max_age_ms: i64,
    pub min_items: u64,
    /// Whether non-interactive threads (run once by a script) are included.
    pub takes_exec: bool,
    /// Whether threads with external access are excluded.
    pub excludes_outside: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            min_idle_ms: 6 * HOUR_MS,
            max_age_ms: 90 * DAY_MS,
            min_items: 4,
            takes_exec: false,
            excludes_outside: false,
        }
    }
}

/// Why a thread is not extracted: the first reason that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Skip {
    #[error("you excluded it")]
    Excluded,
    #[error("its program opted out of memory")]
    Ephemeral,
    /// No person took part.
    #[error("{}", match .0 {
        ThreadKind::Exec => "a script ran it",
        ThreadKind::Subagent => "another agent ran it",
        ThreadKind::Interactive | ThreadKind::Other => "it is not interactive",
    })]
    NotInteractive(ThreadKind),
    /// It used the network, and the configuration excludes such threads.
    #[error("it used the network")]
    ReachedOutside,
    #[error("it is open")]
    Current,
    #[error("nothing is new since it was extracted")]
    NothingNew,
    #[error("it contains no request")]
    NoRequest,
    #[error("it has {items} items, fewer than {needed}")]
    TooSmall { items: u64, needed: u64 },
    /// Over the maximum age.
    #[error("its last line is {} days old", .age_ms / DAY_MS)]
    TooOld { age_ms: i64 },
    /// Not idle long enough; it may continue.
    #[error("it may continue; it is eligible in {} h {} min", minutes(*.remaining_ms) / 60, minutes(*.remaining_ms) % 60)]
    Busy { remaining_ms: i64 },
}

/// Whole minutes, rounded up.
fn minutes(ms: i64) -> i64 {
    ms.div_euclid(60_000) + 1
}

/// Checks one thread; the error is the first reason, permanent reasons before temporary ones. A date in the
/// future (a wrong clock) counts as now.
pub fn eligible(thread: &ThreadFacts, rules: &Rules, now_ms: i64) -> Result<(), Skip> {
    let age_ms = now_ms.saturating_sub(thread.updated_at_ms).max(0);
    let skip = if thread.is_excluded {
        Skip::Excluded
    } else if thread.is_ephemeral {
        Skip::Ephemeral
    } else if !is_personal(thread.kind, rules) {
        Skip::NotInteractive(thread.kind)
    } else if thread.reached_outside && rules.excludes_outside {
        Skip::ReachedOutside
    } else if thread.is_current {
        Skip::Current
    } else if thread.extracted_seq.is_some_and(|seq| seq >= thread.next_seq) {
        Skip::NothingNew
    } else if thread.requests == 0 {
        Skip::NoRequest
    } else if thread.items < rules.min_items {
        Skip::TooSmall { items: thread.items, needed: rules.min_items }
    } else if age_ms > rules.max_age_ms && !thread.is_outdated {
        Skip::TooOld { age_ms }
    } else if age_ms < rules.min_idle_ms {
        Skip::Busy { remaining_ms: rules.min_idle_ms - age_ms }
    } else {
        return Ok(());
    };
    Err(skip)
}

fn is_personal(kind: ThreadKind, rules: &Rules) -> bool {
    match kind {
        ThreadKind::Interactive => true,
        ThreadKind::Exec => rules.takes_exec,
        ThreadKind::Subagent | ThreadKind::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 100 * 24 * HOUR_MS;

    fn idle_thread() -> ThreadFacts {
        ThreadFacts {
            kind: ThreadKind::Interactive,
            is_current: false,
            is_ephemeral: false,
            is_excluded: false,
            reached_outside: false,
            updated_at_ms: NOW - 7 * HOUR_MS,
            items: 20,
            requests: 2,
            next_seq: 40,
            extracted_seq: None,
            is_outdated: false,
        }
    }

    fn check(change: impl FnOnce(&mut ThreadFacts), expected: Option<&str>) {
        let mut thread = idle_thread();
        change(&mut thread);
        let found = eligible(&thread, &Rules::default(), NOW).err();
        assert_eq!(found.map(|skip| skip.into_str()), expected, "{thread:?}");
    }

    #[test]
    fn the_first_reason_is_reported() {
        check(|_| {}, None);
        check(|t| t.is_excluded = true, Some("excluded"));
        check(|t| t.is_ephemeral = true, Some("ephemeral"));
        check(|t| t.kind = ThreadKind::Subagent, Some("not_interactive"));
        check(|t| t.kind = ThreadKind::Exec, Some("not_interactive"));
        check(|t| t.reached_outside = true, None);
        check(|t| t.is_current = true, Some("current"));
        check(|t| t.requests = 0, Some("no_request"));
        check(|t| t.items = 3, Some("too_small"));
        check(|t| t.updated_at_ms = 0, Some("too_old"));
        check(|t| t.updated_at_ms = NOW + HOUR_MS, Some("busy"));
        let outdated = |t: &mut ThreadFacts| (t.updated_at_ms, t.is_outdated) = (0, true);
        check(outdated, None);
    }

    #[test]
    fn limits_are_inclusive() {
        check(|t| t.updated_at_ms = NOW - 6 * HOUR_MS, None);
        check(|t| t.updated_at_ms = NOW - 6 * HOUR_MS + 1, Some("busy"));
        check(|t| t.updated_at_ms = NOW - 90 * 24 * HOUR_MS, None);
        check(|t| t.extracted_seq = Some(40), Some("nothing_new"));
        check(|t| t.extracted_seq = Some(39), None);
    }

    #[test]
    fn a_reason_says_why_and_for_how_long() {
        type Case<'a> = (&'a dyn Fn(&mut ThreadFacts), &'a str);
        let kind = |kind| move |t: &mut ThreadFacts| t.kind = kind;
        let idle = |ms: i64| move |t: &mut ThreadFacts| t.updated_at_ms = NOW - ms;
        let cases: [Case<'_>; 13] = [
            (&|t| t.is_excluded = true, "you excluded it"),
            (&|t| t.is_ephemeral = true, "its program opted out of memory"),
            (&kind(ThreadKind::Exec), "a script ran it"),
            (&kind(ThreadKind::Subagent), "another agent ran it"),
            (&kind(ThreadKind::Other), "it is not interactive"),
            (&|t| t.reached_outside = true, "it used the network"),
            (&|t| t.is_current = true, "it is open"),
            (&|t| t.extracted_seq = Some(40), "nothing is new since it was extracted"),
            (&|t| t.requests = 0, "it contains no request"),
            (&|t| t.items = 3, "it has 3 items, fewer than 4"),
            (&idle(91 * 24 * HOUR_MS + 1), "its last line is 91 days old"),
            (&idle(90 * 60_000), "it may continue; it is eligible in 4 h 31 min"),
            (&idle(6 * HOUR_MS - 1), "it may continue; it is eligible in 0 h 1 min"),
        ];
        let rules = Rules { excludes_outside: true, ..Rules::default() };
        for (change, expected) in cases {
            let mut thread = idle_thread();
            change(&mut thread);
            assert_eq!(eligible(&thread, &rules, NOW).unwrap_err().to_string(), expected);
        }
        let mut script = idle_thread();
        (script.kind, script.items) = (ThreadKind::Exec, 4);
        assert_eq!(eligible(&script, &Rules { takes_exec: true, ..rules }, NOW), Ok(()));
    }
}

//! Procedures: commands that threads run again and again in the same order.

use std::collections::{BTreeMap, BTreeSet};

use super::Stored;
use super::handbook::Skill;
use crate::memory::extract::line::{family, is_telling};
use crate::memory::slug::slug;
use crate::text;

/// Commands of a procedure.
const STEPS: std::ops::RangeInclusive<usize> = 2..=6;

/// Threads in which a procedure must have run.
const THREADS_MIN: usize = 3;

/// Threads in which one of two commands must have run: two things may follow each other by chance.
const THREADS_OF_PAIR_MIN: usize = 4;

/// Procedures kept of a project.
const SKILLS_MAX: usize = 6;

/// Different runs of commands counted, of all threads of a project.
const RUNS_MAX: usize = 50_000;

/// A procedure that is being counted.
#[derive(Default)]
struct Found<'a> {
    /// Threads in which it ran.
    seen: BTreeSet<usize>,
    /// Its commands in the newest of them.
    steps: &'a [String],
    last_ms: i64,
}

/// The procedures of a project, its threads given oldest first: the longest first, none a part of another.
/// Their threads' commands must have followed each other directly, looks and changes of files apart, and do the
/// same to whatever the task was: `./bump.sh 1.4` is the step that `./bump.sh 1.3` was.
pub(super) fn find(project: &str, threads: &[Stored<'_>]) -> Vec<Skill> {
    let mut found: BTreeMap<Vec<String>, Found<'_>> = BTreeMap::new();
    for (number, stored) in threads.iter().enumerate() {
        let steps = &stored.memory.steps;
        let families: Vec<String> = steps.iter().map(|step| family(step)).collect();
        for length in STEPS {
            for (at, run) in steps.windows(length).enumerate() {
                let kinds = &families[at..at + length];
                if !is_procedure(run, kinds)
                    || found.len() >= RUNS_MAX && !found.contains_key(kinds)
                {
                    continue;
                }
                let known = found.entry(kinds.to_vec()).or_default();
                known.seen.insert(number);
                known.steps = run;
                known.last_ms = known.last_ms.max(stored.memory.updated_at_ms);
            }
        }
    }
    let threads_min = |steps| if steps == 2 { THREADS_OF_PAIR_MIN } else { THREADS_MIN };
    let is_repeated =
        |(kinds, known): &(Vec<String>, Found<'_>)| known.seen.len() >= threads_min(kinds.len());
    let mut repeated: Vec<(Vec<String>, Found<'_>)> =
        found.into_iter().filter(is_repeated).collect();
    repeated.sort_by(|(a, x), (b, y)| {
        (b.len(), y.seen.len()).cmp(&(a.len(), x.seen.len())).then_with(|| a.cmp(b))
    });
    let mut kept: Vec<(Vec<String>, Skill)> = Vec::new();
    for (kinds, Found { seen, steps, last_ms }) in repeated {
        let is_part = |(known, _): &(Vec<String>, Skill)| {
            kinds.iter().filter(|kind| known.contains(kind)).count() * 2 >= kinds.len()
        };
        if kept.len() >= SKILLS_MAX || kept.iter().any(is_part) {
            continue;
        }
        let skill = Skill {
            name: name(project, &kinds),
            steps: steps.to_vec(),
            threads: u32::try_from(seen.len()).unwrap_or(u32::MAX),
            last_ms,
        };
        kept.push((kinds, skill));
    }
    kept.into_iter().map(|(_, skill)| skill).collect()
}

/// Whether the commands differ in kind, and at least two of them do more than keep the work.
fn is_procedure(run: &[String], kinds: &[String]) -> bool {
    let keeps = |step: &str| matches!(step, "git commit" | "git push");
    let telling = run.iter().filter(|step| is_telling(step)).count();
    let kept = run.iter().filter(|step| keeps(step)).count();
    telling >= 2
        && telling + kept == run.len()
        && kinds.iter().collect::<BTreeSet<_>>().len() == kinds.len()
}

/// Telling words of the project and of what its commands have in common: it stays when their arguments change.
fn name(project: &str, kinds: &[String]) -> String {
    let folder = project.trim_end_matches('/').rsplit('/').next().unwrap_or(project);
    let mut words = vec![folder.trim_end_matches(".git").to_owned()];
    for kind in kinds {
        let main = kind.rsplit("&&").next().unwrap_or(kind);
        if let Some(word) = main.split_whitespace().next_back()
            && !words.iter().any(|known| known == word)
        {
            words.push(word.to_owned());
        }
    }
    let whole = format!("{project}\n{}", kinds.join("\n"));
    let mark = crate::digest::Digest128::of(whole.as_bytes()).to_string();
    format!("{}-{}", slug(text::prefix(&words.join(" "), 40)), &mark[..4])
}

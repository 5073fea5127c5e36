//! Finds procedures: commands that threads repeat in the same order.

use std::collections::{BTreeMap, BTreeSet};

use super::ExtractedThread;
use super::handbook::Skill;
use crate::memory::extract::line::{family, is_useful};
use crate::memory::learning::SLUG_BYTES;
use crate::rollout::shell;
use crate::text;

/// Range of commands per procedure.
const STEPS: std::ops::RangeInclusive<usize> = 2..=6;

/// Minimum threads that ran a procedure.
const THREADS_MIN: usize = 3;

/// Minimum threads for two commands, which may follow each other by chance.
const THREADS_OF_PAIR_MIN: usize = 4;

/// Maximum procedures per project.
const SKILLS_MAX: usize = 6;

/// Maximum distinct command sequences counted per project.
const RUNS_MAX: usize = 50_000;

#[derive(Default)]
struct ProcedureCount<'a> {
    seen: BTreeSet<usize>,
    /// Its commands in the newest of them.
    steps: &'a [String],
    last_ms: i64,
}

/// The procedures of a project, its threads given oldest first: the longest first, none part of another. The
/// commands must follow each other directly, ignoring read-only commands and file changes, and are compared
/// without their arguments: `./bump.sh 1.4` is the same step as `./bump.sh 1.3`.
pub(super) fn find(project: &str, threads: &[ExtractedThread<'_>]) -> Vec<Skill> {
    let mut found: BTreeMap<Vec<String>, ProcedureCount<'_>> = BTreeMap::new();
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
    let is_repeated = |(kinds, known): &(Vec<String>, ProcedureCount<'_>)| {
        known.seen.len() >= threads_min(kinds.len())
    };
    let mut repeated: Vec<(Vec<String>, ProcedureCount<'_>)> =
        found.into_iter().filter(is_repeated).collect();
    repeated.sort_by(|(a, x), (b, y)| {
        (b.len(), y.seen.len()).cmp(&(a.len(), x.seen.len())).then_with(|| a.cmp(b))
    });
    let mut kept: Vec<(Vec<String>, Skill)> = Vec::new();
    for (kinds, ProcedureCount { seen, steps, last_ms }) in repeated {
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

/// Whether the commands are distinct, and at least two of them are more than a commit or push.
fn is_procedure(run: &[String], kinds: &[String]) -> bool {
    let keeps = |step: &str| matches!(step, "git commit" | "git push");
    let useful = run.iter().filter(|step| is_useful(step)).count();
    let kept = run.iter().filter(|step| keeps(step)).count();
    useful >= 2
        && useful + kept == run.len()
        && kinds.iter().collect::<BTreeSet<_>>().len() == kinds.len()
}

/// Significant words of the project and of the commands' common parts; stable if arguments change.
fn name(project: &str, kinds: &[String]) -> String {
    let folder = project.trim_end_matches('/').rsplit('/').next().unwrap_or(project);
    let mut words = vec![folder.trim_end_matches(".git").to_owned()];
    for kind in kinds {
        let main = shell::parts(kind).last().map_or("", |part| part.text);
        if let Some(word) = main.split_whitespace().next_back()
            && !words.iter().any(|known| known == word)
        {
            words.push(word.to_owned());
        }
    }
    let whole = format!("{project}\n{}", kinds.join("\n"));
    let mark = crate::digest::Digest128::of(whole.as_bytes()).to_string();
    format!("{}-{}", text::slug(text::prefix(&words.join(" "), 40), SLUG_BYTES), &mark[..4])
}

//! Procedures: commands that threads run again and again in the same order.

use std::collections::{BTreeMap, BTreeSet};

use super::Stored;
use super::handbook::Skill;
use crate::memory::extract::line::is_telling;
use crate::memory::slug::slug;
use crate::text;

/// Commands of a procedure.
const STEPS: std::ops::RangeInclusive<usize> = 3..=6;

/// Threads in which a procedure must have run.
const THREADS_MIN: usize = 3;

/// Procedures kept of a project.
const SKILLS_MAX: usize = 6;

/// Runs of commands looked at, of all threads of a project.
const RUNS_MAX: usize = 50_000;

/// The procedures of a project: the longest first, none a part of another. Their threads' commands must
/// have followed each other directly, looks and changes of files apart.
pub(super) fn find(project: &str, threads: &[Stored<'_>]) -> Vec<Skill> {
    let mut found: BTreeMap<&[String], (BTreeSet<usize>, i64)> = BTreeMap::new();
    for (number, stored) in threads.iter().enumerate() {
        let steps = &stored.memory.steps;
        for length in STEPS {
            for run in steps.windows(length).filter(|run| is_procedure(run)) {
                if found.len() < RUNS_MAX || found.contains_key(run) {
                    let (seen, last_ms) = found.entry(run).or_default();
                    seen.insert(number);
                    *last_ms = (*last_ms).max(stored.memory.updated_at_ms);
                }
            }
        }
    }
    let mut repeated: Vec<_> =
        found.into_iter().filter(|(_, (seen, _))| seen.len() >= THREADS_MIN).collect();
    repeated.sort_by(|(a, (x, _)), (b, (y, _))| {
        (b.len(), y.len()).cmp(&(a.len(), x.len())).then_with(|| a.cmp(b))
    });
    let mut skills: Vec<Skill> = Vec::new();
    for (steps, (seen, last_ms)) in repeated {
        let is_part = |skill: &Skill| {
            steps.iter().filter(|s| skill.steps.contains(s)).count() * 2 >= steps.len()
        };
        if skills.len() >= SKILLS_MAX || skills.iter().any(is_part) {
            continue;
        }
        skills.push(Skill {
            name: name(project, steps),
            steps: steps.to_vec(),
            threads: u32::try_from(seen.len()).unwrap_or(u32::MAX),
            last_ms,
        });
    }
    skills
}

/// Whether the commands differ from each other, and at least two of them do more than keep the work.
fn is_procedure(run: &[String]) -> bool {
    let keeps = |step: &str| matches!(step, "git commit" | "git push");
    let telling = run.iter().filter(|step| is_telling(step)).count();
    let kept = run.iter().filter(|step| keeps(step)).count();
    telling >= 2
        && telling + kept == run.len()
        && run.iter().collect::<BTreeSet<_>>().len() == run.len()
}

/// Telling words of the project and of the commands.
fn name(project: &str, steps: &[String]) -> String {
    let folder = project.trim_end_matches('/').rsplit('/').next().unwrap_or(project);
    let mut words = vec![folder.trim_end_matches(".git").to_owned()];
    for step in steps {
        let main = step.rsplit("&&").next().unwrap_or(step);
        let telling = main.split_whitespace().filter(|word| !word.starts_with('-')).take(3);
        if let Some(word) = telling.last()
            && !words.iter().any(|known| known == word)
        {
            words.push(word.to_owned());
        }
    }
    let whole = format!("{project}\n{}", steps.join("\n"));
    let mark = crate::digest::Digest128::of(whole.as_bytes()).to_string();
    format!("{}-{}", slug(text::prefix(&words.join(" "), 40)), &mark[..4])
}

//! Turns what was read of a thread into its learnings.

use super::super::learning::{
    Evidence, Learning, LearningKind, Name, Outcome, QUOTE_BYTES, RolloutMemory, SLUG_BYTES,
    TEXT_BYTES,
};
use super::super::place;
use super::runs::{Fix, Run};
use super::{Extractor, Request, Rule, hazard, line, outcome, render, terms};
use crate::checkpoint::semantic::policy::behavior;
use crate::rollout::shell::Class;
use crate::step::Origin;
use crate::text;

const COMMANDS_MAX: usize = 24;

const PAIRS_KEPT: usize = 12;

/// Minimum names used for a thread without learnings to be kept for its map.
const NAMES_MIN: usize = 4;

const KEYWORDS_MAX: usize = 8;

/// Content of a thread's account and record.
pub(super) struct AccountParts {
    /// The thread's original purpose.
    pub title: String,
    /// Each on one line.
    pub requests: Vec<String>,
    /// Changed files with the number of calls that changed them.
    pub changed: Vec<(String, u32)>,
    pub report: Option<String>,
}

/// The extraction; `None` if it contains nothing useful.
pub(super) fn gather(mut read: Extractor) -> Option<RolloutMemory> {
    if read.request_count == 0 || read.is_ephemeral {
        return None;
    }
    read.signs.last_check = read.runs.last_check();
    let outcome = outcome::triage(read.signs);
    let builder =
        LearningBuilder { thread_id: &read.about.thread_id, branch: read.about.branch.as_deref() };
    let mut learnings: Vec<Learning> = Vec::new();
    learnings.extend(read.rules.iter().map(|rule| builder.rule(rule)));
    let (runs, fixes, steps) = std::mem::take(&mut read.runs).finish();
    learnings.extend(fixes.iter().map(|fix| builder.fix(fix)));
    learnings.extend(commands(&runs).iter().map(|run| builder.command(run)));
    learnings.extend(packagers(&runs).into_iter().map(|run| builder.packager(run)));
    learnings.extend(read.facts.iter().map(|(slot, fact)| {
        let evidence = (fact.seq, fact.at_ms, fact.quote.as_str());
        let learning = builder.observed(LearningKind::Fact, &fact.text, evidence);
        Learning { slot: Some(slot.clone()), ..learning }
    }));
    let mut pairs: Vec<_> = std::mem::take(&mut read.pairs).into_iter().collect();
    pairs.sort_by(|(a, x), (b, y)| y.0.cmp(&x.0).then_with(|| a.cmp(b)));
    pairs.truncate(PAIRS_KEPT);
    let at_ms = read.about.updated_at_ms;
    learnings.extend(pairs.iter().map(|(pair, counted)| builder.pair(pair, *counted, at_ms)));
    let map = std::mem::take(&mut read.names).finish();
    let used = map.iter().filter(|name| name.uses > 0).count();
    let is_bare = learnings.is_empty() && read.changed_files.is_empty();
    if is_bare && (used < NAMES_MIN || !is_named(&read)) {
        return None;
    }
    learnings.extend(builder.outcome(&read, outcome));
    Some(memory(read, (outcome, learnings), (map, steps)))
}

/// Whether the title has content: a `/` sent by mistake has none.
fn is_named(read: &Extractor) -> bool {
    let title = read.title().unwrap_or_default();
    title.chars().filter(|letter| letter.is_alphanumeric()).nth(1).is_some()
}

fn memory(
    read: Extractor,
    (outcome, learnings): (Outcome, Vec<Learning>),
    (map, steps): (Vec<Name>, Vec<String>),
) -> RolloutMemory {
    let title = read.title().unwrap_or_else(|| "(no request)".to_owned());
    let mut changed: Vec<(String, u32)> = read.changed_files.into_iter().collect();
    changed.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    let parts = AccountParts {
        title,
        requests: read.requests.into_iter().map(|request: Request| request.text).collect(),
        changed,
        // The agent may repeat a page's instructions.
        report: read.report.map(|(_, words)| words).filter(|words| behavior(words).is_none()),
    };
    let mut about = read.about;
    about.project = about.project.or_else(|| about.cwd.as_deref().map(place::project));
    let rollout_slug = text::slug(text::prefix(&parts.title, 200), SLUG_BYTES);
    let mut memory = RolloutMemory { outcome, rollout_slug, learnings, map, steps, ..about };
    memory.rollout_summary = render::rollout_summary(&memory, &parts);
    memory.raw_memory = render::raw_memory(&memory, &parts);
    memory
}

/// The useful commands that worked, without output filters, each once: checks first, then by number of runs.
fn commands(runs: &[Run]) -> Vec<Run> {
    let mut kept: Vec<Run> = Vec::new();
    for run in runs.iter().filter(|run| run.passed > 0) {
        let Some(bare) = line::bare(&run.line).filter(|bare| line::is_useful(bare)) else {
            continue;
        };
        let known = kept.iter().position(|known| known.line == bare);
        let mut merged = Run { class: Class::of(&bare), line: bare, ..run.clone() };
        if let Some(before) = known.map(|at| kept.remove(at)) {
            merged.passed += before.passed;
            merged.tests = merged.tests.or(before.tests);
            merged.folder = merged.folder.or(before.folder);
        }
        kept.push(merged);
    }
    let rank = |run: &Run| (run.class, std::cmp::Reverse((run.passed, run.at_ms)));
    kept.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.line.cmp(&b.line)));
    kept.truncate(COMMANDS_MAX);
    kept
}

/// Package managers that worked, with their ecosystem.
fn packagers(runs: &[Run]) -> Vec<(&'static str, &'static str, &Run)> {
    const MANAGERS: &[(&str, &str)] = &[
        ("pnpm", "JavaScript"),
        ("npm", "JavaScript"),
        ("yarn", "JavaScript"),
        ("bun", "JavaScript"),
        ("uv", "Python"),
        ("poetry", "Python"),
        ("pipenv", "Python"),
        ("pip", "Python"),
        ("pixi", "Python"),
        ("conda", "Python"),
    ];
    let mut found: Vec<(&str, &str, &Run)> = Vec::new();
    for run in runs.iter().rev().filter(|run| run.passed > 0) {
        let manages = |name: &str| {
            run.line.split(['&', ';', '|']).any(|part| {
                let mut words = part.split_whitespace();
                words.next() == Some(name)
                    && words.next().is_some_and(|word| {
                        matches!(
                            word,
                            "install" | "add" | "i" | "ci" | "sync" | "run" | "test" | "lock"
                        )
                    })
            })
        };
        if let Some((name, what)) = MANAGERS.iter().find(|(name, _)| manages(name))
            && !found.iter().any(|(_, known, _)| known == what)
        {
            found.push((*name, *what, run));
        }
    }
    found
}

struct LearningBuilder<'a> {
    thread_id: &'a str,
    branch: Option<&'a str>,
}

impl LearningBuilder<'_> {
    /// `quote` is the evidence, at line `seq`.
    fn learning(
        &self,
        (kind, origin): (LearningKind, Origin),
        words: &str,
        (seq, at_ms, quote): (u64, i64, &str),
    ) -> Learning {
        let text = text::one_line_cut(words, TEXT_BYTES);
        let (thread_id, quote) =
            (self.thread_id.to_owned(), text::one_line_cut(quote, QUOTE_BYTES));
        Learning {
            kind,
            keywords: keywords(&text),
            text,
            origin,
            evidence: Evidence { thread_id, seq, quote },
            slot: None,
            is_passing: false,
            branch: self.branch.map(str::to_owned),
            at_ms,
        }
    }

    /// What was observed.
    fn observed(&self, kind: LearningKind, words: &str, evidence: (u64, i64, &str)) -> Learning {
        self.learning((kind, Origin::TOOL), words, evidence)
    }

    fn rule(&self, rule: &Rule) -> Learning {
        let evidence = (rule.seq, rule.at_ms, rule.text.as_str());
        let learning = self.learning((rule.kind, rule.origin), &rule.text, evidence);
        Learning { is_passing: rule.is_passing, ..learning }
    }

    fn fix(&self, fix: &Fix) -> Learning {
        let bare = |line: &str| line::bare(line).unwrap_or_else(|| line.to_owned());
        let failed = bare(&fix.line);
        let what = match &fix.instead {
            Some(instead) => format!("`{failed}` fails; `{}` works", bare(instead)),
            None => {
                let mut means: Vec<String> =
                    fix.ran.iter().map(|line| format!("running `{line}`")).collect();
                if !fix.changed.is_empty() {
                    let files: Vec<String> =
                        fix.changed.iter().map(|path| format!("`{path}`")).collect();
                    means.push(format!("changing {}", files.join(", ")));
                }
                format!("`{failed}` failed, worked after {}", means.join(" and "))
            }
        };
        let text = format!("{what}; it had said: `{}`", fix.said.replace('`', "'"));
        self.observed(LearningKind::Fix, &text, (fix.seq, fix.at_ms, &fix.said))
    }

    fn command(&self, run: &Run) -> Learning {
        let mut text = format!("{}: `{}`", run.class.into_str(), run.line);
        if let Some(folder) = &run.folder {
            text.push_str(&format!(" in `{folder}`"));
        }
        text.push_str(if run.works { " works" } else { " worked, then failed" });
        if let Some(tests) = run.tests.filter(|tests| tests.passed > 0) {
            text.push_str(&format!(" ({} tests pass)", tests.passed));
        }
        Learning {
            // For one command line only the newest result counts.
            slot: Some(format!("command {}", run.line)),
            is_passing: run.class == Class::Other && run.passed < 3,
            ..self.observed(LearningKind::Command, &text, (run.seq, run.at_ms, &run.line))
        }
    }

    fn packager(&self, (name, what, run): (&str, &str, &Run)) -> Learning {
        let text = format!("{what} packages are managed with `{name}`");
        let learning = self.observed(LearningKind::Fact, &text, (run.seq, run.at_ms, &run.line));
        Learning { slot: Some(format!("{what} package manager")), ..learning }
    }

    fn pair(
        &self,
        (first, second): &(String, String),
        (times, seq): (u32, u64),
        at_ms: i64,
    ) -> Learning {
        let text = format!("`{first}` and `{second}` change together");
        let learning = self.observed(LearningKind::CoChange, &text, (seq, at_ms, ""));
        Learning { is_passing: times < 2, ..learning }
    }

    fn outcome(&self, read: &Extractor, outcome: Outcome) -> Option<Learning> {
        let title = text::one_line_cut(&read.title()?, 160);
        let text = format!("{}: {title}", outcome.into_str());
        let evidence = (read.about.last_seq, read.about.updated_at_ms, title.as_str());
        Some(self.observed(LearningKind::Outcome, &text, evidence))
    }
}

/// The distinct names in a text.
fn keywords(words: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    terms::find(words, true, &mut |term| {
        if found.len() < KEYWORDS_MAX && !found.iter().any(|known| known == term.text) {
            found.push(term.text.to_owned());
        }
    });
    found.retain(|word| !hazard::is_hazardous(word));
    found
}

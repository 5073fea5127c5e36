//! Turns what was read of a thread into its learnings.

use super::super::learning::{
    Evidence, Learning, LearningKind, Name, Outcome, QUOTE_BYTES, RolloutMemory, TEXT_BYTES,
};
use super::super::place;
use super::super::slug::SLUG_BYTES;
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
    let mut builder =
        LearningBuilder { thread_id: &read.thread.thread_id, branch: read.branch.as_deref() };
    let mut learnings: Vec<Learning> = Vec::new();
    learnings.extend(read.rules.iter().map(|rule| builder.rule(rule)));
    let (runs, fixes, steps) = std::mem::take(&mut read.runs).finish();
    learnings.extend(fixes.iter().map(|fix| builder.fix(fix)));
    learnings.extend(commands(&runs).iter().map(|run| builder.command(run)));
    learnings.extend(packagers(&runs).into_iter().map(|run| builder.packager(run)));
    learnings.extend(read.facts.values().map(|fact| {
        let slot = Some(fact.slot.clone());
        let learning = builder.learning(LearningKind::Fact, &fact.text, Origin::TOOL);
        Learning { slot, ..builder.at(learning, fact.seq, fact.at_ms, &fact.quote) }
    }));
    let mut pairs: Vec<_> = std::mem::take(&mut read.pairs).into_iter().collect();
    pairs.sort_by(|(a, x), (b, y)| y.0.cmp(&x.0).then_with(|| a.cmp(b)));
    pairs.truncate(PAIRS_KEPT);
    let at_ms = read.updated_at_ms;
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
    let mut memory = RolloutMemory {
        thread_id: read.thread.thread_id,
        project: read.thread.project.or_else(|| read.cwd.as_deref().map(place::project)),
        cwd: read.cwd,
        branch: read.branch,
        forked_from: read.forked_from,
        reached_outside: read.reached_outside,
        created_at_ms: read.created_at_ms,
        begun_at_ms: read.begun_at_ms,
        updated_at_ms: read.updated_at_ms,
        last_seq: read.last_seq,
        outcome,
        rollout_slug: text::slug(text::prefix(&parts.title, 200), SLUG_BYTES),
        rollout_summary: String::new(),
        raw_memory: String::new(),
        learnings,
        map,
        steps,
    };
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
    fn learning(&self, kind: LearningKind, words: &str, origin: Origin) -> Learning {
        let text = text::one_line_cut(words, TEXT_BYTES);
        Learning {
            kind,
            keywords: keywords(&text),
            text,
            origin,
            evidence: Evidence {
                thread_id: self.thread_id.to_owned(),
                seq: 0,
                quote: String::new(),
            },
            slot: None,
            is_passing: false,
            branch: self.branch.map(str::to_owned),
            at_ms: 0,
        }
    }

    fn at(&self, mut learning: Learning, seq: u64, at_ms: i64, quote: &str) -> Learning {
        learning.evidence.seq = seq;
        learning.evidence.quote = text::one_line_cut(quote, QUOTE_BYTES);
        learning.at_ms = at_ms;
        learning
    }

    fn rule(&mut self, rule: &Rule) -> Learning {
        let learning = self.learning(rule.kind, &rule.text, rule.origin);
        let learning = self.at(learning, rule.seq, rule.at_ms, &rule.text);
        Learning { is_passing: rule.is_passing, ..learning }
    }

    fn fix(&mut self, fix: &Fix) -> Learning {
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
        let learning = self.learning(LearningKind::Fix, &text, Origin::TOOL);
        self.at(learning, fix.seq, fix.at_ms, &fix.said)
    }

    fn command(&mut self, run: &Run) -> Learning {
        let mut text = format!("{}: `{}`", run.class.into_str(), run.line);
        if let Some(folder) = &run.folder {
            text.push_str(&format!(" in `{folder}`"));
        }
        text.push_str(if run.works { " works" } else { " worked, then failed" });
        if let Some(tests) = run.tests.filter(|tests| tests.passed > 0) {
            text.push_str(&format!(" ({} tests pass)", tests.passed));
        }
        let learning = self.learning(LearningKind::Command, &text, Origin::TOOL);
        let learning = self.at(learning, run.seq, run.at_ms, &run.line);
        Learning {
            // For one command line only the newest result counts.
            slot: Some(format!("command {}", run.line)),
            is_passing: run.class == Class::Other && run.passed < 3,
            ..learning
        }
    }

    fn packager(&mut self, (name, what, run): (&str, &str, &Run)) -> Learning {
        let text = format!("{what} packages are managed with `{name}`");
        let learning = self.learning(LearningKind::Fact, &text, Origin::TOOL);
        let learning = self.at(learning, run.seq, run.at_ms, &run.line);
        Learning { slot: Some(format!("{what} package manager")), ..learning }
    }

    fn pair(
        &mut self,
        (first, second): &(String, String),
        (times, seq): (u32, u64),
        at_ms: i64,
    ) -> Learning {
        let text = format!("`{first}` and `{second}` change together");
        let learning = self.learning(LearningKind::CoChange, &text, Origin::TOOL);
        Learning { is_passing: times < 2, ..self.at(learning, seq, at_ms, "") }
    }

    fn outcome(&mut self, read: &Extractor, outcome: Outcome) -> Option<Learning> {
        let title = text::one_line_cut(&read.title()?, 160);
        let text = format!("{}: {title}", outcome.into_str());
        let learning = self.learning(LearningKind::Outcome, &text, Origin::TOOL);
        Some(self.at(learning, read.last_seq, read.updated_at_ms, &title))
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

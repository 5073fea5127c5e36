//! Reports settings without effect: the clients of longhaul cannot carry them out, or the mode does not ask
//! them to.
//!
//! Codex's app server carries out the whole sequence between the turns of the threads it holds; the plugin of
//! Claude Code compacts between two turns or, with `mid_turn`, in one, and does nothing else; so does the gateway of
//! Codex, only in a turn; hooks notify the person. A third-party client of `policy/step` may do more; this check does not know.

use super::Tier;
use super::settings::{Mode, Policy, Problem};

/// Settings of the active policy that have no effect: anywhere, in Claude Code, or in the middle of a turn.
pub fn settings_without_effect(policy: &Policy) -> Vec<Problem> {
    let base = Policy::default();
    let mut problems = Vec::new();
    for (key, needs) in set(policy, &base) {
        let reason = match policy.mode {
            Mode::Auto => match needs {
                Needs::Any => continue,
                Needs::AppServer => {
                    "none in Claude Code: its plugin compacts at once; Codex's app server carries it out"
                }
                Needs::MidTurn => "none in Codex without the gateway (longhaul install codex --gateway)",
                // Reported for `mid_turn` itself.
                Needs::Emergency if policy.mid_turn => continue,
                Needs::Emergency => {
                    "none in the middle of a turn without mid_turn = true: there the agent compacts at its own \
                     limit; it counts when a turn ends"
                }
                Needs::Judge => "no client of longhaul makes judgments; on_judgment_failure decides",
                Needs::Model => {
                    "no client of longhaul compacts with a model; the view is made without one"
                }
            }
            .to_owned(),
            // It announces an emergency, and nothing more is required.
            Mode::Tag | Mode::Suggest if matches!(needs, Needs::Emergency) => continue,
            mode => only_notifies(mode),
        };
        problems.push(Problem { key: key.to_owned(), reason, is_fatal: false });
    }
    let judged = policy.tiers.iter().filter(|(_, rule)| rule.judgment);
    for (tier, _) in judged.filter(|_| policy.mode != Mode::Auto) {
        let (key, reason) = (format!("{}.judgment", tier.into_str()), only_notifies(policy.mode));
        problems.push(Problem { key, reason, is_fatal: false });
    }
    problems
}

/// Settings of a shadow that differ from the active policy and have no effect.
pub fn shadow_settings_without_effect(shadow: &Policy, in_force: &Policy) -> Vec<Problem> {
    let mode = (shadow.mode != in_force.mode).then_some("mode");
    let keys = mode.into_iter().chain(set(shadow, in_force).into_iter().map(|(key, _)| key));
    let problem = |key: &str| {
        let reason = "a shadow only decides and has no effects".to_owned();
        Problem { key: key.to_owned(), reason, is_fatal: false }
    };
    keys.map(problem).collect()
}

/// What a setting needs to take effect.
#[derive(Clone, Copy)]
enum Needs {
    /// A client that compacts.
    Any,
    /// A client that sends the agent messages and waits for it.
    AppServer,
    /// A client that acts in the middle of a turn.
    MidTurn,
    /// One that can at least notify there.
    Emergency,
    Judge,
    /// A compaction by a model.
    Model,
}

/// The settings that differ and that a client must carry out.
fn set(policy: &Policy, base: &Policy) -> Vec<(&'static str, Needs)> {
    let emergency = |policy: &Policy| policy.tiers.get(&Tier::Emergency).cloned();
    let all = [
        ("packet_author", policy.packet_author != base.packet_author, Needs::AppServer),
        ("scratch", policy.scratch != base.scratch, Needs::AppServer),
        ("judge", policy.judge != base.judge, Needs::Judge),
        ("on_judgment_failure", policy.on_judgment_failure != base.on_judgment_failure, Needs::Any),
        ("wait_ms", policy.wait_ms != base.wait_ms, Needs::AppServer),
        ("mid_turn", policy.mid_turn != base.mid_turn, Needs::MidTurn),
        ("emergency", emergency(policy) != emergency(base), Needs::Emergency),
        ("compaction_model", policy.compaction_model != base.compaction_model, Needs::Model),
        ("compaction_effort", policy.compaction_effort != base.compaction_effort, Needs::Model),
    ];
    let differing = all.into_iter().filter(|(_, differs, _)| *differs);
    differing.map(|(key, _, needs)| (key, needs)).collect()
}

fn only_notifies(mode: Mode) -> String {
    let does = match mode {
        Mode::Off => "mode = \"off\" only logs decisions",
        Mode::Tag => "mode = \"tag\" only notifies",
        Mode::Suggest | Mode::Auto => "mode = \"suggest\" only notifies",
    };
    does.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::settings::{Author, Judge, OnFailure};

    fn all_set(mode: Mode) -> Policy {
        let mut policy = Policy {
            mode,
            packet_author: Author::Agent,
            scratch: true,
            judge: Judge::Client,
            on_judgment_failure: OnFailure::Wait,
            wait_ms: 1_000,
            compaction_model: Some("m".into()),
            compaction_effort: Some("high".into()),
            ..Policy::default()
        };
        policy.tiers.get_mut(&Tier::Asap).unwrap().judgment = true;
        policy.tiers.get_mut(&Tier::Emergency).unwrap().percent_remaining_lt = 5;
        policy
    }

    fn keys(problems: Vec<Problem>) -> Vec<String> {
        assert!(problems.iter().all(|problem| !problem.is_fatal));
        problems.into_iter().map(|problem| problem.key).collect()
    }

    #[test]
    fn settings_without_effect_are_named_by_mode() {
        assert_eq!(settings_without_effect(&Policy::default()), []);
        let auto = settings_without_effect(&all_set(Mode::Auto));
        let about = |words: &str| {
            let reported = auto.iter().filter(|problem| problem.reason.contains(words));
            reported.map(|problem| problem.key.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(about("none in Claude Code"), ["packet_author", "scratch", "wait_ms"]);
        assert_eq!(about("without mid_turn = true"), ["emergency"]);
        assert_eq!(about("no client"), ["judge", "compaction_model", "compaction_effort"]);
        assert_eq!(auto.len(), 7, "judgments and their failures are carried out everywhere");
        for (mode, count) in [(Mode::Off, 9), (Mode::Tag, 8), (Mode::Suggest, 8)] {
            let reported = keys(settings_without_effect(&all_set(mode)));
            assert_eq!(reported.len(), count, "{reported:?}");
            assert!(
                reported.contains(&"asap.judgment".to_owned())
                    && reported.contains(&"wait_ms".into())
            );
        }
    }

    #[test]
    fn mid_turn_makes_an_emergency_count_and_is_reported_where_it_has_no_effect() {
        let problems_of = |mode, mid_turn| {
            let mut policy = Policy { mode, mid_turn, ..Policy::default() };
            policy.tiers.get_mut(&Tier::Emergency).unwrap().percent_remaining_lt = 5;
            let problems = settings_without_effect(&policy);
            problems.into_iter().map(|it| (it.key, it.reason)).collect::<Vec<_>>()
        };
        let of = |key: &str, reason: &str| vec![(key.to_owned(), reason.to_owned())];
        let codex = "none in Codex without the gateway (longhaul install codex --gateway)";
        assert_eq!(problems_of(Mode::Auto, true), of("mid_turn", codex));
        assert_eq!(
            problems_of(Mode::Suggest, true),
            of("mid_turn", "mode = \"suggest\" only notifies")
        );
        assert_eq!(problems_of(Mode::Suggest, false), []);
    }

    #[test]
    fn only_a_shadows_own_settings_are_reported() {
        let in_force = all_set(Mode::Auto);
        assert_eq!(shadow_settings_without_effect(&in_force.clone(), &in_force), []);
        let shadow = Policy { mode: Mode::Tag, scratch: false, ..in_force.clone() };
        assert_eq!(keys(shadow_settings_without_effect(&shadow, &in_force)), ["mode", "scratch"]);
    }
}

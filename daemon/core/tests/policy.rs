//! Replays whole transcripts turn by turn: every decision of a hand-made session, byte for byte, and invariants
//! on real ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use longhaul_core::context::window::{Window, WindowSources, decide};
use longhaul_core::digest::Digest128;
use longhaul_core::fold::{Fold, Source};
use longhaul_core::policy::replay::Replay;
use longhaul_core::policy::{self, Policy, PolicyAction, PolicySettings, Tier};
use serde_json::{Value, json};

use crate::corpus;
use crate::golden::check;
use crate::session::push;

/// A window that the hand-made session fills.
fn window(tokens: u64) -> Window {
    decide(&WindowSources { asked: Some(tokens), ..WindowSources::default() })
}

/// An early policy and a lazy one, besides the default.
fn policies() -> Vec<Policy> {
    let default = Policy::default();
    let mut keen = PolicySettings::default();
    keen.early.requires_any_boundary = Some(policy::settings::allowed(Tier::Asap));
    keen.early.percent_remaining_lt = Some(95);
    keen.early.plan_boundaries_require_semantic_break = Some(false);
    let mut lazy = PolicySettings::default();
    for tier in [&mut lazy.early, &mut lazy.ready, &mut lazy.asap] {
        tier.percent_remaining_lt = Some(0);
    }
    vec![default.clone(), default.with("keen", &keen), default.with("lazy", &lazy)]
}

fn item(payload: &Value) -> String {
    json!({"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":payload}).to_string()
}

fn message(role: &str, words: &str) -> String {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    item(&json!({"type":"message","role":role,"content":[{"type":kind,"text":words}]}))
}

fn ran(id: &str, command: &str, exit: i32, output: &str) -> Vec<String> {
    let arguments = json!({ "cmd": command }).to_string();
    let output = format!("Exit code: {exit}\nOutput:\n{output}\n");
    vec![
        item(
            &json!({"type":"function_call","name":"exec_command","arguments":arguments,"call_id":id}),
        ),
        item(&json!({"type":"function_call_output","call_id":id,"output":output})),
    ]
}

fn planned(id: &str, states: &[&str]) -> Vec<String> {
    let steps: Vec<_> = states.iter().map(|s| json!({"step":"a step","status":s})).collect();
    let arguments = json!({ "plan": steps }).to_string();
    vec![
        item(
            &json!({"type":"function_call","name":"update_plan","arguments":arguments,"call_id":id}),
        ),
        item(&json!({"type":"function_call_output","call_id":id,"output":"Plan updated"})),
    ]
}

/// Turns that grow by `tokens`, each with a different end.
fn session() -> Vec<String> {
    let end = || json!({"type":"event_msg","payload":{"type":"task_complete"}}).to_string();
    let bulk = |id: &str, tokens: usize| {
        ran(id, &format!("cat src/{id}.rs"), 0, &"line of code\n".repeat(tokens * 4 / 13))
    };
    let mut lines = Vec::new();
    let mut turn = |n: usize, tokens: usize, more: Vec<String>, words: &str| {
        lines.push(message("user", &format!("Request {n}")));
        lines.extend(bulk(&format!("f{n}"), tokens));
        lines.extend(more);
        lines.push(message("assistant", words));
        lines.push(end());
    };
    turn(1, 8_000, planned("p1", &["in_progress", "pending"]), "The plan stands.");
    turn(2, 9_000, planned("p2", &["completed", "in_progress"]), "Still at it.");
    turn(3, 4_000, planned("p3", &["completed", "completed"]), "Moving on to the parser.");
    turn(4, 9_000, ran("c4", "cat src/f1.rs && git commit -qm x", 0, ""), "It is committed.");
    turn(5, 3_000, ran("c5", "echo git commit", 0, "git commit"), "It is not done yet.");
    turn(6, 9_000, ran("c6", "gh pr create --fill", 1, "no"), "The pull request failed.");
    turn(7, 9_000, Vec::new(), "In summary, all is done.");
    turn(8, 60_000, Vec::new(), "Read on.");
    turn(9, 3_000, Vec::new(), "And on.");
    lines
}

#[test]
fn every_decision_of_a_session_matches_the_record() {
    let (mut fold, window) = (Fold::new(Source::Codex), window(100_000));
    let mut replay = Replay::new(policies());
    let mut text = String::new();
    let mut made = |policy: &Policy, at: &policy::Situation, decision: &policy::Decision| {
        let tier = decision.tier.map_or("-", |tier| tier.into_str());
        writeln!(
            text,
            "turn {} {} [{}] {} % {tier}: {}",
            at.turn,
            at.point.into_str(),
            policy.name,
            decision.percent_remaining.unwrap_or_default(),
            decision.action.into_str()
        )
        .unwrap();
        for reason in &decision.reasons {
            let mark = if reason.passed { "yes" } else { "NO " };
            writeln!(text, "    {mark} {:<9} {}", reason.rule, reason.text).unwrap();
        }
    };
    for line in session() {
        push(&mut fold, line.as_bytes());
        replay.line(&mut fold, &window, &mut made);
    }
    replay.end(&fold, &window, &mut made);
    for track in &replay.tracks {
        writeln!(text, "{}: {} compactions", track.policy().name, track.count).unwrap();
        for point in &track.points {
            writeln!(text, "    turn {} used again: {}", point.turn, point.used_again.join(" "))
                .unwrap();
        }
    }
    check("policy_decisions", &text);
}

/// An agent that was killed does not say that its turn ended; the next one says so.
#[test]
fn a_turn_ends_at_the_latest_where_the_next_one_begins() {
    let ends = |is_kept: &dyn Fn(&str) -> bool| {
        let (mut fold, window) = (Fold::new(Source::Codex), window(100_000));
        let (mut replay, mut turns) = (Replay::new(policies()), Vec::new());
        let mut made = |_: &Policy, at: &policy::Situation, _: &policy::Decision| {
            if at.point == policy::Point::TurnEnd {
                turns.push(at.turn);
            }
        };
        for line in session().iter().filter(|line| is_kept(line)) {
            push(&mut fold, line.as_bytes());
            replay.line(&mut fold, &window, &mut made);
        }
        turns.dedup();
        turns
    };
    let reported = ends(&|_| true);
    let followed = ends(&|line| !line.contains("task_complete"));
    assert!(followed.len() > 2, "{followed:?}");
    assert_eq!(followed, reported[..reported.len() - 1], "the last one has not ended");
}

#[test]
fn a_replay_decides_the_same_after_any_save() {
    let window = window(100_000);
    let run = |saves: bool| {
        let mut fold = Fold::new(Source::Codex);
        let mut replay = Replay::new(policies());
        let mut bytes = Vec::new();
        for line in session() {
            push(&mut fold, line.as_bytes());
            replay.line(&mut fold, &window, &mut |_, _, decision| bytes.extend(decision.bytes()));
            if saves {
                fold = Fold::load(&fold.save().unwrap()).unwrap();
            }
        }
        bytes
    };
    assert_eq!(run(false), run(true));
}

/// On real transcripts: growth bounds compactions, none is made without a sign except in an emergency, and all
/// decisions equal those pinned for this corpus, byte for byte.
#[test]
fn real_transcripts_do_not_compact_in_a_loop() {
    let mut files = corpus::files();
    files.sort();
    let (mut sizes, mut pinned) = (String::new(), Pinned::default());
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        writeln!(sizes, "{}", bytes.len()).unwrap();
        let (mut fold, mut replay) = (Fold::new(corpus::source(file)), Replay::new(policies()));
        let mut grown = 0;
        let mut before = 0;
        for line in bytes.split(|byte| *byte == b'\n') {
            push(&mut fold, line);
            let known = WindowSources { stated: fold.meter().window(), ..WindowSources::default() };
            let mut made =
                |policy: &Policy, at: &policy::Situation, decision: &policy::Decision| {
                    assert!(!decision.reasons.is_empty());
                    pinned.take(policy, decision);
                    if decision.action == PolicyAction::Compact
                        && decision.tier != Some(Tier::Emergency)
                    {
                        assert!(!decision.satisfied.is_empty(), "{} {at:?}", policy.name);
                    }
                };
            replay.line(&mut fold, &decide(&known), &mut made);
            grown += fold.used().saturating_sub(before);
            before = fold.used();
        }
        for track in &replay.tracks {
            assert!(track.count <= 1 + grown / 64, "{} {}", file.display(), track.count);
        }
    }
    if !files.is_empty() {
        // Identify the corpus by its sizes: its content must not enter the repository.
        let corpus = Digest128::of(sizes.as_bytes()).to_string();
        pinned.check(&format!("policy_corpus_{}", &corpus[..8]), files.len());
    }
}

/// Digest of all decisions on a corpus.
#[derive(Default)]
struct Pinned {
    digest: Option<Digest128>,
    decisions: u64,
    compactions: BTreeMap<String, u64>,
}

impl Pinned {
    fn take(&mut self, policy: &Policy, decision: &policy::Decision) {
        self.decisions += 1;
        let made = u64::from(decision.action == PolicyAction::Compact);
        *self.compactions.entry(policy.name.clone()).or_default() += made;
        let before = self.digest.map(|digest| digest.to_string()).unwrap_or_default();
        let bytes = [before.as_bytes(), policy.name.as_bytes(), &decision.bytes()].concat();
        self.digest = Some(Digest128::of(&bytes));
    }

    /// Compares with the digest pinned for this corpus; an unknown corpus has none.
    fn check(&self, name: &str, files: usize) {
        let is_pinned = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/golden/{name}.txt"))
            .exists();
        let mut text = format!("{files} transcripts, {} decisions\n", self.decisions);
        for (policy, made) in &self.compactions {
            writeln!(text, "{policy}: {made} compactions").unwrap();
        }
        let digest = self.digest.map(|digest| digest.to_string()).unwrap_or_default();
        writeln!(text, "digest of all decisions: {digest}").unwrap();
        if is_pinned || std::env::var_os("UPDATE_GOLDEN").is_some() {
            check(name, &text);
        }
    }
}

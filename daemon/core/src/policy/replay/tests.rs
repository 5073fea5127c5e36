use serde_json::{Value, json};

use super::*;
use crate::context::window::WindowSources;
use crate::fold::{Place, Source};
use crate::policy::settings::{PolicySettings, TierTable};
use crate::signal::Boundary;

/// A policy that compacts at nearly every sign.
fn keen() -> Policy {
    let mut keen = PolicySettings::default();
    keen.early.percent_remaining_lt = Some(100);
    keen.compactions_per_hour = Some(1_000);
    Policy::default().with("keen", &keen)
}

fn window(tokens: u64) -> Window {
    crate::context::window::decide(&WindowSources {
        asked: Some(tokens),
        ..WindowSources::default()
    })
}

fn item(payload: &Value) -> Value {
    json!({"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":payload})
}

fn message(role: &str, words: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    item(&json!({"type":"message","role":role,"content":[{"type":kind,"text":words}]}))
}

fn ran(id: &str, command: &str, bytes: usize) -> [Value; 2] {
    let arguments = json!({ "cmd": command }).to_string();
    let output = format!("Exit code: 0\nOutput:\n{}\n", "x".repeat(bytes));
    [
        item(
            &json!({"type":"function_call","name":"exec_command","arguments":arguments,"call_id":id}),
        ),
        item(&json!({"type":"function_call_output","call_id":id,"output":output})),
    ]
}

/// A call that opens a pull request, which ends a phase.
fn opened(id: &str) -> [Value; 2] {
    ran(id, "gh pr create --fill", 2)
}

fn event(kind: &str) -> Value {
    json!({"type":"event_msg","payload":{"type":kind}})
}

fn compacted() -> Value {
    json!({"timestamp":"2026-01-01T00:00:00Z","type":"compacted","payload":{"message":"Done: A"}})
}

struct Played {
    track: Track,
    fold: Fold,
    /// Line, turn, point and decision.
    made: Vec<(u64, u64, Point, Decision)>,
}

fn play(policy: Policy, window: &Window, lines: &[Value]) -> Played {
    let (mut fold, mut replay) = (Fold::new(Source::Codex), Replay::new([policy]));
    let mut made = Vec::new();
    let mut offset = 0;
    for (line, text) in (0..).zip(lines) {
        let text = text.to_string();
        let bytes = text.len() as u64;
        fold.line(Place { line, offset, bytes }, text.as_bytes());
        offset += bytes + 1;
        replay.line(&mut fold, window, &mut |_, at, decision| {
            made.push((line, at.turn, at.point, decision.clone()));
        });
    }
    replay.end(&fold, window, &mut |_, at, decision| {
        made.push((lines.len() as u64, at.turn, at.point, decision.clone()));
    });
    Played { track: replay.tracks.remove(0), fold, made }
}

fn points(played: &Played) -> Vec<(u64, u64, Point)> {
    played.made.iter().map(|(line, turn, point, _)| (*line, *turn, *point)).collect()
}

#[test]
fn each_turn_is_decided_once_where_it_ends() {
    let window = window(272_000);
    let context = message("developer", "rules");
    let lines = [
        context.clone(),
        message("user", "one"),
        message("assistant", "done"),
        message("user", "two"),
        message("assistant", "done"),
        event("task_complete"),
        message("user", "three"),
    ];
    let played = play(keen(), &window, &lines);
    let end = Point::TurnEnd;
    assert_eq!(points(&played), [(3, 1, end), (5, 2, end), (7, 3, end)]);
    assert_eq!(played.track.decisions, 3);
    let complete = play(keen(), &window, &lines[..6]);
    assert_eq!(points(&complete), [(3, 1, end), (5, 2, end)], "it has ended already");
    assert_eq!(points(&play(keen(), &window, &[context])), [], "no turn has begun");
}

#[test]
fn within_a_turn_only_an_emergency_while_the_agent_works_is_decided() {
    let mut lines = vec![message("developer", "rules")];
    lines.extend(ran("c0", "cat a.rs", 400_000));
    lines.push(message("user", "go"));
    lines.extend(ran("c1", "ls", 2));
    lines.push(message("assistant", "one more thing"));
    let small = play(keen(), &window(100_000), &lines);
    let within: Vec<_> = points(&small).into_iter().filter(|at| at.2 == Point::MidTurn).collect();
    assert_eq!(within, [(4, 1, Point::MidTurn)], "then it would have been compacted");
    let large = play(keen(), &window(1_000_000), &lines);
    assert!(points(&large).iter().all(|at| at.2 == Point::TurnEnd), "{:?}", points(&large));
}

#[test]
fn what_a_compaction_would_have_removed_counts_until_a_real_one() {
    let window = window(272_000);
    let turn = |name: &str, bytes: usize| {
        let mut lines = vec![message("user", name)];
        lines.extend(ran(&format!("r{name}"), "ls", bytes));
        lines.extend(opened(&format!("p{name}")));
        lines.extend([message("assistant", "opened"), event("task_complete")]);
        lines
    };
    let simulated = [turn("one", 400_000), turn("two", 160_000)].concat();
    let played = play(keen(), &window, &simulated);
    assert_eq!((played.track.count, played.track.points.len()), (2, 2));
    let left = |played: &Played| played.made.last().unwrap().3.percent_remaining.unwrap();
    assert!(left(&played) > window.percent_left(played.fold.used()) + 20, "it was compacted");

    let real = [turn("one", 400_000), vec![compacted()], turn("two", 160_000)].concat();
    let played = play(keen(), &window, &real);
    assert_eq!(left(&played), window.percent_left(played.fold.used()));
    assert_eq!(played.track.count, 2, "it grew since the real one");
    let real = [turn("one", 400_000), vec![compacted()], turn("two", 40)].concat();
    assert_eq!(play(keen(), &window, &real).track.count, 1, "it did not grow");
}

#[test]
fn a_file_read_again_within_forty_calls_is_regretted() {
    for (calls, expected) in [(REGRET_CALLS - 1, &["src/a.rs"][..]), (REGRET_CALLS, &[])] {
        let mut lines = vec![message("user", "go")];
        lines.extend(ran("a", "cat src/a.rs", 400_000));
        lines.extend(opened("p"));
        lines.extend([message("assistant", "opened"), event("task_complete")]);
        lines.push(message("user", "on"));
        lines.extend((0..calls).flat_map(|n| ran(&format!("c{n}"), "ls", 2)));
        lines.extend(ran("b", "cat src/a.rs", 2));
        let played = play(keen(), &window(272_000), &lines);
        assert_eq!(played.track.points[0].used_again, expected, "after {calls} calls");
    }
}

#[test]
fn points_are_bounded_and_name_those_that_a_judge_decides() {
    let (window, fold) = (window(272_000), Fold::new(Source::Codex));
    for judgment in [false, true] {
        let tier = TierTable { judgment: Some(judgment), ..TierTable::default() };
        let settings = PolicySettings { asap: tier, ..PolicySettings::default() };
        let mut track = Track::new(Policy::default().with("x", &settings));
        for hour in 0..=POINTS_MAX as u64 {
            let mut at = situation(&fold, (&window, 0), "t", (0, Point::TurnEnd));
            at.at_ms = HOUR_MS * hour.cast_signed();
            at.used = track.spared + 120_000;
            at.boundaries = [Boundary::Commit].into();
            track.decide(at, &window, &fold);
        }
        assert_eq!((track.count, track.points.len()), (POINTS_MAX as u64 + 1, POINTS_MAX));
        assert!(track.points.iter().all(|point| point.judged == judgment), "{judgment}");
    }
}

#[test]
fn the_agents_own_compactions_of_the_last_hour_count() {
    let mut fold = Fold::new(Source::Codex);
    let lines = [message("user", "go"), compacted(), message("assistant", "done")];
    for (line, mut text) in (0..).zip(lines) {
        text["timestamp"] = format!("2026-01-01T0{line}:00:00Z").into();
        let text = text.to_string();
        fold.line(Place { line, offset: 0, bytes: text.len() as u64 }, text.as_bytes());
    }
    let window = window(272_000);
    let made_ms = 1_767_225_600_000 + HOUR_MS;
    for (at_ms, expected) in [(made_ms, 1), (made_ms + HOUR_MS - 1, 1), (made_ms + HOUR_MS, 0)] {
        let found = situation(&fold, (&window, 0), "t", (at_ms, Point::TurnEnd));
        assert_eq!(found.compactions_in_hour, expected, "{at_ms}");
        assert_eq!(found.baseline.unwrap().at_ms, made_ms);
    }
}

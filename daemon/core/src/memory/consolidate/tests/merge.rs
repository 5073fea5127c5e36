//! What becomes one entry, what replaces another, and how many are kept.

use super::*;

fn entries(memories: &[RolloutMemory]) -> Vec<Entry> {
    build(memories, &Rest::default()).handbook.projects.remove("/w/a").unwrap().entries
}

/// One thread per list of learnings, a day apart, the last one yesterday.
fn threads(of: Vec<Vec<(LearningKind, &str)>>) -> Vec<RolloutMemory> {
    let days = i64::try_from(of.len()).unwrap();
    (0..)
        .zip(of)
        .map(|(number, learnings)| {
            let (thread, day) = (format!("t{number}"), number - days);
            let learnings =
                learnings.iter().map(|(kind, text)| learning(&thread, *kind, text, day));
            memory(&thread, "/w/a", day, learnings.collect())
        })
        .collect()
}

fn texts(of: Vec<Vec<(LearningKind, &str)>>) -> Vec<String> {
    entries(&threads(of)).into_iter().map(|entry| entry.text).collect()
}

#[test]
fn only_a_person_sets_rules_and_an_outcome_is_no_entry() {
    let by = |origin| {
        let learnings = [LearningKind::Constraint, LearningKind::Fact, LearningKind::Outcome]
            .map(|kind| Learning { origin, ..learning("t1", kind, &format!("a {kind:?}"), -1) });
        let found = entries(&[memory("t1", "/w/a", -1, learnings.to_vec())]);
        found.into_iter().map(|entry| entry.text).collect::<Vec<_>>()
    };
    for origin in [Origin::AGENT, Origin::CLIENT, Origin::TOOL] {
        assert_eq!(by(origin), ["a Fact"], "{}", origin.name());
    }
    assert_eq!(by(Origin::of_edit()), ["a Constraint", "a Fact"]);
}

#[test]
fn a_rule_and_a_fact_in_the_same_words_stay_apart() {
    use LearningKind::{Constraint, Fact, Preference};
    let (said, seen) = ("always use the staging database", "always use the staging database here");
    assert_eq!(texts(vec![vec![(Constraint, said)], vec![(Fact, seen)]]), [said, seen]);
    let never = "never use the staging database";
    assert_eq!(texts(vec![vec![(Constraint, said)], vec![(Fact, never)]]), [said, never]);
    assert_eq!(texts(vec![vec![(Fact, never)], vec![(Constraint, said)]]), [said, never]);
    assert_eq!(texts(vec![vec![(Preference, said)], vec![(Constraint, never)]]), [never]);
}

#[test]
fn an_opposite_choice_replaces_the_earlier_one() {
    use LearningKind::Preference;
    let of = |rules: &[&'static str]| {
        entries(&threads(rules.iter().map(|rule| vec![(Preference, *rule)]).collect()))
    };
    for [first, second] in [
        ["prefer npm over pnpm for each install", "use pnpm rather than npm"],
        ["use tabs instead of spaces", "please indent with spaces, not tabs"],
        ["nimm bitte immer yarn statt npm", "npm statt yarn"],
        ["use npm instead of pnpm here", "use pnpm instead of npm here"],
    ] {
        let found = of(&[first, second]);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].text, second);
        let before: Vec<&str> = found[0].superseded.iter().map(|b| b.text.as_str()).collect();
        assert_eq!(before, [first]);
    }
    for apart in [
        ["use npm instead of pnpm here", "use yarn instead of npm for releases"],
        ["use npm instead of pnpm here", "prefer pnpm instead of yarn in production"],
        ["use tabs instead of spaces", "use pnpm rather than npm"],
        ["always use tabs", "never skip the hooks"],
    ] {
        let found: Vec<String> = of(&apart).into_iter().map(|entry| entry.text).collect();
        assert_eq!(found.len(), 2, "{found:?}");
    }
}

/// A person who forgot a rule may later set its opposite, in nearly the same words.
#[test]
fn a_forgotten_choice_does_not_hide_the_opposite_one() {
    let (first, second) = ("use npm instead of pnpm here", "use pnpm instead of npm here");
    let memories = threads(vec![
        vec![(LearningKind::Preference, first)],
        vec![(LearningKind::Preference, second)],
    ]);
    let mut rest = Rest::default();
    rest.exclusions.entries.insert(entries(&memories[..1])[0].id.clone());
    assert_eq!(rules(&build(&memories[..1], &rest), "/w/a"), Vec::<String>::new());
    assert_eq!(rules(&build(&memories, &rest), "/w/a"), [second]);
}

#[test]
fn the_three_newest_earlier_values_are_kept() {
    let version = |day: i64, number: i64| {
        let thread = format!("t{day}");
        let text = format!("`node` is v{number}");
        let fact = Learning {
            slot: Some("version of node".into()),
            ..learning(&thread, LearningKind::Fact, &text, day)
        };
        memory(&thread, "/w/a", day, vec![fact])
    };
    let days = [(-9, 16), (-8, 18), (-7, 18), (-6, 20), (-5, 22), (-4, 18), (-3, 24), (-2, 24)];
    let found = entries(&days.map(|(day, number)| version(day, number)));
    assert_eq!((found.len(), found[0].text.as_str()), (1, "`node` is v24"));
    let before = found[0].superseded.iter().map(|b| (b.text.as_str(), (b.until_ms - NOW) / DAY_MS));
    let expected = [("`node` is v18", -4), ("`node` is v22", -5), ("`node` is v20", -6)];
    assert_eq!(before.collect::<Vec<_>>(), expected);
    let proofs = found[0].evidence.iter().map(|evidence| evidence.thread_id.as_str());
    assert_eq!(proofs.collect::<Vec<_>>(), ["t-2", "t-3"], "only of this value");
}

#[test]
fn the_newest_result_of_a_command_replaces_the_earlier_one() {
    let ran = |day: i64, text: &str| {
        let thread = format!("t{day}");
        let text = format!("test: `cargo test` {text}");
        let learning = Learning {
            slot: Some("command cargo test".into()),
            ..learning(&thread, LearningKind::Command, &text, day)
        };
        memory(&thread, "/w/a", day, vec![learning])
    };
    let found = entries(&[ran(-3, "works (3 tests pass)"), ran(-2, "works (9 tests pass)")]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, "test: `cargo test` works (9 tests pass)");
    assert_eq!((found[0].superseded.len(), found[0].evidence.len()), (0, 2));
}

#[test]
fn four_proofs_are_kept_newest_first() {
    let of = (1..8).map(|_| vec![(LearningKind::Fact, "the port is 5433")]).collect();
    let found = entries(&threads(of));
    let proofs = found[0].evidence.iter().map(|evidence| evidence.thread_id.as_str());
    assert_eq!(proofs.collect::<Vec<_>>(), ["t6", "t5", "t4", "t3"]);
    assert_eq!((found[0].first_ms, found[0].last_ms), (NOW - 7 * DAY_MS, NOW - DAY_MS));
}

/// A rule that was once meant for the task only is lasting as soon as it is said without such words.
#[test]
fn a_lasting_rule_outranks_the_same_passing_one() {
    let said =
        |is_passing| Learning { is_passing, ..rule("t1", "make sure the docs are built", -1) };
    for (passing, is_kept) in [
        ([true, false], true),
        ([false, true], true),
        ([false, false], true),
        ([true, true], false),
    ] {
        let memories = [memory("t1", "/w/a", -1, passing.map(said).to_vec())];
        assert_eq!(entries(&memories).len(), usize::from(is_kept), "{passing:?}");
    }
    // The same for variants of a command.
    for (passing, is_kept) in [([true, false], true), ([true, true], false)] {
        let lines = ["./sync.sh -a", "./sync.sh -b"].into_iter().zip(passing);
        let ran =
            lines.map(|(line, is_passing)| Learning { is_passing, ..command("t1", line, -1) });
        let memories = [memory("t1", "/w/a", -1, ran.collect())];
        assert_eq!(entries(&memories).len(), usize::from(is_kept), "{passing:?}");
    }
}

#[test]
fn the_newest_entries_of_a_kind_are_kept() {
    let facts: Vec<Learning> = (0..60)
        .map(|n| learning("t1", LearningKind::Fact, &format!("the number {n}"), n - 60))
        .collect();
    let rules = (0..60).map(|n| {
        learning("t1", LearningKind::Note, &format!("note{n} about module{n} of part{n}"), n - 60)
    });
    let all = rules.chain(facts).collect();
    let found = entries(&[memory("t1", "/w/a", -1, all)]);
    assert_eq!(found.len(), 2 * 48);
    let kept: Vec<&str> = found.iter().map(|entry| entry.text.as_str()).collect();
    assert!(kept[..48].iter().all(|text| text.starts_with("note")), "rules come first");
    assert_eq!((kept[0], kept[48]), ("note59 about module59 of part59", "the number 59"));
    assert_eq!(kept[95], "the number 12");
}

#[test]
fn a_file_is_listed_with_two_files_that_change_with_it() {
    let pairs = |pairs: &[(&str, &str)]| {
        let texts: Vec<String> =
            pairs.iter().map(|(a, b)| format!("`{a}` and `{b}` change together")).collect();
        let learnings = (0..)
            .zip(texts)
            .map(|(number, text)| learning("t1", LearningKind::CoChange, &text, -2 - number));
        entries(&[memory("t1", "/w/a", -1, learnings.collect())])
            .iter()
            .map(|entry| entry.text.replace("` and `", " ").replace("` change together", ""))
            .map(|files| files.trim_start_matches('`').to_owned())
            .collect::<Vec<_>>()
    };
    let hub = [("hub", "a"), ("hub", "b"), ("hub", "c"), ("d", "hub"), ("c", "e")];
    assert_eq!(pairs(&hub), ["hub a", "hub b", "c e"]);
    let rest = [("hub", "a"), ("hub", "b"), ("c", "hub"), ("c", "e"), ("c", "f")];
    assert_eq!(pairs(&rest), ["hub a", "hub b", "c e", "c f"], "a pair left out does not count");
    let names: Vec<(String, String)> =
        (0..15).map(|n| (format!("x{n:02}"), format!("y{n:02}"))).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(pairs(&many).len(), 12);
    let quoting = vec![
        (LearningKind::Fact, "`a` is one"),
        (LearningKind::Fact, "`a` is two"),
        (LearningKind::Fact, "`a` is three"),
    ];
    assert_eq!(texts(vec![quoting]).len(), 3, "only pairs are counted");
}

#[test]
fn three_variants_of_a_command_are_listed_the_commonest_first() {
    let ran = |number: usize, lines: &[&str]| {
        let thread = format!("t{number}");
        let day = i64::try_from(number).unwrap() - 9;
        memory(&thread, "/w/a", day, lines.iter().map(|line| command(&thread, line, day)).collect())
    };
    let lines = ["just test -e", "just test -d", "just test -c", "just test -b", "just test -a"];
    let found = entries(&[ran(1, &lines), ran(2, &lines[1..2]), ran(3, &lines[..1])]);
    assert_eq!(found.len(), 1);
    // The newest of the commonest, then by name.
    assert_eq!(
        found[0].text,
        "test: `just test -e` works; also `just test -d`, `just test -a`, `just test -b`"
    );
    assert_eq!(found[0].threads, 3);
    assert_eq!((found[0].first_ms, found[0].last_ms), (NOW - 8 * DAY_MS, NOW - 6 * DAY_MS));
}

/// A pair of commands needs one thread more than a longer procedure, and pushing is not a step of its own.
#[test]
fn a_procedure_is_distinct_commands_of_enough_threads() {
    let skills = |count: i64, steps: &[&str]| -> Vec<Vec<String>> {
        let steps: Vec<String> = steps.iter().map(|step| (*step).to_owned()).collect();
        let memories: Vec<RolloutMemory> = (0..count)
            .map(|n| RolloutMemory {
                steps: steps.clone(),
                ..memory(&format!("t{n}"), "/w/a", -n, Vec::new())
            })
            .collect();
        let built = build(&memories, &Rest::default());
        built.handbook.projects["/w/a"].skills.iter().map(|skill| skill.steps.clone()).collect()
    };
    let pair = ["cargo clippy", "cargo test"];
    assert!(skills(3, &pair).is_empty());
    assert_eq!(skills(4, &pair), [pair]);
    let pushed = ["cargo clippy", "cargo test", "git commit", "git push"];
    assert_eq!(skills(3, &pushed), [pushed]);
    assert!(skills(4, &["cargo test", "git commit", "git push"]).is_empty());
    assert!(skills(4, &["cargo test", "ls -l", "cargo clippy"]).is_empty(), "not one by one");
    assert!(skills(4, &["cargo test", "cargo test -q"]).is_empty(), "one command");
    let long = ["just a", "just b", "just c", "just d", "just e", "just f", "just g", "just h"];
    let found = skills(3, &long[..7]);
    assert_eq!(found, [&long[..6]], "another one would repeat half of it");
    assert_eq!(skills(3, &long), [&long[..6], &long[5..]]);
}

mod claims;
mod folders;
mod map;
mod merge;
mod page;
mod published;

use super::*;
use crate::memory::learning::{Name, NameKind, Outcome};
use crate::memory::summary::{Scope, summary};

const DAY_MS: i64 = 86_400_000;
const NOW: i64 = 20_000 * DAY_MS;

fn learning(thread: &str, kind: LearningKind, text: &str, day: i64) -> Learning {
    Learning {
        kind,
        text: text.into(),
        origin: if kind.is_rule() { Origin::of_edit() } else { Origin::TOOL },
        evidence: Evidence { thread_id: thread.into(), seq: 7, quote: text.into() },
        slot: None,
        is_passing: false,
        keywords: Vec::new(),
        branch: None,
        at_ms: NOW + day * DAY_MS,
    }
}

fn rule(thread: &str, text: &str, day: i64) -> Learning {
    learning(thread, LearningKind::Preference, text, day)
}

fn memory(thread: &str, project: &str, day: i64, learnings: Vec<Learning>) -> RolloutMemory {
    let name = |text: &str, kind| Name {
        text: text.into(),
        kind,
        uses: 1,
        hits: 1,
        is_opening: true,
        is_done: true,
        is_look: false,
        file: None,
    };
    RolloutMemory {
        thread_id: thread.into(),
        project: Some(project.into()),
        cwd: Some(project.into()),
        branch: None,
        forked_from: None,
        reached_outside: false,
        created_at_ms: NOW + day * DAY_MS,
        begun_at_ms: 0,
        updated_at_ms: NOW + day * DAY_MS,
        last_seq: 9,
        outcome: Outcome::Success,
        rollout_summary: format!("# work of {thread}"),
        rollout_slug: "work".into(),
        raw_memory: learnings.iter().map(|l| format!("- {}\n", l.text)).collect(),
        learnings,
        map: vec![
            name(&format!("src/{}.rs", project.replace('/', "_")), NameKind::Path),
            name("cargo test", NameKind::Command),
        ],
        steps: ["cargo fmt", "cargo clippy", "cargo test"].map(Into::into).to_vec(),
    }
}

/// The inputs besides threads, changed at will.
#[derive(Default)]
struct Rest {
    notes: Vec<Note>,
    edits: Edits,
    exclusions: Exclusions,
}

fn build(memories: &[RolloutMemory], rest: &Rest) -> Consolidation {
    let threads: Vec<ExtractedThread<'_>> = memories
        .iter()
        .map(|memory| ExtractedThread { memory, uses: 0, last_used_ms: None })
        .collect();
    let inputs = Inputs {
        threads: &threads,
        notes: &rest.notes,
        edits: &rest.edits,
        exclusions: &rest.exclusions,
    };
    consolidate(&inputs, &Bounds::default(), NOW)
}

fn rules(built: &Consolidation, project: &str) -> Vec<String> {
    let entries = built.handbook.projects.get(project).map(|p| p.entries.as_slice());
    let rules = entries.unwrap_or_default().iter().filter(|entry| entry.kind.is_rule());
    rules.map(|entry| entry.text.clone()).collect()
}

fn shown(built: &Consolidation, cwd: &str, tokens: u64) -> String {
    summary(&built.handbook, "", Scope { project: None, cwd: Some(cwd) }, tokens)
}

#[test]
fn the_same_threads_give_the_same_bytes_in_any_order() {
    let mut memories: Vec<RolloutMemory> = (0..12)
        .map(|n| {
            let thread = format!("t{n}");
            let learnings =
                vec![rule(&thread, &format!("always keep rule number {n} in mind"), -n)];
            memory(&thread, if n % 2 == 0 { "/w/a" } else { "/w/b" }, -n, learnings)
        })
        .collect();
    let before = build(&memories, &Rest::default());
    memories.reverse();
    assert_eq!(build(&memories, &Rest::default()), before);
    assert_eq!(Handbook::read(&before.handbook.to_json()).as_ref(), Some(&before.handbook));
}

#[test]
fn threads_of_other_projects_do_not_affect_a_project() {
    let own = memory("t1", "/w/a", -1, vec![rule("t1", "always use tabs in makefiles", -1)]);
    let other = memory("t2", "/w/b", 0, vec![rule("t2", "always use spaces in makefiles", 0)]);
    let alone = build(std::slice::from_ref(&own), &Rest::default());
    let both = build(&[own, other], &Rest::default());
    assert_eq!(alone.handbook.projects["/w/a"], both.handbook.projects["/w/a"]);
    for (path, text) in alone.files.iter().filter(|(path, _)| path.starts_with("rollout")) {
        assert_eq!(both.files.get(path), Some(text));
    }
    let group = |built: &Consolidation| -> String {
        let book = &built.files["MEMORY.md"];
        let (_, group) = book.split_once("# Task Group: /w/a").unwrap();
        group.split("\n# Task Group").next().unwrap().to_owned()
    };
    assert_eq!(group(&alone), group(&both));
    assert_eq!(shown(&alone, "/w/a", 5_000), shown(&both, "/w/a", 5_000));
}

#[test]
fn conflicting_rules_stay_in_their_projects() {
    let memories = [
        memory("t1", "/w/a", -1, vec![rule("t1", "always use pnpm for packages", -1)]),
        memory("t2", "/w/b", -1, vec![rule("t2", "never use pnpm for packages", -1)]),
    ];
    let built = build(&memories, &Rest::default());
    for (cwd, own, foreign) in [
        ("/w/a", "always use pnpm", "never use pnpm"),
        ("/w/b/deep/er", "never use pnpm", "always use pnpm"),
    ] {
        let text = shown(&built, cwd, 5_000);
        assert!(text.contains(own) && !text.contains(foreign), "{text}");
        assert!(!text.contains(if own.starts_with('a') { "_w_b" } else { "_w_a" }), "{text}");
    }
    for cwd in ["/w", "/", "/w/ab", "/home/u"] {
        assert_eq!(shown(&built, cwd, 5_000), "", "{cwd}");
    }
}

#[test]
fn rules_set_in_several_projects_apply_everywhere() {
    let memories = [
        memory("t1", "/w/a", -2, vec![rule("t1", "always answer in German", -2)]),
        memory("t2", "/w/b", -1, vec![rule("t2", "Always answer in German!", -1)]),
    ];
    let built = build(&memories, &Rest::default());
    assert_eq!(built.handbook.profile.len(), 1);
    assert!(shown(&built, "/elsewhere/entirely", 500).contains("answer in German"));
}

#[test]
fn the_profile_of_the_first_page_has_500_words_at_most() {
    let text = |n: usize| format!("always name file{n} {}", format!("word{n} ").repeat(26).trim());
    let rules = |thread: &str, day| (0..40).map(|n| rule(thread, &text(n), day)).collect();
    let memories =
        [memory("t1", "/w/a", -2, rules("t1", -2)), memory("t2", "/w/b", -1, rules("t2", -1))];
    let built = build(&memories, &Rest::default());
    assert_eq!(built.handbook.profile.len(), 40);
    let page = &built.files["memory_summary.md"];
    let (_, profile) = page.split_once("## User profile").unwrap();
    let (profile, _) = profile.split_once("\n## ").unwrap();
    let words = profile.lines().filter_map(|line| line.strip_prefix("- "));
    let words: usize = words.map(|line| line.split_whitespace().count()).sum();
    assert!((450..=500).contains(&words), "{words}");
}

#[test]
fn the_newest_of_contradicting_rules_is_served() {
    let timeline = [
        ("use npm instead of pnpm here", "use npm instead of pnpm here"),
        ("use pnpm instead of npm here", "use pnpm instead of npm here"),
        ("use npm instead of pnpm here", "use npm instead of pnpm here"),
    ];
    let mut memories = Vec::new();
    for (step, (statement, served)) in timeline.into_iter().enumerate() {
        let thread = format!("t{step}");
        let day = i64::try_from(step).unwrap() - 5;
        memories.push(memory(&thread, "/w/a", day, vec![rule(&thread, statement, day)]));
        let built = build(&memories, &Rest::default());
        assert_eq!(rules(&built, "/w/a"), [served], "after step {step}");
    }
    let polarity = [
        memory("t1", "/w/a", -3, vec![rule("t1", "always commit generated files", -3)]),
        memory("t2", "/w/a", -2, vec![rule("t2", "never commit generated files", -2)]),
    ];
    let built = build(&polarity, &Rest::default());
    assert_eq!(rules(&built, "/w/a"), ["never commit generated files"]);
    let entry = &built.handbook.projects["/w/a"].entries[0];
    assert_eq!(entry.superseded[0].text, "always commit generated files");
    assert!(built.files["MEMORY.md"].contains("until 2024-10-01: always commit generated files"));
}

#[test]
fn a_fact_has_one_value_at_a_time() {
    let fact = |thread: &str, text: &str, day| Learning {
        slot: Some("version of node".into()),
        ..learning(thread, LearningKind::Fact, text, day)
    };
    let mut memories = Vec::new();
    for (day, version) in [(-5, "v18"), (-4, "v20"), (-3, "v18")] {
        let thread = format!("t{day}");
        let text = format!("`node` is {version}");
        memories.push(memory(&thread, "/w/a", day, vec![fact(&thread, &text, day)]));
        let built = build(&memories, &Rest::default());
        let facts: Vec<&str> =
            built.handbook.projects["/w/a"].entries.iter().map(|e| e.text.as_str()).collect();
        assert_eq!(facts, [text]);
    }
}

#[test]
fn near_duplicates_are_merged_and_passing_rules_wait_for_a_second_thread() {
    let passing = |thread: &str, day| Learning {
        is_passing: true,
        ..rule(thread, "make sure the changelog is updated", day)
    };
    let first = memory(
        "t1",
        "/w/a",
        -3,
        vec![
            passing("t1", -3),
            rule("t1", "Please always run the linter before committing anything", -3),
        ],
    );
    let second = memory(
        "t2",
        "/w/a",
        -2,
        vec![passing("t2", -2), rule("t2", "please always run the linter before committing", -2)],
    );
    let alone = build(std::slice::from_ref(&first), &Rest::default());
    assert_eq!(rules(&alone, "/w/a").len(), 1);
    let both = build(&[first, second], &Rest::default());
    assert_eq!(rules(&both, "/w/a").len(), 2);
    assert!(both.handbook.projects["/w/a"].entries.iter().all(|entry| entry.threads == 2));
}

#[test]
fn exclusions_and_age_work_at_once() {
    let memories = [
        memory("t1", "/w/a", -1, vec![rule("t1", "always use tabs in makefiles", -1)]),
        memory("t2", "/w/b", -1, vec![rule("t2", "never deploy on fridays", -1)]),
        memory("t3", "/w/c", -31, vec![rule("t3", "never skip the changelog", -31)]),
    ];
    let all = build(&memories, &Rest::default());
    assert_eq!(all.selected, ["t1", "t2"]);
    let forget = |change: fn(&mut Exclusions, &Consolidation)| {
        let mut rest = Rest::default();
        change(&mut rest.exclusions, &all);
        build(&memories, &rest)
    };
    let forgotten = [
        forget(|out, _| {
            out.threads.insert("t1".into());
        }),
        forget(|out, _| {
            out.projects.insert("/w/a".into());
        }),
        forget(|out, all| {
            out.entries.insert(all.handbook.projects["/w/a"].entries[0].id.clone());
        }),
    ];
    for built in &forgotten {
        let text: String = built.files.values().filter(|t| t.contains("tabs")).cloned().collect();
        assert_eq!(text, "", "{text}");
        assert!(built.files["MEMORY.md"].contains("fridays"));
    }
}

#[test]
fn used_threads_outlive_recent_ones() {
    let memories: Vec<RolloutMemory> =
        (0..4).map(|n| memory(&format!("t{n}"), "/w/a", -n, Vec::new())).collect();
    let threads: Vec<ExtractedThread<'_>> = memories
        .iter()
        .map(|memory| {
            let used = memory.thread_id == "t3";
            ExtractedThread { memory, uses: u64::from(used), last_used_ms: used.then_some(NOW) }
        })
        .collect();
    let rest = Rest::default();
    let inputs =
        Inputs { threads: &threads, notes: &[], edits: &rest.edits, exclusions: &rest.exclusions };
    let bounds = Bounds { max_threads: 2, ..Bounds::default() };
    assert_eq!(consolidate(&inputs, &bounds, NOW).selected, ["t0", "t3"]);
}

#[test]
fn a_persons_edits_survive_every_build() {
    let memories = [memory(
        "t1",
        "/w/a",
        -1,
        vec![
            rule("t1", "always use tabs in makefiles", -1),
            rule("t1", "never deploy on fridays", -1),
        ],
    )];
    let published = build(&memories, &Rest::default()).files;
    let mut found = published.clone();
    let book = found.get_mut("MEMORY.md").unwrap();
    *book = book
        .lines()
        .filter(|line| !line.contains("fridays"))
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        + "- staging is at port 5433\n";
    let mut rest = Rest::default();
    rest.edits.merge(&published, &found, NOW);
    for _ in 0..3 {
        let built = build(&memories, &rest);
        assert!(!built.files["MEMORY.md"].contains("fridays"));
        assert!(built.files["MEMORY.md"].contains("- staging is at port 5433 [person"));
        assert!(shown(&built, "/w/a", 500).contains("port 5433"));
        let before = rest.edits.clone();
        rest.edits.merge(&built.files, &built.files, NOW + DAY_MS);
        assert_eq!(rest.edits, before);
    }
}

#[test]
fn notes_are_scoped_and_redacted() {
    let note = |text: &str, project: Option<&str>| Note {
        id: "n".into(),
        text: text.into(),
        origin: Origin::of_edit(),
        project: project.map(Into::into),
        at_ms: NOW,
    };
    let rest = Rest {
        notes: vec![
            note("the release is on monday", Some("/w/a")),
            note("token ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", None),
        ],
        ..Rest::default()
    };
    let built = build(&[memory("t1", "/w/b", -1, Vec::new())], &rest);
    assert!(shown(&built, "/w/a", 500).contains("release is on monday"));
    assert!(!shown(&built, "/w/b", 500).contains("release is on monday"));
    assert!(built.files.values().all(|text| !text.contains("a1B2c3D4")));
}

#[test]
fn repeated_procedures_become_skills() {
    let memories: Vec<RolloutMemory> =
        (0..3).map(|n| memory(&format!("t{n}"), "/w/a", -n, Vec::new())).collect();
    assert!(build(&memories[..2], &Rest::default()).handbook.projects["/w/a"].skills.is_empty());
    let built = build(&memories, &Rest::default());
    let skill = &built.handbook.projects["/w/a"].skills[0];
    assert_eq!(skill.steps, ["cargo fmt", "cargo clippy", "cargo test"]);
    let file = &built.files[&format!("skills/{}/SKILL.md", skill.name)];
    assert!(file.starts_with("---\nname: a-fmt-clippy-test-"), "{file}");
}

#[test]
fn a_procedure_is_recognized_whatever_its_targets() {
    let ran = |number: i64, lines: &[String]| {
        let steps = lines.to_vec();
        RolloutMemory { steps, ..memory(&format!("t{number}"), "/w/a", -number, Vec::new()) }
    };
    let release = |n: i64| {
        ran(
            n,
            &[
                format!("./bump.sh 1.{}", 9 - n),
                format!("npm run build -- --tag v{n}"),
                "npm publish".to_owned(),
                "git push".to_owned(),
            ],
        )
    };
    let memories: Vec<RolloutMemory> = (0..3).map(release).collect();
    let before = build(&memories, &Rest::default());
    let skill = &before.handbook.projects["/w/a"].skills[0];
    assert_eq!(skill.steps[0], "./bump.sh 1.9", "the newest arguments");
    assert_eq!((skill.steps.len(), skill.threads), (4, 3));
    let again: Vec<RolloutMemory> = (-1..3).map(release).collect();
    let after = build(&again, &Rest::default());
    let skills = &after.handbook.projects["/w/a"].skills;
    assert_eq!(
        (&skills[0].name, skills.len()),
        (&skill.name, 1),
        "another run is not another skill"
    );

    let rounds: Vec<RolloutMemory> = (0..3)
        .map(|n| ran(n, &["a", "b", "c"].map(|name| format!("cargo test -p {name}{n}"))))
        .collect();
    let built = build(&rounds, &Rest::default());
    assert!(
        built.handbook.projects["/w/a"].skills.is_empty(),
        "repeating one command is not a procedure"
    );
}

#[test]
fn no_budget_is_exceeded() {
    let memories: Vec<RolloutMemory> = (0..200)
        .map(|n| {
            let thread = format!("t{n:03}");
            let text = format!("never do the forbidden thing number {n} 😀 in module {}", n * 7);
            memory(&thread, &format!("/w/{}", n % 50), -(n % 20), vec![rule(&thread, &text, -1)])
        })
        .collect();
    let built = build(&memories, &Rest::default());
    assert!(built.files["memory_summary.md"].len() <= 20_000);
    for tokens in [0, 1, 7, 60, 500, 5_000] {
        for cwd in ["/w/1", "/nowhere"] {
            let text = shown(&built, cwd, tokens);
            assert!(text.len() as u64 <= tokens * 4, "{tokens}: {}", text.len());
        }
    }
}

fn command(thread: &str, line: &str, day: i64) -> Learning {
    let text = format!("test: `{line}` works");
    Learning {
        slot: Some(format!("command {line}")),
        ..learning(thread, LearningKind::Command, &text, day)
    }
}

#[test]
fn commands_of_a_family_are_one_entry_and_stay_forgotten() {
    let of = |lines: &[&str]| {
        let thread = format!("t{}", lines.len());
        let learnings = lines.iter().map(|line| command(&thread, line, -2)).collect();
        memory(&thread, "/w/a", -2, learnings)
    };
    let built = build(&[of(&["cargo test -p core", "cargo test", "npm test"])], &Rest::default());
    let entries = &built.handbook.projects["/w/a"].entries;
    assert_eq!(entries.len(), 2);
    let tests = entries.iter().find(|entry| entry.text.contains("cargo")).unwrap();
    assert_eq!(tests.text, "test: `cargo test` works; also `cargo test -p core`");
    let mut rest = Rest::default();
    rest.exclusions.entries.insert(tests.id.clone());
    // Another variant of a forgotten entry is forgotten too.
    let again = build(&[of(&["cargo test", "cargo test -q"])], &rest);
    assert!(again.handbook.projects["/w/a"].entries.is_empty(), "{:#?}", again.handbook);
}

#[test]
fn copies_of_a_thread_count_once() {
    let copy = |thread: &str, day| RolloutMemory {
        begun_at_ms: NOW - DAY_MS,
        ..memory(thread, "/w/a", day, vec![rule(thread, "never deploy on fridays", day)])
    };
    let built = build(&[copy("t1", -3), copy("t2", -2), copy("t3", -1)], &Rest::default());
    let project = &built.handbook.projects["/w/a"];
    assert_eq!(project.entries[0].threads, 1);
    assert_eq!((project.tasks.len(), project.skills.len()), (1, 0));
    assert_eq!(project.tasks[0].thread_id, "t3");
    let fork = RolloutMemory {
        forked_from: Some("t1".into()),
        ..memory("t9", "/w/a", 0, vec![rule("t9", "never deploy on fridays", 0)])
    };
    let forked = build(&[copy("t1", -3), fork], &Rest::default());
    assert_eq!(forked.handbook.projects["/w/a"].entries[0].threads, 1);
}

#[test]
fn rules_for_different_paths_do_not_supersede_each_other() {
    let memories = [
        memory("t1", "/w/a", -3, vec![rule("t1", "always use tabs in web/ files", -3)]),
        memory("t2", "/w/a", -2, vec![rule("t2", "never use tabs in server/ files", -2)]),
    ];
    assert_eq!(rules(&build(&memories, &Rest::default()), "/w/a").len(), 2);
}

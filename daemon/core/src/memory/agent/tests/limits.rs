//! The limits of what the agent may write, and what is kept of its earlier work.

use super::*;
use crate::memory::learning::{Name, NameKind};

fn name(text: &str, kind: NameKind, uses: u32, is_done: bool) -> Name {
    Name {
        text: text.into(),
        kind,
        uses,
        hits: 1,
        is_opening: false,
        is_done,
        is_look: false,
        file: None,
    }
}

/// Three threads that ran the same three commands, and a project next to theirs.
fn skilled() -> Vec<RolloutMemory> {
    let of = |number: i64| {
        let thread = format!("s{number}");
        let mut memory = memory(
            &thread,
            "/w/app",
            vec![
                learning(&thread, LearningKind::Constraint, "Never push to main"),
                learning(&thread, LearningKind::Fact, "The server listens on port 8080"),
                Learning {
                    origin: Origin::AGENT,
                    ..learning(&thread, LearningKind::Command, "`just claimed` passes")
                },
                learning(&thread, LearningKind::Command, "`just proved` passes"),
            ],
        );
        memory.updated_at_ms = NOW + number;
        memory.steps = ["just lint", "just build", "just test"].map(Into::into).to_vec();
        memory.map = vec![
            name("just worked", NameKind::Command, 1, true),
            name("just failed", NameKind::Command, 1, false),
            name("src/server.rs", NameKind::Path, 1, false),
            name("old/printed.rs", NameKind::Path, 0, false),
            name("parse_line", NameKind::Identifier, 1, false),
            name("only_printed", NameKind::Identifier, 0, false),
        ];
        memory
    };
    let other = learning("t2", LearningKind::Fact, "The key file is k9.pem");
    (0..3).map(of).chain([memory("t2", "/w/other", vec![other])]).collect()
}

const SKILL: &str = "skills/test/SKILL.md";

/// The refusal of a skill of `/w/app` with this body; empty if it is accepted.
fn skill_error(made: &Consolidation, path: &str, body: &str) -> String {
    let name = path.trim_start_matches("skills/").trim_end_matches("/SKILL.md");
    let head = format!("---\nname: {name}\ndescription: Run the tests.\n---\n\n");
    let text = format!("{head}Project: `/w/app`\n\n{body}");
    let checked = check(&with(made, path, |_| text), on(made));
    checked.err().map_or_else(String::new, |refusal| refusal.to_string())
}

#[test]
fn a_skill_uses_what_its_project_ran_or_used() {
    let made = made(&skilled());
    let not_known = "a command or name that no thread of this project ran or used";
    for (span, is_known) in [
        ("just worked", true),
        ("just failed", false),
        ("just proved", true),
        ("just claimed", false),
        ("just lint", true),
        ("src/server.rs", true),
        ("old/printed.rs", false),
        ("parse_line", true),
        ("only_printed", false),
        ("/w/app", true),
        ("/w/other", false),
    ] {
        let error = skill_error(&made, SKILL, &format!("1. Run `{span}`\n"));
        let expected = if is_known {
            String::new()
        } else {
            format!("{SKILL}:8: {not_known}: 1. Run `{span}`")
        };
        assert_eq!(error, expected);
    }
    for (line, reason) in [
        ("Run it twice", "words outside the project's commands and rules"),
        ("![x", "a character with a special meaning"),
        ("see www.example", "a skill has no links"),
        ("(run)](x", "a skill has no links"),
        ("run it https://x", "a skill has no links"),
        ("without asking, run", "an order that no person gave"),
        ("run `just lint", "unbalanced code marks"),
    ] {
        let error = skill_error(&made, SKILL, &format!("## Steps\n\n{line}\n"));
        assert!(line == "Run it twice" || error.contains(reason), "{line}: {error}");
        assert!(error.is_empty() || error.starts_with(&format!("{SKILL}:10: ")), "{error}");
    }
    let accepted = "```sh\njust lint\n\n  just test\n```\n";
    assert_eq!(skill_error(&made, SKILL, accepted), "");
    let in_fence = skill_error(&made, SKILL, "```sh\njust lint\njust evil\n```\n");
    let reason = "a command that ran in no thread of this project: just evil";
    assert_eq!(in_fence, format!("{SKILL}:10: {reason}"));
    for (fence, is_plain) in
        [("```sh", true), ("```bash", true), ("```b4", false), ("```shell", false)]
    {
        let error = skill_error(&made, SKILL, &format!("{fence}\njust lint\n```\n"));
        assert_eq!(error.is_empty(), is_plain, "{fence}: {error}");
    }
}

#[test]
fn a_skill_is_short_and_named_plainly() {
    let made = made(&skilled());
    let long = format!("skills/{}/SKILL.md", "a".repeat(64));
    for (path, is_allowed) in [
        ("skills/test-2/SKILL.md", true),
        (long.as_str(), true),
        (&long.replace("/a", "/aa"), false),
        ("skills//SKILL.md", false),
        ("skills/Test/SKILL.md", false),
        ("skills/te_st/SKILL.md", false),
        ("skills/test/README.md", false),
    ] {
        assert_eq!(skill_error(&made, path, "").is_empty(), is_allowed, "{path}");
    }
    let is_allowed = |body: &str| skill_error(&made, SKILL, body).is_empty();
    let line = |bytes: usize| format!("{}\n", "-".repeat(bytes));
    assert!(is_allowed(&line(300)) && !is_allowed(&line(301)));
    // The head has seven lines.
    assert!(is_allowed(&"\n".repeat(193)) && !is_allowed(&"\n".repeat(194)));
    let head = "---\nname: test\ndescription: Run the tests.\n---\n\nProject: `/w/app`\n\n";
    let whole = |bytes: usize| {
        let rest = bytes - head.len();
        let lines = format!("{}\n", "-".repeat(255)).repeat(rest / 256);
        lines + &"-".repeat(rest % 256)
    };
    assert!(is_allowed(&whole(16 * 1_024)) && !is_allowed(&whole(16 * 1_024 + 1)));
    let too_long = skill_error(&made, SKILL, &whole(16 * 1_024 + 1));
    assert!(too_long.ends_with("it is too long for a skill"), "{too_long}");
    for hidden in ["\u{200b}", "\u{202e}", "\u{7}", "\u{feff}", "\t"] {
        assert!(!is_allowed(&format!("Run{hidden}\n")), "{hidden:?}");
    }
}

#[test]
fn at_most_64_skills_are_published() {
    let made = made(&skilled());
    let text = "---\nname: NAME\ndescription: Run the tests.\n---\n\nProject: `/w/app`\n";
    let of = |count: usize| {
        let mut files: Files = made.files.clone();
        files.retain(|path, _| !is_skill(path));
        for number in 0..count {
            let name = format!("test-{number}");
            files.insert(format!("skills/{name}/SKILL.md"), text.replace("NAME", &name));
        }
        check(&files, on(&made)).map(|files| files.keys().filter(|path| is_skill(path)).count())
    };
    assert_eq!(of(64).unwrap(), 64);
    assert!(of(65).unwrap_err().to_string().contains("too many skills"));
    assert_eq!(of(0).unwrap(), 0, "the agent may drop the rules' skill");
}

#[test]
fn a_page_may_grow_and_its_headings_are_short() {
    let made = made(&skilled());
    let book =
        |change: &dyn Fn(&str) -> String| check(&with(&made, "MEMORY.md", change), on(&made));
    let grown = |bytes: usize| book(&|text| format!("{text}{}", "\n".repeat(bytes)));
    assert!(grown(16 * 1_024).is_ok() && grown(16 * 1_024 + 1).is_err());
    let heading = |bytes: usize| format!("## {}", "x".repeat(bytes - 3));
    for (line, is_allowed) in [
        (heading(120), true),
        (heading(121), false),
        ("### Details".into(), true),
        ("## Run `it`".into(), false),
        ("# Details".into(), false),
    ] {
        assert_eq!(book(&|text| format!("{text}\n{line}\n")).is_ok(), is_allowed, "{line}");
    }
}

#[test]
fn a_line_stays_in_its_project_and_names_known_entries() {
    let made = made(&skilled());
    let server = id(&made, "/w/app", "8080");
    let page = |change: &dyn Fn(&str) -> String| {
        let checked = check(&with(&made, "memory_summary.md", change), on(&made));
        checked.err().map_or_else(String::new, |refusal| refusal.to_string())
    };
    let below = |project: &str, line: &str| {
        let heading = format!("### {project}\n");
        page(&|text| text.replace(&heading, &format!("{heading}\n{line}\n")))
    };
    let rule = made.files["memory_summary.md"].lines().find(|l| l.contains("Never push")).unwrap();
    assert_eq!(below("/w/app", rule), "", "a line of the draft in its project");
    assert!(below("/w/other", rule).contains("no source mark"), "{}", below("/w/other", rule));
    let global =
        page(&|text| text.replace("## General tips\n", &format!("## General tips\n{rule}\n")));
    assert_eq!(global, "", "headings of the draft may hold its lines");
    assert_eq!(below("/w/app", &format!("- port 8080 [id {server}]")), "");
    let mixed = below("/w/app", &format!("- port 8080 [id {server}, 000000000000]"));
    assert!(mixed.contains("not known in this part"), "{mixed}");
    let sized = |bytes: usize| below("/w/app", &format!("- {} [id {server}]", "x".repeat(bytes)));
    assert_eq!(sized(480), "");
    assert!(sized(481).contains("longer than a line of memory"));
    for (words, is_known) in [
        ("it listens on port 8080", true),
        ("it listens on port 8081", false),
        ("see src/server.rs", true),
        ("see src/client.rs", false),
        ("see parse_line.", true),
        ("see parse_word", false),
        ("and/or", false),
        ("a / b _ c", true),
        ("the server. It listens", true),
        ("the file server.rs", true),
        ("the file client.rs", false),
        ("(src/server.rs:", true),
        ("it is `parse_line`", true),
        ("it is `parse_word`", false),
    ] {
        let error = below("/w/app", &format!("- {words} [id {server}]"));
        assert_eq!(error.is_empty(), is_known, "{words}: {error}");
    }
}

#[test]
fn the_profile_may_have_exactly_500_words() {
    let spoken = |thread: &str| learning(thread, LearningKind::Preference, "Answer in German");
    let made = made(&[
        memory("t1", "/w/app", vec![spoken("t1")]),
        memory("t2", "/w/other", vec![spoken("t2")]),
    ]);
    let id = &made.handbook.profile[0].id;
    let page = |words: usize| {
        let of_draft = made.files["memory_summary.md"].split("\n## General").next().unwrap();
        let (_, profile) = of_draft.split_once("## User profile\n").unwrap();
        let known = profile.lines().filter_map(|line| line.strip_prefix("- "));
        let known = known.flat_map(str::split_whitespace).count();
        // The mark of each line is two words.
        let lines: String = (0..(words - known) / 10)
            .map(|_| format!("- {} [id {id}]\n", "German ".repeat(8).trim()))
            .collect();
        let rest = (words - known) % 10;
        let last = match rest {
            0..3 => panic!("{rest} words do not make a line"),
            _ => format!("- {} [id {id}]\n", "German ".repeat(rest - 2).trim()),
        };
        with(&made, "memory_summary.md", |text| {
            text.replacen("\n## General", &format!("{lines}{last}\n## General"), 1)
        })
    };
    check(&page(500), on(&made)).unwrap();
    assert!(refused(&made, &page(501)).contains("more than 500 words"));
}

#[test]
fn the_agents_input_cannot_be_changed() {
    let made = made(&skilled());
    let summary = made.files.keys().find(|path| path.starts_with("rollout_summaries/")).unwrap();
    let of = |files: &Files| input_of(files, &made.handbook);
    for path in [summary.as_str(), "raw_memories.md"] {
        let changed = with(&made, path, |text| format!("{text}planted\n"));
        assert_eq!(
            check(&changed, on(&made)).unwrap(),
            made.files,
            "{path} is published as it was"
        );
        assert_ne!(of(&changed), of(&made.files), "{path}");
    }
    let unread = with(&made, "rollout_summaries/new.md", |_| "x".into());
    assert_eq!(check(&unread, on(&made)).unwrap(), made.files);
    let reworded = with(&made, "MEMORY.md", |text| format!("{text}\n"));
    assert_eq!(of(&reworded), of(&made.files), "its own work is no input");
}

#[test]
fn a_dropped_skill_stays_dropped_and_a_new_one_appears() {
    let first = made(&skilled());
    let paths =
        |files: &Files| files.keys().filter(|path| is_skill(path)).cloned().collect::<Vec<_>>();
    let [of_rules] = paths(&first.files).try_into().unwrap();
    let mut files = first.files.clone();
    files.remove(&of_rules);
    let text = "---\nname: test\ndescription: Run the tests.\n---\n\nProject: `/w/app`\n\n1. `just lint`\n";
    files.insert(SKILL.into(), text.into());
    let baseline = Baseline {
        input: input_of(&first.files, &first.handbook),
        seen: task(&first.files, None, 5_000).seen,
        files: check(&files, on(&first)).unwrap(),
    };
    assert!(baseline.seen.contains(&of_rules));
    let mut more = skilled();
    for memory in &mut more[..3] {
        memory.steps.extend(["npm run pack", "npm run sign", "npm run ship"].map(Into::into));
    }
    let second = made(&more);
    let new: Vec<String> = paths(&second.files).into_iter().filter(|p| *p != of_rules).collect();
    assert_eq!(new.len(), 1, "{:?}", paths(&second.files));
    let now = carry_over(&baseline, on(&second));
    let mut expected = [new, vec![SKILL.to_owned()]].concat();
    expected.retain(|path| !baseline.seen.contains(path));
    expected.sort();
    assert_eq!(paths(&now), expected);
}

#[test]
fn a_rule_follows_the_persons_newest_wording() {
    let first = made(&threads());
    let files = with(&first, "MEMORY.md", |text| {
        text.replace("The server listens on port 8080", "Port 8080 is the server's")
    });
    let baseline = Baseline {
        input: input_of(&first.files, &first.handbook),
        seen: task(&first.files, None, 5_000).seen,
        files: check(&files, on(&first)).unwrap(),
    };
    let mut again = threads();
    again[0].learnings[0].text = "NEVER push to main!".into();
    let book = &carry_over(&baseline, on(&made(&again)))["MEMORY.md"];
    assert!(book.contains("- NEVER push to main! [") && book.contains("- Port 8080 is"), "{book}");
}

#[test]
fn a_task_lists_changes_of_the_input_first_and_64_files() {
    let made = made(&threads());
    let mut before = made.files.clone();
    before.insert("raw_memories.md".into(), "# Raw memories\n\nnothing\n".into());
    before.insert("MEMORY.md".into(), "# Memory\n".into());
    let baseline = Baseline { files: before, ..Baseline::default() };
    let now = task(&made.files, Some(&baseline), 5_000);
    let at = |words: &str| now.user.find(words).unwrap_or_else(|| panic!("{words}: {}", now.user));
    assert!(at("+++ b/raw_memories.md") < at("+++ b/MEMORY.md"));
    assert_eq!(now.extras, ["changes.diff", "previous/memory_summary.md"]);
    let unchanged = Baseline { files: made.files.clone(), ..Baseline::default() };
    let same = task(&made.files, Some(&unchanged), 5_000);
    assert!(same.user.contains("<changes>\nnothing\n\n</changes>"), "{}", same.user);

    for (count, is_more) in [(64, false), (65, true)] {
        let files: Files = (0..count).map(|n| (format!("f{n}.md"), "x".into())).collect();
        let task = task(&files, None, 5_000);
        assert_eq!(task.user.contains("(more: list)"), is_more, "{count} files");
        assert_eq!(task.user.lines().filter(|line| line.ends_with(".md 1")).count(), 64);
        assert_eq!((task.mode, task.files.len()), (Mode::Init, count));
    }
    let large: Files = (0..5).map(|n| (format!("f{n}.md"), "x\n".repeat(200 * 1_024))).collect();
    let task = task(&large, Some(&Baseline::default()), 5_000);
    assert!((1 << 19..=1 << 20).contains(&task.files["changes.diff"].len()));
}

#[test]
fn a_step_has_16_calls_at_most_as_its_schema_says() {
    let answer = |count: usize, tool: &str| {
        let call =
            format!(r#"{{"tool":"{tool}","path":"","text":"","new_text":"","line":1,"lines":0}}"#);
        AgentAnswer::read(&format!(r#"{{"calls":[{}],"done":false}}"#, vec![call; count].join(",")))
    };
    assert_eq!(answer(16, "list").unwrap().calls.len(), 16);
    assert_eq!(answer(17, "list").unwrap_err(), "more than 16 calls");
    assert!(answer(0, "list").is_err());
    let schema = schema();
    let tools = &schema["properties"]["calls"]["items"]["properties"]["tool"]["enum"];
    let tools: Vec<&str> =
        tools.as_array().unwrap().iter().filter_map(|tool| tool.as_str()).collect();
    assert_eq!(tools.len(), 6);
    assert!(tools.iter().all(|tool| answer(1, tool).is_ok()), "{tools:?}");
}

use super::*;
use crate::briefing::collect::written_to;

fn lines() -> String {
    (0..20).map(|n| format!("hook {n}: checked part {n} of the lexer\n")).collect()
}

fn push_fails(briefing: &mut Briefing, seq: u64, code: i64) {
    let printed = lines();
    let run =
        ran("git", (seq, "git push origin main"), code, if code == 0 { "" } else { &printed });
    briefing.record_command(run, None);
    briefing.record_outcome_output(seq, "git push origin main", run.printed, None);
}

#[test]
fn the_output_of_a_failure_is_shown_until_it_is_fixed() {
    let mut briefing = thread();
    push_fails(&mut briefing, 20, 1);
    calls(&mut briefing, 21, "c9", "git status");
    assert!(
        view_of(&briefing, 4_000).contains("hook 3: checked part 3"),
        "{}",
        view_of(&briefing, 4_000)
    );
    push_fails(&mut briefing, 22, 0);
    assert!(!view_of(&briefing, 4_000).contains("hook 3"), "{}", view_of(&briefing, 4_000));
}

#[test]
fn a_rollback_removes_intentions_and_refused_edits() {
    let mut briefing = thread();
    briefing.record_thought(20, "Then I'll read the lexer of strings.", None);
    assert!(briefing.intention.is_some());
    briefing.roll_back(1, None);
    assert!(briefing.intention.is_none() && briefing.refused.is_none());
}

#[test]
fn a_small_view_shows_start_and_end_of_the_newest_output() {
    let mut briefing = thread();
    let printed: String = (1..=40).map(|n| format!("grammar{n}.txt has {n} rules\n")).collect();
    briefing.record_output(20, "wc -l grammars/*", &printed, None);
    let text = view_of(&briefing, 300);
    assert!(text.contains("grammar1.txt has") && text.contains("grammar40.txt has"), "{text}");
}

#[test]
fn warnings_outlive_other_output() {
    let mut briefing = thread();
    briefing.record_output(
        20,
        "./setup.sh --json",
        "ERROR: two specs begin with 001\nplan copied\n",
        None,
    );
    for n in 0..30 {
        briefing.record_output(
            21 + n,
            &format!("wc -l part{n}.txt"),
            &format!("{n} part{n}.txt"),
            None,
        );
    }
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("ERROR: two specs begin with 001"), "{text}");
    assert!(text.contains("29 part29.txt"), "{text}");
}

#[test]
fn warnings_of_a_successful_program_outlive_edits_of_the_files_they_name() {
    let mut briefing = thread();
    let printed = "ERROR: two specs begin with 001, see the guide of the project\nCopied the template to specs/005/plan.md\n".repeat(8);
    briefing.record_output(20, "./setup.sh --json", &printed, None);
    calls(&mut briefing, 21, "c9", "apply_patch specs/005/plan.md");
    edits(&mut briefing, 21, "specs/005/plan.md", "The plan of the lexer stands here.\n", "");
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("ERROR: two specs begin with 001"), "{text}");
    assert!(!text.contains("Copied the template"), "{text}");
}

#[test]
fn the_end_of_a_checks_output_is_shown_besides_its_outcome() {
    let mut briefing = thread();
    let printed = "aarch64\nbuilt grammars for amd64\n";
    briefing.record_outcome_output(20, "uname -m && cargo build --target x86_64", printed, None);
    let text = view_of(&briefing, 2_000);
    assert!(text.contains("aarch64 | built grammars"), "{text}");
    calls(&mut briefing, 21, "c9", "wc -l grammars.txt");
    briefing.record_output(22, "wc -l grammars.txt", "40 grammars.txt", None);
    let text = view_of(&briefing, 2_000);
    assert!(!text.contains("aarch64 | built grammars"), "{text}");
}

#[test]
fn lines_that_end_each_answer_of_a_tool_server_are_shown_once() {
    let mut briefing = thread();
    for (seq, page) in [(20, "lexer"), (21, "parser"), (22, "printer")] {
        let answer = format!("\"{{\\\"page\\\":\\\"{page}\\\"}}\"\n\nOpen tabs:\n- tab 7: Grammar");
        briefing.record_answer(seq, &format!("browser_eval page{seq}()"), &answer);
    }
    let text = view_of(&briefing, 4_000);
    for page in ["lexer", "parser", "printer"] {
        assert!(text.contains(&format!("{{\"page\":\"{page}\"}}")), "{text}");
    }
    assert_eq!(text.matches("tab 7: Grammar").count(), 1, "{text}");
}

#[test]
fn the_same_answer_of_a_tool_server_is_shown_again() {
    let mut briefing = thread();
    for seq in [20, 21] {
        briefing.record_answer(seq, &format!("browser_eval page{seq}()"), "no errors");
    }
    let text = view_of(&briefing, 4_000);
    assert_eq!(text.matches("no errors").count(), 2, "{text}");
}

#[test]
fn what_a_script_with_git_prints_besides_is_shown() {
    for (script, is_shown) in [
        ("for c in $LIST; do git cherry-pick $c || echo \"conflict at $c\"; done", true),
        ("git checkout -q -B next; ./count-parts.sh", true),
        ("git status --short; echo ---; git log --oneline | head -3", false),
        ("for part in a b; do git show HEAD:$part; done", false),
        ("if git diff --quiet; then git commit -m x; fi", false),
    ] {
        let mut briefing = thread();
        briefing.record_output(20, script, "the north gate is still open", None);
        let text = view_of(&briefing, 4_000);
        assert!(text.contains("it printed (#20): the north gate is still open"), "{text}");
        calls(&mut briefing, 21, "c9", "ls");
        let text = view_of(&briefing, 4_000);
        assert_eq!(text.contains("the north gate is still open"), is_shown, "{script}\n{text}");
    }
}

#[test]
fn a_temporary_file_that_is_written_anew_replaces_what_it_had() {
    let mut briefing = thread();
    for (seq, path) in [(20, "/tmp/list"), (22, "/tmp/list.md"), (24, "/tmp/list")] {
        let prompt = format!("Read the list of part {seq} first.\nThe person wants no other.\n");
        briefing.record_prompt(seq, &written_to(path), &prompt, None);
    }
    briefing.drop_rewritten(24, &[written_to("/tmp/list")]);
    let text = view_of(&briefing, 4_000);
    let shown = [20, 22, 24].map(|seq| text.contains(&format!("list of part {seq} first")));
    assert_eq!(shown, [false, true, true], "{text}");
}

#[test]
fn the_last_action_keeps_its_end() {
    let mut briefing = thread();
    let script = format!("cd lexer && {}cargo run --bin grammars", "echo part && ".repeat(80));
    calls(&mut briefing, 20, "c9", &script);
    briefing.take_running("c9");
    let text = view_of(&briefing, 4_000);
    let last = text.lines().find(|line| line.starts_with("last action: cd lexer"));
    assert!(last.is_some_and(|line| line.ends_with("cargo run --bin grammars")), "{text}");
}

#[test]
fn thoughts_of_an_interrupted_turn_count_in_full() {
    let thought = "The footer is dark because its palette is pinned.";
    let weight = |reported: bool| {
        let mut briefing = thread();
        briefing.record_thought(20, thought, None);
        if reported {
            briefing.hold_words(21, "The footer is as it should be.");
        }
        briefing.begin_turn(22, "Now the header.", None);
        weight_of(&briefing, thought)
    };
    assert!(weight(false) > weight(true) * 2.0, "{} {}", weight(false), weight(true));
}

#[test]
fn an_agents_report_is_quoted_without_what_the_harness_adds() {
    let mut briefing = thread();
    let report = "The lexer passes.\n<usage>total_tokens: 9\nduration_ms: 397764</usage>";
    briefing.record_agent_report(20, report, None);
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("The lexer passes.") && !text.contains("duration_ms"), "{text}");
}

#[test]
fn letters_of_an_old_menu_give_way_to_what_was_said() {
    let weight = |line: &str, is_past: bool| {
        let mut briefing = thread();
        briefing.begin_turn(20, "What next for the grammar?", None);
        briefing
            .hold_words(21, &format!("The tables are ready.\n\n- {line}\n- [P] Plan the printer"));
        if is_past {
            briefing.begin_turn(22, "Write the printer of the lexer.", None);
            briefing.hold_words(23, "The printer is written.");
        }
        weight_of(&briefing, line)
    };
    let option = "[A] Another grammar";
    assert!(weight(option, false) > weight(option, true) * 4.0);
    let item = "[4] Another grammar";
    assert!(weight(item, true) > weight(option, true) * 4.0);
}

#[test]
fn later_items_of_a_list_that_was_only_read_weigh_little() {
    let items: String = (1..=20).map(|n| format!("- [ ] T{n:03} Write part {n}\n")).collect();
    let weight = |is_edited: bool| {
        let mut briefing = thread();
        briefing.record_read(20, "specs/001/tasks.md", &items);
        if is_edited {
            edits(&mut briefing, 21, "specs/001/tasks.md", "- [x] T001 Write part 1\n", "");
        }
        weight_of(&briefing, "[ ] T020 Write part 20")
    };
    assert!(weight(false) > 0.0 && weight(true) > weight(false) * 4.0);
}

#[test]
fn a_look_that_found_nothing_is_shown_until_that_may_have_changed() {
    let found_nothing = |what: &str| {
        let mut briefing = thread();
        briefing.record_output(20, what, "exit 1, printed nothing", None);
        briefing
    };
    let is_shown =
        |briefing: &Briefing| view_of(briefing, 4_000).contains("→ exit 1, printed nothing");
    let search = "rg GenerateGrammar \"grammars\" tests/";
    assert!(is_shown(&found_nothing(search)));
    assert!(is_shown(&found_nothing("rg été")));
    for (path, expected) in
        [("grammars/lexer/a.json", false), ("tests/a.rs", false), ("grammar/a.rs", true)]
    {
        let mut briefing = found_nothing(search);
        edits(&mut briefing, 21, path, "The grammar is generated.\n", "");
        assert_eq!(is_shown(&briefing), expected, "{path}");
    }
    for (what, printed, expected) in [
        ("rg --files", "docs/lexer.md\ndocs/parser.md", false),
        ("cat docs/lexer.md", "The lexer keeps its state.", false),
        ("rg --files", "docs/parser.md", true),
    ] {
        let mut briefing = found_nothing("cat lexer.md");
        briefing.record_output(21, what, printed, None);
        assert_eq!(is_shown(&briefing), expected, "{what}: {printed}");
    }
    let mut briefing = found_nothing(search);
    briefing.hold_words(21, "There is no such word.");
    briefing.begin_turn(22, "Then add it.", None);
    assert!(!is_shown(&briefing), "the report of that turn covers it");
}

#[test]
fn of_checks_that_passed_only_warnings_are_shown() {
    let printed: String = (1..=9).map(|n| format!("test lexer::part{n} ... ok\n")).collect();
    let printed = printed + "warning: unused variable `rest`\ntest result: ok. 9 passed; 0 failed";
    for (script, code, is_shown) in [
        ("cargo test", 0, false),
        ("cargo test 2>&1 | tail -40", 0, false),
        ("cargo test && cat parts.txt", 0, true),
        ("cargo test", 101, true),
    ] {
        let mut briefing = thread();
        let counts = crate::rollout::output::test_counts(&printed);
        let run = ran("cargo", (20, script), code, &printed);
        briefing.record_command(CommandRun { counts, ..run }, None);
        briefing.record_outcome_output(20, script, &printed, None);
        calls(&mut briefing, 21, "c9", "wc -l grammars.txt");
        briefing.record_output(22, "wc -l grammars.txt", "40 grammars.txt", None);
        let text = view_of(&briefing, 4_000);
        assert_eq!(text.contains("lexer::part3 ... ok"), is_shown, "{script}, exit {code}: {text}");
        assert!(text.contains("unused variable"), "{text}");
    }
}

#[test]
fn a_line_number_does_not_make_a_bracket_worth_quoting() {
    let mut briefing = thread();
    let printed: String = (101..=120).map(|n| format!("{n}\t    part{n}();\n")).collect();
    briefing.record_output(20, "nl lexer.c", &format!("{printed}   121\t    }}\n"), None);
    let text = view_of(&briefing, 4_000);
    assert!(text.contains("part120();") && !text.contains("121"), "{text}");
}

#[test]
fn commits_that_a_report_names_are_said_to_be_gone() {
    let mut briefing = thread();
    let replaced = (1..=6).map(|n| format!("{n}a926682"));
    briefing.commands.git.replaced = replaced.collect();
    let gone = |briefing: &Briefing| {
        let text = view_of(briefing, 4_000);
        let line =
            text.lines().find_map(|line| line.strip_prefix("replaced by later commits, gone: "));
        line.unwrap_or_default().to_owned()
    };
    assert_eq!(gone(&briefing), "6a926682, 5a926682, 4a926682");
    briefing.hold_words(20, "The lexer landed in `2a926682b`, on top of 1a92668.");
    briefing.begin_turn(21, "Now the parser.", None);
    assert_eq!(gone(&briefing), "2a926682, 1a926682");
}

#[test]
fn a_record_of_an_output_is_shown_whole_or_not_at_all() {
    let mut briefing = thread();
    let record =
        |n: u32| [format!("Grammar {n}"), format!("> \"read {n}\""), format!("made {n} days ago")];
    let list: String = (0..16).map(|n| record(n).join("\n") + "\n\n").collect();
    briefing.record_output(20, "grammars status", &list, None);
    calls(&mut briefing, 21, "c9", "grammars make");
    let mut counts = Vec::new();
    for tokens in [300, 340, 380, 420, 500, 800, 4_000] {
        let text = view_of(&briefing, tokens);
        let bare: Vec<&str> =
            text.lines().map(|line| line.trim().trim_end_matches(" […]")).collect();
        let shown = |n| record(n).iter().filter(|line| bare.contains(&line.as_str())).count();
        counts.extend((0..16).map(shown));
    }
    assert!(counts.contains(&3) && counts.iter().all(|count| [0, 3].contains(count)), "{counts:?}");
}

#[test]
fn the_start_and_the_end_of_a_long_output_may_be_quoted() {
    let mut briefing = thread();
    let printed: String = (1..=120).map(|n| format!("src/part{n}/file.rs: read\n")).collect();
    briefing.record_output(20, "rg --files src", &printed, None);
    calls(&mut briefing, 21, "c9", "ls docs");
    let text = view_of(&briefing, 700);
    assert!(text.contains("src/part10/") && text.contains("src/part120/"), "{text}");
    assert!(!text.contains("src/part60/"), "{text}");
    let roomy = view_of(&briefing, 4_000);
    assert!(roomy.contains("src/part30/"), "{roomy}");
}

#[test]
fn what_the_newest_command_of_a_turn_printed_outweighs_what_earlier_ones_did() {
    let mut briefing = thread();
    let state =
        |probe: u64, n: u64| format!("PROBE_{probe}_PART_{n}_VISIBLE: {}\n", n.is_multiple_of(2));
    for probe in 20..30 {
        let printed: String = (1..=12).map(|n| state(probe, n)).collect();
        briefing.record_output(
            probe,
            &format!("cd ~/lexer && node probe{probe}.mjs"),
            &printed,
            None,
        );
    }
    calls(&mut briefing, 30, "c9", "view shot.png");
    let host = HostFacts { folder: Some("/home/ann/lexer"), ..HostFacts::default() };
    let text = render(&briefing, &host, 900);
    let shown = |probe| (1..=12).filter(|n| text.contains(state(probe, *n).trim())).count();
    assert_eq!((shown(29), shown(28) < 12), (12, true), "{text}");
    assert!(text.contains("#29 node probe29.mjs"), "{text}");
}

#[test]
fn lines_of_an_output_that_are_left_out_are_marked() {
    let mut briefing = thread();
    let outline: String = (0..30).map(|n| format!("{n}: The rules of part {n}\n")).collect();
    briefing.record_output(21, "grep -n rules PLAN.md", &outline, None);
    calls(&mut briefing, 22, "c9", "ls rules");
    let text = view_of(&briefing, 500);
    let parts = text.lines().filter_map(|line| {
        let (number, rest) = line.trim().split_once(": The rules of part")?;
        Some((number.parse::<u32>().ok()?, rest.ends_with("[…]")))
    });
    let parts: Vec<(u32, bool)> = parts.collect();
    let gaps = parts.windows(2).map(|pair| (pair[0].1, pair[0].0 + 1 < pair[1].0));
    let gaps: Vec<(bool, bool)> = gaps.collect();
    let are_marked = gaps.iter().all(|(is_marked, is_gap)| is_marked == is_gap);
    assert!(are_marked && gaps.contains(&(true, true)), "{parts:?}: {text}");
}

#[test]
fn an_answer_of_one_line_is_quoted_whole_and_one_of_an_earlier_turn_is_read() {
    let mut briefing = thread();
    let settings: String = (0..12).map(|n| format!("\"part{n}\":{{\"is_open\":true}},")).collect();
    briefing.record_output(20, "gh api repos/o/r/settings", &format!("{{{settings}}}"), None);
    let text = view_of(&briefing, 4_000);
    assert!(text.contains(&format!("it printed (#20): {{{settings}}}")), "{text}");
    calls(&mut briefing, 21, "c9", "gh auth status");
    let text = view_of(&briefing, 4_000);
    assert!(text.contains(&format!("settings → {{{settings}}}")), "{text}");
    briefing.hold_words(21, "The settings are read.");
    briefing.end_turn(false, None);
    briefing.begin_turn(22, "Rename the lexer.", None);
    let text = view_of(&briefing, 300);
    assert!(!text.contains("part11"), "{text}");
}

#[test]
fn what_the_last_command_printed_is_shown_whole_until_the_agent_goes_on() {
    let listed: String = (10..34).map(|n| format!("src/part{n}.rs    g3 g4\n")).collect();
    let mut briefing = thread();
    calls(&mut briefing, 20, "c9", "sort shared.txt | head -40");
    briefing.take_running("c9");
    briefing.record_output(21, "sort shared.txt | head -40", &listed, None);
    briefing.hold_words(22, "24 shared files. Building the history:");
    let all = |text: &str| (10..34).all(|n| text.contains(&format!("src/part{n}.rs g3 g4")));
    let text = view_of(&briefing, 4_000);
    assert!(all(&text) && text.contains("it printed (#21): src/part10.rs g3 g4 | "), "{text}");
    let text = view_of(&briefing, 600);
    assert!(text.contains("src/part10.rs") && !all(&text), "{text}");
    calls(&mut briefing, 23, "c10", "git commit -m parts");
    let text = view_of(&briefing, 4_000);
    assert!(!text.contains("it printed"), "{text}");
}

#[test]
fn outputs_of_calls_made_at_once_share_the_room() {
    let long = |name: &str| (0..60).map(|n| format!("{name} part {n}\n")).collect::<String>();
    let mut briefing = thread();
    for (seq, id) in [(20, "c8"), (21, "c9")] {
        calls(&mut briefing, seq, id, "rg part");
    }
    briefing.record_output(22, "rg part docs", &long("docs"), None);
    briefing.record_output(23, "src/parts.rs", &long("src"), None);
    let text = view_of(&briefing, 4_000);
    let printed = |opening: &str| text.lines().find(|line| line.starts_with(opening));
    let lines = ["it printed (#22): docs part 0 |", "it printed (#23 src/parts.rs): src part 0 |"];
    let bytes: usize = lines.iter().filter_map(|line| printed(line)).map(str::len).sum();
    assert!((1_100..1_300).contains(&bytes), "{bytes}: {text}");
}

#[test]
fn an_agent_in_the_background_is_running_until_it_reports() {
    let mut briefing = thread();
    let agents = [
        (19, "a0", "Agent T0: the table"),
        (20, "a1", "Agent T1: the lexer"),
        (21, "a2", "Agent T2: the parser"),
    ];
    for (seq, id, what) in agents {
        let call = running(seq, id, what);
        briefing.record_call(call.clone(), None);
        briefing.take_running(id);
        briefing.record_launch(call);
    }
    let cleaned = "<task-notification>\n<tool-use-id>REDACTED</tool-use-id>\n<summary>Agent \"T0: the table\" finished</summary>\n</task-notification>";
    briefing.record_agent_report(22, cleaned, None);
    let report = "<task-notification>\n<tool-use-id>a1</tool-use-id>\n<status>completed</status>\n<summary>Agent \"T1: the lexer\" finished</summary>\n<result>The lexer reads strings.</result>\n</task-notification>";
    briefing.record_agent_report(22, report, None);
    let text = view_of(&briefing, 4_000);
    assert!(
        text.contains("in the background, not reported yet: #21 Agent T2: the parser"),
        "{text}"
    );
    assert!(text.contains("Agent T2: the parser → started in the background"), "{text}");
    assert_eq!(text.matches("not reported yet").count(), 1, "{text}");
    assert!(
        text.contains("Agent \"T1: the lexer\" finished (#22):\n The lexer reads strings."),
        "{text}"
    );
}

#[test]
fn what_is_announced_with_a_colon_is_said() {
    let mut briefing = thread();
    briefing.hold_words(20, "The parser agent still runs. Review the lexer:");
    calls(&mut briefing, 21, "c9", "git diff");
    let text = view_of(&briefing, 4_000);
    assert!(
        text.contains("said last (#20): The parser agent still runs. Review the lexer:"),
        "{text}"
    );
}

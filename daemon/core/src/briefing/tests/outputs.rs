use super::*;

fn lines() -> String {
    (0..20).map(|n| format!("hook {n}: checked part {n} of the lexer\n")).collect()
}

fn push_fails(briefing: &mut Briefing, seq: u64, code: i64) {
    let printed = lines();
    let run = CommandRun {
        seq,
        call_id: "p",
        script: "git push origin main",
        from: None,
        program: "git",
        is_look: false,
        outcome: CommandOutcome::Exit(code),
        counts: None,
        printed: if code == 0 { "" } else { &printed },
    };
    briefing.ran(run, None);
    briefing.saw_more(seq, "git push origin main", run.printed, None);
}

#[test]
fn what_a_failure_printed_stands_until_it_is_made_good() {
    let mut briefing = thread();
    push_fails(&mut briefing, 20, 1);
    let told = |briefing: &Briefing| render(briefing, &Extra::default(), 4_000);
    assert!(told(&briefing).contains("hook 3: checked part 3"), "{}", told(&briefing));
    push_fails(&mut briefing, 21, 0);
    assert!(!told(&briefing).contains("hook 3"), "{}", told(&briefing));
}

#[test]
fn a_rollback_takes_back_what_was_meant_and_refused() {
    let mut briefing = thread();
    briefing.thought(20, "Then I'll read the lexer of strings.", None);
    assert!(briefing.intention.is_some());
    briefing.roll_back(1, None);
    assert!(briefing.intention.is_none() && briefing.refused.is_none());
}

#[test]
fn the_ends_of_what_came_back_last_are_shown_in_a_small_view() {
    let mut briefing = thread();
    let printed: String = (1..=40).map(|n| format!("grammar{n}.txt has {n} rules\n")).collect();
    briefing.saw(20, "wc -l grammars/*", &printed, None);
    let text = render(&briefing, &Extra::default(), 300);
    assert!(text.contains("grammar1.txt has") && text.contains("grammar40.txt has"), "{text}");
}

#[test]
fn what_a_program_warned_of_outlives_what_others_printed() {
    let mut briefing = thread();
    briefing.saw(20, "./setup.sh --json", "ERROR: two specs begin with 001\nplan copied\n", None);
    for n in 0..30 {
        briefing.saw(21 + n, &format!("wc -l part{n}.txt"), &format!("{n} part{n}.txt"), None);
    }
    let text = render(&briefing, &Extra::default(), 4_000);
    assert!(text.contains("ERROR: two specs begin with 001"), "{text}");
    assert!(text.contains("29 part29.txt") && !text.contains(" 3 part3.txt"), "{text}");
}

#[test]
fn what_a_program_that_worked_warned_of_outlives_an_edit_of_a_file_it_names() {
    let mut briefing = thread();
    let printed = "ERROR: two specs begin with 001, see the guide of the project\nCopied the template to specs/005/plan.md\n".repeat(8);
    briefing.saw(20, "./setup.sh --json", &printed, None);
    edits(&mut briefing, 21, "specs/005/plan.md", "The plan of the lexer stands here.\n", "");
    let text = render(&briefing, &Extra::default(), 4_000);
    assert!(text.contains("ERROR: two specs begin with 001"), "{text}");
    assert!(!text.contains("Copied the template"), "{text}");
}

#[test]
fn what_a_check_printed_last_is_told_though_its_outcome_is() {
    let mut briefing = thread();
    let printed = "aarch64\nbuilt grammars for amd64\n";
    briefing.saw_more(20, "uname -m && cargo build --target x86_64", printed, None);
    let text = render(&briefing, &Extra::default(), 2_000);
    assert!(text.contains("aarch64 | built grammars"), "{text}");
    briefing.saw(21, "wc -l grammars.txt", "40 grammars.txt", None);
    let text = render(&briefing, &Extra::default(), 2_000);
    assert!(!text.contains("aarch64 | built grammars"), "{text}");
}

use super::*;

#[test]
fn a_windows_folder_is_found_in_any_spelling() {
    let rules = vec![rule("t1", "always use pnpm for packages", -1)];
    let built = build(&[memory("t1", "D:\\code\\app", -1, rules)], &Rest::default());
    assert!(built.handbook.projects.contains_key("D:/code/app"));
    for cwd in ["d:/Code/app/src", "D:\\code\\app", "D:/code/app/.claude/worktrees/x1"] {
        assert!(shown(&built, cwd, 500).contains("pnpm"), "{cwd}");
    }
    assert_eq!(shown(&built, "D:\\code\\application", 500), "");
}

#[test]
fn threads_without_a_folder_form_no_project() {
    let homeless = |thread: &str, day| {
        let learnings =
            vec![command(thread, "make check", day), rule(thread, "never use tabs here", day)];
        RolloutMemory { project: None, cwd: None, ..memory(thread, "/w/a", day, learnings) }
    };
    let built = build(&[homeless("t1", -2), homeless("t2", -1)], &Rest::default());
    let project = &built.handbook.projects[place::NOWHERE];
    assert!(project.map.is_empty() && project.skills.is_empty());
    assert!(project.entries.iter().all(|entry| entry.kind.is_rule()));
    assert_eq!(shown(&built, "/anywhere", 5_000), "");
}

#[test]
fn threads_with_the_same_words_have_different_files() {
    let path = |thread: &str| summary_path(&memory(thread, "/w/a", 0, Vec::new()));
    assert_ne!(path("t1"), path("t2"));
}

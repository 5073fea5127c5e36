use super::*;
use crate::step::CommandOutcome;

fn run<'a>(seq: u64, command: &'a str, printed: &'a str, place: &'a str) -> FinishedCommand<'a> {
    FinishedCommand { seq, place, ..FinishedCommand::example(command, 0, printed) }
}

fn state(runs: &[(&str, &str)]) -> (Vec<String>, Option<String>, Vec<String>) {
    let mut state = GitState::default();
    for (seq, (command, printed)) in (1..).zip(runs) {
        state.read(&run(seq, command, printed, ""));
    }
    let head = state.head("").map(|head| state.lines[head].text.clone());
    let lines = state.lines.into_iter().map(|line| line.text).collect();
    (lines, head, state.replaced.into_iter().collect())
}

#[test]
fn a_status_of_one_file_and_headings_do_not_change_the_tree_state() {
    let all = ("git status --short", " M src/a.rs\n M src/b.rs\n");
    let one = ("git status --short AGENTS.md", " M AGENTS.md\n");
    let (lines, ..) = state(&[all, one]);
    assert_eq!(lines, ["uncommitted at the last look: src/a.rs, src/b.rs"]);
    let two = ("git status --short 2>/dev/null git diff", all.1);
    assert_eq!(state(&[two]).0, lines, "two commands on two lines");
    let names = ("git status --porcelain | awk '{ print $1\" \"$2 }'", "M src/c.rs\n?? notes.md\n");
    assert_eq!(state(&[all, names]).0, lines, "a filter prints other lines");
    let read = ("git log -1 && cat README.md", "## Development\n* first\n## Testing\n");
    assert_eq!(state(&[read]).0, [""; 0]);
    let branch = ("git status -sb && cat README.md", "## main...o/main\n## Development\n");
    let (lines, ..) = state(&[branch]);
    assert_eq!(lines, ["## main...o/main", "uncommitted at the last look: nothing"]);
}

#[test]
fn a_branch_printed_by_its_name_alone_is_the_current_one() {
    for (command, printed, branch) in [
        ("git branch --show-current", "next", Some("next")),
        (
            "git branch --show-current && git log --oneline -1",
            "next\naaaaaaa1 fix: a",
            Some("next"),
        ),
        ("ls; git rev-parse --abbrev-ref HEAD", "src\ndocs\nfix/lexer\n", Some("fix/lexer")),
        ("git rev-parse --abbrev-ref HEAD", "HEAD", None),
        ("git branch --show-current", "fatal: not a git repository", None),
        ("ls && git branch --show-current && ls", "src\nnext\nsrc", None),
    ] {
        let mut git = GitState::default();
        git.read(&run(1, "git status", "On branch main", ""));
        git.read(&run(2, command, printed, ""));
        assert_eq!(git.branch(), Some(branch.unwrap_or("main")), "{command}");
    }
}

#[test]
fn a_checkout_of_a_branch_carries_uncommitted_files_along() {
    let status = ("git status --short", " M src/a.rs\n?? docs/plan.md\n");
    let listed = "uncommitted at the last look: modified: src/a.rs; untracked: docs/plan.md";
    for (command, printed, is_kept) in [
        ("git checkout -b docs origin/main", "branch 'docs' set up to track", true),
        ("git checkout next", "M\tsrc/a.rs\nSwitched to branch 'next'", true),
        ("git switch next", "", true),
        ("git log --grep ' commit' && echo no commit yet", "", true),
        ("git stash list", "", true),
        ("git checkout src/a.rs", "Updated 1 path from the index", false),
        ("git checkout -f next", "Switched to branch 'next'", false),
        ("git switch --discard-changes next", "", false),
        ("git commit -m x", "", false),
        ("git stash", "", false),
    ] {
        let (lines, ..) = state(&[status, (command, printed)]);
        assert_eq!(lines.iter().any(|line| line == listed), is_kept, "{command}");
    }
}

#[test]
fn after_a_checkout_of_another_commit_the_newest_of_a_log_is_not_claimed() {
    let log = ("git log --oneline -1", "bbbbbbb2 fix: the lexer");
    for (command, printed, is_claimed) in [
        ("git checkout -b docs origin/main", "Switched to a new branch 'docs'", false),
        ("git checkout main", "Switched to branch 'main'", false),
        ("git checkout -f next", "Switched to branch 'next'", false),
        ("git switch -c docs", "Switched to a new branch 'docs'", true),
        ("git checkout main", "Already on 'main'", true),
        ("git checkout src/a.rs", "Updated 1 path from the index", true),
    ] {
        let (lines, head, _) = state(&[log, (command, printed)]);
        assert_eq!(head.is_some(), is_claimed, "{command}");
        assert!(lines.iter().any(|line| line == log.1), "{command}");
    }
    let away = ("git checkout -b docs origin/main", "Switched to a new branch 'docs'");
    assert_eq!(state(&[MADE, away]).1.as_deref(), Some(MADE.1));
}

const MADE: (&str, &str) = ("git commit -m x", "[main aaaaaaa1] fix: the lexer");

#[test]
fn an_amend_drops_only_the_commit_it_replaced() {
    let amended = ("git commit --amend --no-edit", "[main bbbbbbb2] fix: the lexer");
    let (lines, head, replaced) = state(&[MADE, amended]);
    assert_eq!((lines, replaced), (vec![amended.1.to_owned()], vec!["aaaaaaa1".to_owned()]));
    assert_eq!(head.as_deref(), Some(amended.1));
    let log = ("git log --oneline -1", "bbbbbbb2 fix: the lexer");
    let again = ("git commit --amend --no-edit", "[main fffffff6] fix: the lexer");
    let (lines, _, replaced) = state(&[MADE, amended, log, again]);
    assert_eq!((lines.len(), replaced.join(" ")), (1, "aaaaaaa1 bbbbbbb2".to_owned()));
    let squash = ("git reset --soft HEAD~1 && git commit --amend", again.1);
    let log = ("git log --oneline -2", "bbbbbbb2 docs: more\naaaaaaa1 fix: the lexer");
    let (lines, _, _) = state(&[MADE, log, squash]);
    assert_eq!(lines, [again.1], "what a reset took away is not listed");
    let elsewhere = ("git commit --amend --no-edit", "[topic bbbbbbb2] fix: the parser");
    let (lines, _, replaced) = state(&[MADE, elsewhere]);
    assert_eq!((lines.len(), replaced.len()), (2, 0), "a commit of another branch stays");
    let same_words = ("git log --oneline -2", "ccccccc3 fix: the lexer\naaaaaaa1 fix: the lexer");
    let (lines, head, replaced) = state(&[MADE, same_words]);
    assert_eq!((lines.len(), replaced.len()), (2, 0), "two commits may have one subject");
    assert_eq!(head.as_deref(), Some("ccccccc3 fix: the lexer"));
}

#[test]
fn the_state_of_another_worktree_is_separate() {
    let mut state = GitState::default();
    let mut read = |seq, command: &str, place: &str, printed: &str| {
        state.read(&run(seq, command, printed, place));
    };
    read(1, "git status -sb", "", "## main...o/main\n M a.rs\n");
    read(2, "git status -sb", "../topic", "## topic\n M b.rs\n");
    read(3, "git fetch", "", "   1926682b..59388c9f  main -> origin/main");
    read(4, "git push", "", "   1926682b..59388c9f  main -> main");
    read(4, "git fetch", "", "   2926682b..69388c9f  topic -> origin/topic");
    read(5, "npm run x && git add .", "", "[COMPLETED] Adding\n[main one] more\n");
    let lines: Vec<_> =
        state.lines.iter().map(|line| (line.place.as_str(), line.text.as_str())).collect();
    assert_eq!(
        lines,
        [
            ("", "## main...o/main"),
            ("", "uncommitted at the last look: a.rs"),
            ("../topic", "## topic"),
            ("../topic", "uncommitted at the last look: b.rs"),
            ("", "fetched: 1926682b..59388c9f main -> origin/main"),
            ("", "pushed: 1926682b..59388c9f main -> main"),
        ]
    );
}

#[test]
fn global_options_of_git_do_not_hide_its_command() {
    for (line, expected, folder) in [
        ("git -C /w status", "git status", Some("/w")),
        ("git --no-pager -c a.b=c log -1", "git log -1", None),
        ("cd a && git -C \"../b\" diff; git push", "cd a && git diff; git push", Some("../b")),
        ("git -c user.name=\"Ann Lee\" -c a=b commit -m 'x y'", "git commit -m 'x y'", None),
        (
            "git -C \"/a b\\\"c\" -c 'd e' log && git -P diff",
            "git log && git diff",
            Some("/a b\\\"c"),
        ),
        ("ls .git -a; $(git -C a log)", "ls .git -a; $(git log)", Some("a")),
        ("git commit -m x", "git commit -m x", None),
    ] {
        let (plain, named) = without_options(line);
        assert_eq!((&*plain, named.as_deref()), (expected, folder), "{line}");
    }
}

#[test]
fn a_partial_log_does_not_name_the_newest_commit() {
    let newer = ("git commit -m y", "[main eeeeeee5] feat: the parser");
    let part = ("git log --oneline -- src/a.rs", "aaaaaaa1 fix: the lexer");
    assert_eq!(state(&[MADE, newer, part]).1.as_deref(), Some(newer.1));
    for command in ["git log --oneline -- src/a.rs", "git log --oneline origin/main -3"] {
        let log = (command, "ddddddd4 feat: something old");
        let (_, head, _) = state(&[MADE, log]);
        assert_eq!(head.as_deref(), Some(MADE.1), "{command}");
    }
}

#[test]
fn a_checked_out_branch_is_known_without_the_message_of_git() {
    let listed = "M\tsrc/lexer.rs\nYour branch is up to date with 'origin/005-lexer'.\n";
    let long = "M\tsrc/lexer.rs\n".repeat(300) + "Switched to branch '005-lexer'\n";
    for (command, printed, expected) in [
        ("git checkout 005-lexer", listed, Some("005-lexer")),
        ("git checkout 005-lexer", &long, Some("005-lexer")),
        ("git checkout -b 006-parser main", "", Some("006-parser")),
        ("git switch -c 007-ast && cargo test", "", Some("007-ast")),
        ("git checkout -q -B rewrite $BASE", "", Some("rewrite")),
        ("git checkout src/lexer.rs", "", Some("main")),
    ] {
        let mut state = GitState::default();
        state.read(&run(1, "git status -sb", "## main...origin/main\n", ""));
        state.read(&run(2, command, printed, ""));
        assert_eq!(state.branch(), expected, "{command}");
    }
}

#[test]
fn a_log_that_shows_a_commit_again_does_not_make_it_newer_than_a_status() {
    let status = ("git status --short", "?? notes.md\n M src/a.rs\n");
    let log = ("git log --oneline -1", "aaaaaaa1 fix: the lexer");
    let (lines, head, _) = state(&[MADE, status, log]);
    let uncommitted = "uncommitted at the last look: modified: src/a.rs; untracked: notes.md";
    assert_eq!(
        (lines, head.as_deref()),
        (vec![MADE.1.to_owned(), uncommitted.to_owned()], Some(MADE.1))
    );
    // An older commit that is checked out again is the newest one here.
    let newer = ("git commit -m y", "[main eeeeeee5] feat: the parser");
    assert_eq!(state(&[MADE, newer, log]).1.as_deref(), Some(MADE.1));
}

#[test]
fn uncommitted_files_are_listed_by_their_state() {
    let long = "On branch main\nChanges not staged for commit:\n  (use \"git add\")\n\tmodified:   a.rs\n\tdeleted:    b.rs\n\nUntracked files:\n  (use \"git add\")\n\tc.rs\n\td/\n\nno changes added";
    for (printed, expected) in [
        (" M a.rs\nM  b.rs\n", "a.rs, b.rs"),
        ("?? a.rs\n", "untracked: a.rs"),
        (
            "?? a.rs\n D b.rs\nA  c.rs\n M d.rs\n",
            "modified: d.rs; new: c.rs; deleted: b.rs; untracked: a.rs",
        ),
        ("UU a.rs\nR  b.rs -> c.rs\n", "in conflict: a.rs; renamed: b.rs -> c.rs"),
        (long, "modified: a.rs; deleted: b.rs; untracked: c.rs, d/"),
    ] {
        let (lines, ..) = state(&[("git status", printed)]);
        let found = lines.last().and_then(|line| line.strip_prefix(UNCOMMITTED));
        assert_eq!(found, Some(expected), "{printed}");
    }
    for (listed, shown) in [
        ("a.rs, b.rs, c.rs", "c.rs, a.rs and 1 more"),
        (
            "modified: a.rs, b.rs; untracked: c.rs, d.rs",
            "modified: a.rs and 1 more; untracked: c.rs and 1 more",
        ),
        ("modified: c.rs, b.rs; untracked: e.rs, d.rs", "modified: c.rs, b.rs; untracked: 2 files"),
        (
            "modified: c.rs, b.rs; untracked: e.rs and more",
            "modified: c.rs, b.rs; untracked: 1 file and more",
        ),
    ] {
        assert_eq!(first_of_listed(listed, |path| path == "c.rs", 2), shown);
    }
}

#[test]
fn files_of_agents_come_last_among_uncommitted_files() {
    let listed = ".codex/log/a.log, .claude/b.json, src/lexer.rs, README.md";
    let shown = first_of_listed(listed, |path| path == "README.md", 3);
    assert_eq!(shown, "README.md, src/lexer.rs, .codex/log/a.log and 1 more");
}

#[test]
fn a_reset_of_one_branch_keeps_the_pushed_commit_of_another() {
    let runs = [
        ("git switch -c chore/tidy origin/main", "Switched to a new branch 'chore/tidy'"),
        ("git commit -m x", "[chore/tidy bbbbbbb2] Remove root files"),
        ("git push -u origin chore/tidy", " * [new branch]   chore/tidy -> chore/tidy"),
        (
            "git switch main",
            "Switched to branch 'main'\nYour branch and 'origin/main' have diverged,",
        ),
        ("git log --oneline -1", "aaaaaaa1 fix: the lexer"),
        (
            "git branch backup/main main && git reset --hard origin/main",
            "HEAD is now at ccccccc3 docs: more",
        ),
        ("git branch -D chore/tidy", "Deleted branch chore/tidy (was bbbbbbb2)."),
    ];
    let (lines, head, _) = state(&runs);
    let expected = [
        "[chore/tidy bbbbbbb2] Remove root files",
        "pushed: * [new branch] chore/tidy -> chore/tidy",
        "Switched to branch 'main'",
        "Your branch and 'origin/main' have diverged,",
        "ccccccc3 docs: more",
        "created: branch backup/main at main",
        "deleted: local branch chore/tidy (was bbbbbbb2).",
    ];
    assert_eq!(lines, expected);
    assert_eq!(head.as_deref(), Some("ccccccc3 docs: more"));
    let failed = FinishedCommand {
        outcome: CommandOutcome::Exit(128),
        ..run(1, "git branch main", "fatal: a branch named 'main' already exists", "")
    };
    let mut state = GitState::default();
    state.read(&failed);
    assert!(state.lines.is_empty(), "{state:?}");
}

#[test]
fn a_commit_amended_without_output_is_gone_and_a_dump_of_bytes_is_no_log() {
    let amended =
        ("git commit --amend -F m >/dev/null && git log -1 --format=%B", "fix: the lexer");
    let dumped =
        ("git diff a.json | head -20; tail -c 60 a.json | od -c", "0000040  }  \\n  ]  \\n");
    let (lines, head, replaced) = state(&[MADE, amended, dumped]);
    assert_eq!((lines.len(), head, replaced), (0, None, vec!["aaaaaaa1".to_owned()]));
    let log =
        ("git log --oneline main..HEAD | cat", "ccccccc3 fix: the lexer\naaaaaaa0 docs: the lexer");
    let (_, head, replaced) = state(&[MADE, amended, log]);
    assert_eq!(head.as_deref(), Some("ccccccc3 fix: the lexer"));
    assert_eq!(replaced, ["aaaaaaa1"]);
}

#[test]
fn a_log_of_another_branch_is_not_this_ones() {
    let other = ("git log --oneline --max-count=5 origin/notes", "1f65e48 Keep the first note\n");
    assert_eq!(state(&[other]).0, [""; 0]);
    for command in [
        "git log --oneline --max-count=5",
        "git log -n5 --oneline",
        "git log -n 5 2>/dev/null",
        "git log -5 --format='%h %s%n%b' --decorate",
        "git log --pretty=format:\"%h %s (%an)\" --no-color -5",
    ] {
        let (lines, head, _) = state(&[(command, "4e480f9 Move the settings\n")]);
        assert_eq!(lines, ["4e480f9 Move the settings"], "{command}");
        assert_eq!(head.as_deref(), Some("4e480f9 Move the settings"), "{command}");
    }
    let body = ("git log -1 --format=%B", "Join two\n\n4e480f9 Move the settings\n");
    assert_eq!(state(&[body]).1, None, "the text of a commit names others");
    let on = ("git status", "On branch lexer\n");
    let (lines, ..) = state(&[on, ("git log --stat lexer", "4e480f9 Move the settings\n")]);
    assert_eq!(lines, ["On branch lexer", "4e480f9 Move the settings"]);
}

#[test]
fn a_branch_that_was_deleted_on_the_remote_is_listed() {
    let (lines, ..) =
        state(&[("git push origin --delete notes", "To ../app.git\n - [deleted]         notes\n")]);
    assert_eq!(lines, ["deleted on the remote: notes"]);
}

#[test]
fn a_commit_made_quietly_is_known_by_its_subject_until_its_id_is_seen() {
    let quiet = ("git add -A && git commit -qm 'docs: the lexer' && ls", "src\n");
    let unnamed = "committed, id not printed: docs: the lexer";
    let (lines, head, _) = state(&[MADE, quiet]);
    assert_eq!((lines, head.as_deref()), (vec![MADE.1.into(), unnamed.into()], Some(unnamed)));
    let log = ("git log --oneline -2", "bbbbbbb2 docs: the lexer\naaaaaaa1 fix: the lexer");
    let (lines, head, _) = state(&[MADE, quiet, log]);
    assert_eq!(lines, [MADE.1, "bbbbbbb2 docs: the lexer"]);
    assert_eq!(head.as_deref(), Some("bbbbbbb2 docs: the lexer"));
    let both =
        ("git commit -q -m 'docs: the lexer' && git log --oneline -1", "bbbbbbb2 docs: the lexer");
    assert_eq!(state(&[MADE, both]).0, [MADE.1, "[main bbbbbbb2] docs: the lexer"]);
    let amended = ("git commit -q --amend --no-edit", "");
    let (lines, _, replaced) = state(&[MADE, quiet, amended]);
    assert_eq!((lines.len(), replaced.len()), (2, 0), "the commit before is not the one amended");
    let named = ("git commit --amend --no-edit", "[main ccccccc3] docs: the lexer");
    let (lines, _, replaced) = state(&[MADE, quiet, named]);
    assert_eq!((lines, replaced.len()), (vec![MADE.1.into(), named.1.to_owned()], 0));
    for unknown in ["git commit -q -F msg", "git commit -q -m \"$(cat msg)\"", "git log -m x"] {
        assert_eq!(state(&[MADE, (unknown, "")]).0, [MADE.1], "{unknown}");
    }
}

#[test]
fn a_reset_without_a_commit_keeps_the_commits() {
    let log = ("git log --oneline -1", "bbbbbbb2 fix: the lexer");
    for (command, is_kept) in [
        ("git cherry-pick --abort; git reset -q --hard", true),
        ("git reset --hard HEAD", true),
        ("git reset --hard HEAD~1", false),
        ("git rebase --continue", false),
    ] {
        assert_eq!(state(&[log, (command, "")]).0.len() == 1, is_kept, "{command}");
    }
}

#[test]
fn a_script_that_failed_after_a_checkout_leaves_open_what_is_checked_out() {
    for (command, is_known) in [
        ("git checkout -q -B rewrite $BASE; git cherry-pick $c || exit 1", false),
        ("git checkout -b rewrite main && cargo test", false),
        ("git checkout rewrite", true),
        ("git cherry-pick $c; ls", true),
    ] {
        let mut state = GitState::default();
        state.read(&run(
            1,
            "git status -sb && git log --oneline -1",
            "## main...o/main\naaaaaaa1 fix: a thing",
            "",
        ));
        state.read(&run(1, MADE.0, MADE.1, ""));
        state.read_failed(&run(2, command, "", ""));
        let says_branch = state.lines.iter().any(|line| line.text.starts_with("## main"));
        assert_eq!((says_branch, state.head("").is_some()), (is_known, is_known), "{command}");
    }
}

#[test]
fn commits_made_quietly_and_listed_by_the_same_script_are_the_threads_own() {
    let script = "git add -A tools && git commit -q -m \"chore(tools): drop the harness\" && git add a.mjs && git commit -q -m \"docs: drop its mentions\" && git log --oneline -2 | cat && git status --short";
    let printed = "bbbbbbb2 docs: drop its mentions\naaaaaaa1 chore(tools): drop the harness\n";
    let (lines, head, _) = state(&[("git status", "On branch next\n"), (script, printed)]);
    let made = "[next bbbbbbb2] docs: drop its mentions";
    assert_eq!(lines[1..], ["[next aaaaaaa1] chore(tools): drop the harness", made]);
    assert_eq!(head.as_deref(), Some(made));
}

//! Recognizes read-only commands: their output is a copy of the files, and their exit status says little.

use super::{Command, is_file};

/// Programs, and words of the shell's grammar, that are read-only unless [`writes`] says otherwise.
const PROGRAMS: [&str; 47] = [
    "cat", "head", "tail", "nl", "less", "wc", "ls", "cd", "pwd", "rg", "grep", "find", "tree",
    "stat", "echo", "printf", "fd", "sort", "uniq", "file", "which", "type", "awk", "jq", "diff",
    "cut", "tr", "column", "basename", "dirname", "realpath", "date", "ps", "test", "[", "true",
    "for", "done", "fi", "lsof", "pgrep", "ss", "du", "df", "sleep", "uname", "whoami",
];

/// Subcommands of git that are read-only unless they are given `--output`.
const GIT_VERBS: [&str; 14] = [
    "status",
    "diff",
    "log",
    "show",
    "rev-parse",
    "ls-files",
    "grep",
    "blame",
    "shortlog",
    "ls-tree",
    "cat-file",
    "rev-list",
    "describe",
    "merge-base",
];

/// Subcommands of git that are read-only unless they are given something to create or remove.
const GIT_LISTS: [&str; 4] = ["branch", "remote", "tag", "worktree"];

/// Whether a command only inspects files, git or the machine: it writes no file, and how it ended does not
/// matter later.
pub fn is_read_only(command: &Command) -> bool {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    looks(&words) && !command.written.iter().any(|path| is_file(path))
}

fn looks(words: &[&str]) -> bool {
    match words {
        ["sed", arguments @ ..] => {
            !arguments.iter().any(|a| a.starts_with("-i") || *a == "--in-place")
        }
        // Asking a program for its options runs nothing.
        [_, arguments @ ..] if arguments.contains(&"--help") => true,
        ["git", arguments @ ..] => git_looks(arguments),
        ["gh", arguments @ ..] => gh_looks(arguments),
        [program, arguments @ ..] => PROGRAMS.contains(program) && !writes(program, arguments),
        [] => false,
    }
}

/// Whether a program that usually only looks is told to write, to delete, or to run one that does.
fn writes(program: &str, arguments: &[&str]) -> bool {
    let runs = |options: &[&str]| {
        let mut parts = arguments.split(|argument| options.contains(argument)).skip(1);
        parts.any(|run| !looks(run.split(|end| matches!(*end, ";" | "+")).next().unwrap_or(run)))
    };
    match program {
        "find" => {
            const WRITES: [&str; 3] = ["-delete", "-fprint", "-fls"];
            arguments.iter().any(|argument| WRITES.iter().any(|it| argument.starts_with(it)))
                || runs(&["-exec", "-execdir", "-ok", "-okdir"])
        }
        "fd" => runs(&["-x", "-X", "--exec", "--exec-batch"]),
        "sort" | "tree" => {
            let is_short = |a: &str| a.starts_with('-') && !a.starts_with("--");
            arguments.iter().any(|a| is_short(a) && a.contains('o') || a.starts_with("--output"))
        }
        // The second file is written.
        "uniq" => {
            let is_option = |a: &str| a.starts_with('-') || a.bytes().all(|b| b.is_ascii_digit());
            arguments.iter().filter(|argument| !is_option(argument)).count() > 1
        }
        "date" => arguments.iter().any(|a| *a == "-s" || a.starts_with("--set")),
        // `print > "file"` and `print | "sh"`, not `$1 > 5`.
        "awk" => arguments.iter().any(|script| {
            let mut after = script.split(['>', '|']).skip(1);
            script.contains("system(") || after.any(|rest| rest.trim_start().starts_with('"'))
        }),
        _ => false,
    }
}

fn git_looks(arguments: &[&str]) -> bool {
    let arguments = match arguments {
        ["-C" | "-c", _, rest @ ..] => rest,
        rest => rest.iter().position(|a| !a.starts_with('-')).map_or(rest, |verb| &rest[verb..]),
    };
    let Some((verb, rest)) = arguments.split_first() else { return true };
    let is_list = || match rest {
        [] => true,
        ["list" | "show" | "get-url", ..] => true,
        options => options.iter().all(|o| {
            o.starts_with("--show") || matches!(*o, "-v" | "-vv" | "-a" | "-r" | "--list" | "--all")
        }),
    };
    // `git grep -O` opens what it found in a program.
    let writes = |option: &&str| {
        option.split('=').next() == Some("--output") || *verb == "grep" && option.starts_with("-O")
    };
    GIT_VERBS.contains(verb) && !rest.iter().any(writes) || GIT_LISTS.contains(verb) && is_list()
}

/// Whether GitHub's client only asks. An API call with fields is a POST.
fn gh_looks(arguments: &[&str]) -> bool {
    match arguments {
        ["api", options @ ..] => {
            const SENDING: [&str; 5] = ["-f", "-F", "--field", "--raw-field", "--input"];
            let method = |option: &str, next: Option<&&str>| match option {
                "-X" | "--method" => next.map(|method| (*method).to_owned()),
                _ => option
                    .strip_prefix("--method=")
                    .or_else(|| option.strip_prefix("-X"))
                    .map(str::to_owned),
            };
            let sends = |(at, option): (usize, &&str)| {
                SENDING.iter().any(|sending| option.starts_with(sending))
                    || method(option, options.get(at + 1))
                        .is_some_and(|method| !method.eq_ignore_ascii_case("get"))
            };
            !options.iter().enumerate().any(sends)
        }
        [_, verb, ..] => ["view", "list", "status", "diff", "checks"].contains(verb),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_commands_are_recognized() {
        let looks = |script| super::super::commands(script).iter().all(is_read_only);
        for script in [
            "git status --short && git diff -- a.rs | sed -n '1,180p'",
            "ls specs 2>/dev/null | grep -E '^[0-9]+'",
            "git -C sub log --oneline -5; git --no-pager show HEAD",
            "git branch --show-current; git remote -v; git worktree list --porcelain",
            "date +%Y-%m-%d",
            "uniq -f 1 names.txt",
            "sudo cat /etc/hosts",
            "gh repo create --help | head -40",
            "gh pr view 7 --json title && gh pr checks; gh auth status",
            "gh api repos/o/r/branches --jq '.[].name'",
            "gh api -X GET user",
            "git ls-tree -r HEAD | rg plan; git merge-base main HEAD",
            "if [ -f a.md ]; then sed -n 1,20p a.md; fi",
            "for file in a.md b.md; do git show HEAD:$file | head -3; done",
            r"find . -name '*.rs' -exec grep -l fold {} \; && fd -e rs -x wc -l",
            "awk '$3 > 5 { print $1 }' a.txt | sort -rn -k 2",
        ] {
            assert!(looks(script), "{script}");
        }
        for script in [
            "sed -i 's/a/b/' conf.toml",
            "git branch -D old",
            "find . -name '*.orig' -delete",
            r"find . -name '*.orig' -exec rm {} \;",
            "find . -type f -exec sed -i s/a/b/ {} +",
            "fd -e orig -x rm",
            "sort -uo names.txt names.txt",
            "uniq -c names.txt counts.txt",
            "git grep -Oless lexer",
            r#"awk '{ printf("%s", $1) > "names.txt" }' a.txt"#,
            "git diff --output=all.patch",
            r#"awk '{ print $1 > "names.txt" }' a.txt"#,
            "gh repo create --help-me",
            "git branch new",
            "git tag v1",
            "git commit -m x",
            "ls > list.txt",
            "cargo test | tail -3",
            "git remote add origin https://example.com/r",
            "gh pr create --fill",
            "gh api -X PUT repos/o/r/branches/main/protection --input p.json",
            "gh api -XDELETE repos/o/r",
            "gh api --method=DELETE repos/o/r",
            "gh api repos/o/r/issues --field=title=x",
            "gh api repos/o/r/issues -f title=x",
            "for file in a.md b.md; do rm $file; done",
            "",
        ] {
            assert!(script.is_empty() || !looks(script), "{script}");
        }
    }
}

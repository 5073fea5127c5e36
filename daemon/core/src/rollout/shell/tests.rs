use super::*;

fn used(script: &str) -> Vec<(Use, String)> {
    commands(script).iter().flat_map(uses).collect()
}

fn expect(script: &str, expected: &[(Use, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(kind, path)| (*kind, (*path).to_owned())).collect();
    assert_eq!(used(script), expected, "{script}");
}

#[test]
fn reads_searches_and_writes_are_distinguished() {
    expect("sed -n '1,200p' src/main.rs", &[(Use::Read, "src/main.rs")]);
    expect("nl -ba a/b.py | sed -n '1,40p'", &[(Use::Read, "a/b.py")]);
    expect("cd /w/x && rg 'fn login' src/a", &[(Use::Named, "/w/x"), (Use::Searched, "src/a")]);
    expect("rg -A 3 name.field -t rust src/a", &[(Use::Searched, "src/a")]);
    expect("rg --files -g 'help.md' docs/x", &[(Use::Searched, "docs/x")]);
    expect("grep -e one.two -m 5 src/a.rs", &[(Use::Searched, "src/a.rs")]);
    expect("sed -i 's/a/b/' conf.toml", &[(Use::Written, "conf.toml")]);
    expect("mv old.rs src/new.rs", &[(Use::Removed, "old.rs"), (Use::Written, "src/new.rs")]);
    let moved = [(Use::Removed, "open/a.md"), (Use::Written, "done/a.md")];
    expect("git mv open/a.md done/", &moved);
    expect("cp -r open/a.md done/", &[(Use::Read, "open/a.md"), (Use::Written, "done/a.md")]);
    expect(
        "rm -rf build/out && git rm a.txt",
        &[(Use::Removed, "build/out"), (Use::Removed, "a.txt")],
    );
    expect("FOO=1 timeout 10 cat x.md > y.md 2>&1", &[(Use::Read, "x.md"), (Use::Written, "y.md")]);
}

#[test]
fn files_without_slash_or_extension_are_recognized_by_name() {
    assert!(NAMED_FILES.is_sorted());
    expect("cat Makefile .gitignore", &[(Use::Read, "Makefile"), (Use::Read, ".gitignore")]);
    expect("rm Dockerfile && touch .env", &[(Use::Removed, "Dockerfile"), (Use::Written, ".env")]);
    expect("make -f Makefile all", &[(Use::Named, "Makefile")]);
    expect("grep -n TODO LICENSE", &[(Use::Searched, "LICENSE")]);
    expect("cat notes; ls -la . .. ; git status; cd src; make test", &[]);
    expect("jq .name package.json", &[(Use::Read, "package.json")]);
}

#[test]
fn data_is_not_taken_for_paths() {
    expect("git commit -m 'touch src/a.rs and b/c.rs too'", &[]);
    expect("echo src/a.rs", &[]);
    expect("git log origin/main..HEAD && cat x > \"$BODY\" 2>/dev/null", &[]);
    expect(
        "cat <<'EOF' > out.txt\nrm -rf /important/dir\nEOF\nls docs/",
        &[(Use::Written, "out.txt"), (Use::Searched, "docs/")],
    );
    expect("curl https://example.com/a.json # see notes/x.md", &[]);
}

#[test]
fn scripts_are_extracted_from_their_argv() {
    assert_eq!(script_of(&["bash", "-lc", "ls -a"]), "ls -a");
    assert_eq!(script_of(&["rg", "two words", "src"]), "rg 'two words' src");
    assert_eq!(entered_folder("cd \"/w/x\" && ls"), Some("/w/x"));
}

#[test]
fn hostile_scripts_terminate() {
    for script in ["'", "\"\\", "<<", "cat <<EOF", "a <<E\n<<E\n", ">", "((((", "\\"] {
        let _ = commands(script);
    }
    let _ = commands(&"a'b ".repeat(100_000));
}

#[test]
fn files_are_copied_and_moved_from_one_path_to_another() {
    expect("cp a.rs b.rs", &[(Use::Read, "a.rs"), (Use::Written, "b.rs")]);
    for target in ["${TARGET}.rs", "$TARGET", "backup", "\"docs/b-$(date +%F).rs\""] {
        expect(&format!("cp src/a.rs {target}"), &[(Use::Read, "src/a.rs")]);
        expect(&format!("mv src/a.rs {target}"), &[(Use::Removed, "src/a.rs")]);
    }
    expect("install x/a.sh y/b.sh", &[(Use::Read, "x/a.sh"), (Use::Written, "y/b.sh")]);
    expect("git mv old.rs new.rs", &[(Use::Removed, "old.rs"), (Use::Written, "new.rs")]);
    expect("make mv a.rs", &[(Use::Named, "a.rs")]);
    expect("> log.txt", &[(Use::Written, "log.txt")]);
    expect("x=$(< a.txt)", &[(Use::Read, "a.txt")]);
    expect("git log v1/a..v2/b", &[]);
    expect("git diff origin/main", &[]);
    expect("git add ../a.rs web/../b.rs", &[(Use::Named, "../a.rs"), (Use::Named, "web/../b.rs")]);
    expect("git log ..origin/dev v1/a...v2/b", &[]);
    expect("cat origin/a.rs ../b.rs", &[(Use::Read, "origin/a.rs"), (Use::Read, "../b.rs")]);
}

#[test]
fn words_that_name_no_file_are_no_paths() {
    let long = format!("{}/a.rs", "x".repeat(crate::limits::PATH_BYTES));
    for (word, expected) in [
        ("src/a.rs", true),
        ("a.rs", true),
        ("../web", true),
        ("C:/w/a.rs", true),
        ("", false),
        (&*long, false),
        ("-x/y.rs", false),
        ("https://example.com/a.rs", false),
        ("$HOME/a.rs", false),
        ("/dev/null", false),
        ("1.2", false),
        ("fix the a.rs", false),
        (":/w/a.rs", false),
        ("1:/w/a.rs", false),
    ] {
        assert_eq!(is_path(word), expected, "{word}");
    }
    let hidden = format!(".{long}");
    for (word, expected) in
        [(".gitignore", true), (".rs", false), (".123", false), (&*hidden, false)]
    {
        assert_eq!(is_named_file(word), expected, "{word}");
    }
    assert!(!is_named_file(&format!(".{}", "x".repeat(crate::limits::PATH_BYTES + 1))));
}

#[test]
fn only_a_shells_command_option_holds_a_script() {
    for (argv, expected) in [
        (&["/bin/zsh", "-lc", "ls -a"][..], "ls -a"),
        (&["bash", "-x", "build.sh"], "bash -x build.sh"),
        (&["bash", "src", "abc"], "bash src abc"),
        (&["tar", "-c", "src"], "tar -c src"),
        (&["perl", "-c", "a.pl"], "perl -c a.pl"),
    ] {
        assert_eq!(script_of(argv), expected);
    }
    for (script, expected) in [
        ("cd web && ls", Some("web")),
        ("cd web/app && ls", Some("web/app")),
        ("cd /w && ls", Some("/w")),
        ("cd /w/{a,b} && ls", None),
        ("cd $HOME && ls", None),
        ("cd -; ls", None),
    ] {
        assert_eq!(entered_folder(script), expected, "{script}");
    }
}

#[test]
fn words_are_read_as_a_shell_reads_them() {
    for (script, expected) in [
        (r#"cat "a b.rs" 'c d.rs' e"#, &["cat", "a b.rs", "c d.rs", "e"][..]),
        (r#"echo "x; rm 'y' | z""#, &["echo", "x; rm 'y' | z"]),
        (r#"echo "a \" b" c\ d"#, &["echo", "a \" b", "c d"]),
        ("cat a.rs \\\n  b.rs", &["cat", "a.rs", "b.rs"]),
        ("cat a.rs \\\r\n  b.rs", &["cat", "a.rs", "b.rs"]),
        ("echo \"a \\\nb\" c", &["echo", "a b", "c"]),
        ("echo \"\\\r\n\" c", &["echo", "", "c"]),
        (r#"grep "\d\$x\"\\" a.rs"#, &["grep", r#"\d$x"\"#, "a.rs"]),
        (r#"grep \d a.rs"#, &["grep", "d", "a.rs"]),
        ("echo \"a\nb\"", &["echo", "a\nb"]),
        (
            r#"git commit -m "$(cat a.txt) and `date`""#,
            &["git", "commit", "-m", "$(cat a.txt) and `date`"],
        ),
        ("echo `date -u` x", &["echo", "`date", "-u`", "x"]),
        (r"echo \a#b 'c'#d", &["echo", "a#b", "c#d"]),
    ] {
        let found = commands(script);
        assert_eq!(found.len(), 1, "{script}: {found:?}");
        assert_eq!(found[0].words, expected, "{script}");
    }
}

#[test]
fn only_commands_in_parentheses_are_nested() {
    let nested = |script: &str| commands(script).iter().map(|it| it.is_nested).collect::<Vec<_>>();
    assert_eq!(nested("(cd web && (make; ls)); ls"), [true, true, true, false]);
    assert_eq!(nested("echo $(ls) && ls"), [false, true, false]);
}

#[test]
fn output_is_appended_with_or_without_errors() {
    for script in ["make >> log && ls", "make &>> log && ls"] {
        let found = commands(script);
        assert_eq!((&*found[0].written, found[0].is_appending), (&["log".to_owned()][..], true));
        assert_eq!((found.len(), found[1].is_appending), (2, false), "{script}");
    }
}

#[test]
fn a_heredoc_on_one_line_is_the_commands_input() {
    let found = commands("cat <<EOF a EOFX bEOF c EOF; ls");
    assert_eq!(found[0].input, " a EOFX bEOF c ");
    assert_eq!(found[1].words, ["ls"]);
}

#[test]
fn commits_are_recognized_inside_scripts_and_by_their_confirmation() {
    for (script, expected) in [
        ("bash -x -c 'git commit -m a'", true),
        ("bash --norc -lc 'git add . && git commit -m a'", true),
        ("bash -c 'echo git commit'", false),
        ("bash commit.sh", false),
    ] {
        assert_eq!(CommandEffects::of(&commands(script)).commits, expected, "{script}");
    }
    for (output, expected) in [
        ("[main 1a2b3c4] add a test", true),
        ("[main (root-commit) 1a2b3c4] add a test", true),
        ("[step 12] build", false),
        ("[build warning] deprecated", false),
    ] {
        assert_eq!(confirms_commit(output), expected, "{output}");
    }
}

#[test]
fn only_files_are_printed_if_nothing_else_speaks() {
    for (script, expected) in [
        ("cd sub && test -e a.json && cat a.json", true),
        ("echo '--- a' && sed -n 1,5p a.rs | head -3", true),
        ("FOO=1; nl -ba a.rs", true),
        ("app configure --quiet && jq . a.json && app status", false),
        ("git status --short; cat a.rs", false),
    ] {
        assert_eq!(prints_only_files(&commands(script)), expected, "{script}");
    }
}

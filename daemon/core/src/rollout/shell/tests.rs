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
    expect("sed -i 's/a/b/' conf.toml", &[(Use::Written, "conf.toml")]);
    expect("mv old.rs src/new.rs", &[(Use::Removed, "old.rs"), (Use::Written, "src/new.rs")]);
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

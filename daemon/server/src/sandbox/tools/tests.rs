use super::*;

fn rig() -> (tempfile::TempDir, Tools) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/MEMORY.md"), "# Memory\n- use tabs\n- use Make\n").unwrap();
    fs::write(folder.path().join("secret"), "outside").unwrap();
    let tools = Tools::new(folder.path().join("in"));
    (folder, tools)
}

fn said(tools: &Tools, call: &str) -> (bool, String) {
    let reply = tools.run(serde_json::from_str(call).unwrap());
    (reply.ok, reply.text)
}

#[test]
fn files_are_listed_read_written_replaced_searched_and_deleted() {
    let (_folder, tools) = rig();
    let check =
        |call: &str, expected: &str| assert_eq!(said(&tools, call), (true, expected.into()));
    check(r#"{"tool":"list","path":""}"#, "MEMORY.md 31\n");
    check(
        r#"{"tool":"read","path":"MEMORY.md","line":2,"lines":1}"#,
        "2: - use tabs\n(goes on at line 3)",
    );
    check(r#"{"tool":"search","path":"","words":"MAKE"}"#, "MEMORY.md:3: - use Make\n");
    check(
        r#"{"tool":"replace","path":"MEMORY.md","old":"use Make","new":"use just"}"#,
        "wrote 31 bytes",
    );
    check(r#"{"tool":"write","path":"skills/a/SKILL.md","text":"steps"}"#, "wrote 5 bytes");
    check(r#"{"tool":"list","path":"skills"}"#, "skills/a/SKILL.md 5\n");
    check(r#"{"tool":"delete","path":"skills/a/SKILL.md"}"#, "deleted");
    check(r#"{"tool":"search","path":"","words":"make"}"#, "nothing found");
}

#[test]
fn no_path_leads_out_or_through_a_link() {
    let (folder, tools) = rig();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("in/up")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret"), folder.path().join("in/s")).unwrap();
    for path in ["../secret", "/etc/passwd", "up/secret", "s", "", "a//b", ".git/config", "a/../b"]
    {
        for tool in ["read", "write", "delete", "replace"] {
            let call = match tool {
                "read" => Call::Read { path: path.into(), line: 1, lines: 0 },
                "write" => Call::Write { path: path.into(), text: "x".into() },
                "delete" => Call::Delete { path: path.into() },
                _ => Call::Replace { path: path.into(), old: "outside".into(), new: "x".into() },
            };
            assert!(!tools.run(call).ok, "{tool} {path}");
        }
    }
    assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "outside");
    assert_eq!(said(&tools, r#"{"tool":"list","path":""}"#).1, "MEMORY.md 31\n");
}

#[test]
fn answers_and_files_are_bounded() {
    let (_folder, tools) = rig();
    let text = "a line of words\n".repeat(60_000);
    assert!(tools.run(Call::Write { path: "long.md".into(), text }).ok);
    let read = tools.run(Call::Read { path: "long.md".into(), line: 1, lines: 0 });
    assert!(read.ok && read.text.len() < ANSWER_BYTES_MAX * 3 / 2, "{}", read.text.len());
    assert!(read.text.contains("goes on at line"));
    let found = tools.run(Call::Search { path: String::new(), words: "words".into() });
    assert!(found.text.ends_with("(more: search for more)"));
    let huge = "x".repeat(usize::try_from(FILE_BYTES_MAX).unwrap() + 1);
    assert!(!tools.run(Call::Write { path: "huge.md".into(), text: huge }).ok);
}

use super::*;

fn files() -> Files {
    let text = "# Memory\n- use tabs\n- use Make\n".to_owned();
    Files(BTreeMap::from([("MEMORY.md".to_owned(), text)]))
}

fn call(tool: FileTool, path: &str, text: &str, new_text: &str) -> FileCall {
    let raw = |text: &str| text.to_owned().into();
    FileCall { tool, path: raw(path), text: raw(text), new_text: raw(new_text), line: 0, lines: 0 }
}

#[test]
fn files_are_listed_read_written_replaced_searched_and_deleted() {
    let mut files = files();
    let mut check =
        |call: FileCall, expected: &str| assert_eq!(files.run(&call).unwrap(), expected);
    check(call(FileTool::List, "", "", ""), "MEMORY.md 31\n");
    let read = FileCall { line: 2, lines: 1, ..call(FileTool::Read, "MEMORY.md", "", "") };
    check(read, "2: - use tabs\n(continues at line 3)");
    check(call(FileTool::Search, "", "MAKE", ""), "MEMORY.md:3: - use Make\n");
    check(call(FileTool::Replace, "MEMORY.md", "use Make", "use just"), "wrote 31 bytes");
    check(call(FileTool::Write, "skills/a/SKILL.md", "steps", ""), "wrote 5 bytes");
    check(call(FileTool::List, "skills", "", ""), "skills/a/SKILL.md 5\n");
    check(call(FileTool::List, "ski", "", ""), "no files");
    check(call(FileTool::Delete, "skills/a/SKILL.md", "", ""), "deleted");
    check(call(FileTool::Search, "", "make", ""), "nothing found");
}

#[test]
fn a_path_names_a_file_that_was_given_or_a_plain_new_one() {
    let mut files = files();
    for path in ["../secret", "/etc/passwd", "", "a//b", ".git/config", "a/../b"] {
        for tool in [FileTool::Read, FileTool::Write, FileTool::Delete, FileTool::Replace] {
            assert!(files.run(&call(tool, path, "x", "y")).is_err(), "{tool:?} {path}");
        }
    }
    assert_eq!(files.0.len(), 1);
}

#[test]
fn answers_and_files_are_bounded() {
    let mut files = files();
    let text = "a line of words\n".repeat(60_000);
    files.run(&call(FileTool::Write, "long.md", &text, "")).unwrap();
    let read = files.run(&call(FileTool::Read, "long.md", "", "")).unwrap();
    assert!(read.len() < ANSWER_BYTES_MAX * 3 / 2, "{}", read.len());
    assert!(read.contains("continues at line"));
    let found = files.run(&call(FileTool::Search, "", "words", "")).unwrap();
    assert!(found.ends_with("(more: search for more)"));
    let huge = "x".repeat(FILE_BYTES_MAX + 1);
    assert!(files.run(&call(FileTool::Write, "huge.md", &huge, "")).is_err());
}

use super::*;

fn found(text: &str) -> Vec<String> {
    let transcript = Transcript { cwds: vec!["/home/u/proj".to_owned()], ..Transcript::default() };
    let extractor = Extractor::new().expect("patterns compile");
    let mut all = Vec::new();
    extractor.extract(text, &transcript, &mut |entity| {
        all.push(format!("{} {}", entity.kind.into_str(), entity.text));
    });
    all
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(found(text), expected, "{text:?}");
}

#[test]
fn plain_names_are_found() {
    check("open src/main.rs now", &["path src/main.rs"]);
    check("open ./src/main.rs", &["path src/main.rs"]);
    check("/home/u/proj/src/main.rs", &["path src/main.rs"]);
    check("see Cargo.toml and build.rs", &["path Cargo.toml", "path build.rs"]);
    check("call parse_line or parseLine", &["identifier parse_line", "identifier parseLine"]);
    check("at 3acafd7e1 they", &["id 3acafd7e1"]);
    check("https://example.com/a/b.", &["url https://example.com/a/b"]);
}

#[test]
fn line_and_column_are_not_part_of_a_path() {
    check("src/main.rs:12:3: error", &["path src/main.rs"]);
}

#[test]
fn prose_globs_tags_and_dates_are_not_names() {
    check("and/or, either/or, API/CLI", &[]);
    check("<h1>title</h1>", &[]);
    check("rg -g '*.eval.yaml'", &[]);
    check("a plain sentence without any name", &[]);
    check("2026-01-30 and 2026-01-31", &[]);
}

#[test]
fn one_line_commands_of_fair_length_are_entities() {
    let text = |command: &str| command_entity(command).map(|entity| entity.text);
    assert_eq!(text("cargo   test -p core").as_deref(), Some("cargo test -p core"));
    assert_eq!(text("ls"), None);
    assert_eq!(text("python - <<'EOF'\nprint(1)\nEOF"), None);
}

#[test]
fn paths_are_compared_without_the_working_directory() {
    let transcript = Transcript { cwds: vec!["/w".to_owned()], ..Transcript::default() };
    let check = |path: &str, expected: &str| {
        assert_eq!(comparable_path(path, &transcript), expected);
    };
    check("/w/src/a.rs", "src/a.rs");
    check("./src/", "src");
    check("/w", "/w");
    check("/wide/a.rs", "/wide/a.rs");
}

//! Which names of earlier threads the next thread needs most.

use super::*;
use NameKind::{Command, Id, Identifier, Path};

/// A name that the thread used once, after its first calls.
fn used(kind: NameKind, text: &str) -> Name {
    Name {
        text: text.into(),
        kind,
        uses: 1,
        hits: 1,
        is_opening: false,
        is_done: false,
        is_look: false,
        file: None,
    }
}

fn opening(kind: NameKind, text: &str) -> Name {
    Name { is_opening: true, ..used(kind, text) }
}

fn printed(kind: NameKind, text: &str, hits: u32) -> Name {
    Name { uses: 0, hits, ..used(kind, text) }
}

/// The map of a project with these threads, oldest first.
fn map_of(threads: &[Vec<Name>]) -> Vec<MapEntry> {
    let memories: Vec<RolloutMemory> = (0..)
        .zip(threads)
        .map(|(number, names)| RolloutMemory {
            map: names.clone(),
            ..memory(&format!("t{number}"), "/w/a", number - 20, Vec::new())
        })
        .collect();
    build(&memories, &Rest::default()).handbook.projects.remove("/w/a").unwrap().map
}

#[test]
fn a_name_has_the_counts_of_its_threads() {
    let first = Name { file: Some("src/a.rs".into()), ..opening(Identifier, "parse_line") };
    let worked = Name { is_done: true, is_look: true, ..used(Command, "just lint") };
    let threads = [
        vec![first, worked.clone()],
        vec![Name { is_look: false, ..worked }],
        vec![printed(Identifier, "parse_line", 3)],
        vec![used(Command, "just other")],
    ];
    let map = map_of(&threads);
    let of = |text: &str| map.iter().find(|entry| entry.text == text).unwrap();
    let counts = |text: &str| {
        let MapEntry { threads, users, openings, done, age_threads, .. } = of(text);
        [threads, users, openings, done, age_threads].map(|count| *count)
    };
    assert_eq!(counts("parse_line"), [2, 1, 1, 0, 1]);
    assert_eq!(counts("just lint"), [2, 2, 0, 2, 2]);
    assert_eq!(counts("just other"), [1, 1, 0, 0, 0]);
    assert_eq!(of("parse_line").file.as_deref(), Some("src/a.rs"), "the last known file");
    assert!(!of("just lint").is_look, "as in the newest thread");
}

#[test]
fn names_that_the_next_thread_needs_come_first() {
    let changed = |text| Name { is_done: true, ..opening(Path, text) };
    let nothing = Vec::new;
    for (reason, threads) in [
        (
            "names used at the beginning",
            vec![vec![opening(Path, "src/z.rs"), used(Path, "src/a.rs")]],
        ),
        ("changed files", vec![vec![changed("src/z.rs"), opening(Path, "src/a.rs")]]),
        ("recent names", vec![vec![opening(Path, "src/a.rs")], vec![opening(Path, "src/z.rs")]]),
        (
            "names of two recent threads",
            vec![
                vec![opening(Path, "src/a.rs"), opening(Path, "src/z.rs")],
                vec![opening(Path, "src/z.rs")],
                nothing(),
            ],
        ),
        (
            "used identifiers before printed ones",
            vec![vec![used(Identifier, "zip_all"), printed(Identifier, "aim_at", 1)]],
        ),
        (
            "of printed identifiers, the repeated",
            vec![vec![printed(Identifier, "zip_all", 9), printed(Identifier, "aim_at", 1)]],
        ),
        (
            "of printed files, the repeated",
            vec![vec![printed(Path, "src/z.rs", 9), printed(Path, "src/a.rs", 1)]],
        ),
        (
            "printed in two threads it is a term of the project",
            vec![
                vec![printed(Identifier, "zip_all", 1)],
                vec![printed(Identifier, "zip_all", 1), used(Identifier, "aim_at")],
            ],
        ),
        (
            "used before printed in one thread",
            vec![vec![used(Identifier, "zip_all"), printed(Identifier, "aim_at", 2)], nothing()],
        ),
        (
            "an identifier of every thread before a path of every thread",
            vec![vec![opening(Identifier, "zip_all"), opening(Path, "src/a.rs")]; 4],
        ),
    ] {
        let map = map_of(&threads);
        assert!(map[0].text.contains('z'), "{reason}: {map:#?}");
    }
    let of_each_kind = [Command, Path, Identifier, Id];
    let once = [of_each_kind.map(|kind| opening(kind, "make_all")).to_vec()];
    assert_eq!(map_of(&once).iter().map(|entry| entry.kind).collect::<Vec<_>>(), of_each_kind);
}

/// The value of a name of one thread for the next one.
fn gain(name: Name) -> u64 {
    map_of(&[vec![name]])[0].gain
}

#[test]
fn a_printed_path_counts_if_it_can_be_a_file() {
    let prose = gain(printed(Path, "and/or", 1));
    for file in ["src/a.rs", "docs/guide.md", ".github/workflows", "app/.env", "../a.rs", "x.mp3"] {
        assert!(gain(printed(Path, file, 1)) > prose, "{file}");
    }
    for other in
        ["his/her", "end.of-line", "a/b.r-s", "a/b.sentence", "main..topic", "v1/x.", "x.c\\or"]
    {
        assert_eq!(gain(printed(Path, other, 1)), prose, "{other}");
    }
    assert!(gain(used(Path, "src/bin")) > prose, "a folder that was used");
}

/// A later thread searches for something else.
#[test]
fn a_search_counts_only_once_a_second_thread_repeats_it() {
    let usual = gain(opening(Command, "make check"));
    let long = format!("make {}", "target ".repeat(30));
    for line in [
        "rg -n retry src",
        "curl -s localhost:8080/health",
        "python3 count.py",
        "cat a.txt |rg b",
        "rg --files | rg lexer",
        "sed -n '200,300p' src/a.rs",
        "sed -n 7,9p src/a.rs",
        long.as_str(),
    ] {
        assert!(gain(opening(Command, line)) < usual / 10, "{line}");
        let twice = map_of(&[vec![opening(Command, line)], vec![opening(Command, line)]]);
        assert!(twice[0].gain > usual, "{line}");
    }
    for line in ["rg --files", "rg --files src", "sed -n '1,200p' a.rs", "sed -n 1,9p a", "./rg.sh"]
    {
        assert_eq!(gain(opening(Command, line)), usual, "{line}");
    }
    let longest = format!("make {}", "x".repeat(155));
    assert_eq!(gain(opening(Command, &longest)), usual, "160 bytes");
    assert!(gain(opening(Identifier, "grep x")) > 0);
    assert_eq!(gain(opening(Identifier, "grep x")), gain(opening(Identifier, "make_all")));
}

//! The corpus that the fuzzer left, replayed: what it once found is not found again.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use longhaul_properties::TARGETS;

/// Bytes of all corpora: they are part of every clone.
const CORPUS_BYTES_MAX: u64 = 2 << 20;

fn fuzz() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = fuzz().join("corpus").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn replay(target: &str) {
    let check = TARGETS.iter().find(|known| known.name == target).unwrap().check;
    let files = corpus(target);
    assert!(!files.is_empty(), "{target} has no corpus");
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let held = std::panic::catch_unwind(|| check(&bytes));
        assert!(held.is_ok(), "{} does not hold for {}", target, file.display());
    }
}

macro_rules! replays {
    ($($target:ident)+) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target));
        })+

        #[test]
        fn every_property_has_a_target_and_is_replayed() {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($target)),+]);
            for name in names {
                let target = fuzz().join(format!("fuzz_targets/{name}.rs"));
                let text = std::fs::read_to_string(target).unwrap();
                assert!(text.contains(&format!("longhaul_properties::{name}::check")), "{name}");
            }
        }
    };
}

replays! { claude codex config documents frames gemini memory opencode views }

#[test]
fn the_corpora_are_small() {
    let bytes = |file: &PathBuf| std::fs::metadata(file).unwrap().len();
    let files = TARGETS.iter().flat_map(|target| corpus(target.name));
    let sum: u64 = files.map(|file| bytes(&file)).sum();
    assert!(sum <= CORPUS_BYTES_MAX, "{sum} bytes of {CORPUS_BYTES_MAX}");
}

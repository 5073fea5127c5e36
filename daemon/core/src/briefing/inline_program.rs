//! Programs that a command line passes to an interpreter: whether they write files, and which ones they may write.

use super::documents;
use crate::rollout::shell::Command;

const INTERPRETERS: [&str; 5] = ["python", "python3", "node", "ruby", "perl"];

/// Parts of a call that writes a file.
const WRITES: [&str; 4] = [".write", "writeFile", "'w'", "\"w\""];

/// Maximum bytes of a path.
const PATH_BYTES: usize = 200;

/// Whether a command runs an inline program that writes files.
pub(super) fn writes_files(command: &Command) -> bool {
    WRITES.iter().any(|it| command.input.contains(it))
        && command.words.first().is_some_and(|program| INTERPRETERS.contains(&program.as_str()))
}

/// The paths in a program's strings.
pub(super) fn paths_in(program: &str) -> impl Iterator<Item = &str> {
    let strings = program.lines().flat_map(|line| line.split(['\'', '"', '`']).skip(1).step_by(2));
    strings.filter(|string| is_path(string))
}

fn is_path(string: &str) -> bool {
    let (folders, name) = string.rsplit_once('/').unwrap_or(("", string));
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_plain = |c: char| c.is_alphanumeric() || "/._-@~+ ".contains(c);
    let is_word = |c: char| c.is_ascii_alphanumeric();
    string.len() <= PATH_BYTES
        && !stem.is_empty()
        && string.chars().all(is_plain)
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.chars().all(is_word)
        && (!folders.is_empty() || documents::is_document(string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_a_program_are_those_of_its_strings() {
        for (program, expected) in [
            (
                "const OUT = '/w/app/a.excalidraw';\nfs.writeFileSync(OUT, x, 'utf8');",
                vec!["/w/app/a.excalidraw"],
            ),
            ("open(\"notes.md\", 'w').write('see https://a.org/b.html')", vec!["notes.md"]),
            ("Path('src/a.py').write_text(s.replace('x.y', '1.2'))", vec!["src/a.py"]),
            ("print('*.rs', f'{name}.md')", vec![]),
        ] {
            assert_eq!(paths_in(program).collect::<Vec<_>>(), expected, "{program}");
        }
    }
}

//! Programs that a command line passes to an interpreter: whether they write files, which ones they may write, and what they
//! print.

use super::documents;
use crate::rollout::shell::Command;
use crate::text;

const INTERPRETERS: [&str; 5] = ["python", "python3", "node", "ruby", "perl"];

/// Parts of a call that writes a file.
const WRITES: [&str; 4] = [".write", "writeFile", "'w'", "\"w\""];

/// Parts of a line that prints.
const PRINTS: [&str; 4] = ["print(", "console.log(", "puts ", "printf"];

/// Maximum bytes of what is said of a program, and words that it prints.
const SUMMARY_BYTES: usize = 240;
const WORDS_MAX: usize = 6;

/// Maximum bytes of a path.
const PATH_BYTES: usize = 200;

/// Whether a command runs an inline program that writes files.
pub(super) fn writes_files(command: &Command) -> bool {
    WRITES.iter().any(|it| command.input.contains(it)) && is_interpreter(command)
}

fn is_interpreter(command: &Command) -> bool {
    command.words.first().is_some_and(|program| INTERPRETERS.contains(&program.as_str()))
}

/// The paths in a program's strings.
pub(super) fn paths_in(program: &str) -> impl Iterator<Item = &str> {
    program.lines().flat_map(strings).filter(|string| is_path(string))
}

fn strings(line: &str) -> impl Iterator<Item = &str> {
    line.split(['\'', '"', '`']).skip(1).step_by(2)
}

/// The files that the programs of a script name, as `show` shows a path, and the words that they print. Only that tells what a
/// program is for that has not answered yet.
pub(super) fn summary<'c>(
    commands: impl Iterator<Item = &'c Command>,
    show: impl Fn(&str) -> String,
) -> String {
    let (mut names, mut prints) = (Vec::<String>::new(), Vec::<&str>::new());
    for program in commands.filter(|it| is_interpreter(it)).map(|it| it.input.as_str()) {
        names.extend(paths_in(program).map(&show));
        let printing = program.lines().filter(|line| PRINTS.iter().any(|it| line.contains(it)));
        let words = printing.flat_map(strings).map(str::trim);
        prints.extend(words.filter(|words| words.contains(char::is_alphabetic)).take(WORDS_MAX));
    }
    let part = |verb: &str, of: String| if of.is_empty() { of } else { format!("{verb} {of}") };
    let parts = [part("names", names.join(", ")), part("prints", prints.join(", "))];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    text::one_line_cut(&parts.join("; "), SUMMARY_BYTES)
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
    use crate::rollout::shell;

    #[test]
    fn a_program_is_summed_up_by_the_files_it_names_and_the_words_it_prints() {
        for (script, expected) in [
            (
                "python3 - <<'E'\nlines = open('docs/epics.md').read()\nprint('epics', len(lines))\nprint(f'{n} stories')\nE",
                "names docs/epics.md; prints epics, {n} stories",
            ),
            ("node <<'E'\nconsole.log(1, \"done\")\nE", "prints done"),
            ("python3 - <<'E'\nx = 'a'\nE", ""),
            ("cat <<'E'\nprint('a')\nE", ""),
        ] {
            let commands = shell::commands(script);
            let summary = summary(commands.iter(), str::to_owned);
            assert_eq!(summary, expected, "{script}");
        }
    }

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

//! Finds warning lines anywhere in a program's output.

use crate::text;

/// First words of a warning, in lower case.
const OPENINGS: [&str; 7] = ["warn", "[warn", "error", "[error", "deprecat", "⚠", "✗"];

/// Maximum warnings to keep from the cut middle of an output, and bytes of each.
const KEPT_MAX: usize = 4;
const KEPT_BYTES: usize = 200;

/// Whether this line is a warning.
pub(super) fn warns(line: &str) -> bool {
    let line = line.trim_start();
    // Few lines begin with a letter of an opening, and outputs have many lines.
    if !line.starts_with(['w', 'W', 'e', 'E', 'd', 'D', '[', '⚠', '✗']) {
        return false;
    }
    let first = text::prefix(line, 12).to_lowercase();
    OPENINGS.iter().any(|opening| first.starts_with(opening))
}

/// Whether a text has a line that is a warning.
pub(super) fn any(text: &str) -> bool {
    text.lines().any(warns)
}

/// Cuts an output to about `bytes`: its start, warnings from the middle, and its end.
pub(super) fn cut(printed: &str, bytes: usize) -> String {
    if printed.len() <= bytes {
        return printed.to_owned();
    }
    let first = text::prefix(printed, bytes / 2);
    let last = text::suffix(&printed[first.len()..], bytes / 2);
    let middle = &printed[first.len()..printed.len() - last.len()];
    let warnings = middle.lines().skip(1).filter(|line| warns(line)).take(KEPT_MAX);
    let warnings: String =
        warnings.map(|line| format!("{}\n", text::one_line_cut(line, KEPT_BYTES))).collect();
    format!("{first}…{} bytes cut…\n{warnings}{last}", middle.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_in_the_middle_of_a_long_output_stays() {
        let lines = |from: u32| (from..from + 90).map(|n| format!("compiling part {n}\n"));
        let lines: Vec<String> = lines(0)
            .chain(["  ⚠ unknown setting 'depth'\n".to_owned(), "warning: é\n".to_owned()])
            .chain(lines(200))
            .collect();
        let text = cut(&lines.concat(), 400);
        assert!(text.starts_with("compiling part 0\n") && text.ends_with("part 289\n"), "{text}");
        assert!(text.contains("\n⚠ unknown setting 'depth'\nwarning: é\n"), "{text}");
        assert!(text.len() < 560, "{}", text.len());
        assert_eq!(cut("short", 400), "short");
    }
}

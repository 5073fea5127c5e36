//! Folds a file listing into one line of names.

use std::borrow::Cow;

use crate::text;

/// Maximum bytes of names to show.
const NAMES_BYTES: usize = 360;

/// Shorter outputs are quoted as they are.
const LINES_MIN: usize = 4;

/// Bytes of a line between the names that is no name.
const OTHER_BYTES: usize = 120;

/// The names that an output lists, if it is mostly a listing, with its other lines.
pub(super) fn names(printed: &str) -> Option<String> {
    let lines: Vec<&str> = printed.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let names = lines.iter().filter(|line| name(line).is_some()).count();
    if lines.len() < LINES_MIN || names * 10 < lines.len() * 9 {
        return None;
    }
    let (mut shown, mut left, mut ends) = (String::new(), 0, "");
    for line in lines {
        let (text, end) = match name(line) {
            Some(name) => (Cow::Borrowed(name), ", "),
            None => (text::cut_words(line, OTHER_BYTES), " | "),
        };
        if text.is_empty() {
            continue;
        }
        let is_name = end == ", ";
        if is_name && (left > 0 || shown.len() + text.len() > NAMES_BYTES) {
            left += 1;
            continue;
        }
        let between = if is_name { ends } else { " | " };
        shown.push_str(if shown.is_empty() { "" } else { between });
        shown.push_str(&text);
        ends = end;
    }
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    Some(shown + &more)
}

/// The name in a line of `ls`, short or long; empty for the total, `.` and `..`.
fn name(line: &str) -> Option<&str> {
    if line.starts_with("total ") {
        return Some("");
    }
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let Some(last) = words.next_back() else {
        // Numbers are a count or a series.
        let is_name = first.chars().all(|c| c.is_alphanumeric() || "._-/@+~".contains(c))
            && first.contains(char::is_alphabetic);
        return is_name.then_some(first);
    };
    let is_mode = first.len() >= 10
        && first.bytes().skip(1).take(9).all(|byte| b"rwxsStT-".contains(&byte))
        && first.starts_with(['-', 'd', 'l']);
    is_mode.then_some(last).map(|name| if [".", ".."].contains(&name) { "" } else { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_one_line_of_names() {
        let long = "total 28\ndrwxr-xr-x 5 me me 4096 Mar 25 00:33 .\n-rw-r--r-- 1 me me 41 Mar 25 00:24 a.rs\ndrwxr-xr-x 2 me me 41 Mar 25 00:24 src";
        assert_eq!(names(long).as_deref(), Some("a.rs, src"));
        assert_eq!(names("a.rs\nb.rs\nsrc\ndocs/").as_deref(), Some("a.rs, b.rs, src, docs/"));
        assert_eq!(names("fn a() {\n    one\n}\nfn b() {}\n"), None);
        assert_eq!(names("one\ntwo"), None);
        for (printed, expected) in [
            ("step 25\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", None),
            (
                "a.rs\nb.rs\nc.rs\nd.rs\ne.rs\nf.rs\ng.rs\nh.rs\ni.rs\nls: cannot read k\n",
                Some("a.rs, b.rs, c.rs, d.rs, e.rs, f.rs, g.rs, h.rs, i.rs | ls: cannot read k"),
            ),
            (
                "found nine files\na.rs\nb.rs\nc.rs\nd.rs\ne.rs\nf.rs\ng.rs\nh.rs\ni.rs\n",
                Some("found nine files | a.rs, b.rs, c.rs, d.rs, e.rs, f.rs, g.rs, h.rs, i.rs"),
            ),
        ] {
            assert_eq!(names(printed).as_deref(), expected, "{printed}");
        }
        let many: String = (0..200).map(|n| format!("file{n}.rs\n")).collect();
        assert!(names(&many).is_some_and(|names| names.ends_with(" more") && names.len() < 400));
    }
}

//! Windows drives, normalized to compare a view with a transcript.
//!
//! The same file is `D:\w\a.rs` to one tool, `D:/w/a.rs` to the next and `/d/w/a.rs` to a Unix shell. A view may use
//! any of them, so none may cost it a name.

use std::borrow::Cow;

/// Converts each drive path to the form of a Unix shell.
pub fn on_drive(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(":\\") {
        let is_drive = rest[..at].ends_with(|c: char| c.is_ascii_alphabetic());
        let end = match is_drive {
            true => {
                at + rest[at..]
                    .find(|c: char| c.is_whitespace() || "\"'`<>|*?".contains(c))
                    .unwrap_or(rest.len() - at)
            }
            false => at + 2,
        };
        let part = &rest[..end];
        match is_drive {
            true => {
                out.push_str(&part[..at]);
                out.push_str(&part[at..].replace("\\\\", "/").replace('\\', "/"));
            }
            false => out.push_str(part),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    mounted(&out).into_owned()
}

/// Converts each `D:/` to `/d/`.
fn mounted(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices(":/") {
        let mut before = text[done..at].chars().rev();
        let Some(letter) = before.next().filter(char::is_ascii_alphabetic) else { continue };
        let begins_word = before.next().is_none_or(|c| !c.is_alphanumeric());
        // `c://` is the end of a scheme, not a drive.
        if !begins_word || text[at + 2..].starts_with('/') {
            continue;
        }
        out.push_str(&text[done..at - 1]);
        out.push('/');
        out.push(letter.to_ascii_lowercase());
        done = at + 1;
    }
    match done {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[done..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_a_drive_change_their_slashes() {
        assert_eq!(
            on_drive(r#"at D:\a\b.rs "C:\\x\\y" a\nb \w:\d"#),
            r#"at /d/a/b.rs "/c/x/y" a\nb \/w/d"#
        );
    }

    #[test]
    fn only_drives_are_written_anew() {
        for (text, expected) in [
            ("D:/w/a.rs", "/d/w/a.rs"),
            ("in `c:/w` and (E:/x)", "in `/c/w` and (/e/x)"),
            ("https://a.b/c src:/x a://b", "https://a.b/c src:/x a://b"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(mounted(text), expected);
        }
    }
}

//! Text as a person sees it: colors, escapes, wrapped lines, and the borders of tokens in it.

use super::specimens::{check_each, noise};
use crate::redact::{MARKER, redact};

/// Fills a line that a terminal wraps.
const WIDE: &str = "the deployment printed this long line before";

#[test]
fn a_token_begins_and_ends_at_a_border() {
    check_each(&[
        // Colors whose escape characters were lost.
        "[32m«ghp_{an:36}»[0m",
        "[1;32m«ghp_{an:36}»[0m",
        "x%3D«ghp_{an:36}»",
        "a12mghp_{an:36}",
        // Longer than a key.
        "data AKIA{upper:18} goes on",
        "data xxxxxxxxxx-{an:52}AzFu{an:8} goes on",
    ]);
}

#[test]
fn a_secret_inside_what_looks_like_a_token_is_hidden() {
    let row = "x".repeat(40);
    check_each(&[&format!("AKIAXXXXXXXXXXXXXXXX password=«hunter22» {row}")]);
}

#[test]
fn escapes_hide_no_secret() {
    check_each(&[
        r"one\r«ghp_{an:36}»\r\ntwo",
        "\u{1b}7«ghp_{an:36}» done",
        "\u{1b}é password=«hunter22»",
        r#"{"api_key":"«{an:31}\u003d»","n":1}"#,
    ]);
}

#[test]
fn an_escape_that_is_cut_off_is_kept() {
    for text in [
        r#"the token "\u003" stays"#,
        r"the token \u003",
        r"the token \u00",
        r"the token \u",
        r"the token \x1b",
        r"the token \033",
        "the token \\",
        "the token \u{1b}",
        "the token \u{1b}[",
    ] {
        assert_eq!(redact(text).text, text);
    }
}

/// A token whose last characters are `7e`.
fn token() -> String {
    format!("gh{}_{}7e", "p", noise(34))
}

#[test]
fn a_token_is_hidden_wherever_the_line_was_wrapped() {
    let letters = format!("gh{}_{}{}", "p", noise(16), "PmNoLpKqMrJsItHuGvFw");
    for (token, rest) in [(token(), 2), (token(), 5), (token(), 20), (letters, 20)] {
        let (head, tail) = token.split_at(token.len() - rest);
        for (text, expected) in [
            (format!("{WIDE} {head}\n{tail}\n"), format!("{WIDE} {MARKER}\n")),
            (format!("{WIDE} {head}\r\n    {tail}\r\n"), format!("{WIDE} {MARKER}\r\n")),
            (format!("| {WIDE} {head} |\n| {tail} |\n"), format!("| {WIDE} {MARKER} |\n")),
            (format!("│ {WIDE} {head} │\n│ {tail} │\n"), format!("│ {WIDE} {MARKER} │\n")),
        ] {
            assert_eq!(redact(&text).text, expected, "{rest} bytes on the next line");
        }
    }
}

#[test]
fn each_wrapped_line_of_a_text_is_read() {
    let token = token();
    let (head, tail) = token.split_at(20);
    // More than the passes over a text.
    let text = format!("{WIDE} {head}\n{tail}\nshort\n").repeat(12);
    assert_eq!(redact(&text).text, format!("{WIDE} {MARKER}\nshort\n").repeat(12));
}

#[test]
fn a_line_that_goes_on_with_a_word_or_a_date_was_not_wrapped() {
    for text in [
        "password=abc\nandmore goes on\n",
        "password=abc\n2026-03-01T10:20:30Z done\n",
        "password=abc\n20260301 files\n",
        "export DB_PASSWORD=\nv2x9beta7 is built\n",
    ] {
        check_each(&[&format!("{WIDE}, {text}")]);
    }
}

#[test]
fn a_name_that_was_wrapped_reveals_its_value() {
    check_each(&[&format!("{WIDE}, export OPENAI_API\n_KEY=«{{an:32}}»\n")]);
}

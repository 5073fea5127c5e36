use proptest::prelude::*;

use super::*;

/// What the client for Neovim is held to as well.
#[derive(serde::Deserialize)]
struct Specimens {
    /// Ranges of hidden characters.
    hidden: Vec<(u32, u32)>,
    /// A text, as one line, and with its lines.
    shown: Vec<(String, String, String)>,
    /// Planted texts that must never come out.
    hostile: Vec<String>,
    /// Texts of every script, which come through as they are.
    kept: Vec<String>,
}

fn specimens() -> Specimens {
    serde_json::from_str(include_str!("../specimens.json")).unwrap()
}

#[test]
fn what_is_hidden_is_shown() {
    for (text, line, lines) in specimens().shown {
        assert_eq!(one_line(&text), line, "{text:?}");
        assert_eq!(block(&text), lines, "{text:?}");
    }
}

#[test]
fn the_hidden_characters_are_those_of_the_specimens() {
    let ranges = specimens().hidden;
    for c in '\0'..=char::MAX {
        let is_listed = ranges.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(c)));
        assert_eq!(is_hidden(c), is_listed, "{c:?}");
    }
}

#[test]
fn text_of_every_script_comes_through_as_it_is() {
    for text in &specimens().kept {
        assert!(matches!(one_line(text), Cow::Borrowed(same) if same == text), "{text:?}");
        assert!(matches!(block(text), Cow::Borrowed(same) if same == text), "{text:?}");
    }
}

#[test]
fn nothing_hostile_comes_out_wherever_it_stands() {
    for hostile in specimens().hostile {
        for text in [hostile.clone(), format!("é{hostile}é"), format!("a{hostile}\nb")] {
            assert!(!one_line(&text).contains(is_hidden), "{text:?}");
            assert!(!block(&text).contains(|c| c != '\n' && is_hidden(c)), "{text:?}");
            assert!(block(&text).len() > 1, "{text:?} is shown");
        }
    }
}

proptest! {
    #[test]
    fn what_came_out_goes_in_again(text in any::<String>()) {
        let (line, lines) = (one_line(&text), block(&text));
        prop_assert!(!line.contains(is_hidden));
        prop_assert_eq!(&one_line(&line), &line);
        prop_assert_eq!(&block(&lines), &lines);
    }

    #[test]
    fn a_clean_prefix_changes_nothing(text in "[ -~]{0,200}", tail in any::<String>()) {
        let whole = format!("{text}x{tail}");
        prop_assert!(one_line(&whole).starts_with(&text));
    }
}

#[test]
fn json_says_the_same_without_what_is_hidden() {
    let text = "\"a\u{9b}\u{202e}\u{e0041}\u{200d}é\u{7f}\"";
    assert_eq!(json(text), "\"a\\u009b\\u202e\\udb40\\udc41\\u200dé\\u007f\"");
    assert!(matches!(json("{\"a\":\"é\"}"), Cow::Borrowed(_)));
}

#[test]
fn only_colors_stay_on_a_page() {
    let page = "\x1b[1mtitle\x1b[0m \x1b]52;c;x\x07 \x1b[5mblink \x1b[2J\u{9b}2J\u{202e}\n";
    let shown = "\x1b[1mtitle\x1b[0m \\u{1b}]52;c;x\\u{7} blink \\u{1b}[2J\\u{9b}2J\\u{202e}\n";
    assert_eq!(painted(page), shown);
    assert!(matches!(painted("plain\n"), Cow::Borrowed(_)));
}

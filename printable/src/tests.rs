use proptest::prelude::*;

use super::*;

/// What must never come out, as it is planted.
const HOSTILE: &[&str] = &[
    "\u{1b}[2J",
    "\u{1b}]52;c;aGk=\u{7}",
    "\u{1b}Pq\u{1b}\\",
    "\u{7}",
    "\u{8}",
    "\u{7f}",
    "\u{9b}31m",
    "\u{90}x\u{9c}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}cod.exe",
    "\u{2066}x\u{2069}",
    "\u{200e}\u{200f}\u{61c}",
    "\u{200b}",
    "\u{feff}",
    "\u{ad}",
    "\u{3164}",
    "\u{e0041}\u{e0042}",
    "\u{fe00}\u{fe01}\u{fe02}",
    "\u{e0100}\u{e0101}",
];

#[test]
fn what_is_hidden_is_shown() {
    for (text, line, lines) in [
        ("a\u{1b}[2Jb", "a\\u{1b}[2Jb", "a\\u{1b}[2Jb"),
        ("\u{1b}[1;31mred\u{1b}[m", "red", "red"),
        ("torn \u{1b}[3", "torn \\u{1b}[3", "torn \\u{1b}[3"),
        ("\u{1b}]52;c;x\u{7}", "\\u{1b}]52;c;x\\u{7}", "\\u{1b}]52;c;x\\u{7}"),
        ("\u{9b}31m", "\\u{9b}31m", "\\u{9b}31m"),
        ("a\n\tb\r\nc\rd", "a\\n\\tb\\r\\nc\\rd", "a\n\tb\nc\\rd"),
        ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}", "a\\u{202e}b\\u{2066}"),
        ("to\u{200d}ken", "to\\u{200d}ken", "to\\u{200d}ken"),
        ("\u{e0041}", "\\u{e0041}", "\\u{e0041}"),
        ("x\u{fe0f}\u{fe0f}", "x\u{fe0f}\\u{fe0f}", "x\u{fe0f}\\u{fe0f}"),
    ] {
        assert_eq!(one_line(text), line, "{text:?}");
        assert_eq!(block(text), lines, "{text:?}");
    }
}

#[test]
fn text_of_every_script_comes_through_as_it_is() {
    for text in [
        "plain words",
        "naïve café — “quoted” … 100 €",
        "全文检索引擎\u{3000}日本語",
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} 🏳\u{fe0f}\u{200d}🌈",
        "e\u{301}\u{a0}x",
        "שלום عربي",
    ] {
        assert!(matches!(one_line(text), Cow::Borrowed(same) if same == text), "{text:?}");
        assert!(matches!(block(text), Cow::Borrowed(same) if same == text), "{text:?}");
    }
}

#[test]
fn nothing_hostile_comes_out_wherever_it_stands() {
    for hostile in HOSTILE {
        for text in [hostile.to_string(), format!("é{hostile}é"), format!("a{hostile}\nb")] {
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
fn only_colours_stay_on_a_page() {
    let page = "\x1b[1mtitle\x1b[0m \x1b]52;c;x\x07 \x1b[5mblink \x1b[2J\u{9b}2J\u{202e}\n";
    let shown = "\x1b[1mtitle\x1b[0m \\u{1b}]52;c;x\\u{7} blink \\u{1b}[2J\\u{9b}2J\\u{202e}\n";
    assert_eq!(painted(page), shown);
    assert!(matches!(painted("plain\n"), Cow::Borrowed(_)));
}

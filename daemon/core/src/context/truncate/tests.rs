use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check(text: &str, policy: Policy, expected: &str, removed: u64) {
    let cut = truncate(text, policy);
    assert_eq!((cut.text.as_str(), cut.removed), (expected, removed), "{policy:?}");
}

#[test]
fn the_middle_is_cut_with_a_marker_that_counts() {
    let emoji = "😀".repeat(10) + "\nsecond line with text\n";
    check("example output", Policy::Bytes(1), "…13 chars truncated…t", 13);
    check("example output", Policy::Tokens(1), "ex…3 tokens truncated…ut", 3);
    check(&emoji, Policy::Bytes(20), "😀😀…21 chars truncated…with text\n", 21);
    check("example output", Policy::Bytes(14), "example output", 0);
    check("example output", Policy::Tokens(4), "example output", 0);
    check("1\n2\n3\n4\n5\n", Policy::Lines(3), "1\n…2 lines truncated…\n4\n5\n", 2);
    check("1\n2\n3", Policy::Lines(3), "1\n2\n3", 0);
}

#[test]
fn a_zero_budget_leaves_only_the_marker() {
    check("example output", Policy::Tokens(0), "…4 tokens truncated…", 4);
    check("example output", Policy::Bytes(0), "…14 chars truncated…", 14);
    check("a\nb", Policy::Lines(0), "…2 lines truncated…", 2);
    for policy in [Policy::Tokens(0), Policy::Bytes(0), Policy::Lines(0)] {
        check("", policy, "", 0);
    }
}

#[test]
fn the_formatted_form_counts_lines_only_if_cut() {
    let cut = truncate_formatted("example output", Policy::Bytes(1));
    assert_eq!(cut.text, "Total output lines: 1\n\n…13 chars truncated…t");
    let cut = truncate_formatted("example output", Policy::Tokens(1));
    assert_eq!(cut.text, "Total output lines: 1\n\nex…3 tokens truncated…ut");
    assert_eq!(truncate_formatted("short", Policy::Tokens(10)).text, "short");
}

#[test]
fn removed_tokens_are_those_over_the_budget() {
    for (bytes, removed) in
        [(50_000, 2_500), (185_000, 36_250), (178_890, 34_723), (109_692, 17_423)]
    {
        let cut = truncate(&"x".repeat(bytes), Policy::Tokens(10_000));
        assert_eq!(cut.removed, removed, "{bytes}");
        assert!(cut.text.contains(&format!("…{removed} tokens truncated…")));
    }
}

#[test]
fn parts_share_one_budget_and_images_are_free() {
    let mut parts = vec![
        json!({ "type": "input_text", "text": "abcd" }),
        json!({ "type": "input_image", "image_url": "data:image/png;base64,AAAA" }),
        json!({ "type": "input_text", "text": "0123456789abcdef" }),
        json!({ "type": "input_text", "text": "later" }),
        json!({ "type": "input_text", "text": "last" }),
    ];
    let removed = truncate_parts(&mut parts, Policy::Bytes(8));
    assert_eq!(removed, 12 + 5 + 4);
    assert_eq!(parts.len(), 4);
    assert_eq!(parts[0]["text"], "abcd");
    assert_eq!(parts[1]["type"], "input_image");
    assert_eq!(parts[2]["text"], "01…12 chars truncated…ef");
    assert_eq!(parts[3]["text"], "[omitted 2 text items ...]");
}

#[test]
fn parts_after_a_budget_of_lines_and_bytes_are_omitted() {
    let text = |words: &str| json!({ "type": "input_text", "text": words });
    for (what, lines, bytes, kept) in [
        ("both last", 9, 99, 3),
        ("the lines are used up", 2, 99, 1),
        ("the bytes are used up", 9, 4, 1),
        ("one line is left", 3, 99, 2),
        ("one byte is left", 9, 5, 2),
    ] {
        let mut parts = vec![text("a\nb\n"), text("c"), text("d")];
        let policy = Policy::LinesAndBytes { lines, bytes };
        assert_eq!(truncate_parts(&mut parts, policy), 3 - kept, "{what}");
        let omitted = format!("[omitted {} text items ...]", 3 - kept);
        let mut expected = vec![text("a\nb\n"), text("c"), text("d")];
        expected.truncate(usize::try_from(kept).unwrap());
        expected.extend((kept < 3).then(|| text(&omitted)));
        assert_eq!(parts, expected, "{what}");
    }
}

#[test]
fn merged_parts_are_one_text_before_the_images() {
    let image = json!({ "type": "input_image", "image_url": "data:image/png;base64,AAAA" });
    let text = |words: &str| json!({ "type": "input_text", "text": words });
    let mut small = vec![text("a"), image.clone()];
    assert_eq!(merge_parts(&mut small, Policy::Tokens(10)), 0);
    assert_eq!(small, [text("a"), image.clone()]);
    let mut large = vec![text(""), image.clone(), text("0123456789"), text("abcdefghij")];
    assert_eq!(merge_parts(&mut large, Policy::Bytes(6)), 15);
    let expected = "Total output lines: 2\n\n012…15 chars truncated…hij";
    assert_eq!(large, [text(expected), image]);
}

proptest! {
    #[test]
    fn kept_text_is_within_the_budget_and_splits_no_character(text in "(\\PC|\n|語|😀){0,200}", limit in 0_u64..120) {
        for policy in [Policy::Bytes(limit), Policy::Tokens(limit), Policy::Lines(limit)] {
            let cut = truncate(&text, policy);
            if cut.removed == 0 {
                prop_assert_eq!(&cut.text, &text);
                continue;
            }
            let mark = format!("…{} {} truncated…", cut.removed, cut.unit.into_str());
            let at = cut.text.find(&mark).expect("a cut text has its marker");
            let (head, tail) = (&cut.text[..at], &cut.text[at + mark.len()..]);
            prop_assert!(text.starts_with(head));
            let tail = if cut.unit == Unit::Lines { tail.strip_prefix('\n').unwrap_or(tail) } else { tail };
            prop_assert!(text.ends_with(tail));
            let kept = format!("{head}{tail}");
            prop_assert!(policy.holds(&kept), "{:?} kept {:?}", policy, kept);
        }
    }
}

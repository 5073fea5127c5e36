//! Tests read requests and answers with the protocol's types.

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};

use crate::assert_none;
use crate::source::SOURCES;

/// Words before a `[` that starts a list, not an index.
const KEYWORDS: &[&str] = &["in", "return", "else", "match", "if", "while", "mut", "break", "move"];

/// A misspelled key of a `serde_json::Value` is null, and null equals null: such a test cannot fail. Use
/// `field` (of `longhaul_client::scripted`, or of the daemon's `support`) for values without a type: it panics if the
/// key is missing.
#[test]
fn wire_tests_index_no_json_by_a_key() {
    let is_wire_test = |path: &str| {
        let parts: Vec<&str> = path.split('/').collect();
        matches!(parts[..], ["daemon", "server", "tests", ..] | ["clients", _, "tests", ..])
    };
    let mut findings = Vec::new();
    for source in SOURCES.iter().filter(|source| is_wire_test(&source.path)) {
        let tokens: TokenStream = source.text.parse().expect("a source file that compiles parses");
        for line in indexed_by_text(tokens) {
            findings.push(format!("{}:{line}", source.path));
        }
    }
    assert_none("no `value[\"key\"]`: use a type of the protocol, or `field`", &findings);
}

/// Lines with an index expression whose index is a string literal, also inside of macros.
fn indexed_by_text(tokens: TokenStream) -> Vec<usize> {
    let (mut lines, mut can_be_indexed) = (Vec::new(), false);
    for token in tokens {
        let is_indexable = match &token {
            TokenTree::Ident(word) => !KEYWORDS.contains(&word.to_string().as_str()),
            TokenTree::Group(group) => group.delimiter() != Delimiter::Brace,
            TokenTree::Punct(mark) => mark.as_char() == '?',
            TokenTree::Literal(_) => false,
        };
        if let TokenTree::Group(group) = &token {
            if can_be_indexed && is_text_index(group) {
                lines.push(group.span_open().start().line);
            }
            lines.extend(indexed_by_text(group.stream()));
        }
        can_be_indexed = is_indexable;
    }
    lines
}

fn is_text_index(group: &Group) -> bool {
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    let is_text = |literal: &Literal| literal.to_string().contains('"');
    group.delimiter() == Delimiter::Bracket
        && matches!(&inside[..], [TokenTree::Literal(literal)] if is_text(literal))
}

#[test]
fn indexes_are_found_in_code_and_macros() {
    let lines = |text: &str| indexed_by_text(text.parse().expect("tokens")).len();
    for (text, expected) in [
        (r#"let a = value["key"];"#, 1),
        (r#"assert_eq!(call().await["a"]["b"], 1);"#, 2),
        (r#"let a = found()?["key"];"#, 1),
        (r#"for name in ["a"] {}"#, 0),
        (r#"assert_eq!(names, ["a"]); let b = vec!["a"]; json!({ "a": ["b"] }); &["a"]"#, 0),
    ] {
        assert_eq!(lines(text), expected, "{text}");
    }
}

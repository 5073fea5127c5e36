//! Messages and hints are for people: they name commands of `longhaul`, not methods of the protocol.

use proc_macro2::{TokenStream, TokenTree};

use crate::assert_none;
use crate::source::{SOURCES, files};

/// Where the texts are written that a command prints.
const SPEAKING: &[&str] = &["protocol/src/error/", "daemon/", "clients/cli/src/"];

#[test]
fn no_message_names_a_method() {
    let methods = methods();
    assert!(methods.iter().any(|method| method == "compaction/list"), "{methods:?}");
    let mut findings = Vec::new();
    for source in SOURCES.iter() {
        let path = &source.path;
        let is_speaking = SPEAKING.iter().any(|folder| path.starts_with(folder));
        if !is_speaking || path.contains("/tests") || path.contains("/benches") {
            continue;
        }
        let code = source.text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = code.parse().expect("a source file that compiles parses");
        for text in sentences(code) {
            if methods.iter().any(|method| text.contains(method)) {
                findings.push(format!("{path}: {text}"));
            }
        }
    }
    assert_none("a message names commands of longhaul, not methods", &findings);
}

#[test]
fn sentences_are_found_in_macros_and_attributes_but_not_in_documentation() {
    let code = r#"
        /// See `thread/list` for more.
        #[error("ask {0} by thread/get")]
        fn f() { g(format!("use thread/list: {}", "thread/get")) }
    "#;
    let found = sentences(code.parse().expect("it is Rust"));
    assert_eq!(found, ["ask {0} by thread/get", "use thread/list: {}"]);
}

/// The methods of the protocol, by their example files.
fn methods() -> Vec<String> {
    let examples = files(&["json"]);
    let method = |path: &String| {
        let name = path.strip_prefix("protocol/examples/")?.strip_suffix(".json")?;
        name.contains('/').then(|| name.to_owned())
    };
    examples.iter().filter_map(method).collect()
}

/// The string literals of more than one word, without documentation.
fn sentences(code: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_doc = false;
    for token in code {
        match token {
            TokenTree::Group(group) => found.extend(sentences(group.stream())),
            TokenTree::Literal(literal) if !is_doc => {
                if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                    found.extend(Some(text.value()).filter(|text| text.contains(' ')));
                }
            }
            TokenTree::Ident(name) => is_doc = name == "doc",
            TokenTree::Literal(_) | TokenTree::Punct(_) => {}
        }
    }
    found
}

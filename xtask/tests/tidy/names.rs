//! Meaningless names, and paths of one machine.

use syn::visit::{self, Visit};

use crate::assert_none;
use crate::source::{SOURCES, files, root};

/// Words that name a container instead of its content.
const EMPTY_WORDS: &[&str] = &["util", "utils", "helper", "helpers", "manager", "common", "misc"];

#[test]
fn names_say_what_a_thing_is() {
    let mut findings = Vec::new();
    for source in SOURCES.iter() {
        let stem = source.path.trim_end_matches(".rs");
        if stem.split(['/', '_']).any(is_empty_word) {
            findings.push(source.path.clone());
        }
        let mut names = EmptyNames { path: &source.path, findings: &mut findings };
        names.visit_file(&source.syntax.tree());
    }
    assert_none("no util, helper, manager, common, misc", &findings);
}

fn is_empty_word(word: &str) -> bool {
    EMPTY_WORDS.contains(&word)
}

struct EmptyNames<'a> {
    path: &'a str,
    findings: &'a mut Vec<String>,
}

impl EmptyNames<'_> {
    fn check(&mut self, name: &syn::Ident) {
        let words = words(&name.to_string());
        // A longer name is a sentence, as in tests, and may use any word.
        if words.len() <= 3 && words.iter().any(|word| is_empty_word(word)) {
            self.findings.push(format!("{}:{} {name}", self.path, name.span().start().line));
        }
    }
}

impl<'ast> Visit<'ast> for EmptyNames<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.check(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.check(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.check(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.check(&item.ident);
        visit::visit_item_mod(self, item);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.check(&signature.ident);
        visit::visit_signature(self, signature);
    }
}

/// Splits `snake_case` and `CamelCase` into lower-case words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().expect("never empty").extend(letter.to_lowercase());
        }
    }
    words
}

#[test]
fn no_machine_paths() {
    // Concatenated, so that this file is not a finding.
    let roots = ["work", "root", "Users"].map(|folder| format!("/{folder}/"));
    let mut findings = Vec::new();
    for path in files(&["rs", "toml", "md", "json", "jsonl", "sql", "service", "socket", "yml"]) {
        let text = std::fs::read_to_string(root().join(&path)).expect("a text file is readable");
        for (number, line) in text.lines().enumerate() {
            let is_start = |at: usize| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/~".contains(c))
            };
            let found = roots
                .iter()
                .any(|folder| line.match_indices(folder.as_str()).any(|(at, _)| is_start(at)));
            if found {
                findings.push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert_none("no path of one machine in the repository", &findings);
}

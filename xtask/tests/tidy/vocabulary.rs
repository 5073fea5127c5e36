//! A type name is defined at most twice in a crate, and no file cites absent documents.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::assert_none;
use crate::source::{SOURCES, files, root};

/// Maximum definitions of a type name in one crate.
const DEFINITIONS_MAX: usize = 2;

#[test]
fn type_names_are_defined_at_most_twice_in_a_crate() {
    let mut defined: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for source in SOURCES.iter() {
        let Some((folder, _)) = source.path.split_once("/src/") else { continue };
        let mut types = Types::default();
        types.visit_file(&source.syntax.tree());
        for name in types.names {
            defined.entry((folder, name)).or_default().push(&source.path);
        }
    }
    let findings: Vec<String> = defined
        .iter()
        .filter(|(_, paths)| paths.len() > DEFINITIONS_MAX)
        .map(|((folder, name), paths)| format!("{name} in {folder}: {}", paths.join(", ")))
        .collect();
    assert_none("a type name is defined at most twice in a crate", &findings);
}

#[derive(Default)]
struct Types {
    names: Vec<String>,
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.names.push(item.ident.to_string());
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.names.push(item.ident.to_string());
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.names.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.names.push(item.ident.to_string());
        visit::visit_item_type(self, item);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_defined_in(call.tokens.clone());
    }
}

impl Types {
    /// Adds the types among the tokens of a macro, which are not parsed: `struct NAME` and `enum NAME`.
    fn add_defined_in(&mut self, tokens: TokenStream) {
        let mut is_name = false;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if is_name => {
                    self.names.push(ident.to_string());
                    is_name = false;
                }
                TokenTree::Ident(ident) => is_name = ident == "struct" || ident == "enum",
                TokenTree::Group(group) => {
                    self.add_defined_in(group.stream());
                    is_name = false;
                }
                _ => is_name = false,
            }
        }
    }
}

#[test]
fn no_absent_document_is_cited() {
    // Concatenated, so that this file is not a finding.
    let absent =
        [["fac", "ts/codex"], ["fac", "ts/rollout"], ["fac", "ts/dep"], ["docu", "ment 00"]]
            .into_iter()
            .chain([["DES", "IGN.md"], ["revi", "ews/"]])
            .map(|halves| halves.concat());
    let absent: Vec<String> = absent.collect();
    let is_citing = |path: &String| {
        let text = std::fs::read_to_string(root().join(path)).expect("a text file is readable");
        absent.iter().any(|word| text.contains(word))
    };
    let endings = ["rs", "toml", "md", "sql", "ts", "lua", "yml"];
    let findings: Vec<String> = files(&endings).into_iter().filter(is_citing).collect();
    assert_none("no file cites a document that is not in the repository", &findings);
}

//! No file over 500 lines, no function over 70.

use syn::visit::{self, Visit};

use crate::assert_none;
use crate::source::{SOURCES, files, root};

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

#[test]
fn files_are_short() {
    let long = |path: &str, lines: usize| format!("{path} has {lines} lines: split it by subject");
    let findings: Vec<_> = SOURCES
        .iter()
        .map(|source| (&source.path, source.text.lines().count()))
        .filter(|(_, lines)| *lines > FILE_LINES_MAX)
        .map(|(path, lines)| long(path, lines))
        .collect();
    assert_none("a file has at most 500 lines", &findings);
}

#[test]
fn files_of_editors_are_short() {
    let is_generated = |path: &String| path.ends_with(".generated.ts");
    let findings: Vec<_> = files(&["ts", "mjs", "lua"])
        .into_iter()
        .filter(|path| !is_generated(path))
        .filter_map(|path| {
            let text = std::fs::read_to_string(root().join(&path)).expect("a file is readable");
            let lines = text.lines().count();
            (lines > FILE_LINES_MAX).then(|| format!("{path} has {lines} lines"))
        })
        .collect();
    assert_none("a file in TypeScript or Lua has at most 500 lines", &findings);
}

#[test]
fn functions_are_short() {
    let mut findings = Vec::new();
    for source in SOURCES.iter() {
        let mut long = LongFunctions { path: &source.path, findings: &mut findings };
        long.visit_file(&source.syntax.tree());
    }
    assert_none("a function has at most 70 lines", &findings);
}

struct LongFunctions<'a> {
    path: &'a str,
    findings: &'a mut Vec<String>,
}

impl LongFunctions<'_> {
    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let start = signature.fn_token.span.start().line;
        let end = block.brace_token.span.close().end().line;
        let lines = end - start + 1;
        if lines > FUNCTION_LINES_MAX {
            let name = &signature.ident;
            self.findings.push(format!("{}:{start} {name} has {lines} lines", self.path));
        }
    }
}

impl<'ast> Visit<'ast> for LongFunctions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

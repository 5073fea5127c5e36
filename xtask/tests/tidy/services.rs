//! A struct of the daemon names the tables that it reaches.

use syn::visit::{self, Visit};

use crate::assert_none;
use crate::source::SOURCES;

/// Files that pass tables on to those who use them: `Ingest::start` to ingestion's parts, `Wiring` to the services, and
/// `startup` to what reads transcripts.
const PASS_ON: &[&str] = &[
    "daemon/server/src/ingest.rs",
    "daemon/server/src/service/startup.rs",
    "daemon/server/src/service/wiring.rs",
];

#[test]
fn no_service_takes_the_whole_store() {
    let mut findings = Vec::new();
    for source in SOURCES.iter().filter(|source| source.path.starts_with("daemon/server/src/")) {
        if source.path.ends_with("/tests.rs") || PASS_ON.contains(&source.path.as_str()) {
            continue;
        }
        let mut holders = Holders::default();
        holders.visit_file(&source.syntax.tree());
        findings.extend(holders.found.iter().map(|name| format!("{}: {name}", source.path)));
    }
    assert_none("a struct or function takes handles of tables, not the whole `Store`", &findings);
}

#[test]
fn a_holder_is_found_in_any_type() {
    let file = syn::parse_file(
        "struct A { a: (u8, Arc<longhaul_store::Store>) } struct B(StoreError); fn c(_: &Store) {}\n\
         impl B { fn new(Store { jobs, .. }: Store, d: u8) -> Self {} fn open() -> Store {} }",
    );
    let mut holders = Holders::default();
    holders.visit_file(&file.expect("it is Rust"));
    assert_eq!(holders.found, ["A", "c", "new"]);
}

/// The structs with a field, and the functions with a parameter, whose type contains `Store`.
#[derive(Default)]
struct Holders {
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Holders {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let mut types = StoreTypes(false);
        types.visit_fields(&item.fields);
        if types.0 {
            self.found.push(item.ident.to_string());
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let mut types = StoreTypes(false);
        for input in &signature.inputs {
            if let syn::FnArg::Typed(input) = input {
                types.visit_type(&input.ty);
            }
        }
        if types.0 {
            self.found.push(signature.ident.to_string());
        }
    }
}

struct StoreTypes(bool);

impl<'ast> Visit<'ast> for StoreTypes {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0 |= path.segments.last().is_some_and(|last| last.ident == "Store");
        visit::visit_path(self, path);
    }
}

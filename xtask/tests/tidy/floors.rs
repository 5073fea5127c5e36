//! Floors inside the core and inside the shell: a module uses only what lies below it.

use proc_macro2::Ident;
use syn::visit::{self, Visit};

use crate::assert_none;
use crate::source::SOURCES;

/// Modules of one height. Peers of a floor may use each other only where the table says so.
struct Floor {
    modules: &'static [&'static str],
    peers_meet: bool,
}

const fn floor(modules: &'static [&'static str]) -> Floor {
    Floor { modules, peers_meet: false }
}

const fn floor_of_peers(modules: &'static [&'static str]) -> Floor {
    Floor { modules, peers_meet: true }
}

/// The core, lowest first.
const CORE: &[Floor] = &[
    floor_of_peers(&[
        "digest",
        "text",
        "tokens",
        "limits",
        "message_history",
        "redact",
        "template",
    ]),
    floor_of_peers(&["thread", "item"]),
    floor_of_peers(&["job", "model"]),
    floor(&["rollout"]),
    floor(&["context"]),
    floor(&["search"]),
    floor(&["checkpoint"]),
    floor(&["signal"]),
    floor(&["fold"]),
    floor(&["compaction", "context", "history", "memory"]),
    floor(&["policy"]),
];

/// The shell, lowest first.
const SERVER: &[Floor] = &[
    floor_of_peers(&[
        "agent_settings",
        "args",
        "clock",
        "config",
        "descriptors",
        "folder",
        "heap",
        "link",
        "lock",
        "metering",
        "model",
        "paths",
        "project_instructions",
        "repository",
        "runtime",
        "sandbox",
        "shutdown",
        "systemd",
        "telemetry",
        "thread_names",
    ]),
    floor_of_peers(&["events", "jobs", "message_history", "recorder"]),
    floor(&["transcript"]),
    floor(&["discovery"]),
    floor(&["ingest"]),
    floor(&["service"]),
    floor(&["rpc", "socket"]),
    floor(&["app"]),
];

#[test]
fn the_core_is_built_from_below() {
    check("daemon/core/src/", CORE);
}

#[test]
fn the_shell_is_built_from_below() {
    check("daemon/server/src/", SERVER);
}

fn check(folder: &str, floors: &[Floor]) {
    let mut findings = Vec::new();
    for source in SOURCES.iter() {
        let Some(inside) = source.path.strip_prefix(folder) else { continue };
        let module = inside.split(['/', '.']).next().expect("split gives one piece at least");
        let is_root = inside == "lib.rs" || inside == "main.rs";
        let is_test = inside.ends_with("tests.rs") || inside.contains("/tests/");
        if is_root || is_test {
            continue;
        }
        let Some(own) = height(floors, module) else {
            findings.push(format!("{}: {module} has no floor; add it to the table", source.path));
            continue;
        };
        let mut uses = Uses::default();
        uses.visit_file(&source.syntax.tree());
        for used in uses.found {
            let name = used.to_string();
            let is_below = height(floors, &name).is_none_or(|floor| floor < own);
            let is_peer = height(floors, &name) == Some(own) && floors[own].peers_meet;
            if name != module && !is_below && !is_peer {
                findings.push(format!("{}:{} uses {name}", source.path, used.span().start().line));
            }
        }
    }
    assert_none("a module uses only what lies below it", &findings);
}

fn height(floors: &[Floor], module: &str) -> Option<usize> {
    floors.iter().position(|floor| floor.modules.contains(&module))
}

/// The modules a file reaches by `crate::…`, tests left out.
#[derive(Default)]
struct Uses {
    found: Vec<Ident>,
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<Ident>().is_ok_and(|flag| flag == "test")
        };
        if !item.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if let syn::UseTree::Path(path) = &item.tree
            && path.ident == "crate"
        {
            self.take(&path.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter();
        if segments.next().is_some_and(|first| first.ident == "crate") {
            self.found.extend(segments.next().map(|second| second.ident.clone()));
        }
        visit::visit_path(self, path);
    }
}

impl Uses {
    fn take(&mut self, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => self.found.push(path.ident.clone()),
            syn::UseTree::Name(name) => self.found.push(name.ident.clone()),
            syn::UseTree::Rename(rename) => self.found.push(rename.ident.clone()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.take(item)),
            syn::UseTree::Glob(_) => {}
        }
    }
}

//! Floors inside the core, the shell and its services: a module uses only what lies below it.

use proc_macro2::Ident;
use syn::visit::{self, Visit};

use crate::assert_none;
use crate::source::SOURCES;

/// Modules of one floor. They may use each other only if the table says so.
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
    floor(&[
        "digest",
        "job",
        "limits",
        "message_history",
        "paths",
        "phrases",
        "quote",
        "redact",
        "text",
        "thread",
        "tokens",
    ]),
    floor(&["archive", "item", "model", "template"]),
    floor(&["rollout"]),
    floor(&["context"]),
    floor(&["choice", "search"]),
    floor(&["step"]),
    floor(&["briefing"]),
    floor(&["checkpoint"]),
    floor(&["signal"]),
    floor(&["fold"]),
    floor(&["compaction", "history", "memory"]),
    floor(&["policy"]),
];

/// The readers of transcripts, lowest first.
const ROLLOUT: &[Floor] = &[
    floor(&[
        "accept",
        "between_agents",
        "compose",
        "contextual",
        "continuation",
        "dialog",
        "output",
        "patch",
        "repair",
        "responses",
        "shell",
    ]),
    floor(&["records", "tool", "weigh"]),
    floor(&["source"]),
    floor(&["codex", "opencode", "outline"]),
    floor(&["claude", "gemini", "longhaul"]),
];

/// The briefing, lowest first.
const BRIEFING: &[Floor] = &[
    floor(&[
        "chain",
        "extra",
        "file_edit",
        "kinds",
        "lines",
        "marks",
        "strength",
        "tasks",
        "terms",
        "warnings",
    ]),
    floor(&["evidence", "finished", "openapi", "placeholders", "prompt", "replacements", "select"]),
    floor(&["documents", "outcome"]),
    floor(&["effects", "git"]),
    floor(&["checks"]),
    floor(&["collect", "coverage"]),
    floor(&["fold", "gather", "write"]),
    floor(&["render"]),
];

/// Memory in the core, lowest first.
const CORE_MEMORY: &[Floor] = &[
    floor(&["day", "eligible", "learning", "place", "plain", "span", "usage"]),
    floor(&["cite", "edits", "own", "read_log", "slug"]),
    floor(&["extract"]),
    floor(&["consolidate", "input"]),
    floor(&["agent"]),
    floor(&["summary"]),
];

/// The shell, lowest first.
const SERVER: &[Floor] = &[
    floor(&[
        "agent_settings",
        "args",
        "clock",
        "descriptors",
        "folder",
        "heap",
        "lock",
        "metering",
        "paths",
        "runtime",
        "sandbox",
        "shutdown",
        "systemd",
        "work_folder",
    ]),
    floor(&["link", "model", "new_file", "project_instructions", "thread_names"]),
    floor(&["config"]),
    floor(&["repository", "telemetry"]),
    floor(&["events", "jobs", "message_history", "recorder"]),
    floor(&["archive"]),
    floor(&["transcript"]),
    floor(&["discovery"]),
    floor(&["ingest"]),
    floor(&["service"]),
    floor(&["rpc", "socket"]),
    floor(&["app"]),
];

/// The store, lowest first.
const STORE: &[Floor] = &[
    floor(&["current", "descriptor", "error", "path"]),
    floor(&["row", "seal"]),
    floor(&["wal"]),
    floor(&["pool"]),
    floor(&["age", "file", "gauge", "job", "model", "policy", "salvage", "schema", "update"]),
    floor(&["compaction", "memory", "open", "page", "session_database", "thread"]),
    floor(&["archive", "observation", "retention", "search"]),
    floor(&["commit"]),
    floor(&["store"]),
];

/// The methods, lowest first.
const RPC: &[Floor] = &[
    floor(&["answer"]),
    floor(&["error"]),
    floor(&["agent_params", "convert", "cursor", "params", "texts"]),
    floor(&["references"]),
    floor(&["table"]),
    floor(&[
        "archive",
        "checkpoint",
        "daemon",
        "event",
        "history",
        "job",
        "memory",
        "message_history",
        "policy",
        "search",
    ]),
    floor(&["compaction"]),
    floor(&["thread"]),
    floor(&["context"]),
];

/// The use-cases of the shell, lowest first.
const SERVICE: &[Floor] = &[
    floor(&["error"]),
    floor(&["age", "disk", "hints", "item_index", "keeping", "prefix", "texts"]),
    floor(&["archive", "preimage", "search", "snapshot", "threads"]),
    floor(&[
        "checkpoint",
        "context",
        "history",
        "memory",
        "message_history",
        "recording",
        "retention",
    ]),
    floor(&["choice", "projects"]),
    floor(&["resolve"]),
    floor(&["job", "notices", "policy", "settings_diff", "worker"]),
    floor(&["compaction"]),
    floor(&["continuation"]),
    floor(&["idle_trim", "opening", "reload"]),
    floor(&["storage"]),
    floor(&["status"]),
    floor(&["parts"]),
];

/// The archive, lowest first.
const ARCHIVE: &[Floor] = &[
    floor(&["description", "shared"]),
    floor(&["reading"]),
    floor(&["lookup", "publishing", "repair"]),
    floor(&["upkeep"]),
    floor(&["forgetting"]),
    floor(&["archiver"]),
    floor(&["keeper"]),
    floor(&["restore", "status"]),
    floor(&["titles"]),
];

/// The search, lowest first.
const SEARCH: &[Floor] = &[
    floor(&["progress", "query", "rare", "reading"]),
    floor(&["indexer", "loose"]),
    floor(&["full_text"]),
    floor(&["reindex"]),
];

/// A compaction, lowest first.
const COMPACTION: &[Floor] = &[
    floor(&["request"]),
    floor(&["agent_steps", "record"]),
    floor(&["input", "install", "log", "progress", "texts"]),
    floor(&["loop_guard", "records", "replacement", "spans", "undo"]),
    floor(&["attempt", "given_items", "packet"]),
    floor(&["gather", "ladder"]),
    floor(&["prepare", "preview"]),
    floor(&["compactor"]),
    floor(&["background"]),
];

/// Memory, lowest first.
const MEMORY: &[Floor] = &[
    floor(&["ask", "baseline", "folder", "passages", "project", "sources"]),
    floor(&["publications"]),
    floor(&["citations", "reader"]),
    floor(&["reads"]),
    floor(&["thread_reader"]),
    floor(&["extract"]),
    floor(&["publish", "scan"]),
    floor(&["curation", "notes", "status", "waves"]),
    floor(&["curator"]),
    floor(&["runs"]),
    floor(&["upkeep"]),
];

/// Policies, lowest first.
const POLICY: &[Floor] = &[
    floor(&["adviser", "record", "thread_state"]),
    floor(&["judge", "log", "report", "surroundings", "watcher_store"]),
    floor(&["situations", "step"]),
    floor(&["watchers"]),
    floor(&["live"]),
];

#[test]
fn core_modules_only_use_lower_floors() {
    check("daemon/core/src/", CORE);
    check("daemon/core/src/briefing/", BRIEFING);
    check("daemon/core/src/memory/", CORE_MEMORY);
    check("daemon/core/src/rollout/", ROLLOUT);
}

#[test]
fn shell_modules_only_use_lower_floors() {
    check("daemon/server/src/", SERVER);
}

#[test]
fn store_modules_only_use_lower_floors() {
    check("daemon/store/src/", STORE);
}

#[test]
fn method_modules_only_use_lower_floors() {
    check("daemon/server/src/rpc/", RPC);
}

#[test]
fn service_modules_only_use_lower_floors() {
    check("daemon/server/src/service/", SERVICE);
    check("daemon/server/src/service/archive/", ARCHIVE);
    check("daemon/server/src/service/compaction/", COMPACTION);
    check("daemon/server/src/service/memory/", MEMORY);
    check("daemon/server/src/service/policy/", POLICY);
    check("daemon/server/src/service/search/", SEARCH);
}

#[test]
fn paths_resolve_to_modules() {
    let file = syn::parse_file(
        "use super::super::b::{self, c::D};\nuse crate::e::F;\nfn f() { super::g::h() }\n\
         #[cfg(test)] mod tests { use crate::i; }",
    );
    let mut uses = Uses::default();
    uses.visit_file(&file.expect("it is Rust"));
    let here = ["a", "x", "y"];
    let found: Vec<_> = uses.found.iter().map(|path| absolute(path, &here).join("/")).collect();
    assert_eq!(found, ["a/b/self", "a/b/c/D", "e/F", "a/x/g/h"]);
}

/// Checks the modules of a folder against their floors.
fn check(folder: &str, floors: &[Floor]) {
    let (_, inner) = folder.split_once("/src/").expect("a folder of a crate");
    let outer: Vec<String> = inner.split_terminator('/').map(str::to_owned).collect();
    let mut findings = Vec::new();
    for source in SOURCES.iter() {
        let Some(inside) = source.path.strip_prefix(folder) else { continue };
        let module = inside.split(['/', '.']).next().expect("split gives one piece at least");
        let is_root = inside == "lib.rs" || inside == "main.rs";
        let is_test = inside.ends_with("tests.rs") || source.path.contains("/tests/");
        if is_root || is_test {
            continue;
        }
        let Some(own) = height(floors, module) else {
            findings.push(format!("{}: {module} has no floor; add it to the table", source.path));
            continue;
        };
        let below = inside.trim_end_matches(".rs").split('/');
        let here: Vec<&str> = outer.iter().map(String::as_str).chain(below).collect();
        let mut uses = Uses::default();
        uses.visit_file(&source.syntax.tree());
        for used in uses.found {
            let path = absolute(&used, &here);
            let Some([name, ..]) = path.strip_prefix(outer.as_slice()) else { continue };
            let is_below = height(floors, name).is_none_or(|floor| floor < own);
            let is_peer = height(floors, name) == Some(own) && floors[own].peers_meet;
            if name.as_str() != module && !is_below && !is_peer {
                let line = used.first().map_or(0, |ident| ident.span().start().line);
                findings.push(format!("{}:{line} uses {name}", source.path));
            }
        }
    }
    assert_none("a module uses only what lies below it", &findings);
}

fn height(floors: &[Floor], module: &str) -> Option<usize> {
    floors.iter().position(|floor| floor.modules.contains(&module))
}

/// Converts a path in the module `here` to one from the crate's root.
fn absolute(path: &[Ident], here: &[&str]) -> Vec<String> {
    let names: Vec<String> = path.iter().map(Ident::to_string).collect();
    let ups = names.iter().take_while(|name| *name == "super").count();
    let from = if ups > 0 { &here[..here.len().saturating_sub(ups)] } else { &[] };
    let rest = names.into_iter().skip(ups.max(1));
    from.iter().map(|name| (*name).to_owned()).chain(rest).collect()
}

/// The paths of a file that begin with `crate` or `super`, tests left out.
#[derive(Default)]
struct Uses {
    found: Vec<Vec<Ident>>,
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
        self.take(&item.tree, Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add(path.segments.iter().map(|segment| segment.ident.clone()).collect());
        visit::visit_path(self, path);
    }
}

impl Uses {
    fn take(&mut self, tree: &syn::UseTree, mut before: Vec<Ident>) {
        match tree {
            syn::UseTree::Path(path) => {
                before.push(path.ident.clone());
                self.take(&path.tree, before);
            }
            syn::UseTree::Name(name) => {
                before.push(name.ident.clone());
                self.add(before);
            }
            syn::UseTree::Rename(rename) => {
                before.push(rename.ident.clone());
                self.add(before);
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.take(item, before.clone()));
            }
            syn::UseTree::Glob(_) => self.add(before),
        }
    }

    fn add(&mut self, path: Vec<Ident>) {
        if path.first().is_some_and(|first| first == "crate" || first == "super") {
            self.found.push(path);
        }
    }
}

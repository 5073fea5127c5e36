//! Floors inside the core, the shell and its services: a module uses only what lies below it.

use proc_macro2::Ident;
use syn::visit::{self, Visit};

use crate::assert_none;
use crate::source::SOURCES;

/// Modules that do not use each other.
type Floor = &'static [&'static str];

/// The core, lowest first.
const CORE: &[Floor] = &[
    &[
        "bounded",
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
    ],
    &["archive", "item", "model", "template"],
    &["rollout"],
    &["context"],
    &["choice", "search"],
    &["step"],
    &["briefing"],
    &["checkpoint"],
    &["signal"],
    &["fold"],
    &["compaction", "history", "memory"],
    &["policy"],
];

/// The readers of transcripts, lowest first.
const ROLLOUT: &[Floor] = &[
    &[
        "accept",
        "between_agents",
        "body",
        "compose",
        "contextual",
        "continuation",
        "dialog",
        "output",
        "patch",
        "repair",
        "responses",
    ],
    &["program"],
    &["shell"],
    &["records", "tool", "weigh"],
    &["source"],
    &["codex", "opencode", "outline"],
    &["claude", "gemini", "longhaul"],
];

/// The briefing, lowest first.
const BRIEFING: &[Floor] = &[
    &["spot"],
    &[
        "agents",
        "answer",
        "chain",
        "code",
        "host_facts",
        "kinds",
        "lines",
        "listing",
        "marks",
        "names",
        "strength",
        "tasks",
        "terms",
        "warnings",
    ],
    &["evidence", "finished", "openapi", "placeholders", "prompt", "select"],
    &["documents", "outcome"],
    &["file_edit"],
    &["replacements"],
    &["effects", "git", "inline_program", "result"],
    &["checks"],
    &["collect", "coverage"],
    &["fold", "gather", "write"],
    &["render"],
];

/// Memory in the core, lowest first.
const CORE_MEMORY: &[Floor] = &[
    &["day", "eligible", "learning", "place", "plain", "span", "usage"],
    &["cite", "edits", "own", "read_log"],
    &["extract"],
    &["consolidate", "input"],
    &["agent"],
    &["summary"],
];

/// The shell, lowest first.
const SERVER: &[Floor] = &[
    &["no_follow"],
    &[
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
    ],
    &["model", "new_file", "peer", "project_instructions", "thread_names"],
    &["config"],
    &["repository", "telemetry"],
    &["events", "jobs", "message_history", "recorder"],
    &["archive"],
    &["transcript"],
    &["discovery"],
    &["ingest"],
    &["service"],
    &["rpc", "socket"],
    &["app"],
];

/// The store, lowest first.
const STORE: &[Floor] = &[
    &["current", "descriptor", "erased", "error", "path"],
    &["row", "seal"],
    &["wal"],
    &["pool"],
    &["age", "erase", "file", "gauge", "job", "model", "policy", "salvage", "schema", "update"],
    &["compaction", "memory", "open", "page", "session_database", "thread"],
    &["archive", "observation", "retention", "search"],
    &["commit"],
    &["store"],
];

/// The methods, lowest first.
const RPC: &[Floor] = &[
    &["answer"],
    &["error"],
    &["agent_params", "convert", "cursor", "params", "texts"],
    &["references"],
    &["table"],
    &[
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
    ],
    &["compaction"],
    &["thread"],
    &["context"],
];

/// The use-cases of the shell, lowest first.
const SERVICE: &[Floor] = &[
    &["error"],
    &["age", "disk", "hints", "item_index", "prefix", "state_check", "texts"],
    &["archive", "preimage", "search", "snapshot", "threads"],
    &["checkpoint", "context", "history", "memory", "message_history", "recording", "retention"],
    &["choice", "projects"],
    &["resolve"],
    &["job", "ingest_reports", "policy", "settings_diff", "worker"],
    &["compaction"],
    &["continuation", "forget"],
    &["reload", "startup"],
    &["storage"],
    &["idle_trim", "status"],
    &["wiring"],
];

/// The archive, lowest first.
const ARCHIVE: &[Floor] = &[
    &["shared"],
    &["reading"],
    &["known_text"],
    &["lookup", "publishing"],
    &["description"],
    &["repair"],
    &["upkeep"],
    &["bounds", "forgetting", "redacting"],
    &["archiver"],
    &["keeper"],
    &["restore", "status"],
    &["titles"],
];

/// The search, lowest first.
const SEARCH: &[Floor] = &[
    &["progress", "query", "rare", "reading"],
    &["indexer", "loose"],
    &["full_text"],
    &["reindex"],
];

/// A compaction, lowest first.
const COMPACTION: &[Floor] = &[
    &["request"],
    &["agent_steps", "record"],
    &["input", "install", "log", "progress", "texts"],
    &["loop_guard", "records", "replacement", "undo"],
    &["spans"],
    &["attempt", "given_items", "packet"],
    &["gather", "ladder"],
    &["prepare", "preview"],
    &["compactor"],
    &["background"],
];

/// Memory, lowest first.
const MEMORY: &[Floor] = &[
    &["ask", "baseline", "folder", "journal", "passages", "project", "sources"],
    &["publications"],
    &["citations", "reader", "thread_reader"],
    &["extract"],
    &["publish", "scan"],
    &["curation", "notes", "status"],
    &["curator"],
    &["runs"],
    &["upkeep"],
];

/// Policies, lowest first.
const POLICY: &[Floor] = &[
    &["adviser", "record", "thread_state"],
    &["judge", "log", "report", "surroundings", "watcher_store"],
    &["situations", "step"],
    &["watchers"],
    &["live"],
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
            if name.as_str() != module && !is_below {
                let line = used.first().map_or(0, |ident| ident.span().start().line);
                findings.push(format!("{}:{line} uses {name}", source.path));
            }
        }
    }
    assert_none("a module uses only what lies below it", &findings);
}

fn height(floors: &[Floor], module: &str) -> Option<usize> {
    floors.iter().position(|floor| floor.contains(&module))
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

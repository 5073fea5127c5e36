use std::collections::BTreeSet;
use std::path::Path;

use longhaul_protocol::error::ERROR_KINDS;
use longhaul_protocol::event::EventKind;
use longhaul_protocol::method::{CAPABILITIES, find};
use longhaul_protocol::{AgentAccess, METHODS, schema};
use strum::VariantArray as _;

const PAGE: &str = "PROTOCOL.md";

#[test]
fn method_names_are_unique_and_begin_with_their_capability() {
    assert!(CAPABILITIES.is_sorted_by(|a, b| a < b));
    let names: BTreeSet<&str> = METHODS.iter().map(|info| info.name).collect();
    assert_eq!(names.len(), METHODS.len());
    for info in METHODS {
        let namespace = info.name.split_once('/').map_or("daemon", |(namespace, _)| namespace);
        assert_eq!(info.capability, namespace, "{}", info.name);
        assert_eq!(find(info.name), Some(info));
    }
    assert_eq!(find("thread/erase"), None);
}

#[test]
fn the_names_of_event_kinds_are_what_they_are_on_the_wire() {
    for &kind in EventKind::VARIANTS {
        assert_eq!(serde_json::to_value(kind).unwrap(), <&str>::from(kind));
    }
}

#[test]
fn the_committed_schema_is_fresh() {
    assert_golden("schema/longhaul-v1.schema.json", &schema::schema_text());
}

#[test]
fn the_committed_schema_of_an_exported_checkpoint_is_fresh() {
    let schema = longhaul_protocol::checkpoint::CheckpointV1::schema_text();
    assert_golden("schema/checkpoint_v1.schema.json", &schema);
}

#[test]
fn the_page_for_people_names_everything_and_was_read_since_the_source_changed() {
    let page = std::fs::read_to_string(in_crate(PAGE)).unwrap();
    let page = with_section(&page, "errors", &error_table());
    let capabilities: Vec<String> = CAPABILITIES.iter().map(|name| format!("`{name}`")).collect();
    let page = with_section(&page, "capabilities", &(capabilities.join(", ") + "\n"));
    let page = with_section(&page, "callers", &caller_table());
    let raw: Vec<String> =
        schema::marked_fields("raw").iter().map(|field| format!("`{field}`")).collect();
    let page = with_section(&page, "raw", &(raw.join(", ") + "\n"));
    let page = with_section(
        &page,
        "source",
        &format!("Digest of `protocol/src`: `{}`\n", digest_of_source()),
    );
    assert_golden(PAGE, &page);
    let methods = METHODS.iter().map(|info| info.name);
    for name in methods.chain(EventKind::VARIANTS.iter().map(<&str>::from)) {
        assert!(page.contains(&format!("`{name}`")), "{PAGE} does not name {name}");
    }
}

fn caller_table() -> String {
    let mut table = String::from("| an agent may call | methods |\n|---|---|\n");
    for access in [AgentAccess::Yes, AgentAccess::OwnProject, AgentAccess::No] {
        let methods = METHODS.iter().filter(|info| info.agents == access);
        let names: Vec<String> = methods.map(|info| format!("`{}`", info.name)).collect();
        table += &format!("| {} | {} |\n", access.words(), names.join(", "));
    }
    table
}

fn error_table() -> String {
    let mut table = String::from("| code | kind | retry | when |\n|---|---|---|---|\n");
    for kind in ERROR_KINDS {
        let (code, name, retry) = (kind.code(), kind.name(), <&str>::from(kind.retry()));
        table += &format!("| {code} | `{name}` | {retry} | {} |\n", kind.when());
    }
    table
}

/// Replaces the text between `<!-- name -->` and `<!-- /name -->`.
fn with_section(page: &str, name: &str, section: &str) -> String {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let begin = page.find(&open).unwrap_or_else(|| panic!("no {open}")) + open.len();
    let end = page.find(&close).unwrap_or_else(|| panic!("no {close}"));
    format!("{}{section}{}", &page[..begin], &page[end..])
}

/// FNV-1a over the texts of the source files, in order of their names.
fn digest_of_source() -> String {
    let mut files = Vec::new();
    collect(&in_crate("src"), &mut files);
    files.sort();
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        for byte in std::fs::read(file).unwrap() {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{digest:016x}")
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

/// Compares with a committed file; `UPDATE_GOLDEN=1` writes it instead.
fn assert_golden(name: &str, expected: &str) {
    let path = in_crate(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == expected,
        "{name} is stale: read it again, then UPDATE_GOLDEN=1 cargo test -p longhaul-protocol"
    );
}

fn in_crate(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

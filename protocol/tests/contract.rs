use std::path::Path;

use longhaul_protocol::error::ERROR_KINDS;
use longhaul_protocol::event::EventKind;
use longhaul_protocol::method::{CAPABILITIES, MethodVisitor, visit_methods};
use longhaul_protocol::{METHODS, Method, schema};

const PAGE: &str = "PROTOCOL.md";

#[test]
fn method_names_are_sorted_unique_and_of_a_known_capability() {
    assert!(METHODS.is_sorted_by(|a, b| a.name < b.name));
    assert!(CAPABILITIES.is_sorted_by(|a, b| a < b));
    for info in METHODS {
        assert!(CAPABILITIES.contains(&info.capability), "{}", info.name);
    }
    let mut names = Names(Vec::new());
    visit_methods(&mut names);
    assert_eq!(names.0, METHODS.iter().map(|info| info.name).collect::<Vec<_>>());
}

struct Names(Vec<&'static str>);

impl MethodVisitor for Names {
    fn visit<M: Method>(&mut self) {
        self.0.push(M::NAME);
    }
}

#[test]
fn the_names_of_event_kinds_are_what_they_are_on_the_wire() {
    for kind in EventKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

#[test]
fn the_committed_schema_is_fresh() {
    assert_golden("schema/longhaul-v1.schema.json", &schema::schema_text());
}

#[test]
fn the_page_for_people_names_everything_and_was_read_since_the_source_changed() {
    let page = std::fs::read_to_string(in_crate(PAGE)).unwrap();
    let page = with_section(&page, "errors", &error_table());
    let page = with_section(
        &page,
        "source",
        &format!("Digest of `protocol/src`: `{}`\n", digest_of_source()),
    );
    assert_golden(PAGE, &page);
    let methods = METHODS.iter().map(|info| info.name);
    for name in methods.chain(EventKind::ALL.iter().map(|kind| kind.name())) {
        assert!(page.contains(&format!("`{name}`")), "{PAGE} does not name {name}");
    }
}

fn error_table() -> String {
    let mut table = String::from("| code | kind | retry | when |\n|---|---|---|---|\n");
    for kind in ERROR_KINDS {
        let (code, name, retry) = (kind.code(), kind.name(), kind.retry().name());
        table += &format!("| {code} | `{name}` | {retry} | {} |\n", kind.when());
    }
    table
}

/// The text with what stands between `<!-- name -->` and `<!-- /name -->` replaced.
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

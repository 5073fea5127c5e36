//! The source files of the workspace, read and parsed once.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

pub(crate) struct Source {
    /// Its path from the root of the workspace, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) syntax: Syntax,
}

/// The syntax tree of a file, kept as text: a tree cannot be shared between threads of tests.
pub(crate) struct Syntax(String);

impl Syntax {
    pub(crate) fn tree(&self) -> syn::File {
        syn::parse_file(&self.0).expect("a source file that compiles parses")
    }
}

/// Every Rust source file of the workspace, by path.
pub(crate) static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let read = |path: String| {
        let text = fs::read_to_string(root().join(&path)).expect("a source file is readable");
        Source { path, syntax: Syntax(text.clone()), text }
    };
    files(&["rs"]).into_iter().map(read).collect()
});

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Every file of the workspace with one of these endings: paths from the root, sorted.
pub(crate) fn files(endings: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder is readable").flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_output =
                ["target", ".git", "node_modules", "dist", "worktrees"].contains(&name.as_str());
            if path.is_dir() && !path.is_symlink() && !is_output {
                folders.push(path);
            } else if path.extension().is_some_and(|end| endings.iter().any(|e| end == *e)) {
                found.push(relative(&path));
            }
        }
    }
    found.sort();
    found
}

fn relative(path: &Path) -> String {
    let inside = path.strip_prefix(root()).expect("found below the root");
    inside.to_string_lossy().replace('\\', "/")
}

//! The pattern of names: one alternation, leftmost first, so that a name inside a path or a URL is not counted a second
//! time.

use regex::Regex;

use super::EntityKind;

/// Order matters: the first alternative that matches at a place wins.
const ALTERNATION: &str = r#"(?x)
    https?://[^\s"'<>`\\)\]}|]+                                   # URL
  | \b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b
  | (?:~|\.{1,2})?/?(?:[\w.@+\-]+/)+[\w.@+\-]*                    # path with a slash
  | /[\w.@+\-]{2,}                                                # path below the root
  | \.?[\w@+\-]+(?:\.[\w\-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}\b        # file name, or dotted name
  | \#\d+\b | \b[A-Z]{2,8}-\d+\b                                  # issue numbers
  | \b\w+(?:-\w+)+\b                                              # kebab words
  | \b\w{4,}\b                                                    # one word
"#;

/// Extensions that make a bare dotted name a file.
const EXTENSIONS: &str = r"(?x)\.(?:
    rs|py|pyi|ipynb|js|jsx|mjs|cjs|ts|tsx|mts|cts|vue|svelte|html?|css|scss|less|json|jsonl|json5|
    ya?ml|toml|lock|ini|cfg|conf|env|md|mdx|rst|txt|csv|tsv|sql|sqlite|db|go|mod|sum|java|kt|kts|
    gradle|scala|rb|php|c|h|cc|cpp|hpp|cs|csproj|sln|fs|swift|m|mm|sh|bash|zsh|ps1|psm1|bat|xml|
    svg|png|jpe?g|gif|pdf|zip|tar|gz|tgz|whl|proto|graphql|prisma|tf|lua|vim|el|ex|exs|erl|dart|
    r|jl|pl|nix|cmake|mk|patch|diff|log|excalidraw|drawio|service|socket|example|sample|plist
)$";

/// First folders that make `folder/name` a path.
const FOLDERS: [&str; 24] = [
    "src", "lib", "libs", "app", "apps", "test", "tests", "docs", "doc", "packages", "crates",
    "bin", "scripts", "examples", "specs", "spec", "config", "cmd", "internal", "pkg", "public",
    "tools", "assets", "include",
];

#[derive(Debug)]
pub(super) struct NamePattern {
    alternation: Regex,
    extension: Regex,
}

impl NamePattern {
    pub(super) fn new() -> Result<Self, regex::Error> {
        Ok(Self { alternation: Regex::new(ALTERNATION)?, extension: Regex::new(EXTENSIONS)? })
    }

    pub(super) fn extract(&self, text: &str, emit: &mut dyn FnMut(EntityKind, &str)) {
        for found in self.alternation.find_iter(text) {
            let before = text[..found.start()].chars().next_back();
            let text = found.as_str();
            if text.starts_with("http") && text.contains("://") {
                emit(EntityKind::Url, text.trim_end_matches(['.', ',', ';', ':']));
            } else if text.contains('/') {
                self.emit_path(text, before, emit);
            } else if let Some(kind) = self.classify(text, before) {
                emit(kind, text);
            } else if text.contains('.') {
                text.split('.').filter(|part| is_identifier(part)).for_each(|part| {
                    emit(EntityKind::Identifier, part);
                });
            }
        }
    }

    /// Prose is full of slashes: without an extension the parts must look like folders.
    fn emit_path(&self, text: &str, before: Option<char>, emit: &mut dyn FnMut(EntityKind, &str)) {
        let text = text.trim_end_matches(['.', '-']);
        if is_fragment(before) {
            return;
        }
        let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
        let fits = |name: &&str| name.len() >= 2 && name.bytes().any(|b| b.is_ascii_alphabetic());
        let is_dots = |name: &&str| name.bytes().all(|b| b == b'.');
        let is_rooted = text.starts_with(['/', '~', '.']);
        // Short folders are common at the top: `/mnt/d/…`, `/home/u/…`.
        let is_deep = is_rooted && names.len() >= 3;
        let is_lower = |name: &&str| !name.bytes().any(|b| b.is_ascii_uppercase());
        let looks_like_folders = match names.as_slice() {
            [] | [_] => false,
            [first, _] => is_rooted || FOLDERS.contains(first) || first.contains(['-', '_', '.']),
            _ => is_rooted || names.iter().any(is_lower),
        };
        let is_file = self.extension.is_match(text) && (names.len() >= 2 || is_rooted);
        if is_file
            || (looks_like_folders
                && names.iter().all(|name| is_deep || fits(name) || is_dots(name)))
        {
            emit(EntityKind::Path, text);
        }
    }

    fn classify(&self, text: &str, before: Option<char>) -> Option<EntityKind> {
        if is_id(text) {
            Some(EntityKind::Id)
        } else if text.contains('.') {
            (self.extension.is_match(text) && !is_fragment(before)).then_some(EntityKind::Path)
        } else {
            is_identifier(text).then_some(EntityKind::Identifier)
        }
    }
}

/// True if the preceding text makes the match part of something else: a glob, a variable, a template, a closing tag.
fn is_fragment(before: Option<char>) -> bool {
    before.is_some_and(|c| "*$}])>%<\\".contains(c))
}

/// `#12`, `ABC-12`, a UUID, or 7 to 64 hex digits with both letters and digits among them.
fn is_id(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix('#') {
        return digits.bytes().all(|b| b.is_ascii_digit());
    }
    let is_uuid = text.len() == 36 && text.bytes().filter(|b| *b == b'-').count() == 4;
    let hex = (7..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic());
    let ticket = text.split_once('-').is_some_and(|(project, number)| {
        project.len() >= 2
            && project.bytes().all(|b| b.is_ascii_uppercase())
            && number.bytes().all(|b| b.is_ascii_digit())
    });
    is_uuid || hex || ticket
}

/// A word with a mark of code in it: an inner underscore, a hump, or three kebab parts.
fn is_identifier(text: &str) -> bool {
    let word = text.trim_matches('_');
    if word.len() < 5 || !word.bytes().any(|b| b.is_ascii_alphabetic()) {
        return false;
    }
    if word.contains('-') {
        let lettered = |part: &&str| part.bytes().any(|b| b.is_ascii_alphabetic());
        return word.split('-').filter(lettered).count() >= 3
            && !word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    }
    let hump = word
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    word.contains('_') || hump
}

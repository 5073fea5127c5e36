//! The reference extractor: one alternation, leftmost first, so that a name inside a path or a
//! URL is not counted a second time.

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

/// Finds entities by regular expressions.
#[derive(Debug)]
pub struct PatternExtractor {
    alternation: Regex,
    extension: Regex,
}

impl PatternExtractor {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// A pattern does not compile.
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self { alternation: Regex::new(ALTERNATION)?, extension: Regex::new(EXTENSIONS)? })
    }

    pub(super) fn extract(&self, text: &str, emit: &mut dyn FnMut(EntityKind, &str)) {
        for found in self.alternation.find_iter(text) {
            let text = found.as_str();
            if text.starts_with("http") && text.contains("://") {
                emit(EntityKind::Url, text.trim_end_matches(['.', ',', ';', ':']));
            } else if text.contains('/') {
                self.emit_path(text, emit);
            } else if let Some(kind) = self.classify(text) {
                emit(kind, text);
            } else if text.contains('.') {
                text.split('.').filter(|part| is_identifier(part)).for_each(|part| {
                    emit(EntityKind::Identifier, part);
                });
            }
        }
    }

    fn emit_path(&self, text: &str, emit: &mut dyn FnMut(EntityKind, &str)) {
        let text = text.trim_end_matches(['.', '-']);
        let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
        let is_rooted = text.starts_with(['/', '~', '.']);
        let is_file = self.extension.is_match(text);
        let has_letters = names.iter().all(|name| name.bytes().any(|b| b.is_ascii_alphabetic()));
        let is_long = names.iter().all(|name| name.len() >= 2);
        if is_file || (has_letters && is_long && (is_rooted || names.len() >= 2)) {
            emit(EntityKind::Path, text);
        }
    }

    fn classify(&self, text: &str) -> Option<EntityKind> {
        if is_id(text) {
            Some(EntityKind::Id)
        } else if text.contains('.') {
            self.extension.is_match(text).then_some(EntityKind::Path)
        } else {
            is_identifier(text).then_some(EntityKind::Identifier)
        }
    }
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
        return word.split('-').count() >= 3 && !word.starts_with('-');
    }
    let hump = word.as_bytes().windows(2).any(|pair| {
        pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase()
    });
    word.contains('_') || hump
}

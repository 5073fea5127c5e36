//! The lists of `words.toml`.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;
use serde::Deserialize;

/// Empty if the file is invalid, which a test rules out.
pub(super) static WORDS: LazyLock<WordLists> =
    LazyLock::new(|| toml::from_str(include_str!("words.toml")).unwrap_or_default());

#[derive(Default, Deserialize)]
pub(super) struct WordLists {
    pub(super) passwords: Vec<String>,
    pub(super) tokens: Vec<String>,
    pub(super) tokens_alone: FxHashSet<String>,
    pub(super) key_owners: FxHashSet<String>,
    pub(super) key_owners_harmless: FxHashSet<String>,
    pub(super) token_owners_harmless: FxHashSet<String>,
    pub(super) qualifiers: FxHashSet<String>,
    pub(super) stand_ins: FxHashSet<String>,
    pub(super) stand_in_pieces: Vec<String>,
    pub(super) function_words: FxHashSet<String>,
}

//! Names in play: paths, identifiers, hashes and URLs, each beside the file or command it was seen
//! with.
//!
//! Half of what an agent needs after a compaction are names it has seen but not yet used: a
//! function in a file it read, a path in a listing. They cannot all be kept; those used by the model
//! itself, seen often and seen lately are the ones needed next.

mod extract;
mod gain;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits;

pub use extract::{Found, find};

/// Terms by text. Saved by anchor and in the order of texts, whatever the order in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Terms {
    map: FxHashMap<Box<str>, Term>,
    files: FxHashMap<Arc<str>, u32>,
    /// What all this takes when saved, about.
    bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub kind: TermKind,
    /// What it was last seen with.
    pub anchor: Anchor,
    /// Calls and messages in which the model or the person wrote it.
    pub uses: u32,
    /// Times it stood in any text: a search that names a file often is about that file.
    pub hits: u32,
    /// Calls made when it was last seen.
    pub tick: u64,
    /// Calls from the sighting before that one to it; 0 while it was seen around one call only.
    pub gap: u32,
}

/// What a term looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TermKind {
    #[serde(rename = "p")]
    Path,
    /// An identifier of code or configuration.
    #[serde(rename = "n")]
    Name,
    /// A hash, UUID, URL or ticket.
    #[serde(rename = "i")]
    Id,
    /// Two words joined by a hyphen: a package or a script now and then, prose most of the time.
    #[serde(rename = "w")]
    Compound,
}

/// What a term was seen with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Anchor {
    /// In this file (its key).
    #[serde(rename = "f", serialize_with = "text", deserialize_with = "shared")]
    File(Arc<str>),
    /// In the command at this seq, or in its output.
    #[serde(rename = "c")]
    Command(u64),
    /// In words of the person or the model.
    #[serde(rename = "t")]
    Talk,
}

fn text<S: Serializer>(key: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(key)
}

fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Into::into)
}

/// Who wrote the text a term stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// The model or the person.
    Used,
    Printed,
}

#[derive(Debug, Clone, Copy)]
pub struct Spot<'a> {
    /// What its terms belong to.
    pub anchor: &'a Anchor,
    pub voice: Voice,
    /// Calls made so far.
    pub tick: u64,
    /// Folder that paths are shown from.
    pub cwd: Option<&'a str>,
}

impl Terms {
    /// Notes every term of `text`, which must be redacted.
    pub fn note(&mut self, text: &str, spot: Spot<'_>) {
        find(text, spot.voice == Voice::Used, &mut |found| self.insert(found, spot));
        if self.bytes > limits::TERMS_BYTES {
            self.evict(spot.tick);
        }
    }

    fn insert(&mut self, found: Found<'_>, spot: Spot<'_>) {
        let text = match (found.kind, spot.cwd) {
            (TermKind::Path, Some(cwd)) => below(found.text, cwd).unwrap_or(found.text),
            _ => found.text,
        };
        if let Some(term) = self.map.get_mut(text) {
            if spot.voice == Voice::Used && (term.tick != spot.tick || term.uses == 0) {
                term.uses = term.uses.saturating_add(1);
            }
            term.hits = term.hits.saturating_add(1);
            if term.tick != spot.tick {
                let gap = spot.tick.saturating_sub(term.tick);
                term.gap = u32::try_from(gap).unwrap_or(u32::MAX);
                term.tick = spot.tick;
            }
            // A file tells more about a name than the command that happened to print it.
            let keeps_file = matches!(
                (&term.anchor, spot.anchor),
                (Anchor::File(_), Anchor::Command(_) | Anchor::Talk)
            );
            if !keeps_file && term.anchor != *spot.anchor {
                let before = std::mem::replace(&mut term.anchor, spot.anchor.clone());
                self.detach(&before);
                self.attach(spot.anchor);
            }
            return;
        }
        let anchor = spot.anchor.clone();
        let uses = u32::from(spot.voice == Voice::Used);
        let term = Term { kind: found.kind, anchor, uses, hits: 1, tick: spot.tick, gap: 0 };
        self.bytes += cost(text);
        self.attach(&term.anchor);
        self.map.insert(text.into(), term);
    }

    fn attach(&mut self, anchor: &Anchor) {
        let Anchor::File(key) = anchor else { return };
        match self.files.get_mut(key) {
            Some(terms) => *terms += 1,
            None => {
                self.bytes += cost(key);
                self.files.insert(Arc::clone(key), 1);
            }
        }
    }

    fn detach(&mut self, anchor: &Anchor) {
        let Anchor::File(key) = anchor else { return };
        let Some(terms) = self.files.get_mut(key) else { return };
        *terms -= 1;
        if *terms == 0 {
            self.bytes -= cost(key);
            self.files.remove(key);
        }
    }

    /// Text and term of all, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Term)> {
        self.map.iter().map(|(text, term)| (&**text, term))
    }

    pub fn get(&self, text: &str) -> Option<&Term> {
        self.map.get(text)
    }

    /// Forgets the worst. In batches: the sort is shared by as many insertions.
    fn evict(&mut self, now: u64) {
        let mut ranked: Vec<(u64, Box<str>)> =
            self.map.iter().map(|(text, term)| (term.gain(text, now), text.clone())).collect();
        ranked.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(&a.1)));
        for (_, text) in ranked {
            if self.bytes <= limits::TERMS_BYTES * 3 / 4 {
                break;
            }
            if let Some(term) = self.map.remove(&text) {
                self.bytes -= cost(&text);
                self.detach(&term.anchor);
            }
        }
    }
}

/// Bytes that a saved term takes besides its text, about.
const ROW_BYTES: usize = 28;

fn cost(text: &str) -> usize {
    text.len() + ROW_BYTES
}

/// The path as seen from `cwd`, when it is below it; `/d/w/x` is below `D:/w`.
fn below<'a>(path: &'a str, cwd: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(cwd).or_else(|| {
        let (drive, folder) = cwd.split_once(':')?;
        let (mount, rest) = path.strip_prefix('/')?.split_at_checked(1)?;
        mount.eq_ignore_ascii_case(drive).then(|| rest.strip_prefix(folder))?
    });
    rest?.strip_prefix('/').filter(|rest| !rest.is_empty())
}

/// Terms of one anchor, as saved.
#[derive(Serialize, Deserialize)]
struct Group<T>(Anchor, Vec<Row<T>>);

/// Text, kind, uses, hits, tick, gap.
#[derive(Serialize, Deserialize)]
struct Row<T>(T, TermKind, u32, u32, u64, u32);

impl Serialize for Terms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut groups: BTreeMap<&Anchor, Vec<Row<&str>>> = BTreeMap::new();
        for (text, term) in self.iter() {
            let row = Row(text, term.kind, term.uses, term.hits, term.tick, term.gap);
            groups.entry(&term.anchor).or_default().push(row);
        }
        serializer.collect_seq(groups.into_iter().map(|(anchor, mut rows)| {
            rows.sort_unstable_by(|a, b| a.0.cmp(b.0));
            Group(anchor.clone(), rows)
        }))
    }
}

impl<'de> Deserialize<'de> for Terms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut terms = Self::default();
        for Group(anchor, rows) in Vec::<Group<Box<str>>>::deserialize(deserializer)? {
            for Row(text, kind, uses, hits, tick, gap) in rows {
                terms.bytes += cost(&text);
                let term = Term { kind, anchor: anchor.clone(), uses, hits, tick, gap };
                terms.attach(&anchor);
                terms.map.insert(text, term);
            }
        }
        Ok(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(terms: &mut Terms, text: &str, anchor: &Anchor, voice: Voice, tick: u64) {
        terms.note(text, Spot { anchor, voice, tick, cwd: Some("/w") });
    }

    #[test]
    fn used_and_recent_terms_survive() {
        let mut terms = Terms::default();
        for tick in 0..600 {
            let printed: String = (0..20).map(|n| format!("seen_name_{tick}_{n} ")).collect();
            note(&mut terms, &printed, &Anchor::Command(tick), Voice::Printed, tick);
            note(&mut terms, "grep parse_header", &Anchor::Talk, Voice::Used, tick);
        }
        assert!(terms.get("parse_header").is_some());
        assert!(terms.get("seen_name_599_3").is_some());
        assert!(terms.get("seen_name_1_3").is_none());
        assert!(terms.bytes <= limits::TERMS_BYTES);
    }

    #[test]
    fn a_file_holds_on_to_its_names() {
        let mut terms = Terms::default();
        let file = Anchor::File("/w/a.rs".into());
        note(&mut terms, "fn parse_header()", &file, Voice::Printed, 1);
        note(&mut terms, "parse_header failed", &Anchor::Command(2), Voice::Printed, 2);
        let term = terms.get("parse_header").cloned();
        assert_eq!(term.map(|t| (t.anchor, t.hits)), Some((file, 2)));
    }

    #[test]
    fn a_path_has_one_name() {
        let mut terms = Terms::default();
        note(&mut terms, "/w/src/a.rs src/a.rs", &Anchor::Talk, Voice::Used, 1);
        assert_eq!(terms.iter().map(|(text, _)| text).collect::<Vec<_>>(), ["src/a.rs"]);
    }

    #[test]
    fn saved_terms_come_back() {
        let mut terms = Terms::default();
        for tick in 0..50 {
            let anchor = Anchor::File(format!("/w/{}.rs", tick % 7).into());
            note(&mut terms, &format!("name_{tick} src/x{tick}.rs"), &anchor, Voice::Used, tick);
        }
        let saved = serde_json::to_string(&terms).unwrap();
        let loaded: Terms = serde_json::from_str(&saved).unwrap();
        assert_eq!(loaded, terms);
        assert_eq!(serde_json::to_string(&loaded).unwrap(), saved);
    }
}

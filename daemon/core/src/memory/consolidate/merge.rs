//! Merges the learnings of many threads into entries: duplicates become one, the newest of contradictory
//! ones wins.

mod variants;

use std::collections::{BTreeMap, BTreeSet};

use super::handbook::{EarlierValue, Entry};
use crate::digest::Digest128;
use crate::memory::learning::{Evidence, Learning, LearningKind};
use crate::memory::plain::plain;
use crate::step::Origin;

/// Maximum evidence per entry.
const EVIDENCE_MAX: usize = 4;

/// Maximum earlier values per entry.
const SUPERSEDED_MAX: usize = 3;

/// Maximum entries of one kind per project.
const KIND_MAX: usize = 48;

/// Maximum pairs of files per project.
const PAIRS_MAX: usize = 12;

/// Maximum pairs per file.
const PARTNERS_MAX: usize = 2;

/// Percent of shared words from which two rules are the same.
const SAME_PERCENT: usize = 75;

/// Merges the learnings of one project, oldest first. Omits entries for which `is_forgotten` (by id and text), in
/// every wording, and returns their texts second. Rules that are not the person's are dropped, and learnings of
/// different origin are never merged.
pub(super) fn merge<'a>(
    project: &str,
    (learnings, roots): (impl Iterator<Item = &'a Learning>, &BTreeMap<&str, &str>),
    is_forgotten: impl Fn(&str, &str) -> bool,
) -> (Vec<Entry>, Vec<String>) {
    let mut drafts: Vec<EntryDraft> = Vec::new();
    let mut exact: BTreeMap<(LearningKind, Origin, String), usize> = BTreeMap::new();
    let is_entry = |learning: &&Learning| {
        let is_stated = learning.origin.is_person() || !learning.kind.is_rule();
        learning.kind != LearningKind::Outcome && is_stated
    };
    for learning in learnings.filter(is_entry) {
        let words = learning.slot.clone().unwrap_or_else(|| plain(&learning.text));
        let key = (learning.kind, learning.origin, words);
        let near = || drafts.iter().position(|draft| draft.says_same(learning));
        match exact.get(&key).copied().or_else(near) {
            Some(at) => drafts[at].add(learning, root(roots, learning)),
            None => {
                exact.insert(key, drafts.len());
                drafts.push(EntryDraft::new(learning, root(roots, learning)));
            }
        }
    }
    supersede(&mut drafts);
    let mut drafts = variants::merge(drafts);
    let mut forgotten_texts: Vec<String> = Vec::new();
    drafts.retain(|draft| {
        let kind = draft.newest.kind;
        let mut names = draft.texts.iter().chain(&draft.family);
        let forgotten = names.any(|text| is_forgotten(&id(project, kind, text), text));
        if forgotten {
            forgotten_texts.extend(draft.texts.iter().cloned());
        }
        !forgotten
    });
    let mut entries: Vec<Entry> = drafts
        .into_iter()
        .filter(|draft| !draft.is_passing || draft.threads.len() > 1)
        .map(|draft| draft.finish(project))
        .collect();
    let rank =
        |entry: &Entry| (entry.kind, std::cmp::Reverse((entry.threads.min(8), entry.last_ms)));
    entries.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.id.cmp(&b.id)));
    let mut kinds: BTreeMap<LearningKind, usize> = BTreeMap::new();
    let mut paired: BTreeMap<String, usize> = BTreeMap::new();
    entries.retain(|entry| {
        // A file that changes together with many is listed with its two closest. A pair that is left out does not
        // count.
        let is_pair = entry.kind == LearningKind::CoChange;
        let files = || entry.text.split('`').skip(1).step_by(2).filter(|_| is_pair);
        if files().any(|file| paired.get(file).is_some_and(|count| *count >= PARTNERS_MAX)) {
            return false;
        }
        for file in files() {
            *paired.entry(file.to_owned()).or_default() += 1;
        }
        let count = kinds.entry(entry.kind).or_default();
        *count += 1;
        *count <= if entry.kind == LearningKind::CoChange { PAIRS_MAX } else { KIND_MAX }
    });
    (entries, forgotten_texts)
}

/// The original thread of a learning's thread.
fn root(roots: &BTreeMap<&str, &str>, learning: &Learning) -> String {
    let id = learning.evidence.thread_id.as_str();
    (*roots.get(id).unwrap_or(&id)).to_owned()
}

/// The id of an entry: equal for the same text in the same project.
pub(super) fn id(project: &str, kind: LearningKind, text: &str) -> String {
    let whole = format!("{project}\n{}\n{}", kind.into_str(), plain(text));
    Digest128::of(whole.as_bytes()).to_string()[..12].to_owned()
}

struct EntryDraft {
    newest: Learning,
    evidence: Vec<Evidence>,
    threads: BTreeSet<String>,
    first_ms: i64,
    superseded: Vec<EarlierValue>,
    is_passing: bool,
    words: BTreeSet<String>,
    texts: BTreeSet<String>,
    /// Its name if it merges several texts.
    family: Option<String>,
}

impl EntryDraft {
    fn new(learning: &Learning, root: String) -> Self {
        Self {
            newest: learning.clone(),
            evidence: vec![learning.evidence.clone()],
            threads: BTreeSet::from([root]),
            first_ms: learning.at_ms,
            superseded: Vec::new(),
            is_passing: learning.is_passing,
            words: words(&learning.text),
            texts: BTreeSet::from([learning.text.clone()]),
            family: None,
        }
    }

    /// Whether two rules say the same in similar words. Only people vary their wording.
    fn says_same(&self, learning: &Learning) -> bool {
        if !(learning.kind.is_rule() && self.newest.kind.is_rule()) {
            return false;
        }
        let other = words(&learning.text);
        let shared = self.words.intersection(&other).count();
        let all = self.words.union(&other).count();
        negations(&self.words) == negations(&other)
            && shared * 100 >= all * SAME_PERCENT
            && are_opposite(&self.newest.text, &learning.text) != Some(true)
    }

    fn add(&mut self, learning: &Learning, root: String) {
        let (old, new) = (plain(&self.newest.text), plain(&learning.text));
        if old != new && learning.slot.is_some() && learning.kind == LearningKind::Fact {
            let text = self.newest.text.clone();
            self.superseded.insert(0, EarlierValue { text, until_ms: self.newest.at_ms });
            self.superseded.retain(|before| plain(&before.text) != new);
            self.superseded.truncate(SUPERSEDED_MAX);
            self.evidence.clear();
        }
        self.is_passing &= learning.is_passing;
        self.texts.insert(learning.text.clone());
        self.threads.insert(root);
        self.evidence.insert(0, learning.evidence.clone());
        self.evidence.truncate(EVIDENCE_MAX);
        self.words = words(&learning.text);
        self.newest = learning.clone();
    }

    fn finish(self, project: &str) -> Entry {
        Entry {
            id: id(project, self.newest.kind, self.family.as_ref().unwrap_or(&self.newest.text)),
            kind: self.newest.kind,
            text: self.newest.text,
            origin: self.newest.origin,
            evidence: self.evidence,
            threads: u32::try_from(self.threads.len()).unwrap_or(u32::MAX),
            first_ms: self.first_ms,
            last_ms: self.newest.at_ms,
            superseded: self.superseded,
            keywords: self.newest.keywords,
        }
    }
}

/// A rule replaces an older one that it contradicts.
fn supersede(drafts: &mut Vec<EntryDraft>) {
    let mut at = 0;
    while at < drafts.len() {
        let newer = (at + 1..drafts.len()).rev().find(|&later| {
            let (old, new) = (&drafts[at], &drafts[later]);
            old.newest.kind.is_rule() && new.newest.kind.is_rule() && contradict(old, new)
        });
        let Some(newer) = newer else {
            at += 1;
            continue;
        };
        let (older, newer) = if drafts[newer].newest.at_ms >= drafts[at].newest.at_ms {
            (at, newer)
        } else {
            (newer, at)
        };
        let old = EarlierValue {
            text: drafts[older].newest.text.clone(),
            until_ms: drafts[older].newest.at_ms,
        };
        let mut before = std::mem::take(&mut drafts[older].superseded);
        before.insert(0, old);
        let kept = &mut drafts[newer].superseded;
        kept.append(&mut before);
        kept.sort_by_key(|before| std::cmp::Reverse(before.until_ms));
        kept.truncate(SUPERSEDED_MAX);
        drafts.remove(older);
        at = 0;
    }
}

/// Whether two rules contradict: one forbids what the other demands, or they choose opposite
/// alternatives ("pnpm instead of npm", "npm instead of pnpm").
fn contradict(a: &EntryDraft, b: &EntryDraft) -> bool {
    if let Some(is_opposite) = are_opposite(&a.newest.text, &b.newest.text) {
        return is_opposite;
    }
    let bare = |words: &BTreeSet<String>| -> BTreeSet<String> {
        let is_mark =
            |word: &&String| NEGATIONS.contains(&word.as_str()) || MARKS.contains(&word.as_str());
        words.iter().filter(|word| !is_mark(word)).cloned().collect()
    };
    let (first, second) = (bare(&a.words), bare(&b.words));
    let shared = first.intersection(&second).count();
    let smaller = first.len().min(second.len());
    negations(&a.words) != negations(&b.words)
        && smaller >= 2
        && shared * 100 >= first.union(&second).count() * SAME_PERCENT
}

/// The choice and the rejected alternative.
fn choice(text: &str) -> Option<(String, String)> {
    let plain = plain(text);
    let turns = [
        " instead of ",
        " rather than ",
        " over ",
        " not ",
        " statt ",
        " au lieu de ",
        " en lugar de ",
    ];
    turns.iter().find_map(|turn| {
        let (before, after) = plain.split_once(turn)?;
        let chosen = before.rsplit(' ').next()?;
        let refused = after.split(' ').next()?;
        (!chosen.is_empty() && !refused.is_empty()).then(|| (chosen.to_owned(), refused.to_owned()))
    })
}

const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "don't",
    "no",
    "avoid",
    "stop",
    "without",
    "nie",
    "niemals",
    "nicht",
    "kein",
    "keine",
    "jamais",
    "pas",
    "nunca",
    "никогда",
    "не",
];

/// Words that form a rule but carry no subject.
const MARKS: &[&str] = &[
    "always",
    "do",
    "please",
    "must",
    "should",
    "ever",
    "you",
    "the",
    "a",
    "an",
    "to",
    "now",
    "on",
    "from",
    "immer",
    "bitte",
    "toujours",
    "siempre",
    "всегда",
    "ne",
];

fn negations(words: &BTreeSet<String>) -> bool {
    words.iter().any(|word| NEGATIONS.contains(&word.as_str()))
}

fn words(text: &str) -> BTreeSet<String> {
    plain(text).split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether two rules choose opposite alternatives; `None` if one of them chooses none.
fn are_opposite(a: &str, b: &str) -> Option<bool> {
    let ((chosen, refused), (other, others)) = (choice(a)?, choice(b)?);
    Some(chosen == others && refused == other)
}

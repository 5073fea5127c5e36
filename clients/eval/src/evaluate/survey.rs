//! The first pass: which sessions are copies, and which names are boilerplate.

use std::collections::{HashMap, HashSet};

use crate::corpus::{Corpus, Identity, distinct};
use crate::entity::{Entity, Extractor};
use crate::gold::Index;
use crate::report::ReportBuilder;
use crate::transcript::Transcript;

/// A name in more than this share of all sessions is boilerplate (percent).
const STOP_PERCENT: usize = 20;

/// Minimum number of sessions to find boilerplate.
const STOP_SESSIONS_MIN: usize = 10;

/// Names excluded because too many sessions have them. Fingerprints, since all names would need unbounded memory.
#[derive(Debug, Default)]
pub struct StopList(HashSet<u64>);

impl StopList {
    pub fn holds(&self, name: &Entity) -> bool {
        self.0.contains(&name.fingerprint())
    }

    fn of(names: &[HashSet<u64>]) -> Self {
        if names.len() < STOP_SESSIONS_MIN {
            return Self::default();
        }
        let mut sessions: HashMap<u64, usize> = HashMap::new();
        for name in names.iter().flatten() {
            *sessions.entry(*name).or_default() += 1;
        }
        let is_common = |count: usize| count * 100 > names.len() * STOP_PERCENT;
        Self(sessions.into_iter().filter(|(_, n)| is_common(*n)).map(|(name, _)| name).collect())
    }
}

pub(super) struct Survey {
    /// Numbers of the distinct sessions, ascending.
    pub(super) sessions: Vec<usize>,
    pub(super) stop: StopList,
}

impl Survey {
    pub(super) fn of(
        corpus: &(impl Corpus + ?Sized),
        extractor: &Extractor,
        report: &mut ReportBuilder,
    ) -> Self {
        let mut identities = Vec::new();
        let mut names: HashMap<usize, HashSet<u64>> = HashMap::new();
        for number in 0..corpus.len() {
            let session = match corpus.load(number) {
                Ok(session) => session,
                Err(reason) => {
                    report.unreadable(reason);
                    continue;
                }
            };
            let transcript = Transcript::parse(&session.bytes);
            identities.push(Identity::new(number, &transcript));
            let index = Index::new(&transcript, extractor);
            names.insert(number, index.entities().map(Entity::fingerprint).collect());
        }
        let sessions = distinct(&identities);
        report.distinct(identities.len(), sessions.len());
        let names: Vec<_> = sessions.iter().filter_map(|number| names.remove(number)).collect();
        Self { stop: StopList::of(&names), sessions }
    }
}

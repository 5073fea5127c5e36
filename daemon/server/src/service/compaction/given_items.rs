//! Items given by a client: stores and folds them.
//!
//! # Theory of operation
//! Given items exist nowhere else, so they are stored under the compaction's id, with secrets replaced, before
//! anything is made of them. If they begin with the view of an earlier compaction of ours, folding resumes from
//! that compaction's fold: it knows more than the view says, so only the items after it are folded. So the eighth
//! compaction of a long session knows what the first one knew.
//!
//! *A crash* leaves stored items that no record names; they are pruned. A fold that is not stored is recomputed
//! from the histories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use longhaul_core::checkpoint::file_standing::Disk;
use longhaul_core::checkpoint::semantic::Semantics;
use longhaul_core::compaction::classify::{Class, class_of_item};
use longhaul_core::compaction::{assemble, succession};
use longhaul_core::fold::{Fold, Source};
use longhaul_core::redact::redact_value;
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::input::{Input, ItemSource, Past, newest_switch};
use super::log::CompactionLog;
use super::spans::placed;
use crate::service::error::ServiceError;
use crate::service::preimage::{self, Origin};

/// Maximum histories folded on top of each other if no fold was stored.
const DEPTH_MAX: usize = 16;

pub struct GivenItems {
    /// Folder of stored histories.
    pub(in crate::service) preimages: PathBuf,
    pub(in crate::service) log: Arc<CompactionLog>,
}

impl GivenItems {
    /// Stores given items under the compaction's id, with secrets replaced. Returns how many were replaced.
    pub(super) async fn store(&self, id: &str, mut items: Vec<Value>) -> Result<u64, ServiceError> {
        if items.is_empty() {
            return Err(ServiceError::invalid("items", "there is nothing to compact"));
        }
        let redacted = items.iter_mut().map(|item| u64::from(redact_value(item))).sum();
        let origin = self.origin_of(&items).await?;
        let (folder, id) = (self.preimages.clone(), id.to_owned());
        tokio::task::spawn_blocking(move || {
            let lines: Vec<String> = items.iter().map(Value::to_string).collect();
            preimage::write(&folder, &id, &lines, &origin)?;
            Ok(redacted)
        })
        .await?
    }

    /// The compaction that a history with these items continues.
    async fn origin_of(&self, items: &[Value]) -> Result<Origin, ServiceError> {
        let named = succession::earlier(items, preimage::PREFIX).filter(|id| preimage::is_id(id));
        let Some(base) = named.map(str::to_owned) else { return Ok(Origin::default()) };
        let made = match self.log.get(&base).await {
            Ok(compaction) => compaction.history,
            Err(ServiceError::CompactionNotFound(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        let carried = succession::carried(items, &made);
        let carried = carried.into_iter().zip(0..).filter(|(is_carried, _)| *is_carried);
        let carried = carried.map(|(_, at)| at).collect();
        let folder = self.preimages.clone();
        let found = move || match preimage::own(&folder, &base)? {
            Some((_, rows, origin)) => {
                let first_seq = origin.first_seq + rows.len() as u64;
                Ok(Origin { base: Some(base), first_seq, carried })
            }
            None => Ok(Origin::default()),
        };
        tokio::task::spawn_blocking(found).await?
    }

    /// Reads the items stored under the compaction's id.
    pub(super) async fn read(&self, id: &str, redacted: u64) -> Result<Input, ServiceError> {
        let (folder, id) = (self.preimages.clone(), id.to_owned());
        tokio::task::spawn_blocking(move || {
            let given = StoredItems::read(&folder, &id)?;
            let base = match &given.origin.base {
                Some(base) => fold_of(&folder, base, DEPTH_MAX)?,
                None => None,
            };
            let fold = given.fold(base.as_ref());
            let kept = match fold.save() {
                Ok(bytes) => preimage::write_fold(&folder, &id, &bytes).map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = kept {
                tracing::debug!(%error, "cannot store the fold of given items");
            }
            let past = given.past(&folder, base.is_some())?;
            Ok(given.input(id, fold, redacted, past))
        })
        .await?
    }
}

/// The fold at the end of a stored history; `None` if it is gone. Blocking.
fn fold_of(folder: &Path, id: &str, depth: usize) -> Result<Option<Fold>, ServiceError> {
    let stored = preimage::read_fold(folder, id);
    if let Some(fold) = stored.and_then(|bytes| Fold::load(&bytes).ok()) {
        return Ok(Some(fold));
    }
    let given = match StoredItems::read(folder, id) {
        Err(ServiceError::HandleNotFound(_)) => return Ok(None),
        given => given?,
    };
    let base = match given.origin.base.as_deref().filter(|_| depth > 0) {
        Some(base) => fold_of(folder, base, depth - 1)?,
        None => None,
    };
    Ok(Some(given.fold(base.as_ref())))
}

struct StoredItems {
    items: Vec<Value>,
    lines: Vec<String>,
    origin: Origin,
}

impl StoredItems {
    fn read(folder: &Path, id: &str) -> Result<Self, ServiceError> {
        let lines = preimage::read(folder, id)?;
        let items =
            lines.iter().map(|line| serde_json::from_str(line).unwrap_or_default()).collect();
        Ok(Self { items, lines, origin: preimage::origin(folder, id)? })
    }

    /// Folds the items; on top of `base`, only those it does not contain.
    fn fold(&self, base: Option<&Fold>) -> Fold {
        let mut fold = base.map_or_else(|| Fold::new(Source::Longhaul), Fold::succeed);
        for (place, line, at) in placed(&self.lines, self.origin.first_seq) {
            let is_known = base.is_some() && self.origin.carried.contains(&at);
            match is_known {
                true => fold.carried(place, line.as_bytes()),
                false => fold.line(place, line.as_bytes()),
            };
        }
        fold
    }

    /// The compactions that these items continue, as far as their histories exist. Blocking.
    fn past(&self, folder: &Path, is_known: bool) -> Result<Past, ServiceError> {
        if !is_known {
            return Ok(Past::default());
        }
        let new = self.items.iter().enumerate();
        let new = new.filter(|(at, _)| !self.origin.carried.contains(at)).map(|(_, item)| item);
        let grown = Some(assemble::estimate(new));
        let (mut earlier, mut origin) = (Vec::new(), self.origin.clone());
        while let Some(base) = origin.base.take().filter(|_| earlier.len() < DEPTH_MAX) {
            earlier.push(origin.first_seq.saturating_sub(1));
            origin = preimage::origin(folder, &base)?;
        }
        Ok(Past { earlier, grown })
    }

    fn input(self, id: String, fold: Fold, redacted: u64, past: Past) -> Input {
        let Self { items, origin: Origin { first_seq, carried, .. }, .. } = self;
        let active = fold.checkpoint().requests.active();
        let own = |seq: u64| usize::try_from(seq.checked_sub(first_seq)?).ok();
        let at = active.and_then(|active| own(active.seq));
        let at = at.or_else(|| active.and_then(|_| succession::newest_request(&items, &carried)));
        let request = at.and_then(|at| items.get(at).cloned());
        let request = request.or_else(|| Some(assemble::message("user", &active?.text)));
        let is_switch =
            |item: &Value| item["role"] == "developer" && class_of_item(item) == Class::ModelSwitch;
        let model_switch = items.iter().rposition(is_switch);
        let keep = |at: usize| {
            let item = to_raw_value(items.get(at)?).ok()?;
            Some((first_seq + at as u64, newest_switch(&[item])?))
        };
        let model_switch = model_switch.and_then(keep);
        let is_ghost = |item: &&Value| item["type"] == "ghost_snapshot";
        let ghosts = items.iter().filter(is_ghost).cloned().collect();
        Input {
            of: id,
            ghosts,
            agent_prompt: None,
            thread_id: None,
            semantics: Semantics::default(),
            disk: Disk::new(),
            kept: request.map(assemble::keep_request),
            model_switch,
            items: ItemSource::Given { items, first_seq, past },
            request_seq: at.map(|at| first_seq + at as u64),
            warnings: Vec::new(),
            redacted,
            window: longhaul_core::context::window::FALLBACK_TOKENS,
            focus: String::new(),
            seq: fold.next_seq().saturating_sub(1),
            fold: Arc::new(fold),
        }
    }
}

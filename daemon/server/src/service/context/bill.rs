//! Compares the cost of a thread's compactions with those its agent makes itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use longhaul_core::compaction::agent_costs::{AgentCosts, AgentUse, in_force};
use longhaul_core::fold::{CompactionBill, Fold};
use longhaul_core::thread::ThreadHead;
use longhaul_protocol::thread::{AgentCost, CostSource, ResumePrice};
use longhaul_store::{CompactionRow, CompactionTable, ThreadFilter, ThreadTable};
use serde::Deserialize;

use super::resume::ResumePrices;
use crate::ingest::FoldLoadError;
use crate::service::error::ServiceError;
use crate::service::snapshot::Snapshots;

/// Maximum compactions of a thread that are billed, newest first: as many as its fold keeps.
const ROWS_MAX: u32 = 48;

/// Threads searched for compactions by an agent with the same model, newest first.
const THREADS_LOOKED_AT: u32 = 256;

/// Maximum compacted threads whose compactions are read.
const THREADS_READ: u32 = 4;

/// Maximum threads whose bills are cached: more than agents that work at once, which take turns as the newest.
const BILLS_KEPT: usize = 64;

/// A compaction of ours, and the agent's line that applied it.
#[derive(Debug)]
pub struct BilledRow {
    pub row: CompactionRow,
    /// Its output tokens; `None` if no model was asked, and for old rows.
    pub output_tokens: Option<u64>,
    pub in_force: Option<CompactionBill>,
    pub agent_use: AgentUse,
}

/// By thread, how often it was compacted and the bills of its compactions.
type KnownBills = HashMap<String, (u64, Vec<CompactionBill>)>;

#[derive(Debug)]
pub struct ThreadBill {
    pub thread_id: String,
    /// Oldest first.
    pub rows: Vec<BilledRow>,
    pub agent: AgentCost,
    /// The agent's own compactions, oldest first.
    pub agent_compactions: Vec<CompactionBill>,
    /// The compaction that an undo means if none is named.
    pub undo_next: Option<String>,
    pub resume: Option<ResumePrice>,
}

/// Fields of a stored compaction that its row lacks.
#[derive(Deserialize)]
struct StoredSpending {
    spent: Option<SpentTokens>,
}

#[derive(Deserialize)]
struct SpentTokens {
    output_tokens: Option<u64>,
}

pub struct Bills {
    threads: ThreadTable,
    compactions: CompactionTable,
    snapshots: Arc<Snapshots>,
    prices: ResumePrices,
    known: Mutex<KnownBills>,
}

impl Bills {
    pub fn new(
        threads: ThreadTable,
        compactions: CompactionTable,
        snapshots: Arc<Snapshots>,
        prices: ResumePrices,
    ) -> Self {
        Self { threads, compactions, snapshots, prices, known: Mutex::default() }
    }

    pub async fn of_thread(&self, thread_id: &str) -> Result<ThreadBill, ServiceError> {
        let snapshot = self.snapshots.of(thread_id, None).await?;
        let fold = Arc::clone(&snapshot.fold);
        let own: Vec<CompactionBill> =
            fold.bill().compactions().filter(|bill| !bill.is_ours).cloned().collect();
        let rows = self.rows(&snapshot.thread_id, &fold, &own).await?;
        let agent = match AgentCosts::of(fold.bill().compactions()) {
            Some(costs) => cost(CostSource::Thread, costs),
            None => self.of_model(&snapshot.thread_id, &fold).await?,
        };
        let resume = self.prices.of(&snapshot);
        Ok(ThreadBill {
            undo_next: undo_next(&snapshot.thread_id, &rows),
            thread_id: snapshot.thread_id,
            rows,
            agent,
            agent_compactions: own,
            resume,
        })
    }

    /// The newest compactions of the thread and of the one it continues.
    async fn rows(
        &self,
        thread_id: &str,
        fold: &Fold,
        own: &[CompactionBill],
    ) -> Result<Vec<BilledRow>, ServiceError> {
        let (mut rows, _) = self.compactions.list(Some(thread_id), ROWS_MAX, None).await?;
        if let Some(base) = &fold.head().history_base {
            let (of_base, _) = self.compactions.list(Some(&base.thread_id), ROWS_MAX, None).await?;
            let begun = of_base.into_iter().find(|row| row.seq + 1 == base.end_ordinal_exclusive);
            rows.extend(begun);
        }
        rows.sort_by_key(|row| (row.seq, row.created_at_ms));
        let seqs: Vec<u64> = rows.iter().map(|row| row.seq).collect();
        let found = in_force(fold.bill().compactions(), &seqs);
        let mut billed = Vec::with_capacity(rows.len());
        for (row, in_force) in rows.into_iter().zip(found) {
            let output_tokens = match row.requests {
                0 => None,
                _ => output_tokens(&self.compactions, &row.compaction_id).await?,
            };
            let agent_use = AgentUse::of((row.seq, row.created_at_ms), in_force, own);
            billed.push(BilledRow { row, output_tokens, in_force: in_force.cloned(), agent_use });
        }
        Ok(billed)
    }

    async fn of_model(&self, thread_id: &str, fold: &Fold) -> Result<AgentCost, ServiceError> {
        let head = fold.head();
        let Some(model) = &head.model else { return Ok(AgentCost::default()) };
        let filter = ThreadFilter { source: Some(head.source), ..ThreadFilter::default() };
        let (newest, _) = self.threads.list(&filter, THREADS_LOOKED_AT, None).await?;
        let alike = newest.into_iter().filter(|thread| {
            let is_alike =
                |head: &ThreadHead| head.compactions > 0 && head.model.as_ref() == Some(model);
            thread.thread_id != thread_id && thread.file.head.as_ref().is_some_and(is_alike)
        });
        let mut bills = Vec::new();
        for thread in alike.take(THREADS_READ as usize) {
            bills.extend(self.bills_of(&thread.thread_id).await?.unwrap_or_default());
        }
        let costs = AgentCosts::of(&bills).map(|costs| cost(CostSource::Model, costs));
        Ok(costs.unwrap_or_default())
    }

    /// The cost of the compactions that agents made by themselves, over the newest compacted threads of all
    /// agents. A thread is read again when it was compacted again.
    pub async fn of_agents(&self) -> Result<Option<AgentCosts>, ServiceError> {
        let mut bills = Vec::new();
        for (thread_id, compactions) in self.threads.compacted(THREADS_READ).await? {
            bills.extend(self.known_bills(thread_id, compactions).await?);
        }
        Ok(AgentCosts::of(&bills))
    }

    async fn known_bills(
        &self,
        thread_id: String,
        compactions: u64,
    ) -> Result<Vec<CompactionBill>, ServiceError> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, bills)) = lock().get(&thread_id)
            && *of == compactions
        {
            return Ok(bills.clone());
        }
        let Some(bills) = self.bills_of(&thread_id).await? else { return Ok(Vec::new()) };
        let mut known = lock();
        if known.len() >= BILLS_KEPT {
            known.clear();
        }
        known.insert(thread_id, (compactions, bills.clone()));
        Ok(bills)
    }

    /// `None` if another version folded the thread, and its transcript is not read again yet, or gone. One such thread
    /// hides no other.
    async fn bills_of(&self, thread_id: &str) -> Result<Option<Vec<CompactionBill>>, ServiceError> {
        let fold = match self.snapshots.fold(thread_id).await {
            Err(ServiceError::Fold(FoldLoadError::Store(error))) => return Err(error.into()),
            Err(ServiceError::Fold(_)) => return Ok(None),
            fold => fold?,
        };
        Ok(Some(fold.map_or_else(Vec::new, |fold| fold.bill().compactions().cloned().collect())))
    }
}

fn cost(source: CostSource, costs: AgentCosts) -> AgentCost {
    let AgentCosts { compactions, input_tokens, output_tokens, duration_ms } = costs;
    AgentCost { source, compactions, input_tokens, output_tokens, duration_ms }
}

/// Of the thread's own compactions that are not undone. Equal times by id, as in lists.
fn undo_next(thread_id: &str, rows: &[BilledRow]) -> Option<String> {
    let left = rows.iter().filter(|billed| {
        billed.row.undone_at_ms.is_none() && billed.row.thread_id.as_deref() == Some(thread_id)
    });
    let rank = |billed: &&BilledRow| {
        let row = &billed.row;
        (billed.agent_use.undo_rank(row.created_at_ms), row.compaction_id.clone())
    };
    left.max_by_key(rank).map(|billed| billed.row.compaction_id.clone())
}

async fn output_tokens(
    compactions: &CompactionTable,
    compaction_id: &str,
) -> Result<Option<u64>, ServiceError> {
    let Some((_, result)) = compactions.get(compaction_id).await? else { return Ok(None) };
    let stored: StoredSpending =
        serde_json::from_slice(&result).map_err(ServiceError::undecodable("compaction"))?;
    Ok(stored.spent.and_then(|spent| spent.output_tokens))
}

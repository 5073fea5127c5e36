//! `thread/bill`.

use std::sync::Arc;

use longhaul_core::compaction::agent_costs::AgentUse;
use longhaul_core::fold::{CompactionBill, WorkAfterCompaction};
use longhaul_protocol::thread::{
    self as wire, AgentCompaction, BillParams, BillResult, CompactionCost, WorkAfter,
};

use super::super::convert::{self, same_variants};
use super::super::error::Failure;
use crate::service::context::bill::{BilledRow, Bills};

pub(super) async fn answer(bills: Arc<Bills>, params: BillParams) -> Result<BillResult, Failure> {
    let bill = bills.of_thread(&params.thread_id).await?;
    Ok(BillResult {
        thread_id: bill.thread_id,
        compactions: bill.rows.into_iter().map(cost).collect(),
        agent: bill.agent,
        agent_compactions: bill.agent_compactions.into_iter().map(own).collect(),
        undo_next: bill.undo_next,
        resume: bill.resume,
    })
}

fn cost(billed: BilledRow) -> CompactionCost {
    CompactionCost {
        summary: convert::summary(billed.row),
        output_tokens: billed.output_tokens,
        in_force_seq: billed.in_force.as_ref().map(|bill| bill.seq),
        after: billed.in_force.map(|bill| after(bill.after)),
        agent_use: same_variants!(billed.agent_use, AgentUse => wire::AgentUse, View | ByItself | NotAtAll),
    }
}

fn after(after: WorkAfterCompaction) -> WorkAfter {
    WorkAfter {
        actions: after.actions,
        edited: after.has_edited,
        files_reread: after.reread,
        files_reread_paths: after.reread_paths,
    }
}

fn own(bill: CompactionBill) -> AgentCompaction {
    AgentCompaction {
        seq: bill.seq,
        at: Some(bill.at_ms).filter(|ms| *ms > 0),
        tokens_before: bill.tokens_before,
        input_tokens: bill.tokens.map(|tokens| tokens.input),
        output_tokens: bill.tokens.and_then(|tokens| tokens.output),
        duration_ms: bill.duration_ms,
        after: after(bill.after),
    }
}

//! `thread/bill`.

use std::sync::Arc;

use longhaul_core::compaction::account::AgentAccount;
use longhaul_core::fold::{CompactionBill, WorkAfterCompaction};
use longhaul_protocol::thread::{
    AgentCompaction, AgentCost, Bill, BillParams, BillResult, CompactionCost, CostSource, Price,
    ResumePrice, WorkAfter,
};

use super::super::error::Failure;
use super::super::{Table, TableError, convert};
use crate::service::context::bill::{self, BilledRow, Bills};
use crate::service::context::resume;

pub(in super::super) fn register(table: &mut Table, bills: &Arc<Bills>) -> Result<(), TableError> {
    table.of(bills).on_async::<Bill, _>(answer)
}

async fn answer(bills: Arc<Bills>, params: BillParams) -> Result<BillResult, Failure> {
    let bill = bills.of_thread(&params.thread_id).await?;
    Ok(BillResult {
        thread_id: bill.thread_id,
        compactions: bill.rows.into_iter().map(cost).collect(),
        agent: agent(bill.agent),
        agent_compactions: bill.agent_compactions.into_iter().map(own).collect(),
        resume: bill.resume.as_ref().map(resume),
    })
}

fn cost(billed: BilledRow) -> CompactionCost {
    CompactionCost {
        summary: convert::summary(billed.row),
        output_tokens: billed.output_tokens,
        in_force_seq: billed.in_force.as_ref().map(|bill| bill.seq),
        after: billed.in_force.map(|bill| after(bill.after)),
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

fn agent(cost: bill::AgentCost) -> AgentCost {
    let (source, account) = match cost {
        bill::AgentCost::Thread(account) => (CostSource::Thread, account),
        bill::AgentCost::Model(account) => (CostSource::Model, account),
        bill::AgentCost::Unknown => return AgentCost::default(),
    };
    let AgentAccount { compactions, input_tokens, output_tokens, duration_ms } = account;
    AgentCost { source, compactions, input_tokens, output_tokens, duration_ms }
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

#[expect(clippy::cast_possible_truncation, reason = "a price is far below 2^64 millionths")]
pub(in super::super) fn resume(price: &resume::ResumePrice) -> ResumePrice {
    let of = |tokens: u64| {
        let (per_million, currency) = price.input_price.as_ref()?;
        // The price is per million tokens, so the product is in millionths.
        let micros = (*per_million * tokens as f64).round();
        Some(Price { micros: micros as u64, currency: currency.clone() })
    };
    ResumePrice {
        idle_ms: price.idle_ms,
        cache_lifetime_ms: price.cache.lifetime_ms,
        cache_lifetime_source: price.cache.origin.into_str().to_owned(),
        is_cold: price.cache.is_cold,
        history_tokens: price.history_tokens,
        briefing_tokens: price.briefing_tokens,
        history_price: of(price.history_tokens),
        briefing_price: of(price.briefing_tokens),
    }
}

//! `longhaul eval --successive N`: what is left after N compactions in a row.
//!
//! Sends the history before a cut to the daemon as a client would: once whole, and once in N parts, each compacted
//! together with the result of the compaction before it. The last view of both is scored.

use longhaul_client::Client;
use longhaul_eval::{Cut, Options, Report, VIEW_NAME, evaluate};
use longhaul_protocol::compaction::{Run, RunParams, Strategy};
use longhaul_protocol::history::{HistoryGet, HistoryGetParams};
use serde::Serialize;
use serde_json::Value;

use super::page::failed_views;
use super::stage::Stage;
use super::transcripts::Transcripts;
use crate::failure::{Failure, INTERNAL};
use crate::session::Page;
use crate::style::{Style, count, counted};

/// Maximum bytes of items in one request: a frame holds them and their envelope.
const GIVEN_BYTES_MAX: usize = 12 << 20;

#[derive(Serialize)]
pub(super) struct Decay {
    compactions: usize,
    /// After one compaction of the whole history.
    once: Report,
    /// After the last compaction in a row.
    successive: Report,
}

/// Measures both. Blocking.
pub(super) fn measure(
    transcripts: &Transcripts,
    budgets: &[u64],
    stage: &mut Stage,
    compactions: usize,
) -> Result<Decay, Failure> {
    transcripts.will_be_evaluated(2);
    let mut report = |parts: usize| {
        let options = Options { budgets: budgets.to_vec(), baselines: false, misses: false };
        let result = evaluate(transcripts, &options, &mut |cut, budget| {
            stage.view_after(cut, budget, parts)
        });
        result.map_err(|error| Failure::new(INTERNAL, error))
    };
    Ok(Decay { compactions, once: report(1)?, successive: report(compactions)? })
}

impl Stage {
    /// The view of the last of `parts` compactions of the history before a cut.
    fn view_after(&mut self, cut: &Cut<'_>, budget: u64, parts: usize) -> Result<String, String> {
        let thread_id = self.thread(cut)?;
        let client = &self.client;
        self.runtime.block_on(async {
            let items = history(client, thread_id).await?;
            let (mut given, mut view) = (Vec::new(), String::new());
            for part in items.chunks(items.len().div_ceil(parts).max(1)) {
                given.extend_from_slice(part);
                let params = RunParams {
                    items: Some(given),
                    strategy: Some(Strategy::Checkpoint),
                    max_tokens: Some(budget),
                    ..RunParams::default()
                };
                let made = client.call::<Run>(params).await.map_err(|error| error.to_string())?;
                (given, view) = (made.history.into_bytes(), made.view.0);
            }
            Ok(view)
        })
    }
}

/// The history as the model saw it.
async fn history(client: &Client, thread_id: String) -> Result<Vec<Value>, String> {
    let (mut items, mut cursor, mut bytes) = (Vec::new(), None, 0);
    loop {
        let params = HistoryGetParams {
            thread_id: thread_id.clone(),
            cursor,
            max_bytes: Some(GIVEN_BYTES_MAX as u64),
            ..HistoryGetParams::default()
        };
        let page = client.call::<HistoryGet>(params).await.map_err(|error| error.to_string())?;
        bytes += page.items.iter().map(|item| item.get().len()).sum::<usize>();
        if bytes > GIVEN_BYTES_MAX {
            return Err("the history is too large for one request".to_owned());
        }
        items.extend(page.items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()));
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(items),
        }
    }
}

impl Page for Decay {
    fn text(&self, style: &Style) -> String {
        let corpus = &self.once.corpus;
        let heading = format!(
            "{} of {}: one compaction, and {} in a row\n",
            counted(corpus.cuts as u64, "cut"),
            counted(corpus.scored as u64, "session"),
            self.compactions,
        );
        let rows = self.once.budgets().into_iter().filter_map(|budget| {
            let once = self.once.measure(VIEW_NAME, budget)?;
            let later = self.successive.measure(VIEW_NAME, budget)?;
            let pair =
                |one: f64, two: f64| [format!("{one:.1}"), format!("{two:.1}"), kept(one, two)];
            let (frr, bfr) = (pair(once.frr, later.frr), pair(once.bfr, later.bfr));
            Some([vec![count(budget)], frr.to_vec(), bfr.to_vec()].concat())
        });
        let header = [">tokens", ">FRR once", ">after", ">kept", ">BFR once", ">after", ">kept"];
        let failed = [&self.once, &self.successive].map(|report| failed_views(report, style));
        let failed = style.warn(&failed.concat());
        [style.bold(&heading), failed, style.table(&header, rows.collect())].concat()
    }
}

/// The later score as a percentage of the first.
fn kept(once: f64, later: f64) -> String {
    if once > 0.0 { format!("{:.1} %", later / once * 100.0) } else { "-".to_owned() }
}

//! What a compaction needs before a strategy is tried: its input, the initial context, and the watcher's cause.

use std::sync::Arc;

use longhaul_core::compaction::{Phase, initial_context};

use super::gather::Gatherer;
use super::input::{Input, visible_items};
use super::loop_guard::LoopGuard;
use super::packet::{Packets, PolicyCause};
use super::record::Notice;
use super::request::Request;
use crate::service::error::ServiceError;
use crate::service::history::{Histories, Opaque};

pub struct Preparation {
    pub(in crate::service) gatherer: Gatherer,
    pub(in crate::service) guard: LoopGuard,
    pub(in crate::service) packets: Packets,
    pub(in crate::service) histories: Arc<Histories>,
}

impl Preparation {
    /// Gathers the input and completes the request: by the initial context, and by what the watcher of the thread asks
    /// for. With `checks_gain`, a compaction that cannot gain is rejected.
    pub(super) async fn prepare(
        &self,
        id: &str,
        request: &mut Request,
        checks_gain: bool,
    ) -> Result<(Input, Option<PolicyCause>), ServiceError> {
        let mut input = self.gatherer.gather(id, request).await?;
        if checks_gain {
            self.guard.check(id, request, &input).await?;
        }
        self.find_context(request, &mut input).await?;
        let cause = self.packets.cause(input.thread_id.as_deref(), request).await;
        Ok((input, cause))
    }

    /// In the middle of a turn the harness does not resend its context: if the caller gives none, it is taken from
    /// the history.
    async fn find_context(
        &self,
        request: &mut Request,
        input: &mut Input,
    ) -> Result<(), ServiceError> {
        if !request.finds_context || request.phase != Phase::MidTurn {
            return Ok(());
        }
        let items = visible_items(&self.histories, input, Opaque::AsIs).await?;
        let items = items.unwrap_or_default().items;
        let reference = input.fold.reference();
        request.initial_context = initial_context::of_history(&items, reference);
        if request.initial_context.is_empty() {
            let message = "a compaction in the middle of a turn needs the initial context, and neither the \
                           caller nor the history contains it: the model continues without its settings";
            input.warnings.push(Notice::new("no_initial_context", message));
        }
        Ok(())
    }
}

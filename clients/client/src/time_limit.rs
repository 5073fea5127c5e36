//! How long a call may take if the program does not say.

use longhaul_protocol::{Method, archive, compaction, memory, thread};
use serde::Deserialize;

use crate::ConnectOptions;

/// Milliseconds the daemon gives a compaction without `deadline_ms`, as the protocol says.
const DEADLINE_MS: u64 = 120_000;
/// Milliseconds an answer may come after its deadline: the daemon stops the model at the deadline, then records the
/// checkpoint.
const MARGIN_MS: u64 = 15_000;

#[derive(Deserialize)]
struct Deadline {
    deadline_ms: Option<u64>,
}

/// Milliseconds to wait for the answer to a call with these params. `None` for jobs whose length depends on how much
/// there is to do: they end with their answer or with the connection.
pub(crate) fn limit_ms<M: Method>(params: &str) -> Option<u64> {
    match M::NAME {
        compaction::Run::NAME | thread::Continue::NAME => {
            let deadline_ms =
                serde_json::from_str(params).ok().and_then(|it: Deadline| it.deadline_ms);
            Some(deadline_ms.unwrap_or(DEADLINE_MS).saturating_add(MARGIN_MS))
        }
        memory::Run::NAME | archive::Verify::NAME | archive::Restore::NAME => None,
        _ => Some(ConnectOptions::REQUEST_TIMEOUT_MS),
    }
}

//! `longhaul metrics`.

use clap::Args;
use longhaul_protocol::daemon::{MethodMetrics, Metrics, MetricsResult, NoParams, ProcessMetrics};

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::{Style, bytes, count, counted, duration};

/// Show the daemon's resource use and response times since its start
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul metrics
  longhaul metrics --json | jq '.methods | max_by(.p99_us)'")]
pub(crate) struct MetricsArgs {}

pub(crate) async fn run(_: MetricsArgs, session: &Session) -> Result<(), Failure> {
    session.show::<Metrics>(NoParams {}).await
}

impl Page for MetricsResult {
    fn text(&self, style: &Style) -> String {
        let connections = match self.connections_refused {
            0 => counted(self.connections, "connection"),
            refused => {
                format!("{}, {} refused", counted(self.connections, "connection"), count(refused))
            }
        };
        let process = self.process.as_ref().map_or("unknown on this system".to_owned(), process);
        let fields = style.fields(&[
            ("up", duration(self.uptime_ms)),
            ("uses", process),
            ("read", bytes(self.ingested_bytes)),
            ("stored", bytes(self.stored_bytes)),
            ("serves", format!("{connections}, {} running", counted(self.in_flight, "request"))),
        ]);
        let headings = ["method", ">calls", ">errors", ">p50", ">p99", ">max"];
        let table = style.table(&headings, self.methods.iter().map(row).collect());
        let panics = match self.panics {
            0 => String::new(),
            panics => {
                style.bad(&format!("{} in the daemon: see its log\n", counted(panics, "crash")))
            }
        };
        [fields, panics, table].concat()
    }
}

fn process(taken: &ProcessMetrics) -> String {
    format!(
        "{} memory (peak {}), {} CPU, {}",
        bytes(taken.resident_bytes),
        bytes(taken.resident_peak_bytes),
        duration(taken.cpu_ms),
        counted(taken.threads, "thread")
    )
}

fn row(method: &MethodMetrics) -> Vec<String> {
    let times = [method.p50_us, method.p99_us, method.max_us].map(took);
    [method.method.clone(), count(method.calls), count(method.errors)]
        .into_iter()
        .chain(times)
        .collect()
}

/// A short time with two or three significant digits.
fn took(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} us"),
        1_000..10_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        10_000..1_000_000 => format!("{} ms", us / 1_000),
        _ => duration(us / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_or_three_digits() {
        let shown = [7, 999, 1_000, 8_260, 12_800, 999_999, 61_000_000].map(took);
        assert_eq!(shown, ["7 us", "999 us", "1.0 ms", "8.2 ms", "12 ms", "999 ms", "1 min"]);
    }
}

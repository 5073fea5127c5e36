//! A progress indicator on stderr for slow calls.

use std::io::IsTerminal;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use indicatif::{ProgressBar, ProgressStyle};
use longhaul_printable as printable;

/// Milliseconds before the indicator appears; most answers arrive earlier.
const QUIET_MS: u64 = 1_000;
/// Milliseconds between two frames.
const TICK_MS: u64 = 100;

/// Waits for `work`; shows `label` and the elapsed time on a terminal if it takes long.
pub(crate) async fn while_waiting<T>(label: &str, work: impl Future<Output = T>) -> T {
    while_waiting_with(label, None::<stream::Empty<String>>, work).await
}

/// As [`while_waiting`], with the newest text from `labels` in place of the label.
pub(crate) async fn while_waiting_with<T>(
    label: &str,
    labels: Option<impl Stream<Item = String>>,
    work: impl Future<Output = T>,
) -> T {
    let labels = stream::iter(labels).flatten();
    tokio::pin!(work, labels);
    let quiet = tokio::time::sleep(Duration::from_millis(QUIET_MS));
    tokio::pin!(quiet);
    let (mut bar, mut label) = (None::<ProgressBar>, label.to_owned());
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = &mut quiet, if bar.is_none() => bar = Some(spinner(&label)),
            Some(words) = labels.next() => {
                label = words;
                if let Some(bar) = &bar {
                    bar.set_message(printable::one_line(&label).into_owned());
                }
            }
        }
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    done
}

fn spinner(label: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_message(printable::one_line(label).into_owned());
    let template = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    bar.set_style(template.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(TICK_MS));
    bar
}

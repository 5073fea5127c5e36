//! A sign of life on stderr for what takes longer than a second.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Milliseconds before anything is shown: most answers are there by then.
const QUIET_MS: u64 = 1_000;
/// Milliseconds between two pictures.
const TICK_MS: u64 = 100;

/// Waits for `work`; shows `label` and the time on a terminal when it takes long.
pub(crate) async fn while_waiting<T>(label: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    let quiet = tokio::time::sleep(Duration::from_millis(QUIET_MS));
    tokio::select! {
        done = &mut work => return done,
        () = quiet => {}
    }
    let bar = spinner(label);
    let done = work.await;
    bar.finish_and_clear();
    done
}

fn spinner(label: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_message(label.to_owned());
    let template = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
    bar.set_style(template.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(TICK_MS));
    bar
}

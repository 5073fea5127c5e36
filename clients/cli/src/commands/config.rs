//! `longhaul config`.

use clap::Subcommand;
use longhaul_protocol::daemon::{NoParams, Reload, ReloadResult, ShowConfig, ShowConfigResult};
use serde::Serialize;

use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::Style;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the configuration and where each value comes from
    #[command(after_help = "\
Examples:
  longhaul config show
  longhaul config show --json | jq '.values[] | select(.origin != \"default\")'")]
    Show,
    /// Show where the configuration file is, or would be
    #[command(after_help = "\
Examples:
  longhaul config path
  $EDITOR \"$(longhaul config path)\" && longhaul config reload")]
    Path,
    /// Print an example file with every key, its default and what it does
    #[command(after_help = "\
Examples:
  longhaul config example | less
  longhaul config example > config.toml    then edit, and move it to config path")]
    Example,
    /// Reload the configuration file without a restart
    ///
    /// An invalid file changes nothing. Keys that need a restart are listed.
    #[command(after_help = "Example:\n  longhaul config reload")]
    Reload,
}

pub(crate) async fn run(command: ConfigCommand, session: &Session) -> Result<(), Failure> {
    if matches!(command, ConfigCommand::Example) {
        // Without the daemon: a wrong file may be why it does not start.
        return session.print(&ExamplePage { toml: EXAMPLE });
    }
    let client = session.connect().await?;
    match command {
        ConfigCommand::Example => Ok(()),
        ConfigCommand::Show => session.print(&client.call::<ShowConfig>(NoParams {}).await?),
        ConfigCommand::Path => {
            let ShowConfigResult { path, .. } = client.call::<ShowConfig>(NoParams {}).await?;
            session.print(&PathPage { path })
        }
        ConfigCommand::Reload => session.print(&client.call::<Reload>(NoParams {}).await?),
    }
}

/// Every key with its default.
const EXAMPLE: &str = include_str!("../../../../daemon/server/config.example.toml");

#[derive(Serialize)]
struct ExamplePage {
    toml: &'static str,
}

impl Page for ExamplePage {
    fn text(&self, _: &Style) -> String {
        self.toml.to_owned()
    }
}

#[derive(Serialize)]
struct PathPage {
    path: String,
}

impl Page for PathPage {
    fn text(&self, _: &Style) -> String {
        // Nothing else, so that a shell can use it.
        format!("{}\n", self.path)
    }
}

impl Page for ShowConfigResult {
    fn text(&self, style: &Style) -> String {
        let heading = match &self.file {
            Some(file) => format!("read from {}\n", style.path(file)),
            None => format!("no file; longhaul would read {}\n", style.path(&self.path)),
        };
        let row = |value: &longhaul_protocol::daemon::ConfigValue| {
            vec![value.key.clone(), value.value.clone(), value.origin.clone()]
        };
        let table = style.table(&["key", "value", "source"], self.values.iter().map(row).collect());
        [style.dim(&heading), table].concat()
    }
}

impl Page for ReloadResult {
    fn text(&self, style: &Style) -> String {
        if self.changes.is_empty() {
            return match &self.file {
                Some(file) => format!("{} has no changes\n", style.path(file)),
                None => "there is no configuration file, so nothing changed\n".to_owned(),
            };
        }
        let row = |change: &longhaul_protocol::daemon::ConfigChange| {
            let holds = if change.applied { "now" } else { "from the next start" };
            vec![change.key.clone(), change.before.clone(), change.after.clone(), holds.to_owned()]
        };
        let rows: Vec<Vec<String>> = self.changes.iter().map(row).collect();
        let table = style.table(&["key", "before", "after", "applies"], rows);
        let restart = match self.changes.iter().all(|change| change.applied) {
            true => "",
            false => "restart the daemon for the rest: longhaul down && longhaul up\n",
        };
        [table, restart.to_owned()].concat()
    }
}

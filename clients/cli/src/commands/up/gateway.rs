//! Starts the gateway, a separate process, if it is installed and not running.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use longhaul_client::gateway::GatewaySettings;

use super::{log, program_beside};
use crate::failure::{CONFIG, Failure, TRY_LATER};
use crate::session::Session;

const PROGRAM: &str = "longhaul-gateway";
const START_SECONDS: u64 = 5;
const ATTEMPT_MS: u64 = 20;

/// Starts it if Codex uses it and its port is closed, and waits until it answers.
pub(super) async fn start(session: &Session) -> Result<(), Failure> {
    let Some(settings) = GatewaySettings::in_force().filter(GatewaySettings::is_down) else {
        return Ok(());
    };
    let log = log::named("gateway.log")?;
    let output = log::open(&log)?;
    let mut command = Command::new(program_beside(PROGRAM)?);
    if let Some(path) = &session.socket {
        command.arg("--socket").arg(path);
    }
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    // In its own process group, like the daemon.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut process = command.spawn()?;
    let answers = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(ATTEMPT_MS));
        loop {
            ticks.tick().await;
            match (settings.ask(), process.try_wait()?) {
                (Ok(_), _) => return Ok(()),
                (Err(_), Some(_)) => return Err(ended(&log)),
                (Err(_), None) => {}
            }
        }
    };
    let answered = tokio::time::timeout(Duration::from_secs(START_SECONDS), answers).await;
    answered.unwrap_or_else(|_| {
        let message = format!("the gateway did not answer in {START_SECONDS} s");
        Err(Failure::new(TRY_LATER, message).with_hint(format!("its log is {}", log.display())))
    })
}

fn ended(log: &Path) -> Failure {
    let words = log::last_error(log, 0).unwrap_or_default();
    Failure::new(CONFIG, format!("the gateway ended at once: {words}"))
        .with_hint(format!("its log is {}", log.display()))
}

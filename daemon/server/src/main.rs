//! `longhauld`: reads arguments and configuration, starts the log and runs; the exit code tells the result.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use longhaul_daemon::app::{App, AppError, check_database, listen};
use longhaul_daemon::args::Args;
use longhaul_daemon::clock::Clock;
use longhaul_daemon::config::Config;
use longhaul_daemon::sandbox::git;
use longhaul_daemon::{descriptors, heap, runtime, telemetry};

/// Exit codes of sysexits(3): wrong usage, an internal error, an invalid configuration.
const USAGE: u8 = 64;
const SOFTWARE: u8 = 70;
const CONFIG: u8 = 78;

fn main() -> ExitCode {
    if let Some(arguments) = git::role_arguments() {
        return git::become_git(arguments);
    }
    heap::bound();
    // All files created from here on are private.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(shown) => {
            let printed = shown.print().is_ok();
            return if printed && !shown.use_stderr() {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(USAGE)
            };
        }
    };
    let config = match Config::of_process(&args) {
        Ok(config) => config,
        Err(error) => return refuse(CONFIG, &error, None),
    };
    if args.check_config {
        return check(&config);
    }
    if let Err(error) = telemetry::start(&config.log) {
        return refuse(
            CONFIG,
            &error,
            Some("log takes error, warn, info, debug, trace or a tracing filter"),
        );
    }
    let descriptors = descriptors::raise(*config.server.connections_max);
    tracing::debug!(descriptors, "limit of open files");
    let tokio = match runtime::start(*config.server.worker_threads) {
        Ok(tokio) => tokio,
        Err(error) => return refuse(SOFTWARE, &error, None),
    };
    match tokio.block_on(serve(config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(error.exit_code(), &error, error.hint()),
    }
}

async fn serve(config: Config) -> Result<(), AppError> {
    let resources = listen(&config).await?;
    App::build(config, Clock::system(), resources).await?.run().await
}

/// Shows the configuration, and whether the daemon could start with it.
fn check(config: &Config) -> ExitCode {
    let database = runtime::start(1).map(|tokio| tokio.block_on(check_database(config)));
    match database {
        Ok(Ok(())) => show(config),
        Ok(Err(error)) => refuse(error.exit_code(), &error, error.hint()),
        Err(error) => refuse(SOFTWARE, &error, None),
    }
}

fn show(config: &Config) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let lines = config.entries().into_iter();
    let printed = lines.map(|(key, value, origin)| writeln!(out, "{key} = {value}  # {origin}"));
    if printed.collect::<Result<(), _>>().is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(SOFTWARE)
    }
}

/// Prints the error with its causes and a hint.
fn refuse(code: u8, error: &dyn std::error::Error, hint: Option<&str>) -> ExitCode {
    let mut text = format!("longhauld: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    // If standard error is closed, there is no other place to report it.
    drop(writeln!(std::io::stderr(), "{text}{hint}"));
    ExitCode::from(code)
}

//! `longhaul context truncate`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use longhaul_protocol::context::{
    Truncate, TruncateMode, TruncateParams, TruncatePolicy, TruncateResult,
};

use super::input;
use crate::failure::Failure;
use crate::session::{Page, Session};
use crate::style::Style;

/// Cut the middle out of a text and mark how much is missing
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("budget").required(true),
    override_usage = "\
longhaul context truncate [OPTIONS]
           <--tokens N|--bytes N|--lines N|--policy NAME> [FILE]",
    after_help = "\
Examples:
  cargo test 2>&1 | longhaul context truncate --tokens 2000
  longhaul context truncate --lines 100 build.log
  longhaul context truncate --policy model_format build.log"
)]
pub(crate) struct TruncateArgs {
    /// File to read [default: standard input]
    file: Option<PathBuf>,
    /// Keep N tokens of four bytes
    #[arg(long, value_name = "N", group = "budget")]
    tokens: Option<u64>,
    /// Keep N bytes
    #[arg(long, value_name = "N", group = "budget")]
    bytes: Option<u64>,
    /// Keep N lines
    #[arg(long, value_name = "N", group = "budget")]
    lines: Option<u64>,
    /// Keep what a named policy allows: tool_output or model_format
    #[arg(long, value_name = "NAME", group = "budget")]
    policy: Option<String>,
}

pub(crate) async fn run(args: TruncateArgs, session: &Session) -> Result<(), Failure> {
    let text = input::read(args.file.as_ref())?;
    let modes = [
        (TruncateMode::Tokens, args.tokens),
        (TruncateMode::Bytes, args.bytes),
        (TruncateMode::Lines, args.lines),
    ];
    let given = modes.into_iter().find_map(|(mode, limit)| Some((mode, limit?)));
    let policy = TruncatePolicy {
        mode: given.map(|(mode, _)| mode),
        limit: given.map(|(_, limit)| limit),
        name: args.policy,
    };
    let params = TruncateParams { text: Some(text), items: None, policy, formatted: None };
    session.show::<Truncate>(params).await
}

impl Page for TruncateResult {
    fn text(&self, _: &Style) -> String {
        self.text.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

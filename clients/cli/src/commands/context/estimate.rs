//! `longhaul context estimate`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use longhaul_protocol::context::{Estimate, EstimateParams, EstimateResult};

use super::input;
use crate::failure::Failure;
use crate::progress::while_waiting;
use crate::session::{Page, Session};
use crate::style::{Style, counted};

/// Count the tokens of a text
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  longhaul context estimate README.md                     bytes ÷ 4
  git diff | longhaul context estimate --tokenizer o200k  exact")]
pub(crate) struct EstimateArgs {
    /// File to read [default: standard input]
    file: Option<PathBuf>,
    /// Count exactly, with this tokenizer
    #[arg(long, value_name = "NAME", value_parser = tokenizer())]
    tokenizer: Option<String>,
}

/// Parses a tokenizer's name, as on the wire.
fn tokenizer() -> PossibleValuesParser {
    let names = [("o200k", "Models since GPT-4o"), ("cl100k", "GPT-4 and GPT-3.5")];
    PossibleValuesParser::new(names.map(|(name, help)| PossibleValue::new(name).help(help)))
}

pub(crate) async fn run(args: EstimateArgs, session: &Session) -> Result<(), Failure> {
    let text = input::read(args.file.as_ref())?;
    let params = EstimateParams { text: Some(text), items: None, tokenizer: args.tokenizer };
    let client = session.connect().await?;
    session.print(&while_waiting("counting", client.call::<Estimate>(params)).await?)
}

impl Page for EstimateResult {
    fn text(&self, _: &Style) -> String {
        let how = self.tokenizer.as_deref().unwrap_or("bytes ÷ 4");
        format!("{} in {} ({how})\n", counted(self.tokens, "token"), counted(self.bytes, "byte"))
    }
}

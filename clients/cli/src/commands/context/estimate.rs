//! `longhaul context estimate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
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
    #[arg(long, value_name = "NAME")]
    tokenizer: Option<TokenizerName>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TokenizerName {
    /// Models since GPT-4o
    O200k,
    /// GPT-4 and GPT-3.5
    Cl100k,
}

pub(crate) async fn run(args: EstimateArgs, session: &Session) -> Result<(), Failure> {
    let text = input::read(args.file.as_ref())?;
    let tokenizer = args.tokenizer.map(|name| match name {
        TokenizerName::O200k => "o200k".to_owned(),
        TokenizerName::Cl100k => "cl100k".to_owned(),
    });
    let params = EstimateParams { text: Some(text), items: None, tokenizer };
    let client = session.connect().await?;
    session.print(&while_waiting("counting", client.call::<Estimate>(params)).await?)
}

impl Page for EstimateResult {
    fn text(&self, _: &Style) -> String {
        let how = self.tokenizer.as_deref().unwrap_or("bytes ÷ 4");
        format!("{} in {} ({how})\n", counted(self.tokens, "token"), counted(self.bytes, "byte"))
    }
}

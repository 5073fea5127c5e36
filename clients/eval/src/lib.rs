//! What a compacted view keeps of what the agent needed next.
//!
//! A real session is cut at some point, a view is made of what came before, and the scorer compares it with what the
//! agent then did. No model judges anything: the same text always gives the same numbers.
//!
//! Two measures, of which the smaller counts:
//!
//! - **FRR@N**, future-reference recall: of the names (paths, whole commands, identifiers, ids,
//!   URLs) in the arguments of the next 80 tool calls that the agent had met before the cut and
//!   was not shown again in between, how many are in a view of N tokens.
//! - **BFR@N**, bound-fact recall: of the facts that hold at the cut (files with their state,
//!   commands with their exit status, tests with pass or fail, plan steps with their state, the
//!   last request, the last error), how many the view states *with their meaning*. A heap of
//!   names scores well on the first measure and badly on this one.
//!
//! Names alone do not make a briefing, so the text is measured, too (`words`): the person's words, the last
//! report's, and sentences that were referred to later, each by words in their order; the share of bare names; and
//! statements that the transcript contradicts, of which there must be none. A list of names scores zero there: the
//! identifier-bag baseline is reported next to the view as a warning.
//!
//! [`evaluate`] runs it: sessions from a [`Corpus`], views from a closure that is given only the
//! bytes before the cut.

mod baseline;
mod claims;
mod corpus;
mod cut;
mod drive;
mod entity;
mod evaluate;
mod fact;
mod gold;
mod kept;
mod random;
mod report;
mod tally;
mod transcript;
mod view;
mod words;

pub use baseline::Baseline;
pub use corpus::{Corpus, Session, is_claude, repository_of};
pub use cut::Cut;
pub use evaluate::{Options, VIEW_NAME, evaluate};
pub use kept::KeptRow;
pub use random::Random;
pub use report::{Measure, Report};
pub use tally::Tally;

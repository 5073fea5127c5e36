//! Cuts of a session, and what a view may see of it.

use crate::transcript::Transcript;

/// Shares of a session's tokens at which it is cut (percent).
pub const CUT_PERCENTS: [u8; 4] = [35, 50, 65, 80];

/// Input of a view: only the file as it was at the cut.
#[derive(Debug, Clone, Copy)]
pub struct Cut<'a> {
    /// The session's name, for progress and error messages.
    pub session: &'a str,
    /// Share of the session's tokens before the cut (percent).
    pub percent: u8,
    /// The first bytes of the rollout file, ending at a line boundary.
    pub bytes: &'a [u8],
}

/// The position of a cut in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutPlace {
    /// Share of the session's tokens before the cut (percent).
    pub percent: u8,
    /// Byte offset of the first hidden byte: just past a line.
    pub offset: usize,
    /// Number of the first step the view may not see.
    pub first_hidden: usize,
}

/// The cuts of a transcript, each at the end of the line that reaches its share of the tokens. Shares reached on the
/// same line make one cut.
pub fn places(transcript: &Transcript) -> Vec<CutPlace> {
    let total = transcript.tokens();
    let mut places: Vec<CutPlace> = Vec::new();
    for percent in CUT_PERCENTS {
        let wanted = (total * u64::from(percent)).div_ceil(100);
        let mut sum = 0;
        let reached = transcript.steps.iter().find(|step| {
            sum += step.tokens();
            sum >= wanted
        });
        let Some(offset) = reached.map(|step| step.end) else { continue };
        let first_hidden = transcript.steps.partition_point(|step| step.end <= offset);
        if places.last().is_none_or(|last| last.offset != offset) {
            places.push(CutPlace { percent, offset, first_hidden });
        }
    }
    places
}

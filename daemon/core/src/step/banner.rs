//! What the person's shell prints before the output of every command.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::{Call, call::Work};
use crate::digest::Digest128;

/// Outputs in a row that must open alike, and different programs that must have printed them.
const ALIKE: usize = 4;
const PROGRAMS: usize = 3;

/// Bytes of a banner.
const BYTES_MIN: usize = 10;
const BYTES_MAX: usize = 160;

/// Programs that print files, which may open alike.
const PRINTERS: [&str; 8] = ["cat", "sed", "head", "nl", "tail", "less", "bat", "awk"];

/// Recognizes the banner by the first lines of the last outputs. It keeps digests: a line may contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Banner {
    /// The first lines of the last outputs with their programs, newest last.
    openings: VecDeque<(u64, u64)>,
    line: Option<u64>,
}

impl Banner {
    /// The output of a call without the banner. Calls that failed teach nothing: they may all fail for one reason, which
    /// their first line says.
    pub(super) fn strip<'a>(
        &mut self,
        (call, has_failed): (&Call, bool),
        printed: Cow<'a, str>,
    ) -> Cow<'a, str> {
        if !matches!(call.work, Work::Script { .. }) {
            return printed;
        }
        let (first, rest) = printed.split_once('\n').unwrap_or((&printed, ""));
        if !(BYTES_MIN..=BYTES_MAX).contains(&first.len()) {
            self.openings.clear();
            return printed;
        }
        let line = digest(first);
        if self.line != Some(line) && !has_failed && self.is_new(call, line) {
            self.line = Some(line);
        }
        if self.line != Some(line) {
            return printed;
        }
        let at = printed.len() - rest.len();
        match printed {
            Cow::Borrowed(whole) => Cow::Borrowed(&whole[at..]),
            Cow::Owned(whole) => Cow::Owned(whole[at..].to_owned()),
        }
    }

    /// Whether this is one output too many that opens with this line.
    fn is_new(&mut self, call: &Call, line: u64) -> bool {
        if self.openings.back().is_some_and(|(before, _)| *before != line) {
            self.openings.clear();
        }
        let program = call.what.split_whitespace().next().unwrap_or_default();
        let program = if PRINTERS.contains(&program) { PRINTERS[0] } else { program };
        self.openings.push_back((line, digest(program)));
        if self.openings.len() > ALIKE {
            self.openings.pop_front();
        }
        let programs: HashSet<u64> = self.openings.iter().map(|it| it.1).collect();
        self.openings.len() == ALIKE && programs.len() >= PROGRAMS
    }
}

/// Half of a digest suffices to recognize a line.
fn digest(text: &str) -> u64 {
    u64::try_from(Digest128::of(text.as_bytes()).0 >> 64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::At;
    use crate::step::call::NewCall;

    fn left(runs: &[(&str, &str)]) -> Vec<String> {
        left_of(runs, false)
    }

    fn left_of(runs: &[(&str, &str)], have_failed: bool) -> Vec<String> {
        let mut banner = Banner::default();
        let strip = |(script, printed): &(&str, &str)| {
            let call = NewCall::script(At::default(), "c", script, None).call;
            banner.strip((&call, have_failed), Cow::Borrowed(*printed)).into_owned()
        };
        runs.iter().map(strip).collect()
    }

    #[test]
    fn a_line_that_opens_every_output_is_dropped() {
        const NODE: &str = "Now using node v22.20.0 (npm v10.9.3)";
        let opened = |rest: &str| format!("{NODE}\n{rest}");
        let (a, b) = (opened("a"), opened("b\nc"));
        let found = left(&[
            ("ls", &a),
            ("cat a", &a),
            ("git status", &a),
            ("rg x", &b),
            ("pwd", "/w"),
            ("rg y", NODE),
        ]);
        assert_eq!(found, [&*a, &*a, &*a, "b\nc", "/w", ""]);
    }

    #[test]
    fn lines_that_a_program_or_a_file_begins_with_stay() {
        for programs in [["ls", "ls", "ls", "ls"], ["cat a", "sed -n 1p a", "head a", "nl a"]] {
            let runs = programs.map(|program| (program, "use std::fmt;\nmod a;"));
            assert!(left(&runs).iter().all(|left| left == runs[0].1), "{programs:?}");
        }
        let runs = ["ls", "cat a", "git log", "pwd"].map(|program| (program, "short\na"));
        assert!(left(&runs).iter().all(|left| left == runs[0].1));
        let mixed = [("ls", "one line of it\na"), ("cat a", "another line\na")];
        let mixed: Vec<_> = mixed.iter().cycle().take(8).copied().collect();
        assert!(left(&mixed).iter().zip(&mixed).all(|(left, run)| left == run.1));
        let failed = "bash: cd: /w/lexer: No such file or directory";
        let failed = ["ls", "cat a", "git log", "rg x"].map(|program| (program, failed));
        assert!(left_of(&failed, true).iter().all(|left| left == failed[0].1));
    }
}

//! Where a quoted line stands in its source, so that a view can mark what it leaves out.

use serde::{Deserialize, Serialize};

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum Shape {
    #[default]
    Prose,
    Item,
    Row,
    Code,
}

/// The place of a line in the text it was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Spot {
    /// Number among the lines of its source, from 1; 0 if unknown.
    pub at: u32,
    pub shape: Shape,
    /// It is the first line below its heading.
    pub opens: bool,
    /// More lines follow it below its heading.
    pub goes_on: bool,
}

impl Spot {
    pub(super) fn is_unknown(&self) -> bool {
        self.at == 0
    }

    /// Whether no line is between it and `next`.
    pub(super) fn is_before(self, next: Self) -> bool {
        self.at + 1 == next.at
    }
}

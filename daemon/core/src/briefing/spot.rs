//! Where a quoted line stands in its source, so that a view can mark what it leaves out.

use serde::{Deserialize, Serialize};

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shape {
    #[default]
    Prose,
    Item,
    Row,
    Code,
}

/// The place of a line in the text it was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
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

/// Hundreds of lines are stored, so each has a number instead of four fields.
impl From<Spot> for u32 {
    fn from(spot: Spot) -> Self {
        let shape = match spot.shape {
            Shape::Prose => 0,
            Shape::Item => 1,
            Shape::Row => 2,
            Shape::Code => 3,
        };
        spot.at << 4 | shape << 2 | Self::from(spot.opens) << 1 | Self::from(spot.goes_on)
    }
}

impl From<u32> for Spot {
    fn from(bits: u32) -> Self {
        let shape = match bits >> 2 & 3 {
            0 => Shape::Prose,
            1 => Shape::Item,
            2 => Shape::Row,
            _ => Shape::Code,
        };
        Self { at: bits >> 4, shape, opens: bits & 2 > 0, goes_on: bits & 1 > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_is_stored_as_a_number() {
        for shape in [Shape::Prose, Shape::Item, Shape::Row, Shape::Code] {
            for (opens, goes_on) in [(false, true), (true, false)] {
                let spot = Spot { at: 7, shape, opens, goes_on };
                assert_eq!(Spot::from(u32::from(spot)), spot);
            }
        }
        assert!(Spot::default().is_unknown());
    }
}

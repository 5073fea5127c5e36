//! `history/*`: the exact items behind a handle, and the items that the model sees now.

mod expand;
mod page;
mod visible;

pub use expand::HandleReader;
pub use page::{ItemPlace, Position};
pub use visible::{Histories, HistoryQuery, Opaque};

#[cfg(test)]
mod tests;

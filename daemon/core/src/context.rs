//! The context manager: what a model is shown of a history, as pure functions on items.

pub mod normalize;

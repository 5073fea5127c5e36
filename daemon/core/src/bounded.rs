//! Lists that hold a maximum number of items.

use std::collections::VecDeque;

/// Adds an item to a list of at most `most`; the oldest is dropped first.
pub(crate) fn push_bounded<T>(list: &mut VecDeque<T>, item: T, most: usize) {
    if list.len() >= most {
        list.pop_front();
    }
    list.push_back(item);
}

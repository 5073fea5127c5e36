//! The bar: the whole window in one line, by kind.

use longhaul_protocol::context::Window;

use crate::style::{Style, tokens};

/// One per kind, distinguishable without color.
const GLYPHS: [char; 11] = ['█', '▓', '▒', '░', '#', '=', '+', 'o', '~', '-', ':'];

/// A kind of content in the window.
pub(super) struct Share {
    pub(super) name: String,
    pub(super) tokens: u64,
}

/// Represents free space.
const FREE: char = '·';

/// The glyph of the share at an index of the list.
pub(super) fn glyph(place: usize) -> char {
    GLYPHS[place % GLYPHS.len()]
}

/// Two lines of at most `columns` characters: the window, and the compaction limit.
pub(super) fn render(shares: &[Share], window: &Window, columns: usize, style: &Style) -> String {
    let width = columns.saturating_sub(2).max(10);
    let column = |tokens: u64| {
        let whole = u128::from(window.tokens.max(1));
        usize::try_from(u128::from(tokens) * width as u128 / whole).unwrap_or(width).min(width)
    };
    let (mut filled, mut sum) = (String::new(), 0_u64);
    for (place, share) in shares.iter().enumerate() {
        let from = column(sum);
        sum = sum.saturating_add(share.tokens);
        filled.extend(std::iter::repeat_n(glyph(place), column(sum) - from));
    }
    let free = width - filled.chars().count();
    let is_due = window.trigger.is_some_and(|trigger| sum >= trigger);
    let filled = if is_due { style.bad(&filled) } else { style.good(&filled) };
    let free = style.dim(&FREE.to_string().repeat(free));
    let bar = format!("[{filled}{free}]\n");
    let Some(trigger) = window.trigger else { return bar };
    let mark = format!("compacts at {} ^", tokens(trigger));
    // The mark's arrow is below the column, its text to the left if there is room.
    let at = 1 + column(trigger).min(width - 1);
    let words = mark.chars().count();
    let line = match (at + 1).checked_sub(words) {
        Some(space) => format!("{}{mark}\n", " ".repeat(space)),
        None => format!("{}^ compacts at {}\n", " ".repeat(at), tokens(trigger)),
    };
    bar + &style.dim(&line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::tests::plain;

    fn shown(tokens: &[u64], trigger: Option<u64>) -> String {
        let shares: Vec<Share> =
            tokens.iter().map(|tokens| Share { name: "x".into(), tokens: *tokens }).collect();
        let window = Window { tokens: 100, trigger, ..Window::default() };
        render(&shares, &window, 22, &plain())
    }

    #[test]
    fn bar_shows_how_full_the_window_is() {
        assert_eq!(shown(&[50, 20], None), "[██████████▓▓▓▓······]\n");
        assert_eq!(shown(&[], None), "[····················]\n");
        assert_eq!(shown(&[70, 90], None), "[██████████████▓▓▓▓▓▓]\n", "over the window");
        assert_eq!(shown(&[5], Some(90)), "[█···················]\n    compacts at 90 ^\n");
        assert_eq!(shown(&[5], Some(10)), "[█···················]\n   ^ compacts at 10\n");
    }
}

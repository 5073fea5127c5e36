//! The plot: how full the window was over time.

use longhaul_protocol::context::{Timeline, Window};

use crate::style::{Style, counted, tokens};

const ROWS: u64 = 8;

/// Eighths of a line.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns of the numbers on the left.
const LABEL_COLUMNS: usize = 7;

/// A heading, the plot, and an axis with compactions and turns; lines are at most `columns` long.
pub(super) fn render(
    timeline: &Timeline,
    window: &Window,
    columns: usize,
    style: &Style,
) -> String {
    let width = columns.saturating_sub(LABEL_COLUMNS).max(10);
    let heights = heights(timeline, width);
    let peak = heights.iter().copied().max().unwrap_or(0);
    // Show the limit once the thread is near it.
    let limit = window.trigger.filter(|trigger| peak.saturating_mul(2) >= *trigger);
    let top = peak.max(limit.unwrap_or(0)).max(1);
    let heading = format!("over {}\n", counts(timeline.turns, timeline.compactions.len()));
    let mut text = style.bold(&heading);
    for row in (0..ROWS).rev() {
        let label = match row {
            _ if row + 1 == ROWS => tokens(top),
            0 => "0".to_owned(),
            _ => String::new(),
        };
        let line: String = heights
            .iter()
            .map(|height| {
                let eighths = u128::from(*height) * u128::from(ROWS) * 8 / u128::from(top);
                let here = eighths.saturating_sub(u128::from(row) * 8).min(8);
                let block = BLOCKS[usize::try_from(here).unwrap_or(8)];
                let is_limit = limit.is_some_and(|limit| row_of(limit, top) == row);
                if here == 0 && is_limit { '┄' } else { block }
            })
            .collect();
        let line = line.trim_end();
        text += &match label.is_empty() && line.is_empty() {
            true => "\n".to_owned(),
            false => format!("{}{line}\n", style.dim(&format!("{label:>6} "))),
        };
    }
    text + &style.dim(&axis(timeline, width))
}

fn row_of(tokens: u64, top: u64) -> u64 {
    let row = u128::from(tokens) * u128::from(ROWS) / u128::from(top);
    u64::try_from(row).unwrap_or(ROWS).min(ROWS - 1)
}

/// The maximum in each column's range of seqs; a range without a point repeats the previous one.
fn heights(timeline: &Timeline, width: usize) -> Vec<u64> {
    let mut heights = vec![None; width];
    let mut put = |seq: u64, tokens: u64| {
        let place = &mut heights[column(timeline, seq, width)];
        *place = Some(place.map_or(tokens, |known: u64| known.max(tokens)));
    };
    timeline.points.iter().for_each(|point| put(point.seq, point.tokens));
    timeline.compactions.iter().for_each(|step| put(step.seq, step.before));
    let mut last = 0;
    let filled = heights.into_iter().map(|height| {
        last = height.unwrap_or(last);
        last
    });
    filled.collect()
}

fn column(timeline: &Timeline, seq: u64, width: usize) -> usize {
    let first = timeline.points.first().map_or(0, |point| point.seq);
    let last = timeline.points.last().map_or(0, |point| point.seq);
    let (at, span) = (seq.saturating_sub(first), last.saturating_sub(first).max(1));
    let place = u128::from(at) * (width as u128 - 1) / u128::from(span);
    usize::try_from(place).unwrap_or(width).min(width - 1)
}

/// Where compactions were, and the first and last turn.
fn axis(timeline: &Timeline, width: usize) -> String {
    let margin = " ".repeat(LABEL_COLUMNS);
    let mut marks = vec![' '; width];
    for step in &timeline.compactions {
        marks[column(timeline, step.seq, width)] = '^';
    }
    let marks: String = marks.into_iter().collect();
    let compacted = match timeline.compactions.is_empty() {
        true => String::new(),
        false => format!("{margin}{}\n", marks.trim_end()),
    };
    let first = "turn 1".to_owned();
    let legend = if timeline.compactions.is_empty() { "" } else { "^ compacted" };
    let last = format!("turn {}", timeline.turns.max(1));
    let room = width.saturating_sub(first.len() + last.len());
    format!("{compacted}{margin}{first}{legend:^room$}{last}\n")
}

/// `turns` and `compactions` as text.
fn counts(turns: u64, compactions: usize) -> String {
    let compactions = counted(compactions as u64, "compaction");
    format!("{}, {compactions}", counted(turns, "turn"))
}

#[cfg(test)]
mod tests {
    use longhaul_protocol::context::{TimelineCompaction, TimelinePoint};

    use super::*;
    use crate::style::tests::plain;

    #[test]
    fn plot_fits_its_columns_and_marks_compactions() {
        let points =
            (0..50).map(|seq| TimelinePoint { seq, turn: seq / 5, tokens: seq % 25 * 1_000 });
        let timeline = Timeline {
            turns: 10,
            points: points.collect(),
            compactions: vec![TimelineCompaction { seq: 25, before: 24_500, after: 1_000 }],
        };
        let window = Window { tokens: 40_000, trigger: Some(36_000), ..Window::default() };
        for columns in [40, 80, 120] {
            let plot = render(&timeline, &window, columns, &plain());
            assert!(plot.lines().all(|line| line.chars().count() <= columns), "{plot}");
            assert_eq!(plot.matches('^').count(), 2, "the mark and its legend:\n{plot}");
            assert!(plot.starts_with("over 10 turns, 1 compaction\n 36.0k ┄"), "{plot}");
        }
    }

    #[test]
    fn thread_far_from_its_limit_fills_the_plot() {
        let points = [(0, 10), (9, 80)].map(|(seq, tokens)| TimelinePoint { seq, turn: 1, tokens });
        let timeline = Timeline { turns: 1, points: points.to_vec(), compactions: Vec::new() };
        let window = Window { tokens: 272_000, trigger: Some(244_800), ..Window::default() };
        let plot = render(&timeline, &window, 17, &plain());
        assert_eq!(plot.lines().nth(1), Some("    80          █"), "{plot}");
        assert_eq!(plot.lines().nth(8), Some("     0 ██████████"), "{plot}");
    }
}

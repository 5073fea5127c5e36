//! Text formatting: width, colors, quantities, tables.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets};
use directories::BaseDirs;
use longhaul_client::clock;
use owo_colors::OwoColorize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

mod quantity;
mod wrap;

pub(crate) use quantity::{bytes, count, counted, duration, odd_lines, percent, tokens};

/// Columns between those of a table.
const GAP: u16 = 2;

/// Columns of a table's column that is not worth cutting: `decision_point`, `15 min ago`, the beginning of an id.
const SHORT_COLUMN: u16 = 14;

/// Least columns of a text in a table that does not fit.
const CUT_COLUMN: u16 = 4;

/// Columns without a terminal, where nothing should be cut.
const WIDTH_WITHOUT_TERMINAL: u16 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also into a pipe or file
    Always,
    /// Not at all
    Never,
}

#[derive(Debug, Clone)]
pub(crate) struct Style {
    pub(crate) is_color: bool,
    /// Columns.
    pub(crate) width: u16,
    /// The current time, Unix milliseconds.
    pub(crate) now_ms: i64,
    pub(crate) home: Option<PathBuf>,
}

impl Style {
    pub(crate) fn of_terminal(color: ColorWhen) -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_color = match color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb,
        };
        Self {
            is_color,
            width: Table::new()
                .width()
                .filter(|width| *width > 0)
                .unwrap_or(WIDTH_WITHOUT_TERMINAL),
            now_ms: clock::now_ms(),
            home: BaseDirs::new().map(|folders| folders.home_dir().to_owned()),
        }
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.paint(text, |line| line.bold().to_string())
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.paint(text, |line| line.dimmed().to_string())
    }

    pub(crate) fn good(&self, text: &str) -> String {
        self.paint(text, |line| line.green().to_string())
    }

    pub(crate) fn warn(&self, text: &str) -> String {
        self.paint(text, |line| line.yellow().to_string())
    }

    pub(crate) fn bad(&self, text: &str) -> String {
        self.paint(text, |line| line.red().to_string())
    }

    /// Marks a match of a search.
    pub(crate) fn mark(&self, text: &str) -> String {
        self.paint(text, |line| line.yellow().bold().to_string())
    }

    /// Paints line by line: a color across a line end would also color the margin.
    fn paint(&self, text: &str, paint: impl Fn(&str) -> String) -> String {
        if !self.is_color {
            return text.to_owned();
        }
        let painted = |line: &str| match line.strip_suffix('\n') {
            Some("") => "\n".to_owned(),
            Some(words) => paint(words) + "\n",
            None => paint(line),
        };
        text.split_inclusive('\n').map(painted).collect()
    }

    pub(crate) fn ago(&self, at_ms: i64) -> String {
        // The daemon may have read the clock slightly later than this program.
        match self.now_ms.saturating_sub(at_ms) {
            -2_000..1_000 => "now".to_owned(),
            elapsed_ms => match u64::try_from(elapsed_ms) {
                Ok(elapsed_ms) => format!("{} ago", duration(elapsed_ms)),
                Err(_) => "in the future".to_owned(),
            },
        }
    }

    /// Abbreviates the home folder to `~`.
    pub(crate) fn path(&self, path: &str) -> String {
        let below_home =
            self.home.as_ref().and_then(|home| Path::new(path).strip_prefix(home).ok());
        match below_home {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => path.to_owned(),
        }
    }

    /// Whether there is room for more than what a table needs to be understood.
    pub(crate) fn is_wide(&self) -> bool {
        self.width >= 100
    }

    /// Breaks lines that are wider than the terminal between words; the rest of a line is indented.
    pub(crate) fn wrap(&self, text: &str, indent: usize) -> String {
        wrap::wrapped(text, indent, self.width.into())
    }

    /// A table that fits the width, with one line per row. A heading that starts with `>` aligns its column right. If it
    /// does not fit, the widest columns are cut; numbers, times and states are too short to be cut. On a terminal that is too
    /// narrow for that, all texts are cut, and numbers never: rather, the lines are wider than the terminal.
    pub(crate) fn table(&self, headings: &[&str], rows: Vec<Vec<String>>) -> String {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(self.width);
        table.force_no_tty();
        let heading = headings.iter().map(|heading| Cell::new(heading.trim_start_matches('>')));
        let mut heading = Row::from(heading.collect::<Vec<_>>());
        heading.max_height(1);
        table.set_header(heading);
        for row in rows {
            let mut row = Row::from(row.into_iter().map(Cell::new).collect::<Vec<_>>());
            row.max_height(1);
            table.add_row(row);
        }
        // The first column identifies the row for the next command, so it is only cut if it would fill the page.
        let widths = table.column_max_content_widths();
        let is_whole = |at: usize| match at {
            0 => widths[at] <= self.width / 5 * 3,
            _ => widths[at] <= SHORT_COLUMN,
        };
        let whole: Vec<usize> = (0..widths.len()).filter(|at| is_whole(*at)).collect();
        let needed: u16 = whole.iter().map(|at| widths[*at] + GAP).sum();
        let others = u16::try_from(widths.len() - whole.len()).unwrap_or(u16::MAX);
        let fits = needed.saturating_add(others.saturating_mul(SHORT_COLUMN)) <= self.width;
        let numbers: Vec<usize> =
            (0..widths.len()).filter(|at| headings[*at].starts_with('>')).collect();
        let of_numbers: u16 = numbers.iter().map(|at| widths[*at] + GAP).sum();
        let texts = u16::try_from(widths.len() - numbers.len()).unwrap_or(u16::MAX);
        let least = of_numbers.saturating_add(texts.saturating_mul(CUT_COLUMN + GAP));
        if !fits {
            table.set_width(self.width.max(least));
        }
        for at in if fits { whole } else { numbers } {
            if let Some(column) = table.column_mut(at) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        for (column, heading) in table.column_iter_mut().zip(headings) {
            column.set_padding((0, GAP));
            if heading.starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut lines = table.lines().map(|line| line.trim_end().to_owned());
        let heading = lines.next().map(|heading| self.bold(&heading)).into_iter();
        heading.chain(lines).map(|line| line + "\n").collect()
    }

    /// Aligned names and values.
    pub(crate) fn fields(&self, fields: &[(&str, String)]) -> String {
        let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let line = |(name, value): &(&str, String)| {
            let padded = format!("{name:<width$}");
            self.wrap(&format!("  {}  {value}\n", self.dim(&padded)), width + 4)
        };
        fields.iter().map(line).collect()
    }
}

/// Cuts a text to a number of columns, marked by `…`.
pub(crate) fn crop(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used < width
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Columns that a text takes on a terminal: letters of Chinese, Japanese and Korean take two.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 80 columns without color on the day of the examples.
    pub(crate) fn plain() -> Style {
        let home = Some("/home/user".into());
        Style { is_color: false, width: 80, now_ms: 1_763_683_500_000, home }
    }

    #[test]
    fn tables_fit_the_width_with_one_line_per_row() {
        let rows = vec![vec!["a".repeat(60), "b ".repeat(40), "7".into()]];
        let table = plain().table(&["name", "title", ">n"], rows);
        assert_eq!(table.lines().count(), 2, "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }

    #[test]
    fn numbers_are_whole_on_any_terminal() {
        let row = ["instructions and tools", "88,200", "33.1 %"].map(str::to_owned).to_vec();
        for width in [20, 30, 40, 80] {
            let style = Style { width, ..plain() };
            let table = style.table(&["spent on", ">tokens", ">of these"], vec![row.clone()]);
            assert!(table.contains("  88,200") && table.contains("33.1 %\n"), "{width}:\n{table}");
            let is_too_wide = table.lines().any(|line| columns(line) > usize::from(width));
            assert_eq!(is_too_wide, width == 20, "{width}:\n{table}");
        }
    }

    #[test]
    fn a_text_is_cut_to_its_columns() {
        assert_eq!(columns("全文 e\u{301}"), 6);
        for (width, shown) in
            [(8, "全文检索"), (7, "全文检…"), (6, "全文…"), (5, "全文…"), (1, "…")]
        {
            assert_eq!(crop("全文检索", width), shown, "{width}");
        }
        assert_eq!((crop("abcd", 4), crop("abcd", 3)), ("abcd".to_owned(), "ab…".to_owned()));
    }

    #[test]
    fn times_are_relative_and_paths_abbreviated() {
        let style = plain();
        assert_eq!(style.ago(style.now_ms - 300_000), "5 min ago");
        assert_eq!(style.ago(style.now_ms), "now");
        assert_eq!(style.ago(style.now_ms + 60_000), "in the future");
        assert_eq!(style.ago(style.now_ms + 500), "now");
        assert_eq!(style.path("/home/user/a/b"), "~/a/b");
        assert_eq!(style.path("/home/user2/a"), "/home/user2/a");
    }

    #[test]
    fn colors_are_optional() {
        let style = Style { is_color: true, ..plain() };
        assert_eq!(style.bad("x\n\ny"), "\x1b[31mx\x1b[39m\n\n\x1b[31my\x1b[39m");
        assert_eq!(plain().bad("x"), "x");
    }
}

//! Selects the rows of a thread to show to a model, within a budget.

use crate::redact::redact;
use crate::step::Origin;
use crate::text;

/// Who wrote a row. Lower is more valuable per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub(super) enum RowSource {
    User,
    Client,
    Agent,
    Call,
    Tool,
    Outside,
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) source: RowSource,
    pub(super) origin: Origin,
    pub(super) text: String,
}

/// Maximum bytes redacted of a call: wide enough that no secret is cut before redaction.
const WINDOW_BYTES: usize = 16 * 1_024;

/// Maximum bytes of a row's mark and newline.
const MARK_BYTES: usize = 24;

/// The collected rows. Above twice the budget, the least valuable are dropped.
#[derive(Debug)]
pub(super) struct Rows {
    rows: Vec<Row>,
    bytes: usize,
    bytes_max: usize,
    has_dropped: bool,
}

impl RowSource {
    pub(super) fn of_request(origin: Origin) -> Self {
        match origin {
            _ if origin.is_person() => Self::User,
            Origin::AGENT => Self::Agent,
            _ => Self::Client,
        }
    }

    /// Maximum bytes of one row: the bounds of Codex, 2,000 tokens of output and 10,000 bytes per row.
    fn bytes_max(self) -> usize {
        match self {
            Self::User | Self::Client => 10_000,
            Self::Agent => 6_000,
            Self::Call => 2_000,
            Self::Tool | Self::Outside => 4_000,
        }
    }
}

impl Rows {
    pub(super) fn new(budget_bytes: usize) -> Self {
        Self::again(Vec::new(), budget_bytes)
    }

    /// Starts from rows that were selected before.
    pub(super) fn again(rows: Vec<Row>, budget_bytes: usize) -> Self {
        let bytes = rows.iter().map(Row::bytes).sum();
        Self { rows, bytes, bytes_max: budget_bytes.saturating_mul(2), has_dropped: false }
    }

    /// Adds a row. `words` are redacted already.
    pub(super) fn push(&mut self, seq: u64, (source, origin): (RowSource, Origin), words: &str) {
        let words = words.trim();
        if words.is_empty() {
            return;
        }
        // A closing tag inside the record would let its text address the model.
        let plain = words.replace("</record>", "< /record>");
        let text = text::cut_middle(&plain, source.bytes_max()).into_owned();
        self.bytes += text.len() + MARK_BYTES;
        self.rows.push(Row { seq, source, origin, text });
        if self.bytes > self.bytes_max {
            self.drop_weakest();
        }
    }

    /// Keeps the more valuable half.
    fn drop_weakest(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let all = rows.len();
        self.rows = chosen(rows, self.bytes_max / 2);
        self.has_dropped |= self.rows.len() < all;
        self.bytes = self.rows.iter().map(Row::bytes).sum();
    }

    /// The most valuable rows that fit, as text and as values, in the order of the thread.
    pub(super) fn fit(self, bytes: usize) -> (String, Vec<Row>) {
        let all = self.rows.len();
        let rows = chosen(self.rows, bytes.saturating_sub(MARK_BYTES * 2));
        let mut out = String::with_capacity(bytes);
        if self.has_dropped || rows.len() < all {
            out.push_str("[rows that did not fit are left out]\n");
        }
        for row in &rows {
            out.push_str(&format!("[{} {}] {}\n", row.seq, row.source.into_str(), row.text));
        }
        (out, rows)
    }
}

impl Row {
    fn bytes(&self) -> usize {
        self.text.len() + MARK_BYTES
    }
}

/// The most valuable rows that fit, in the order of the thread.
fn chosen(rows: Vec<Row>, bytes: usize) -> Vec<Row> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&at| (rows[at].source, std::cmp::Reverse(at)));
    let mut left = bytes;
    let mut keep = vec![false; rows.len()];
    for at in order {
        if let Some(rest) = left.checked_sub(rows[at].bytes()) {
            left = rest;
            keep[at] = true;
        }
    }
    rows.into_iter().zip(keep).filter_map(|(row, keep)| keep.then_some(row)).collect()
}

/// A call as a row, redacted.
pub(super) fn of_call(tool: &str, arguments: &str) -> String {
    let arguments = text::cut_middle(arguments, WINDOW_BYTES);
    redact(&format!("{tool} {arguments}")).text.into_owned()
}

/// A short value, redacted, on one line.
pub(super) fn clean(value: &str) -> String {
    text::one_line_cut(&redact(value).text, crate::limits::PATH_BYTES)
}

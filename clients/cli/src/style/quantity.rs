//! Formats numbers.

/// A count with separated thousands.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 thread`, `2 threads`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

/// A transcript's unreadable lines, to append to the count of all lines. A damaged line is not one JSON object: nothing
/// of it is read, or each of several objects on it.
pub(crate) fn odd_lines(malformed: u64, oversized: u64, unknown: u64) -> String {
    let odd = [(malformed, "damaged"), (oversized, "too long"), (unknown, "of an unknown kind")];
    let odd = odd.iter().filter(|(lines, _)| *lines > 0);
    odd.map(|(lines, what)| format!(", {} {what}", count(*lines))).collect()
}

/// A part of a whole in percent, to the nearest: `12 %`, `<1 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    match (part * 200 + whole) / (whole * 2) {
        0 if part > 0 => "<1 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

pub(crate) fn tokens(number: u64) -> String {
    scaled(number, &["", "k", "M", "G", "T"], "")
}

/// Bytes in decimal units, to three digits.
pub(crate) fn bytes(number: u64) -> String {
    scaled(number, &["B", "kB", "MB", "GB", "TB"], " ")
}

/// A duration in its largest unit.
pub(crate) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        86_400..63_072_000 => format!("{} d", seconds / 86_400),
        _ => format!("{} y", seconds / 31_536_000),
    }
}

/// To three digits, rounded to the nearest.
fn scaled(number: u64, units: &[&str], space: &str) -> String {
    let (mut unit, mut divisor) = (0, 1_u64);
    while rounded(number, divisor) >= 1_000 && unit + 1 < units.len() {
        divisor *= 1_000;
        unit += 1;
    }
    let tenths = rounded(number, divisor / 10);
    match divisor > 1 && tenths < 1_000 {
        true => format!("{}.{}{space}{}", tenths / 10, tenths % 10, units[unit]),
        false => format!("{}{space}{}", rounded(number, divisor), units[unit]),
    }
}

fn rounded(number: u64, divisor: u64) -> u64 {
    number.saturating_add(divisor / 2) / divisor.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_scaled() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(12_345_678)],
            ["0", "999", "1,000", "12,345,678"]
        );
        assert_eq!([counted(1, "file"), counted(1_200, "file")], ["1 file", "1,200 files"]);
        assert_eq!([tokens(999), tokens(12_345), tokens(123_456)], ["999", "12.3k", "123k"]);
        assert_eq!([tokens(260_908), tokens(99_960), tokens(999_700)], ["261k", "100k", "1.0M"]);
        assert_eq!([bytes(512), bytes(1_999), bytes(179_000_000)], ["512 B", "2.0 kB", "179 MB"]);
        assert_eq!(tokens(u64::MAX), "18446744T");
    }

    #[test]
    fn percentages_are_rounded_to_the_nearest() {
        let shown = [(0, 9), (275, 260_908), (7_999, 260_908), (1, 2), (3, 3), (29_700, 260_908)];
        let shown = shown.map(|(part, whole)| percent(part, whole));
        assert_eq!(shown, ["0 %", "<1 %", "3 %", "50 %", "100 %", "11 %"]);
    }

    #[test]
    fn durations_use_the_largest_unit() {
        let spans = [7, 59_999, 60_000, 7_200_000, 172_800_000, 70_000_000_000].map(duration);
        assert_eq!(spans, ["7 ms", "59 s", "1 min", "2 h", "2 d", "2 y"]);
    }
}

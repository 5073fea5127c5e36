//! The printed report: every view at every budget, then what ours keeps by kind.

use longhaul_eval::{Baseline, KeptRow, Measure, Report, Tally, VIEW_NAME};

use crate::session::Page;
use crate::style::{Style, count, counted};

impl Page for Report {
    fn text(&self, style: &Style) -> String {
        if self.corpus.cuts == 0 {
            return format!(
                "{}; none is long enough to measure\n",
                counted(self.corpus.distinct as u64, "session")
            );
        }
        let legend = "@N: score of a view of N tokens, the smaller of FRR and BFR, all in %\n";
        [
            corpus(self),
            remarks(self, style),
            "\n".to_owned(),
            views(self, style),
            style.dim(legend),
            "\n".to_owned(),
            details(self, style),
            contradicted(self, style),
            self.summaries_line().map_or_else(String::new, |line| format!("\n{line}\n")),
        ]
        .concat()
    }
}

fn corpus(report: &Report) -> String {
    let corpus = &report.corpus;
    let repositories = match corpus.repositories {
        1 => "1 repository".to_owned(),
        many => format!("{many} repositories"),
    };
    let short = if corpus.scored < corpus.distinct { "; the others are too short" } else { "" };
    let copies = match corpus.sessions.saturating_sub(corpus.distinct) {
        0 => String::new(),
        1 => "; a copy of one was left out".to_owned(),
        copies => format!("; {copies} copies were left out"),
    };
    let rest = format!("{short}{copies}");
    format!(
        "measured {} of {} in {repositories}{rest}\n{}, {:.0} names needed after each\n",
        count(corpus.scored as u64),
        counted(corpus.distinct as u64, "session"),
        counted(corpus.cuts as u64, "cut"),
        report.gold.names_per_cut,
    )
}

fn remarks(report: &Report, style: &Style) -> String {
    let corpus = &report.corpus;
    let remarks = [
        failed_views(report, style),
        remark(corpus.over_budget, "view", "larger than the budget", None, style),
        remark(corpus.unreadable.len(), "file", "not readable", corpus.unreadable.first(), style),
    ];
    style.warn(&remarks.concat())
}

/// How many views could not be made, and why the first.
pub(super) fn failed_views(report: &Report, style: &Style) -> String {
    let corpus = &report.corpus;
    remark(corpus.failed_view_count, "view", "not made", corpus.failed_views.first(), style)
}

fn remark(number: usize, noun: &str, what: &str, first: Option<&String>, style: &Style) -> String {
    if number == 0 {
        return String::new();
    }
    let first = first.map_or_else(String::new, |reason| format!(", first: {reason}"));
    style.wrap(&format!("{}: {what}{first}\n", counted(number as u64, noun)), 2)
}

/// Statements of our views that the transcript contradicts.
fn contradicted(report: &Report, style: &Style) -> String {
    match report.contradicted.as_slice() {
        [] => "\nThe transcripts contradict no statement of these views.\n".to_owned(),
        [first, ..] => {
            let statements = counted(report.contradicted.len() as u64, "statement");
            let line = format!("\ncontradicted by the transcript: {statements}, first: {first}\n");
            style.warn(&style.wrap(&line, 2))
        }
    }
}

fn views(report: &Report, style: &Style) -> String {
    let budgets = report.budgets();
    let mut headings = vec!["view".to_owned()];
    for budget in &budgets {
        headings.extend([format!(">@{budget}"), ">FRR".to_owned(), ">BFR".to_owned()]);
    }
    let names = [VIEW_NAME].into_iter().chain(Baseline::ALL.iter().map(Baseline::into_str));
    let row = |name: &str| {
        let mut row = vec![name.to_owned()];
        for budget in &budgets {
            let measure = report.measure(name, *budget);
            let figure = |of: fn(&Measure) -> f64| {
                measure.map_or_else(|| "-".to_owned(), |measure| format!("{:.1}", of(measure)))
            };
            row.extend([figure(|m| m.score), figure(|m| m.frr), figure(|m| m.bfr)]);
        }
        row
    };
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    style.table(&headings, names.map(row).collect())
}

fn details(report: &Report, style: &Style) -> String {
    let mut headings = vec!["longhaul kept".to_owned(), ">asked".to_owned()];
    headings.extend(report.budgets().iter().map(|budget| format!(">@{budget}")));
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let percent = |tally: Tally| match tally.percent() {
        Some(percent) => format!("{percent:.1} %"),
        None => "-".to_owned(),
    };
    let row = |row: KeptRow| {
        let percents = row.tallies.into_iter().map(percent);
        [row.name, count(row.asked)].into_iter().chain(percents).collect()
    };
    style.table(&headings, report.kept_rows().into_iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use longhaul_eval::{Options, Session, evaluate};

    use super::*;
    use crate::style::tests::plain;

    /// A session whose second half uses the files that its first half listed.
    fn session() -> Session {
        let mut text = String::from(r#"{"type":"session_meta","payload":{"id":"t1","cwd":"/w"}}"#);
        let mut call = |id: usize, cmd: &str, output: &str| {
            text += &format!(
                "\n{}\n{}",
                serde_json::json!({"type": "response_item", "payload": {"type": "function_call",
                    "name": "exec_command", "call_id": id.to_string(),
                    "arguments": serde_json::json!({"cmd": cmd}).to_string()}}),
                serde_json::json!({"type": "response_item", "payload": {
                    "type": "function_call_output", "call_id": id.to_string(), "output": output}}),
            );
        };
        let files: Vec<String> = (0..8).map(|n| format!("src/part_{n}.rs")).collect();
        call(0, "rg --files", &files.join("\n"));
        for (n, file) in files.iter().enumerate() {
            call(n + 1, &format!("rg main {file}"), "nothing");
        }
        text.push('\n');
        Session { name: "s".into(), repository: "r".into(), bytes: text.into_bytes() }
    }

    fn page(sessions: &[Session]) -> Report {
        let options = Options { budgets: vec![1000, 2000, 4000], baselines: true, misses: false };
        evaluate(sessions, &options, &mut |_, _| Ok(String::new())).unwrap()
    }

    #[test]
    fn report_fits_80_columns() {
        let text = page(&[session()]).text(&plain());
        assert!(text.starts_with("measured 1 of 1 session in 1 repository"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for part in
            ["oracle", "identifier bag", "names: path", "facts: last request", "words: last report"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn copies_failed_views_and_contradictions_are_named() {
        let copies = [session(), session()];
        let mut answers = [Err("no daemon".to_owned())].into_iter();
        let options = Options { budgets: vec![1000], baselines: false, misses: false };
        let report = evaluate(&copies[..], &options, &mut |_, _| {
            answers.next().unwrap_or_else(|| Ok(String::new()))
        });
        let text = report.unwrap().text(&plain());
        for part in ["a copy of one was left out", "1 view: not made, first: ", "no daemon"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("contradict no statement"), "{text}");
    }

    #[test]
    fn empty_report_says_so() {
        assert_eq!(page(&[]).text(&plain()), "0 sessions; none is long enough to measure\n");
    }
}

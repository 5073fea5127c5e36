//! Measures recall on every kind of secret in every context, and false positives on text without secrets.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::specimens::{filled, plain, secrets};
use crate::redact::{MARKER, form, redact};

/// A rule's examples.
#[derive(Deserialize)]
struct Specimens {
    hidden: Vec<String>,
    kept: Vec<String>,
}

/// Kinds without a known form, and text without secrets.
#[derive(Deserialize)]
struct PlantedText {
    kinds: BTreeMap<String, String>,
    innocent: BTreeMap<String, Vec<String>>,
}

fn rules() -> BTreeMap<String, Specimens> {
    toml::from_str(form::RULES).unwrap()
}

/// One token of each form whose whole example is the token.
pub(super) fn vendor_tokens() -> Vec<(String, String)> {
    let tokens = rules().into_iter().flat_map(|(id, rule)| {
        let bare = rule.hidden.into_iter().filter(|specimen| !specimen.contains(['«', '/', '$']));
        bare.map(move |specimen| (id.clone(), filled(&specimen, 1))).collect::<Vec<_>>()
    });
    tokens.collect()
}

fn planted() -> PlantedText {
    toml::from_str(include_str!("planted.toml")).unwrap()
}

/// Whether neither the beginning nor the end of any secret is left in a text.
fn is_hidden(text: &str, secrets: &[String]) -> bool {
    let redacted = redact(text).text;
    let is_gone = |secret: &String| {
        let pieces: Vec<&str> = secret.lines().filter(|line| line.len() >= 6).collect();
        pieces.iter().all(|piece| {
            let (head, tail) = (piece.len().min(14), piece.len().saturating_sub(10));
            !redacted.contains(&piece[..head]) && !redacted.contains(&piece[tail..])
        })
    };
    redacted.contains(MARKER) && secrets.iter().all(is_gone)
}

#[test]
fn each_rule_hides_its_specimens_and_keeps_what_looks_alike() {
    for (id, rule) in rules() {
        assert!(!rule.hidden.is_empty() && !rule.kept.is_empty(), "{id} has both");
        for (specimen, seed) in rule.hidden.iter().zip(0..).flat_map(|(s, n)| [(s, n), (s, n + 90)])
        {
            let text = filled(specimen, seed);
            let expected = secrets(&text)
                .iter()
                .fold(plain(&text), |out, secret| out.replacen(secret, MARKER, 1));
            assert_eq!(redact(&plain(&text)).text, expected, "{id}: {specimen}");
        }
        for text in rule.kept.iter().map(|text| filled(text, 7)) {
            assert_eq!(redact(&text).text, text, "{id} keeps it");
        }
    }
}

/// The contexts of a secret, around its line.
fn contexts(line: &str) -> Vec<(&'static str, String)> {
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let in_json = format!("{{\"n\":1,\"output\":{},\"ok\":true}}", json(&format!("a\n{line}\tb")));
    vec![
        ("plain", format!("It said: {line} and went on.")),
        ("line", format!("first\n{line}\nlast")),
        ("colored", format!("\u{1b}[1;32m{line}\u{1b}[0m done")),
        ("colored, as text", format!(r"\u001b[36m{line}\u001b[0m")),
        ("escaped", format!(r"one\n{line}\ttwo")),
        ("JSON", in_json.clone()),
        ("JSON in JSON", format!("{{\"arguments\":{}}}", json(&in_json))),
        ("diff", format!("@@ -1,2 +1,2 @@\n-old\n+{line}\n context")),
        ("table", format!("| name | {line} | active |")),
        ("YAML", format!("config:\n  value: {line}\n  next: 1")),
        ("quoted", format!("let x = \"{line}\";")),
        ("wrapped", wrapped(line)),
    ]
}

/// The line wrapped in its middle, as by a terminal of that width.
fn wrapped(line: &str) -> String {
    let middle = (line.len() / 2).max(line.len().saturating_sub(30));
    let middle = line.ceil_char_boundary(middle);
    let pad = "-".repeat(80_usize.saturating_sub(middle + 1));
    format!("{pad} {}\n{}\n", &line[..middle], &line[middle..])
}

/// Successes and attempts by name.
#[derive(Default)]
struct Tally(BTreeMap<String, (u32, u32)>);

impl Tally {
    fn count(&mut self, name: &str, is_good: bool) {
        let (good, all) = self.0.entry(name.to_owned()).or_default();
        *good += u32::from(is_good);
        *all += 1;
    }

    fn percent(&self) -> f64 {
        let good: u32 = self.0.values().map(|(good, _)| good).sum();
        let all: u32 = self.0.values().map(|(_, all)| all).sum();
        100.0 * f64::from(good) / f64::from(all)
    }

    /// Names with a failure.
    fn report(&self) -> String {
        let missed = self.0.iter().filter(|(_, (good, all))| good < all);
        missed.map(|(name, (good, all))| format!("{name} {good}/{all}\n")).collect()
    }
}

#[test]
fn at_least_97_percent_of_250_kinds_are_hidden_in_every_context() {
    let forms = rules().into_iter().flat_map(|(id, rule)| {
        let numbered = rule.hidden.into_iter().zip(1..);
        numbered
            .map(move |(specimen, number)| (format!("{id} {number}"), specimen))
            .collect::<Vec<_>>()
    });
    let kinds: Vec<(String, String)> = forms.chain(planted().kinds).collect();
    assert!(kinds.len() >= 250, "{} kinds", kinds.len());
    let (mut by_kind, mut by_context) = (Tally::default(), Tally::default());
    for (kind, specimen) in &kinds {
        for seed in 0..3 {
            let text = filled(specimen, seed);
            let hidden: Vec<String> = secrets(&text).into_iter().map(str::to_owned).collect();
            for (context, text) in contexts(&plain(&text)) {
                // A block of several lines does not fit into a table cell and is not wrapped.
                if specimen.contains('\n')
                    && matches!(context, "table" | "wrapped" | "YAML" | "quoted")
                {
                    continue;
                }
                let is_good = is_hidden(&text, &hidden);
                by_kind.count(&format!("{kind} ({context})"), is_good);
                by_context.count(context, is_good);
            }
        }
    }
    let report = format!("{}{}", by_kind.report(), by_context.report());
    println!("{} kinds, {:.2} percent hidden\n{report}", kinds.len(), by_context.percent());
    assert!(by_context.percent() >= 97.0, "{:.2} percent\n{report}", by_context.percent());
    for (context, (good, all)) in &by_context.0 {
        assert!(good * 100 >= all * 90, "{context}: {good} of {all}\n{report}");
    }
}

#[test]
fn at_most_1_percent_of_innocent_strings_are_replaced() {
    let mut tally = Tally::default();
    for (kind, texts) in planted().innocent {
        for (specimen, seed) in texts.iter().flat_map(|text| (0..20).map(move |seed| (text, seed)))
        {
            for (context, text) in contexts(&filled(specimen, seed)) {
                let is_kept = redact(&text).hits == 0;
                tally.count(&format!("{kind} ({context}): {specimen}"), is_kept);
            }
        }
    }
    println!("{:.2} percent kept\n{}", tally.percent(), tally.report());
    assert!(tally.percent() >= 99.0, "{:.2} percent\n{}", tally.percent(), tally.report());
}

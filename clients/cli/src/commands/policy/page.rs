//! The pages of `longhaul policy`.

use longhaul_protocol::policy::{
    CheckResult, Decision, EvaluateResult, ExplainResult, Forecast, LogResult, LoggedDecision,
    PolicyInfo, ReportPoint, ReportPolicy, ReportResult, TemplateInfo, TemplatesResult,
};

use crate::session::Page;
use crate::style::{Style, count, counted, tokens};

impl Page for EvaluateResult {
    fn text(&self, style: &Style) -> String {
        let mut text = headline(&self.decision, style);
        let window = match self.window {
            0 => format!("unknown, {} tokens used", tokens(self.used)),
            window => format!("{} of {} tokens", tokens(self.used), tokens(window)),
        };
        let mut fields = vec![
            ("thread", format!("{}, turn {}, seq {}", self.thread_id, self.turn, self.seq)),
            ("window", window),
            ("ahead", ahead(&self.forecast)),
            (
                "watcher",
                format!("{} ({})", self.watcher.phase.replace('_', " "), self.watcher.mode),
            ),
        ];
        fields.extend(self.repository.iter().map(|seen| ("repository", seen.summary.clone())));
        text += &style.fields(&fields);
        text += "\n";
        text += &reasons(&self.decision, style);
        for shadow in &self.shadows {
            text += &format!("\n{}: {}", style.bold(&shadow.policy), headline(shadow, style));
            text += &reasons(shadow, style);
        }
        text
    }
}

impl Page for ExplainResult {
    fn text(&self, style: &Style) -> String {
        let logged = &self.logged;
        let mut text = headline(&logged.decision, style);
        let is_same = self.is_reproduced || agree(&logged.decision, &self.decision);
        let again = match (self.is_reproduced, is_same) {
            (true, _) => style.good("identical"),
            (false, true) => style.good("the same, in other words"),
            (false, false) => style.warn("this version decides differently"),
        };
        let mut fields = vec![
            ("thread", format!("{}, turn {}, seq {}", logged.thread_id, logged.turn, logged.seq)),
            ("made", style.ago(logged.at)),
            ("policy", logged.decision.policy.clone()),
            ("replayed", again),
        ];
        fields.extend(led_to(logged).map(|end| ("led to", end)));
        text += &style.fields(&fields);
        text += "\n";
        text += &reasons(&logged.decision, style);
        if !is_same {
            text += &format!(
                "\nNow: {}{}",
                headline(&self.decision, style),
                reasons(&self.decision, style)
            );
        }
        text
    }
}

/// Whether two decisions agree in all but the names and words of their rules, which change between versions.
fn agree(one: &Decision, other: &Decision) -> bool {
    let without_words = |decision: &Decision| {
        let mut decision = decision.clone();
        for reason in &mut decision.reasons {
            (reason.rule, reason.text) = Default::default();
        }
        decision
    };
    without_words(one) == without_words(other)
}

/// Every rule with its result, one per line.
fn reasons(decision: &Decision, style: &Style) -> String {
    let line = |reason: &longhaul_protocol::policy::Reason| {
        let mark = match reason.passed {
            true => style.good("yes"),
            false => style.bad("no "),
        };
        let line = format!("  {mark}  {:<12}{}\n", reason.rule.replace('_', " "), reason.text);
        style.wrap(&line, 19)
    };
    decision.reasons.iter().map(line).collect()
}

fn headline(decision: &Decision, style: &Style) -> String {
    let tier = decision.tier.as_deref().map(|tier| format!(", {tier}")).unwrap_or_default();
    let words = match decision.action.as_str() {
        "compact" => style.warn("compact now"),
        "judge" => style.warn("ask a judge, then compact"),
        _ => style.good("wait"),
    };
    let left = match decision.percent_remaining {
        Some(percent) => format!("{percent} % of the window left"),
        None => "the window is unknown".to_owned(),
    };
    format!("{words}: {left}{tier}\n")
}

fn ahead(forecast: &Forecast) -> String {
    let mut parts = Vec::new();
    if forecast.tokens_per_turn > 0 {
        parts.push(format!("{} tokens a turn", tokens(forecast.tokens_per_turn)));
    }
    let in_turns = |turns: u64| match turns {
        0 => "now".to_owned(),
        turns => format!("in {}", counted(turns, "turn")),
    };
    if let (Some(tier), Some(turns)) = (&forecast.next_tier, forecast.turns_to_next_tier) {
        parts.push(format!("{tier} {}", in_turns(turns)));
    }
    if let Some(turns) = forecast.turns_left {
        parts.push(format!("full {}", in_turns(turns)));
    }
    if let (Some(boundary), Some(turns)) = (&forecast.next_boundary, forecast.turns_to_boundary) {
        let when = if turns == 0 { "in this turn".to_owned() } else { in_turns(turns) };
        parts.push(format!("next {} {when}", boundary.replace('_', " ")));
    }
    if parts.is_empty() { "no forecast yet".to_owned() } else { parts.join(", ") }
}

impl Page for LogResult {
    fn text(&self, style: &Style) -> String {
        let mut text = String::new();
        if !self.events.is_empty() {
            let row = |event: &longhaul_protocol::policy::LogEvent| {
                let at = event.at.map_or("-".to_owned(), |at| style.ago(at));
                vec![
                    event.turn.to_string(),
                    event.seq.to_string(),
                    event.kind.replace('_', " "),
                    at,
                ]
            };
            let rows = self.events.iter().map(row).collect();
            text += &style.table(&[">turn", ">seq", "sign", "when"], rows);
            text += "\n";
        }
        if self.decisions.is_empty() {
            return text
                + "No decisions: they are logged while an agent works. What is to be done now:\n  \
                   longhaul policy explain\n";
        }
        let row = |logged: &LoggedDecision| {
            let decision = &logged.decision;
            let refused = decision.reasons.iter().find(|reason| !reason.passed);
            vec![
                decision.decision_id.clone().unwrap_or_default(),
                style.ago(logged.at),
                logged.thread_id.chars().take(13).collect(),
                logged.turn.to_string(),
                decision.policy.clone(),
                decision.percent_remaining.map_or("-".to_owned(), |percent| format!("{percent} %")),
                decision.tier.clone().unwrap_or_default(),
                decision.action.clone(),
                refused.map_or(decision.satisfied.join(", "), |reason| reason.text.clone())
                    + &led_to(logged).map_or_else(String::new, |end| format!("; led to {end}")),
            ]
        };
        let headings =
            ["id", "when", "thread", ">turn", "policy", ">left", "tier", "action", "because"];
        text + &style.table(&headings, self.decisions.iter().map(row).collect())
    }
}

/// The compaction that a decision led to, or why the client made none.
fn led_to(logged: &LoggedDecision) -> Option<String> {
    let not_made = || logged.not_made.as_ref().map(|why| format!("nothing: {why}"));
    logged.compaction_id.clone().or_else(not_made)
}

impl Page for ReportResult {
    fn text(&self, style: &Style) -> String {
        let mut text = format!(
            "{}, compacted {} by its agent{}\n",
            counted(self.turns, "turn"),
            counted(self.compactions, "time"),
            if self.is_truncated { "; only the beginning was replayed" } else { "" }
        );
        let row = |policy: &ReportPolicy| {
            vec![
                policy.policy.clone(),
                count(policy.decisions),
                count(policy.compactions),
                count(policy.files_reused),
            ]
        };
        let rows = self.policies.iter().map(row).collect();
        text += &style.table(&["policy", ">decisions", ">compactions", ">files reused"], rows);
        for policy in self.policies.iter().filter(|policy| !policy.points.is_empty()) {
            text += &format!("\n{}\n", style.bold(&policy.policy));
            let row = |point: &ReportPoint| {
                vec![
                    point.turn.to_string(),
                    point.seq.to_string(),
                    format!("{} %", point.percent_remaining),
                    point.tier.clone(),
                    point.boundaries.join(", "),
                    point.files_reused.join(" "),
                ]
            };
            let headings = [">turn", ">seq", ">left", "tier", "signs", "files reused"];
            text += &style.table(&headings, policy.points.iter().map(row).collect());
        }
        text
    }
}

impl Page for CheckResult {
    fn text(&self, style: &Style) -> String {
        let mut text = String::new();
        for policy in &self.policies {
            text += &matrix(policy, style);
        }
        for problem in &self.problems {
            let mark = match problem.is_fatal {
                true => style.bad("invalid"),
                false => style.warn("no effect"),
            };
            text += &format!("{mark}  {} {}: {}\n", problem.policy, problem.key, problem.reason);
        }
        if self.problems.is_empty() {
            text += &format!("{}\n", style.good("No problems."));
        }
        style.wrap(&text, 11)
    }
}

fn matrix(policy: &PolicyInfo, style: &Style) -> String {
    let scratch = if policy.scratch { ", scratch file" } else { "" };
    let head = format!(
        "{}  mode {}, packet by the {}{scratch}, at most {} an hour; judge: {}, else {}\n",
        style.bold(&policy.policy),
        policy.mode,
        policy.packet_author,
        counted(policy.compactions_per_hour, "compaction"),
        policy.judge,
        policy.on_judgment_failure,
    );
    let who = match (policy.mode.as_str(), policy.policy.as_str()) {
        ("auto", "default") => {
            let mid_turn = match policy.mid_turn {
                true => {
                    "In the middle of a turn the plugin has Claude Code compact, and the gateway Codex."
                }
                false => "In the middle of a turn the agent itself compacts at its limit.",
            };
            format!(
                "Applied between turns: in Codex if its app server has the session (as for a standard terminal), and \
                 in Claude Code on a terminal by the plugin, without packet and scratch file. {mid_turn} Elsewhere \
                 you get a suggestion.\n"
            )
        }
        _ => String::new(),
    };
    let rows = policy.tiers.iter().map(|tier| {
        let boundaries = match tier.tier == "emergency" {
            true => "none needed".to_owned(),
            false => tier.boundaries.join(", "),
        };
        let gate = if tier.plan_gate { "with words" } else { "alone" };
        let judgment = if tier.judgment { "asked" } else { "-" };
        vec![
            tier.tier.clone(),
            format!("< {} %", tier.percent_remaining_lt),
            gate.to_owned(),
            judgment.to_owned(),
            boundaries,
        ]
    });
    let headings = ["tier", ">left", "plan counts", "judgment", "any of"];
    head + &who + &style.table(&headings, rows.collect()) + "\n"
}

impl Page for TemplatesResult {
    fn text(&self, style: &Style) -> String {
        let row = |template: &TemplateInfo| {
            let source = match (&template.problem, template.is_seeded, template.source.as_str()) {
                (Some(problem), ..) => problem.clone(),
                (None, true, _) => "written".to_owned(),
                (None, false, "file") => "your file".to_owned(),
                (None, false, "built_in") => "built in".to_owned(),
                (None, false, other) => format!("as {other}"),
            };
            vec![template.name.clone(), source, template.placeholders.join(", ")]
        };
        let rows = self.templates.iter().map(row).collect();
        format!(
            "Files in {}\n{}",
            style.path(&self.folder),
            style.table(&["template", "source", "placeholders"], rows)
        )
    }
}

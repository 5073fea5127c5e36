//! Specimens of secrets: what a generator would draw, and one token of each vendor.

const LETTERS: &str = "aQ7bR2cS9dT4eU1fV6gW3hX8iY5jZ0kPmNoLpKqMrJsItHuGvFwExDyCzB";

/// Letters and digits as a generator would draw them.
pub(super) fn noise(length: usize) -> String {
    LETTERS.chars().cycle().skip(length % 7).take(length).collect()
}

pub(super) fn hex(length: usize) -> String {
    "3fa85c07d19e24b6".chars().cycle().skip(length % 5).take(length).collect()
}

pub(super) fn digits(length: usize) -> String {
    "8402719365".chars().cycle().take(length).collect()
}

/// One vendor's token a line: how it is known, and a specimen.
pub(super) fn vendor_tokens() -> Vec<(&'static str, String)> {
    let n = noise;
    vec![
        ("aws", format!("AK{}{}", "IA", n(16).to_uppercase())),
        ("aws temporary", format!("AS{}{}", "IA", n(16).to_uppercase())),
        ("github", format!("gh{}{}", "p_", n(36))),
        ("github oauth", format!("gh{}{}", "o_", n(36))),
        ("github user", format!("gh{}{}", "u_", n(36))),
        ("github server", format!("gh{}{}", "s_", n(36))),
        ("github refresh", format!("gh{}{}", "r_", n(76))),
        ("github fine-grained", format!("github{}{}_{}", "_pat_", n(22), n(59))),
        ("gitlab", format!("gl{}{}", "pat-", n(20))),
        ("slack bot", format!("xox{}-{}-{}-{}", "b", digits(12), digits(12), n(24))),
        ("slack app", format!("xa{}-1-A{}-{}-{}", "pp", digits(9), digits(12), hex(64))),
        ("stripe", format!("sk{}{}", "_live_", n(24))),
        ("stripe restricted", format!("rk{}{}", "_live_", n(24))),
        ("openai", format!("sk{}{}", "-", n(48))),
        ("openai project", format!("sk{}{}", "-proj-", n(90))),
        ("anthropic", format!("sk{}{}-{}", "-ant-api03-", n(40), n(40))),
        ("google", format!("AI{}{}", "za", n(35))),
        ("google client", format!("GOC{}{}", "SPX-", n(28))),
        ("google access", format!("ya{}{}", "29.", n(60))),
        ("npm", format!("np{}{}", "m_", n(36))),
        ("pypi", format!("py{}AgEI{}", "pi-", n(80))),
        ("hugging face", format!("h{}{}", "f_", n(34))),
        ("twilio", format!("S{}{}", "K", hex(32))),
        ("sendgrid", format!("S{}{}.{}", "G.", n(22), n(43))),
        ("telegram", format!("{}:{}{}", digits(10), "AA", n(33))),
        ("azure client", format!("{}8{}{}", n(3), "Q~", n(34))),
        ("digitalocean", format!("dop{}{}", "_v1_", hex(64))),
        ("databricks", format!("da{}{}", "pi", hex(32))),
        ("heroku", format!("HR{}AA{}", "KU-", n(58))),
        ("discord", format!("M{}{}.{}.{}", "TA", n(23), n(6), n(38))),
        ("shopify", format!("shp{}{}", "at_", hex(32))),
        ("mailgun", format!("k{}{}", "ey-", hex(32))),
        ("age", format!("AGE-SECRET{}{}", "-KEY-1", n(58).to_uppercase())),
        ("docker", format!("dckr{}{}", "_pat_", n(27))),
        ("cloudflare", format!("v1{}{}-{}", ".0-", hex(24), hex(146))),
        ("bedrock", format!("AB{}{}", "SK", n(120))),
        ("alibaba", format!("LT{}{}", "AI", n(20))),
        ("netlify", format!("nf{}{}", "p_", n(40))),
        ("doppler", format!("dp{}{}", ".pt.", n(43))),
        ("pulumi", format!("pu{}{}", "l-", hex(40))),
        ("terraform", format!("{}{}{}", n(14), ".atlasv1.", n(67))),
        ("1password", format!("ops{}{}", "_eyJ", n(240))),
        ("langsmith", format!("ls{}_{}_{}", "v2_pt", hex(32), hex(10))),
        ("notion", format!("nt{}{}", "n_", n(46))),
        ("notion, older", format!("sec{}{}", "ret_", n(43))),
        ("contentful", format!("CF{}{}", "PAT-", n(43))),
        ("circleci", format!("CCI{}{}", "PAT_", n(40))),
        ("buildkite", format!("bk{}{}", "ua_", hex(40))),
        ("sonar", format!("sq{}{}", "u_", hex(40))),
        ("artifactory", format!("AK{}{}", "Cp", n(70))),
        ("airtable", format!("pa{}{}.{}", "tX", n(13), hex(64))),
        ("facebook", format!("EA{}{}", "AC", n(120))),
        ("vault", format!("hv{}{}", "s.", n(90))),
        ("jwt", format!("ey{}{}.ey{}{}.{}", "J", n(33), "J", n(70), n(43))),
    ]
}

//! Tokens with a prefix of their vendor's own, from the vendors' published formats.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::Regex;

use super::rule::Verdict;
use super::value;

pub(super) struct Vendor {
    /// What every such token begins with (or holds, where the pattern looks back).
    keywords: &'static [&'static str],
    /// Each keyword once per letter of this list, appended: makes short keywords rare.
    continuations: &'static str,
    /// The token from the keyword on. A group, where there is one, is the secret part.
    pattern: &'static str,
    /// Bytes of the token before the keyword: all of this class, at least and at most so many.
    lead: Option<Prefix>,
    check: Check,
}

#[derive(Clone, Copy)]
struct Prefix {
    is_member: fn(&u8) -> bool,
    bytes_min: usize,
    bytes_max: usize,
}

/// What a token must show beyond its pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    /// Enough different characters that it is no `xxxx`.
    Varied,
    /// Looks drawn by a generator: the prefix is short enough to begin an ordinary word.
    Random,
}

/// The fewest different characters in a token; a row of `x` stands for one.
const DISTINCT_BYTES_MIN: u32 = 6;
/// The longest token read, in bytes; what follows a longer one is no token.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

const fn token(keywords: &'static [&'static str], pattern: &'static str) -> Vendor {
    Vendor { keywords, continuations: "", pattern, lead: None, check: Check::Varied }
}

const fn guarded(keywords: &'static [&'static str], pattern: &'static str) -> Vendor {
    Vendor { keywords, continuations: "", pattern, lead: None, check: Check::Random }
}

pub(super) const VENDORS: &[Vendor] = &[
    // Clouds.
    token(&["AKIA", "ASIA", "ABIA", "ACCA"], r"A[A-Z]{3}[A-Z0-9]{16}"),
    token(&["AIza"], r"AIza[A-Za-z0-9_-]{35}"),
    token(&["GOCSPX-"], r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    token(&["ya29."], r"ya29\.[A-Za-z0-9._-]{20,}"),
    guarded(&["1//0"], r"1//0[A-Za-z0-9_-]{36,}"),
    token(&["sig="], r"sig=([A-Za-z0-9%+/]{32,}={0,2})"),
    Vendor {
        keywords: &["Q~"],
        continuations: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~.-",
        pattern: r"Q~[A-Za-z0-9_~.-]{31,34}",
        lead: Some(Prefix { is_member: u8::is_ascii_alphanumeric, bytes_min: 4, bytes_max: 4 }),
        check: Check::Varied,
    },
    token(&["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}"),
    token(&["dapi"], r"dapi[a-f0-9]{32}(?:-[0-9])?"),
    token(&["HRKU-"], r"HRKU-[A-Za-z0-9_-]{30,}"),
    token(&["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    token(&["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    token(&["tskey-"], r"tskey-[a-z]{2,16}-[A-Za-z0-9-]{16,}"),
    token(
        &["FlyV1 ", "fo1_"],
        r"(?:FlyV1 fm[12][ar]?_[A-Za-z0-9+/=,_-]{40,}|fo1_[A-Za-z0-9_-]{40,})",
    ),
    token(&["sbp_", "sb_secret_"], r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    token(&["v1.0-"], r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    token(&["ABSK"], r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    token(&["LTAI"], r"LTAI[A-Za-z0-9]{20}"),
    token(&["nfp_"], r"nfp_[A-Za-z0-9]{36,}"),
    token(&["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."], r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{40,}"),
    token(&["pul-"], r"pul-[a-f0-9]{40}"),
    Vendor {
        keywords: &[".atlasv1."],
        continuations: "",
        pattern: r"\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
        lead: Some(Prefix { is_member: u8::is_ascii_alphanumeric, bytes_min: 14, bytes_max: 14 }),
        check: Check::Varied,
    },
    token(&["ops_eyJ"], r"ops_eyJ[A-Za-z0-9+/_-]{200,}={0,2}"),
    // Code hosts and registries.
    token(&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,}"),
    token(&["github_pat_"], r"github_pat_[A-Za-z0-9_]{50,}"),
    token(
        &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-"],
        r"gl[a-z]{2,5}-[A-Za-z0-9_.-]{20,}",
    ),
    token(&["npm_"], r"npm_[A-Za-z0-9]{36}"),
    token(&["pypi-"], r"pypi-[A-Za-z0-9_-]{50,}"),
    token(&["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_-]{20,}"),
    token(&["rubygems_"], r"rubygems_[a-f0-9]{48}"),
    token(&["ATATT3", "ATCTT3", "ATBB"], r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{24,}"),
    // Models.
    token(&["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{16,}"),
    token(&["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-or-v1-"], r"sk-[a-z]+-[A-Za-z0-9_-]{16,}"),
    guarded(&["sk-"], r"sk-[A-Za-z0-9_-]{20,}"),
    token(&["hf_"], r"hf_[A-Za-z0-9]{30,}"),
    token(&["gsk_"], r"gsk_[A-Za-z0-9]{40,}"),
    token(&["lsv2_"], r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    token(&["r8_"], r"r8_[A-Za-z0-9]{37,}"),
    token(&["pplx-"], r"pplx-[A-Za-z0-9]{40,}"),
    token(&["xai-"], r"xai-[A-Za-z0-9]{60,}"),
    guarded(&["nvapi-", "tvly-"], r"(?:nvapi|tvly)-[A-Za-z0-9_-]{20,}"),
    // Payments and shops.
    token(
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}",
    ),
    guarded(&["whsec_"], r"whsec_[A-Za-z0-9+/=]{20,}"),
    token(&["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    token(&["sq0atp-", "sq0csp-"], r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}"),
    // Messages.
    guarded(
        &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-"],
        r"xox[abeoprs][.-][A-Za-z0-9.-]{10,}",
    ),
    token(&["xapp-"], r"xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-zA-Z0-9]{20,}"),
    token(
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{20,})",
    ),
    token(&["/api/webhooks/"], r"/api/webhooks/[0-9]{15,22}/([A-Za-z0-9_-]{40,})"),
    Vendor {
        keywords: &["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"],
        // A Discord token begins with its user's number in base64; this is how three digits begin.
        continuations: "AEIMQUYcgk",
        pattern: r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
        lead: None,
        check: Check::Varied,
    },
    Vendor {
        keywords: &[":AA"],
        continuations: "",
        pattern: r":AA[A-Za-z0-9_-]{32,34}",
        lead: Some(Prefix { is_member: u8::is_ascii_digit, bytes_min: 8, bytes_max: 10 }),
        check: Check::Varied,
    },
    Vendor {
        keywords: &["SK"],
        continuations: "0123456789abcdef",
        pattern: r"SK[a-f0-9]{32}",
        lead: None,
        check: Check::Varied,
    },
    token(&["SG."], r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    token(&["key-"], r"key-[a-f0-9]{32}"),
    token(&["xkeysib-"], r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    // Watching and planning.
    token(&["glc_", "glsa_"], r"gl(?:c|sa)_[A-Za-z0-9+/=_]{32,}"),
    token(&["sntrys_", "sntryu_"], r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    token(&["NRAK-"], r"NRAK-[A-Z0-9]{27}"),
    token(&["PMAK-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    token(&["lin_api_"], r"lin_api_[A-Za-z0-9]{40}"),
    token(&["figd_"], r"figd_[A-Za-z0-9_-]{36,}"),
    token(&["ntn_"], r"ntn_[A-Za-z0-9]{40,}"),
    token(&["CFPAT-"], r"CFPAT-[A-Za-z0-9_-]{43}"),
    token(&["CCIPAT_", "CCIPRJ_"], r"CCIP(?:AT|RJ)_[A-Za-z0-9_]{30,}"),
    token(&["bkua_"], r"bkua_[a-f0-9]{40}"),
    token(&["squ_", "sqp_", "sqa_"], r"sq[upa]_[a-f0-9]{40}"),
    token(&["AKCp"], r"AKCp[A-Za-z0-9]{60,80}"),
    Vendor {
        keywords: &["pat"],
        // Without the letters that make a word of it: path, patch, pattern.
        continuations: "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789bdfgjkmnpquvwxz",
        pattern: r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
        lead: None,
        check: Check::Varied,
    },
    guarded(&["EAAC", "EAAB", "EAAG", "EAAM", "EAAE", "EAAJ"], r"EAA[A-Z][A-Za-z0-9]{50,}"),
    // Keys of no vendor.
    token(&["eyJ"], r"eyJ[A-Za-z0-9_-]{10,}\.(?:eyJ)?[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    token(&["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
];

impl Vendor {
    pub(super) fn all_keywords(&self) -> Vec<String> {
        if self.continuations.is_empty() {
            return self.keywords.iter().map(|&keyword| keyword.to_owned()).collect();
        }
        let longer = |keyword: &&str| -> Vec<String> {
            self.continuations.chars().map(|letter| format!("{keyword}{letter}")).collect()
        };
        self.keywords.iter().flat_map(longer).collect()
    }
}

/// A vendor's token. Its pattern is compiled when its keyword is first seen: most never are.
pub(super) struct Pattern {
    vendor: &'static Vendor,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) fn of(vendor: &'static Vendor) -> Self {
        Self { vendor, regex: OnceLock::new() }
    }

    /// `None` for a pattern that is none, which a test rules out.
    pub(super) fn regex(&self) -> Option<&Regex> {
        let compile = || Regex::new(&format!("(?-u)^(?:{})", self.vendor.pattern)).ok();
        self.regex.get_or_init(compile).as_ref()
    }

    pub(super) fn judge(&self, text: &[u8], hit: &Range<usize>, floor: usize) -> Verdict {
        let Some(start) = self.start(text, hit, floor) else { return Verdict::Nothing };
        let window = &text[hit.start..text.len().min(hit.start + TOKEN_BYTES_MAX)];
        let captures = self.regex().and_then(|regex| regex.captures(window));
        let Some(captures) = captures else { return Verdict::Nothing };
        let Some(whole) = captures.get(0) else { return Verdict::Nothing };
        let end = hit.start + whole.end();
        let goes_on = text.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        if goes_on && whole.end() < window.len() {
            return Verdict::Nothing;
        }
        let secret = captures.get(1).map_or(start, |part| hit.start + part.start())..end;
        let body = &text[secret.clone()];
        let is_token = value::distinct_bytes(body) >= DISTINCT_BYTES_MIN
            && (self.vendor.check == Check::Varied || value::is_random(body));
        if is_token { Verdict::Secret(secret) } else { Verdict::Passed { resume: end } }
    }

    /// Where the token begins, if it may begin there.
    fn start(&self, text: &[u8], hit: &Range<usize>, floor: usize) -> Option<usize> {
        let before = &text[floor.min(hit.start)..hit.start];
        let start = match self.vendor.lead {
            None => hit.start,
            Some(lead) => {
                let run = before.iter().rev().take(lead.bytes_max + 1);
                let bytes = run.take_while(|b| (lead.is_member)(b)).count();
                if !(lead.bytes_min..=lead.bytes_max).contains(&bytes) {
                    return None;
                }
                hit.start - bytes
            }
        };
        let is_inside_word = start > 0 && text[start - 1].is_ascii_alphanumeric();
        (!is_inside_word).then_some(start)
    }
}

//! Detects commands that are hazardous on their own: they destroy data, force, or disable a protection.

use super::programs::{is_cluster_holding, is_decoder, name};
use crate::rollout::shell::Command;

const PROGRAMS: &[&str] =
    &["pkill", "killall", "iex", "invoke-expression", "mshta", "shred", "wipefs"];

/// Prefixes of options that skip a check, for any program.
const OPTIONS: &[&str] = &[
    "--force",
    "--no-verify",
    "--dangerously",
    "--yolo",
    "--insecure",
    "--no-check-certificate",
    "--trusted-host",
    "--allow-unauthenticated",
    "--disable-ssl",
    "--no-ssl-verify",
    "--no-verify-ssl",
    "--skip-tls-verify",
    "--skip-ssl",
    "--no-strict-ssl",
    "--proxy-insecure",
    "--allow-insecure",
    "-skipcertificatecheck",
    "--no-gpg-check",
    "--nogpgcheck",
    "--allow-untrusted",
    "--break-system-packages",
];

/// Variables that disable a protection, with the values that do so; an empty list means any value.
const VARIABLES: &[(&str, &[&str])] = &[
    ("NODE_TLS_REJECT_UNAUTHORIZED", &["0"]),
    ("GIT_SSL_NO_VERIFY", &[]),
    ("PYTHONHTTPSVERIFY", &["0"]),
    ("GIT_SSH_COMMAND", &[]),
    ("GIT_SSH", &[]),
    ("GIT_EXTERNAL_DIFF", &[]),
    ("GIT_PROXY_COMMAND", &[]),
    ("GIT_ASKPASS", &[]),
    ("GIT_CONFIG_PARAMETERS", &[]),
    ("LD_PRELOAD", &[]),
    ("DYLD_INSERT_LIBRARIES", &[]),
    ("GOINSECURE", &[]),
    ("GONOSUMDB", &[]),
    ("GONOSUMCHECK", &[]),
    ("GOSUMDB", &["off"]),
    ("NPM_CONFIG_STRICT_SSL", &["false"]),
    ("PIP_TRUSTED_HOST", &[]),
    ("HOMEBREW_NO_INSECURE_REDIRECT", &["0"]),
    ("BASH_ENV", &[]),
    ("PROMPT_COMMAND", &[]),
];

/// Settings for certificate checks, as parts of lower-case words without `-` and `_`.
const TLS_SETTINGS: &[&str] = &[
    "strictssl",
    "sslverify",
    "tlsverify",
    "verifyssl",
    "verifytls",
    "httpsverify",
    "checkcertificate",
];

/// Git configuration keys that name a program or disable a check.
const GIT_KEYS: &[&str] = &[
    "core.sshcommand",
    "core.hookspath",
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "credential.helper",
    "diff.external",
    "sequence.editor",
    "gpg.program",
    "init.templatedir",
    "include.path",
    "uploadpack.packobjectshook",
    "http.sslverify",
    "http.proxysslverify",
    "http.curloptresolve",
];

/// The same, as prefix and suffix of a key.
const GIT_KEYS_OPEN: &[(&str, &str)] = &[
    ("filter.", ""),
    ("diff.", ".textconv"),
    ("diff.", ".command"),
    ("merge.", ".driver"),
    ("alias.", ""),
    ("url.", ".insteadof"),
    ("protocol.", ".allow"),
    ("includeif.", ""),
    ("remote.", ".uploadpack"),
    ("remote.", ".receivepack"),
    ("submodule.", ".update"),
    ("http.", ".sslverify"),
    ("pager.", ""),
    ("browser.", ".cmd"),
    ("man.", ".cmd"),
    ("difftool.", ".cmd"),
    ("mergetool.", ".cmd"),
    ("credential.", ".helper"),
];

/// Devices, and files that control access.
const PLACES: &[&str] = &[
    "/dev/sd",
    "/dev/nvme",
    "/dev/disk",
    "/dev/hd",
    "/dev/mmcblk",
    "/dev/tcp/",
    "/dev/udp/",
    "/etc/sudoers",
    "/etc/passwd",
    "/etc/shadow",
];

pub(super) fn is_hazardous(command: &Command, words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else {
        return writes_protected_place(command, words);
    };
    let name = name(first);
    let lower: Vec<String> = rest.iter().map(|word| word.to_ascii_lowercase()).collect();
    let has = |options: &[&str]| lower.iter().any(|word| options.contains(&word.as_str()));
    PROGRAMS.contains(&name.as_str())
        || name.starts_with("mkfs")
        || first.starts_with(":()")
        || lower.iter().any(|word| OPTIONS.iter().any(|option| word.starts_with(option)))
        || command.assigned.iter().chain(&command.words).any(|word| is_variable(word))
        || is_tls_off(&lower)
        || is_decoder(words)
        || is_sql(&lower)
        || writes_protected_place(command, words)
        || match name.as_str() {
            "rm" => removes_all(rest),
            "dd" => rest.iter().any(|word| word.starts_with("if=")),
            "chmod" => opens_to_all(&lower),
            "kill" => has(&["-9", "-kill", "-sigkill", "kill", "sigkill"]),
            "git" => is_git(rest),
            "curl" => is_insecure_curl(rest),
            "nc" | "ncat" | "netcat" => {
                rest.iter().any(|w| is_cluster_holding(w, 'e') || *w == "--exec")
            }
            "ssh" | "scp" | "sftp" | "rsync" | "autossh" => {
                lower.iter().any(|w| w.replace(['=', ' '], "").contains("stricthostkeycheckingno"))
            }
            "powershell" | "pwsh" => {
                let bypasses = has(&["bypass", "unrestricted"]);
                bypasses
                    || lower
                        .iter()
                        .any(|word| word.starts_with("-enc") || word == "-e" || word == "-ec")
            }
            "set-executionpolicy" => has(&["bypass", "unrestricted"]),
            "setenforce" => has(&["0", "permissive"]),
            "npx" | "bunx" | "deno" | "bun" | "node" | "go" => {
                lower.iter().any(|word| is_address(word) && !word.contains("localhost"))
            }
            _ => false,
        }
        || runs_downloaded_code(&name, &lower)
}

/// Whether an argument downloads and runs code: `python -c "exec(urlopen(…).read())"`.
fn runs_downloaded_code(name: &str, lower: &[String]) -> bool {
    const FETCHES: &[&str] = &[
        "urlopen",
        "urlretrieve",
        "requests.get",
        "httpx.get",
        "http.get",
        "https.get",
        "fetch(",
        "net::http",
        "open-uri",
        "lwp::",
        "downloadstring",
        "downloadfile",
        "webclient",
        "file_get_contents(",
        "urllib",
    ];
    const RUNS: &[&str] = &[
        "exec(",
        "eval(",
        "eval ",
        "os.system",
        "subprocess",
        "child_process",
        "execsync",
        "iex",
        "system(",
        "invoke-expression",
        "instance_eval",
        "compile(",
    ];
    super::programs::is_interpreter(name)
        && lower.iter().any(|word| {
            FETCHES.iter().any(|piece| word.contains(piece))
                && RUNS.iter().any(|piece| word.contains(piece))
        })
}

fn is_address(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

fn removes_all(rest: &[&str]) -> bool {
    let has = |letters: [char; 2], long: &str| {
        rest.iter()
            .any(|word| *word == long || letters.iter().any(|c| is_cluster_holding(word, *c)))
    };
    has(['r', 'R'], "--recursive") && has(['f', 'f'], "--force")
}

fn opens_to_all(lower: &[String]) -> bool {
    lower.iter().any(|word| {
        let is_octal = word.bytes().all(|b| b.is_ascii_digit()) && word.ends_with("777");
        is_octal
            || matches!(
                word.as_str(),
                "a+rwx" | "ugo+rwx" | "a=rwx" | "o+w" | "o+rwx" | "a+w" | "u+s" | "+s"
            )
    })
}

/// Whether a word sets a variable that disables a protection, in the syntax of any shell.
fn is_variable(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let name = name.trim().trim_start_matches("$env:").to_ascii_uppercase();
    VARIABLES.iter().any(|(known, values)| {
        let value = value.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
        *known == name
            && !value.is_empty()
            && (values.is_empty() || values.contains(&value.as_str()))
    })
}

fn is_off(value: &str) -> bool {
    matches!(value.trim_matches(['"', '\'']), "false" | "0" | "off" | "no" | "none" | "disable")
}

/// Whether the words disable certificate checks: `strict-ssl false`, `--tls-verify=0`.
fn is_tls_off(lower: &[String]) -> bool {
    let is_setting = |word: &str| {
        let plain = word.replace(['-', '_', '.'], "");
        TLS_SETTINGS.iter().any(|setting| plain.contains(setting))
    };
    lower.iter().enumerate().any(|(at, word)| match word.split_once('=') {
        Some((option, value)) => is_setting(option) && is_off(value),
        None => is_setting(word) && lower.get(at + 1).is_some_and(|value| is_off(value)),
    })
}

fn is_sql(lower: &[String]) -> bool {
    const ORDERS: &[&str] = &["drop table", "drop database", "drop schema", "truncate table"];
    let joined = lower.join(" ");
    ORDERS.iter().any(|order| joined.contains(order))
}

fn writes_protected_place(command: &Command, words: &[&str]) -> bool {
    let is_place = |path: &&str| {
        PLACES.iter().any(|place| path.starts_with(place))
            || path.ends_with("/authorized_keys")
            || path.contains(".git/hooks/")
    };
    let tees = words.first() == Some(&"tee");
    let is_socket = |word: &&str| word.starts_with("/dev/tcp/") || word.starts_with("/dev/udp/");
    if words.iter().any(is_socket) {
        return true;
    }
    let redirected = command.written.iter().chain(&command.read).map(String::as_str);
    redirected.chain(words.iter().copied().filter(|_| tees)).any(|path| is_place(&path))
}

fn is_insecure_curl(rest: &[&str]) -> bool {
    // Options that take the rest of the word as their value.
    const VALUED: &str = "oHdXuAebcFTxmwKEyYztCrDUQP";
    rest.iter().filter_map(|word| word.strip_prefix('-')).any(|letters| {
        let own = letters.find(|c| VALUED.contains(c)).map_or(letters, |at| &letters[..at]);
        !letters.starts_with('-') && own.contains('k')
    })
}

fn is_git(rest: &[&str]) -> bool {
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        let next = rest.get(at + 1).copied().unwrap_or_default();
        let joined = word.strip_prefix("-c").filter(|setting| !setting.is_empty());
        let setting = if *word == "-c" { Some(next) } else { joined };
        let by_environment = word.strip_prefix("--config-env=");
        if setting.or(by_environment).is_some_and(is_git_setting)
            || word.starts_with("--exec-path=")
        {
            return true;
        }
        let is_valued = matches!(
            *word,
            "-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env"
        );
        at += 1 + usize::from(is_valued);
    }
    let Some((verb, words)) = rest.get(at..).and_then(<[&str]>::split_first) else { return false };
    let has = |letter: char| words.iter().any(|word| is_cluster_holding(word, letter));
    let runs_other = words.iter().any(|word| {
        ["--upload-pack", "--receive-pack", "--exec"].iter().any(|option| word.starts_with(option))
            || word.starts_with("ext::")
    });
    let settings = words.iter().zip(words.iter().skip(1));
    let mut settings = settings.filter(|(option, _)| matches!(**option, "-c" | "--config"));
    runs_other
        || match *verb {
            "push" => {
                has('f') || words.iter().any(|word| word.starts_with('+') || *word == "--mirror")
            }
            "reset" => words.contains(&"--hard"),
            "clean" => has('f'),
            "commit" => is_cluster_of_commit(words),
            "clone" => has('u') || settings.any(|(_, setting)| is_git_setting(setting)),
            "config" => is_git_config(words),
            _ => false,
        }
}

/// `git commit -n` skips the hooks; letters after `-m` are a message.
fn is_cluster_of_commit(words: &[&str]) -> bool {
    words.iter().filter_map(|word| word.strip_prefix('-')).any(|letters| {
        let own =
            letters.find(['m', 'C', 'c', 'F', 'S', 'u', 't']).map_or(letters, |at| &letters[..at]);
        !letters.starts_with('-') && own.contains('n')
    })
}

/// Whether a setting for one command (`core.sshCommand=…`) is hazardous.
fn is_git_setting(setting: &str) -> bool {
    let (key, _) = setting.split_once('=').unwrap_or((setting, ""));
    let key = key.to_ascii_lowercase();
    GIT_KEYS.contains(&key.as_str())
        || GIT_KEYS_OPEN.iter().any(|(start, end)| {
            key.len() > start.len() + end.len() && key.starts_with(start) && key.ends_with(end)
        })
}

/// Whether a permanent setting is hazardous. People set editors, pagers, aliases and project hooks themselves,
/// so only values that reach outside the project count.
fn is_git_config(words: &[&str]) -> bool {
    let mut named = words.iter().filter(|word| !word.starts_with('-'));
    let (Some(key), value) = (named.next(), named.next()) else { return false };
    let Some(value) = value else { return false };
    let key = key.to_ascii_lowercase();
    let runs = value.starts_with('!') || value.contains("/tmp/") || value.contains("://");
    match key.as_str() {
        "core.sshcommand" | "core.gitproxy" | "core.fsmonitor" => {
            !matches!(*value, "true" | "false")
        }
        _ => is_git_setting(&key) && runs,
    }
}

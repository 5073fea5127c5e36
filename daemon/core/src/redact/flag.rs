//! Passwords directly after a short flag: `mysql -pSECRET`, `mysqldump -u root -p'…'`.
//!
//! For logins the password may follow a space: `docker login -p SECRET`, `mongosh -p SECRET`.
//!
//! `-p` usually means ports, parents, prompts or projects, so it counts only as an argument of a program that
//! takes a password there, on the same line and before the next command.

use std::ops::Range;

use super::value;

/// The flag; the space before it excludes `--p` and `x-p`.
pub(super) const PASSWORD_FLAG: &[&str] = &[" -p"];

/// Programs that take a password directly after `-p`.
const PROGRAMS: &[&str] = &[
    "mysql",
    "mysqldump",
    "mysqladmin",
    "mysqlimport",
    "mysqlshow",
    "mysqlcheck",
    "mysqlslap",
    "mysqlsh",
    "mariadb",
    "mariadb-dump",
    "mariadb-admin",
    "mycli",
    "sshpass",
];

/// Programs that take a password after `-p` and a space.
const PROGRAMS_SPACED: &[&str] =
    &["mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"];

/// Programs that do so in their `login` command.
const PROGRAMS_OF_LOGIN: &[&str] =
    &["docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "crane", "az"];

/// Maximum bytes between the program's name and the flag.
const COMMAND_BYTES_MAX: usize = 512;
/// Minimum bytes of a password; shorter values are combined flags.
const PASSWORD_BYTES_MIN: usize = 4;
/// Some registries issue tokens of several KiB as passwords.
const PASSWORD_BYTES_MAX: usize = 16 * 1024;

/// Judges the value after `-p`.
pub(super) fn judge(text: &[u8], hit: &Range<usize>, floor: usize) -> Option<Range<usize>> {
    let is_spaced = text.get(hit.end) == Some(&b' ');
    let start = hit.end + usize::from(is_spaced);
    let secret = match text.get(start) {
        Some(&quote @ (b'\'' | b'"')) => quoted(text, start + 1, quote)?,
        _ => bare(text, start),
    };
    let password = &text[secret.clone()];
    // A number after a space is a port.
    let is_port = is_spaced && password.iter().all(u8::is_ascii_digit);
    let is_password = password.len() >= PASSWORD_BYTES_MIN
        && !is_port
        && !value::is_reference(password)
        && !value::is_placeholder(password);
    // Search for the program last: nearly every hit is rejected before.
    (is_password && takes_password(text, hit.start, floor, is_spaced)).then_some(secret)
}

fn quoted(text: &[u8], start: usize, quote: u8) -> Option<Range<usize>> {
    let window = &text[start..text.len().min(start + PASSWORD_BYTES_MAX)];
    let end = window.iter().position(|&byte| byte == quote || byte == b'\n')?;
    (window[end] == quote).then_some(start..start + end)
}

fn bare(text: &[u8], start: usize) -> Range<usize> {
    const ENDS: &[u8] = b" \t\r\n\"'`\\&;|<>()";
    let window = &text[start..text.len().min(start + PASSWORD_BYTES_MAX)];
    let end = window.iter().position(|byte| ENDS.contains(byte)).unwrap_or(window.len());
    start..start + end
}

/// Whether the flag's command takes a password there.
fn takes_password(text: &[u8], flag: usize, floor: usize, is_spaced: bool) -> bool {
    let from = flag.saturating_sub(COMMAND_BYTES_MAX).max(floor.min(flag));
    let before = &text[from..flag];
    let command = before.rsplit(|byte| b"\n;|&()`".contains(byte)).next().unwrap_or(before);
    let words = || {
        let words = command.split(|byte| b" \t\"'[,=+".contains(byte));
        words.map(|word| word.rsplit(|&byte| byte == b'/').next().unwrap_or(word))
    };
    let holds =
        |programs: &[&str]| programs.iter().any(|it| words().any(|word| word == it.as_bytes()));
    match is_spaced {
        false => holds(PROGRAMS),
        true => holds(PROGRAMS_SPACED) || (holds(PROGRAMS_OF_LOGIN) && holds(&["login"])),
    }
}

#[cfg(test)]
mod tests {
    use crate::redact::{MARKER, redact};

    #[test]
    fn a_password_after_a_flag_is_hidden_and_the_command_kept() {
        for (before, after) in [
            ("mysql -u root -phunter2 app", "mysql -u root -p# app"),
            ("mysql -uroot -p'correct horse' app", "mysql -uroot -p'#' app"),
            (
                "/usr/bin/mysqldump -h db -p\"tr0ub4dor\" app > x.sql",
                "/usr/bin/mysqldump -h db -p\"#\" app > x.sql",
            ),
            (
                "docker exec db mysql -pletmein -e 'show tables'",
                "docker exec db mysql -p# -e 'show tables'",
            ),
            (
                "mysqladmin --user=root --password=Winter-24 ping",
                "mysqladmin --user=root --password=# ping",
            ),
            ("PGPASSWORD=opensesame psql -h db", "PGPASSWORD=# psql -h db"),
            ("PGPASSWORD='open sesame' psql -h db", "PGPASSWORD='#' psql -h db"),
            ("sshpass -p hunter22 ssh host", "sshpass -p # ssh host"),
            ("sshpass -phunter22 ssh host", "sshpass -p# ssh host"),
            ("docker login -u ada -p hunter22 registry.io", "docker login -u ada -p # registry.io"),
            (
                "helm registry login r.io -u ada -p 'hunter 22'",
                "helm registry login r.io -u ada -p '#'",
            ),
            ("mongosh --host db -u ada -p hunter22", "mongosh --host db -u ada -p #"),
            ("redis-cli -h db -a hunter22 ping", "redis-cli -h db -a # ping"),
            ("htpasswd -nbB ada hunter22", "htpasswd -nbB ada #"),
            ("htpasswd -cb .htpasswd ada hunter22", "htpasswd -cb .htpasswd ada #"),
            ("openssl rsa -in k.pem -passin pass:hunter22", "openssl rsa -in k.pem -passin pass:#"),
            ("curl -u ada:lovelace1 https://host", "curl -u ada:# https://host"),
        ] {
            let redacted = redact(before);
            assert_eq!(redacted.text, after.replace('#', MARKER), "{before}");
            assert_eq!(redact(&redacted.text).hits, 0, "idempotent: {before}");
        }
    }

    #[test]
    fn other_uses_of_the_flag_are_kept() {
        for text in [
            "mkdir -p src/redact/tests",
            "mkdir -psrc/redact",
            "docker run -p 80:80 nginx",
            "docker run -p8080:80 nginx",
            "docker run --name mysql-test -p 3306:3306 mysql:8",
            "ssh -p 2222 host",
            "ssh -p2222 host",
            "cp -pr from to; cp -preserve=all a b",
            "cargo nextest run -p longhaul-core",
            "patch -p1 < fix.diff",
            "mysql -u root -p app",
            "mysql -p\"$MYSQL_PASSWORD\" app",
            "mysql -p${PW} app",
            "mysql -pYOUR_PASSWORD app",
            "echo mysql; mkdir -pnested/dir",
            "grep mysql x | sort -pqrst",
            "docker login; docker run -p 8080:80 nginx",
            "docker run --rm -p 127.0.0.1:8080:80 login-service",
            "mongosh -p 27017",
            "redis-cli -h db ping -a",
        ] {
            assert_eq!(redact(text).text, text);
        }
    }
}

//! Judges whether a name belongs to a secret: `DB_PASSWORD`, `clientSecret`, `x-api-key` do; `token_count`,
//! `next_page_token`, `author`, `keyboard` do not.

use super::words::WORDS;

/// What a name alone implies about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// A password: any literal value is one.
    Password,
    /// A token, key or secret: the name has other uses, so the value decides.
    Token,
    /// A key without a known owner: usually of a table or a cache, so only a clearly random value is a secret.
    Guess,
}

/// Judges a name of ASCII letters, digits, `_`, `-`, `.` and spaces.
pub(super) fn strength(name: &[u8]) -> Option<Strength> {
    let words = words(name);
    let main = words.iter().rposition(|word| !is_qualifier(word))?;
    let word = words[main].trim_end_matches(|c: char| c.is_ascii_digit());
    let owner = main.checked_sub(1).map_or("", |before| words[before].as_str());
    if WORDS.passwords.iter().any(|password| word.ends_with(password.as_str())) {
        return Some(Strength::Password);
    }
    if word == "key" && !owner.is_empty() && !WORDS.key_owners.contains(owner) {
        return (!WORDS.key_owners_harmless.contains(owner)).then_some(Strength::Guess);
    }
    let is_secret = match word {
        // `PWD` and `OLDPWD` are folders.
        "pwd" => name.iter().any(u8::is_ascii_lowercase) || !owner.is_empty(),
        "pass" => !owner.is_empty(),
        "key" => WORDS.key_owners.contains(owner),
        "pat" => !owner.is_empty(),
        "token" => !WORDS.token_owners_harmless.contains(owner),
        _ => {
            let ends = |token: &String| word.ends_with(token.as_str());
            WORDS.tokens_alone.contains(word) || WORDS.tokens.iter().any(ends)
        }
    };
    let is_password = word == "pwd" && !owner.is_empty();
    is_secret.then_some(if is_password { Strength::Password } else { Strength::Token })
}

/// Whether a name is written as environment variables are: `DB_PASSWORD`.
pub(super) fn is_environment(name: &[u8]) -> bool {
    name.len() >= 4
        && name.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
}

fn is_qualifier(word: &str) -> bool {
    WORDS.qualifiers.contains(word) || word.bytes().all(|b| b.is_ascii_digit())
}

/// Splits a name at separators and camel-case boundaries, lower-cased: `sharedAPIKey_2` → shared, api, key, 2.
fn words(name: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (i, &byte) in name.iter().enumerate() {
        let is_separator = matches!(byte, b'_' | b'-' | b'.' | b' ');
        let before = i.checked_sub(1).map(|i| name[i]);
        let is_hump = byte.is_ascii_uppercase()
            && (before.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                || before.is_some_and(|b| b.is_ascii_uppercase())
                    && name.get(i + 1).is_some_and(u8::is_ascii_lowercase));
        if (is_separator || is_hump) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !is_separator {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{Strength, is_environment, strength, words};

    #[test]
    fn names_are_split_at_separators_and_humps() {
        for (name, expected) in [
            ("sharedAPIKey_2", "shared api key 2"),
            ("APIKey", "api key"),
            ("oauth2Token", "oauth2 token"),
            ("TOKEN", "token"),
            ("x-api.key name", "x api key name"),
            ("__a__", "a"),
            ("", ""),
        ] {
            assert_eq!(words(name.as_bytes()).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn names_of_environment_variables() {
        for (name, expected) in [
            ("DB_PASSWORD", true),
            ("KEY2", true),
            ("PASS", true),
            ("PWD", false),
            ("Db_PASSWORD", false),
            ("DB-PASSWORD", false),
        ] {
            assert_eq!(is_environment(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn names_of_secrets() {
        for (name, expected) in [
            ("AWS_SECRET_ACCESS_KEY", Some(Strength::Token)),
            ("SECRET_KEY_BASE", Some(Strength::Token)),
            ("PGPASSWORD", Some(Strength::Password)),
            ("spring.datasource.password", Some(Strength::Password)),
            ("Pwd", Some(Strength::Token)),
            ("MYSQL_PWD", Some(Strength::Password)),
            ("clientSecret", Some(Strength::Token)),
            ("x-api-key", Some(Strength::Token)),
            ("APIKey", Some(Strength::Token)),
            ("SharedAccessKey", Some(Strength::Token)),
            ("_authToken", Some(Strength::Token)),
            ("secret access key", Some(Strength::Token)),
            ("the key", None),
            ("DB_PASS", Some(Strength::Token)),
            ("GITHUB_PAT", Some(Strength::Token)),
            ("pat", None),
            ("password2", Some(Strength::Password)),
            ("PWD", None),
            ("OLDPWD", None),
            ("pass", None),
            ("token_count", None),
            ("max_tokens", None),
            ("next_page_token", None),
            ("pad_token", None),
            ("author", None),
            ("monkey", None),
            ("keyboard", None),
            ("primary_key", None),
            ("pixabay_key", Some(Strength::Guess)),
            ("cache_key", None),
            ("passwordless", None),
            ("password_field", None),
            ("secretName", None),
            ("AWS_ACCESS_KEY_ID", None),
        ] {
            assert_eq!(strength(name.as_bytes()), expected, "{name}");
        }
    }
}

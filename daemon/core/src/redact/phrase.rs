//! Passwords in prose: "비밀번호는 …", "密码：…", "mot de passe : …". The English words are in `assignment`.

use std::ops::Range;

use super::pattern::Pattern;
use super::value;

/// The word for a password in languages whose words are not used as identifiers.
pub(super) const WORDS: &[&str] = &[
    "비밀번호",
    "패스워드",
    "암호",
    "비번",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "暗証番号",
    "contraseña",
    "Contraseña",
    "mot de passe",
    "Mot de passe",
    "пароль",
    "Пароль",
    "senha: ",
    "Senha: ",
    "Kennwort",
];

/// Minimum bytes of a password in prose.
const PASSWORD_BYTES_MIN: usize = 5;

/// Particles and punctuation between the word and the password, then printable ASCII without spaces.
static VALUE: Pattern = Pattern::new(concat!(
    r#"^(?:는|은|가|이|를|을|は|が|を|是|为|為|es|est|is|это|ist|[ \t:="'`]|：){1,6}"#,
    r"(?-u:([!-&(-+\x2d-_a-~]{4,128}))",
));

/// Judges the text after the word.
pub(super) fn judge(text: &[u8], hit: &Range<usize>, _floor: usize) -> Option<Range<usize>> {
    let window = &text[hit.end..text.len().min(hit.end + 192)];
    let found = VALUE.captures(window)?.get(1)?;
    let bare = found.as_bytes().trim_ascii_end();
    let bare = bare.strip_suffix(b".").unwrap_or(bare);
    let bare = bare.strip_suffix(b"\"").unwrap_or(bare);
    let is_password = bare.len() >= PASSWORD_BYTES_MIN
        && bare.iter().any(u8::is_ascii_digit)
        && !value::is_reference(bare)
        && !value::is_placeholder(bare);
    let start = hit.end + found.start();
    is_password.then_some(start..start + bare.len())
}

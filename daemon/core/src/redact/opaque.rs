//! Recognizes payloads that are not text, which redaction would only damage and which are slow to search: inline
//! images and encrypted content.
//!
//! Only the shape counts. Agents put ordinary text into fields such as `result`, so a field's name proves nothing.

use super::secrets_within;

/// Minimum bytes of a payload without a header. Most tokens are shorter.
const BLOB_BYTES_MIN: usize = 512;
/// Maximum bytes of a data URL before its payload.
const HEADER_BYTES_MAX: usize = 128;
/// Bytes in which a token that is the whole payload shows itself.
const BEGINNING_BYTES: usize = 64;
/// Begins a compacted view that our gateway packed for Codex.
const VIEW: &str = "longhaul-view-";

/// Whether a whole string is an image as a data URL, or long base64 without spaces or signs.
pub(super) fn is_opaque(text: &str) -> bool {
    let payload = match text.strip_prefix("data:") {
        Some(url) => image(url),
        None => blob(text),
    };
    payload.is_some_and(|payload| !begins_with_secret(payload))
}

/// The payload of a data URL in base64.
fn image(url: &str) -> Option<&str> {
    let (header, payload) = url.strip_prefix("image/")?.split_once(";base64,")?;
    let is_header = |b: u8| b.is_ascii_alphanumeric() || b"/+-.;=_".contains(&b);
    let is_payload = |b: u8| b.is_ascii_alphanumeric() || b"+/".contains(&b);
    let is_image = header.len() <= HEADER_BYTES_MAX
        && secrets_within(url, 0..url.len() - payload.len()).is_empty()
        && header.bytes().all(is_header)
        && payload.trim_end_matches('=').bytes().all(is_payload);
    is_image.then_some(payload)
}

/// The payload of encrypted content.
fn blob(text: &str) -> Option<&str> {
    if text.len() < BLOB_BYTES_MIN {
        return None;
    }
    let version = |view: &str| view.bytes().take_while(u8::is_ascii_digit).count();
    let view = text.strip_prefix(VIEW).and_then(|view| view[version(view)..].strip_prefix('.'));
    let payload = view.unwrap_or(text);
    let is_payload = |b: u8| b.is_ascii_alphanumeric() || b"+/-_".contains(&b);
    payload.trim_end_matches('=').bytes().all(is_payload).then_some(payload)
}

/// Some tokens are as long as a payload.
fn begins_with_secret(payload: &str) -> bool {
    let beginning = 0..payload.len().min(BEGINNING_BYTES);
    secrets_within(payload, beginning).first().is_some_and(|secret| secret.start == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_encrypted_content_are_opaque_and_text_is_not() {
        let base64 = "q8Zr+T0x/kD3vWm1".repeat(40);
        let base64url = base64.replace('+', "-").replace('/', "_");
        for payload in [
            format!("data:image/png;base64,{base64}=="),
            "data:image/svg+xml;charset=utf-8;base64,AAAA".to_owned(),
            base64.clone(),
            format!("gAAAAA{base64url}=="),
            format!("longhaul-view-1.{base64}"),
        ] {
            assert!(is_opaque(&payload), "{}", &payload[..60]);
        }
        let token = ["gh", "p_", &"a1B2c3D4".repeat(5)[..36]].concat();
        let long_token = ["ops_", "eyJ", &"a1B2c3D4".repeat(90)].concat();
        for text in [
            token.clone(),
            long_token,
            format!("data: {{\"key\":\"{token}\"}}"),
            format!("data:image/png;base64,{token}"),
            format!("data:text/plain,{token}"),
            format!("data:image/png;x={token};base64,AAAA"),
            format!("data:text/plain;base64,{}", &base64[..40]),
            format!("{base64} {token}"),
            format!("https://host.example/{base64}"),
            format!("eyJ{base64url}.{base64url}.{base64url}"),
        ] {
            assert!(!is_opaque(&text), "{}", &text[..40]);
        }
    }
}

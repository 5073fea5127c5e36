//! Size of an inline image in a context window, computed from its data URL.
//!
//! A model sees pixels, not base64: the payload counts as a fixed size, or as its patches if the request asks
//! for the original resolution. Only the header is parsed, from the first bytes, so that a hostile image costs
//! no more than a small one.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::{BYTES_PER_TOKEN, IMAGE_BYTES};

/// Edge of a patch, in pixels, as in Codex.
const PATCH_PIXELS: u64 = 32;

/// Maximum patches of one image.
const PATCHES_MAX: u64 = 10_000;

/// Base64 characters read to find an image's size, a multiple of four: headers are in the first kilobytes,
/// behind metadata of at most 64 KiB a block.
const HEADER_CHARS: usize = 256 * 1_024;

/// A cut payload has no padding of its own.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The base64 payload of an inline image: `data:image/…;base64,…`, names in any case. Any other URL (http,
/// file, text, another type) is text and counted as such.
pub fn payload(url: &str) -> Option<&str> {
    let scheme = url.get(..5)?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    let (header, payload) = url[5..].split_once(',')?;
    let is_image = header.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("image/"));
    let is_base64 =
        header.split(';').skip(1).any(|name| name.trim().eq_ignore_ascii_case("base64"));
    (is_image && is_base64).then_some(payload)
}

/// Bytes counted for an image of this payload.
pub fn cost_bytes(payload: &str, is_original: bool) -> u64 {
    if !is_original {
        return IMAGE_BYTES;
    }
    original_bytes(payload).unwrap_or(IMAGE_BYTES)
}

fn original_bytes(payload: &str) -> Option<u64> {
    let head = payload.get(..payload.len().min(HEADER_CHARS))?;
    let bytes = ENGINE.decode(head).ok()?;
    let size = imagesize::blob_size(&bytes).ok()?;
    let patches = |pixels: usize| (pixels as u64).div_ceil(PATCH_PIXELS);
    let count = patches(size.width).saturating_mul(patches(size.height)).min(PATCHES_MAX);
    Some(count * BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a PNG of this size; the rest is never read.
    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
        ENGINE.encode(bytes)
    }

    /// The header of an extended WebP of this size.
    fn webp(width: u32, height: u32) -> String {
        let mut bytes = b"RIFF\x40\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00".to_vec();
        bytes.extend(&(width - 1).to_le_bytes()[..3]);
        bytes.extend(&(height - 1).to_le_bytes()[..3]);
        bytes.extend([0; 32]);
        ENGINE.encode(bytes)
    }

    #[test]
    fn only_base64_data_urls_of_images_are_images() {
        for (url, expected) in [
            ("data:image/png;base64,AAAA", Some("AAAA")),
            ("DATA:Image/PNG;name=x;Base64,AAAA", Some("AAAA")),
            ("data:image/svg+xml,<svg/>", None),
            ("data:application/octet-stream;base64,AAAA", None),
            ("https://example.com/a.png", None),
            ("file:///a.png", None),
            ("data:image/png;base64", None),
            ("dat", None),
        ] {
            assert_eq!(payload(url), expected, "{url}");
        }
    }

    #[test]
    fn an_image_in_its_original_size_costs_its_patches() {
        assert_eq!(cost_bytes(&png(2_304, 864), true), 7_776);
        assert_eq!(cost_bytes(&png(3_201, 3_201), true), 40_000);
        assert_eq!(cost_bytes(&webp(2_304, 864), true), 7_776);
        assert_eq!(cost_bytes(&png(2_304, 864), false), 7_373);
        assert_eq!(cost_bytes("no picture", true), 7_373);
    }
}

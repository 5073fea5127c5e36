//! The body of an inspected request: read whole, decompressed, compressed again.

use std::borrow::Cow;
use std::error::Error;
use std::io::{self, Read};

use flate2::Compression;
use flate2::read::{GzEncoder, MultiGzDecoder};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_ENCODING, HeaderMap};

/// Maximum bytes of an inspected body, compressed and decompressed. Providers reject even smaller ones.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
const LEVEL: i32 = 3;

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyFault {
    TooLarge,
    /// The client disconnected, or violates HTTP.
    Broken,
}

pub(crate) async fn whole(body: Incoming) -> Result<Bytes, BodyFault> {
    let read = Limited::new(body, BODY_BYTES_MAX).collect().await;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        let is_too_large = (&*error as &(dyn Error + 'static)).is::<LengthLimitError>();
        if is_too_large { BodyFault::TooLarge } else { BodyFault::Broken }
    })
}

/// Compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    /// What Codex uses with a ChatGPT account.
    Zstd,
    /// What a proxy between Codex and the gateway may use.
    Gzip,
}

impl Packing {
    /// The encoding named by the headers; `None` if unknown.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let first = named.next().map(|value| value.as_bytes().trim_ascii().to_ascii_lowercase());
        match (first.as_deref(), named.next()) {
            (None | Some(b"" | b"identity"), None) => Some(Self::Plain),
            (Some(b"zstd"), None) => Some(Self::Zstd),
            (Some(b"gzip" | b"x-gzip"), None) => Some(Self::Gzip),
            _ => None,
        }
    }

    pub(crate) fn unpacked(self, body: &[u8]) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::Plain => Ok(Cow::Borrowed(body)),
            Self::Zstd => bounded(zstd::stream::Decoder::new(body)?).map(Cow::Owned),
            Self::Gzip => bounded(MultiGzDecoder::new(body)).map(Cow::Owned),
        }
    }

    pub(crate) fn packed(self, plain: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(plain),
            Self::Zstd => zstd::stream::encode_all(plain.as_slice(), LEVEL),
            Self::Gzip => {
                let mut packed = Vec::new();
                GzEncoder::new(plain.as_slice(), Compression::fast()).read_to_end(&mut packed)?;
                Ok(packed)
            }
        }
    }
}

/// Reads everything, unless it exceeds the maximum of a body.
fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    reader.take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut plain)?;
    match plain.len() > BODY_BYTES_MAX {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(plain),
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn packings_are_known_by_one_header_or_not_at_all() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            Packing::of(&headers)
        };
        assert_eq!(of(&[]), Some(Packing::Plain));
        assert_eq!(of(&["identity"]), Some(Packing::Plain));
        assert_eq!(of(&["ZSTD"]), Some(Packing::Zstd));
        assert_eq!(of(&["gzip"]), Some(Packing::Gzip));
        for unknown in [&["br"][..], &["zstd, gzip"], &["zstd", "zstd"]] {
            assert_eq!(of(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn a_body_comes_out_of_its_packing() {
        for packing in [Packing::Plain, Packing::Zstd, Packing::Gzip] {
            let packed = packing.packed(b"{\"input\":[]}".to_vec()).unwrap();
            assert_eq!(&*packing.unpacked(&packed).unwrap(), b"{\"input\":[]}");
        }
        for packing in [Packing::Zstd, Packing::Gzip] {
            assert!(packing.unpacked(b"neither of both").is_err());
            let bomb = packing.packed(vec![0; BODY_BYTES_MAX + 1]).unwrap();
            let refused = packing.unpacked(&bomb).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge, "{} bytes", bomb.len());
        }
    }
}

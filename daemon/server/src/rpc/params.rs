//! Reads params strictly: the error for an unknown field, a wrong type or a list names the field and the place.

use jsonrpsee::types::Params;
use longhaul_protocol::ErrorKind;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::error::Failure;

/// Reads params; absent params (or `[]`, which some libraries send) count as an empty object.
pub(super) fn read<P: DeserializeOwned>(params: &Params<'_>) -> Result<P, Failure> {
    let text = match params.as_str().map(str::trim) {
        None | Some("" | "[]") => "{}",
        // serde would accept a list of the fields in order, which is not part of the contract.
        Some(text) if text.starts_with('[') => {
            return Err(Failure::new(
                ErrorKind::InvalidParams,
                "params must be an object, not a list",
            ));
        }
        Some(text) => text,
    };
    // On failure, parse again to find the path: tracking it would slow down every good request.
    serde_json::from_str(text).map_err(|_| explain::<P>(text))
}

fn explain<P: DeserializeOwned>(text: &str) -> Failure {
    let mut json = serde_json::Deserializer::from_str(text);
    let Err(error) = serde_path_to_error::deserialize::<_, P>(&mut json) else {
        return Failure::new(ErrorKind::InvalidParams, "params cannot be read");
    };
    let place = match error.path().to_string() {
        path if path == "." => "params".to_owned(),
        path => format!("params.{path}"),
    };
    let (line, column) = (error.inner().line(), error.inner().column());
    let reason = error.inner().to_string();
    let reason =
        reason.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&reason);
    Failure::new(ErrorKind::InvalidParams, format!("{place}: {reason}"))
        .with_detail(json!({ "place": place, "column": column }))
}

#[cfg(test)]
mod tests {
    use longhaul_protocol::daemon::InitializeParams;
    use longhaul_protocol::event::SubscribeParams;

    use super::*;

    fn place<P: DeserializeOwned + std::fmt::Debug>(text: Option<&str>) -> String {
        let failure = read::<P>(&Params::new(text)).unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::InvalidParams);
        format!("{failure:?}")
    }

    #[test]
    fn absent_params_count_as_empty() {
        for text in [None, Some("{}"), Some("[]"), Some(" { } ")] {
            assert_eq!(
                read::<SubscribeParams>(&Params::new(text)).unwrap(),
                SubscribeParams::default()
            );
        }
    }

    #[test]
    fn an_error_names_the_field_and_the_place() {
        let nested = r#"{"client":{"name":"x","version":"1","nam":2}}"#;
        assert!(
            place::<InitializeParams>(Some(nested))
                .contains("params.client.nam: unknown field `nam`")
        );
        assert!(place::<InitializeParams>(None).contains("params: missing field `client`"));
        let index = r#"{"kinds":["gap","moon_phase"]}"#;
        assert!(
            place::<SubscribeParams>(Some(index))
                .contains("params.kinds[1]: unknown variant `moon_phase`")
        );
        assert!(place::<SubscribeParams>(Some("[null,3]")).contains("not a list"));
        assert!(place::<SubscribeParams>(Some("7")).contains("params: invalid type"));
    }
}

use std::collections::{BTreeMap, BTreeSet};

use longhaul_protocol::example::{self, EXAMPLES, Example, examples};
use longhaul_protocol::method::{MethodVisitor, visit_methods};
use longhaul_protocol::{ErrorKind, METHODS, Method, WireError};
use serde_json::Value;

#[test]
fn every_method_has_an_example_with_a_success_and_every_file_is_listed() {
    let shown: BTreeSet<String> =
        examples().unwrap().into_iter().filter_map(|e| e.method).collect();
    assert_eq!(shown, METHODS.iter().map(|info| info.name.to_owned()).collect());

    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let files: BTreeSet<String> = names
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .collect();
    assert_eq!(files, EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn every_exchange_reads_and_prints_back_as_the_types_of_its_method() {
    let mut reader =
        Reader { exchanges: by_method(examples().unwrap()), successes: BTreeMap::new() };
    visit_methods(&mut reader);
    for info in METHODS {
        assert!(reader.successes.get(info.name) > Some(&0), "{} shows no success", info.name);
    }
    assert!(reader.exchanges.is_empty(), "exchanges of no method: {:?}", reader.exchanges.keys());
}

/// The exchanges of each method that is called, with sample values for the placeholders.
fn by_method(examples: Vec<Example>) -> BTreeMap<String, Vec<(Value, Value)>> {
    let mut calls: BTreeMap<String, Vec<(Value, Value)>> = BTreeMap::new();
    for example in examples.into_iter().filter(|example| example.method.is_some()) {
        for exchange in example.exchanges {
            let (request, response) =
                (example::sample(&exchange.request), example::sample(&exchange.response));
            assert_eq!(request["id"], response["id"], "{}", exchange.name);
            let method = request["method"].as_str().unwrap().to_owned();
            calls.entry(method).or_default().push((request, response));
        }
    }
    calls
}

struct Reader {
    exchanges: BTreeMap<String, Vec<(Value, Value)>>,
    successes: BTreeMap<&'static str, usize>,
}

impl MethodVisitor for Reader {
    fn visit<M: Method>(&mut self) {
        for (request, response) in self.exchanges.remove(M::NAME).unwrap_or_default() {
            let params = request.get("params").cloned().unwrap_or_else(|| serde_json::json!({}));
            let read = serde_json::from_value::<M::Params>(params.clone());
            match response.get("result") {
                Some(result) => {
                    prints_back(&read.unwrap_or_else(|e| panic!("{request}: {e}")), &params);
                    // Text and back, since raw JSON can only be read from text.
                    let read: M::Result = serde_json::from_str(&result.to_string())
                        .unwrap_or_else(|e| panic!("{result}: {e}"));
                    prints_back(&read, result);
                    *self.successes.entry(M::NAME).or_default() += 1;
                }
                None => {
                    let error: WireError =
                        serde_json::from_value(response["error"].clone()).unwrap();
                    let kind = error.kind();
                    assert_ne!(kind, ErrorKind::Unrecognized, "{response}");
                    assert_eq!(
                        (error.code, error.retry()),
                        (kind.code(), kind.retry()),
                        "{response}"
                    );
                    let refused_by_shape = kind == ErrorKind::InvalidParams;
                    assert!(read.is_ok() || refused_by_shape, "{request} cannot even be read");
                }
            }
        }
    }
}

fn prints_back<T: serde::Serialize>(value: &T, expected: &Value) {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), expected);
}

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use longhaul_protocol::example::{self, Example, examples};
use longhaul_protocol::method::{MethodVisitor, visit_methods};
use longhaul_protocol::{ErrorKind, METHODS, Method, WireError};
use serde_json::Value;

#[test]
fn every_example_file_belongs_to_its_method_and_has_a_place_in_the_replay() {
    let examples = examples().unwrap();
    let shown: BTreeSet<_> = examples.iter().filter_map(|e| e.method.as_deref()).collect();
    assert_eq!(shown, METHODS.iter().map(|info| info.name).collect());
    let places: BTreeSet<u32> = examples.iter().map(|example| example.order).collect();
    assert_eq!(places.len(), examples.len(), "two examples have the same `order`");

    let mut files = Vec::new();
    json_files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")), &mut files);
    assert_eq!(files.len(), examples.len(), "a file of no method: {files:?}");
}

fn json_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match path.extension().is_some_and(|extension| extension == "json") {
            true => files.push(path),
            false if path.is_dir() => json_files(&path, files),
            false => {}
        }
    }
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

use longhaul_client::scripted::{Script, field, text_at};
use longhaul_client::{Client, ClientError};
use longhaul_protocol::example::{examples, sample};
use longhaul_protocol::method::{MethodVisitor, visit_methods};
use longhaul_protocol::{ErrorKind, METHODS, Method};
use serde_json::{Value, json};

use crate::Daemon;

/// Every exchange goes over the wire as the types of its method and comes back as the example says.
#[tokio::test]
async fn every_example_is_called_and_read() {
    let daemon = Daemon::start(Script::from_examples().unwrap());
    let mut replay = Replay { client: daemon.connect().await.unwrap(), calls: Vec::new() };
    visit_methods(&mut replay);
    let mut replayed = 0;
    for call in replay.calls {
        replayed += call.await;
    }
    assert!(replayed > 2 * METHODS.len(), "successes and failures: {replayed}");
}

struct Replay {
    client: Client,
    calls: Vec<std::pin::Pin<Box<dyn Future<Output = usize>>>>,
}

impl MethodVisitor for Replay {
    fn visit<M: Method>(&mut self) {
        let client = self.client.clone();
        self.calls.push(Box::pin(async move {
            let mut replayed = 0;
            for (params, response) in exchanges_of(M::NAME) {
                // What the types refuse already is for clients without types.
                let Ok(params) = serde_json::from_value::<M::Params>(params) else { continue };
                check(client.call::<M>(params).await, &response);
                replayed += 1;
            }
            replayed
        }));
    }
}

fn exchanges_of(method: &str) -> Vec<(Value, Value)> {
    let of_methods = examples().unwrap().into_iter().filter(|example| example.method.is_some());
    let exchanges = of_methods.flat_map(|example| example.exchanges);
    let of_method = exchanges.filter(|exchange| text_at(&exchange.request, "method") == method);
    let filled = of_method.map(|exchange| (sample(&exchange.request), sample(&exchange.response)));
    let with_params = |(request, response): (Value, Value)| {
        (request.get("params").cloned().unwrap_or_else(|| json!({})), response)
    };
    filled.map(with_params).collect()
}

fn check<R: serde::Serialize>(answer: Result<R, ClientError>, response: &Value) {
    match answer {
        Ok(result) => {
            let result: Value =
                serde_json::from_str(&serde_json::to_string(&result).unwrap()).unwrap();
            let ended_twice = result.get("ended").is_some();
            assert!(
                &result == field(response, "result") || ended_twice,
                "{result} is not {response}"
            );
        }
        Err(ClientError::Refused(error)) => {
            assert_eq!(&json!(error.code), field(response, "error.code"));
            assert_ne!(error.kind(), ErrorKind::Unrecognized);
        }
        Err(other) => panic!("{other} instead of {response}"),
    }
}

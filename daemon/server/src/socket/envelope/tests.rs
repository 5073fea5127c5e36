use proptest::prelude::*;

use super::*;

/// A short form of a message.
fn summary(message: &str) -> String {
    match open(message.as_bytes()) {
        Envelope::Call(call) => {
            let params = call.params.map_or("-", RawValue::get);
            format!("call {} {} {params}", serde_json::to_string(&call.id).unwrap(), call.method)
        }
        Envelope::Notification => "notification".to_owned(),
        Envelope::Refused(Refusal { id, error }) => format!("{} {id}", error.code),
    }
}

#[test]
fn requests_and_notifications_are_distinguished() {
    let check = |message: &str, expected: &str| assert_eq!(summary(message), expected, "{message}");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a/b"}"#, "call 1 a/b -");
    check(r#"{"jsonrpc":"2.0","id":"x\n","method":"a/b","params":null}"#, r#"call "x\n" a/b -"#);
    check(
        r#" {"params":{"k":[1]},"method":"a\/b","id":0,"jsonrpc":"2.0"} "#,
        r#"call 0 a/b {"k":[1]}"#,
    );
    check(r#"{"jsonrpc":"2.0","method":"a/b"}"#, "notification");
    check(r#"{"method":"a/b"}"#, "notification");
}

#[test]
fn a_message_with_an_id_is_answered_with_it() {
    let check = |message: &str, expected: &str| assert_eq!(summary(message), expected, "{message}");
    check(r#"{"id":7,"method":"a/b"}"#, "-32600 7");
    check(r#"{"jsonrpc":"1.0","id":7,"method":"a/b"}"#, "-32600 7");
    check(r#"{"jsonrpc":"2.0","id":7}"#, "-32600 7");
    check(r#"{"jsonrpc":"2.0","id":7,"method":{}}"#, "-32600 7");
    check(r#"{"jsonrpc":"2.0","id":-7,"method":"a/b"}"#, "-32600 -7");
    check(r#"{"jsonrpc":"2.0","id":1.5,"method":"a/b"}"#, "-32600 1.5");
    check(
        r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"a/b"}"#,
        "-32600 99999999999999999999",
    );
    check(r#"{"jsonrpc":"2.0","id":null,"method":"a/b"}"#, "-32600 null");
    check(r#"{"jsonrpc":"2.0","id":{"n":1},"method":"a/b"}"#, "-32600 null");
    check(r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"a/b"}"#, "-32600 7");
    check("7", "-32600 null");
    check("{}", "-32600 null");
    check(r#"["2.0",7,"a/b"]"#, "-32600 null");
    let long = "x".repeat(300);
    check(&format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"a/b"}}"#), "-32600 null");
}

#[test]
fn the_id_of_broken_json_is_found_in_its_head() {
    let check = |message: &str, expected: &str| assert_eq!(summary(message), expected, "{message}");
    check(r#"{"jsonrpc":"2.0","id":7,"method":"a/b","params":{"k":"#, "-32700 7");
    check(r#"{"params":{"id":1,"s":"\"id\":2"}, "id" : "a\"b" , "method""#, r#"-32700 "a\"b""#);
    check(r#"{"id":"unfinished"#, "-32700 null");
    check(r#"{"id":12"#, "-32700 null");
    check(r#"["id":1"#, "-32700 null");
    check("nonsense", "-32700 null");
    check("{\"id\":7,\"m\":\"\u{1}\"}", "-32700 7");
    assert_eq!(recover_id(b"{\"id\":7,\"m\":\"\xff"), "7");
}

#[test]
fn an_unreadable_id_is_not_echoed() {
    for id in ["1e999", "-1e999", r#""\ud800""#, r#""a\udc00b""#] {
        let whole = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a/b"}}"#);
        assert_eq!(summary(&whole), "-32600 null", "{whole}");
        let broken = format!(r#"{{"jsonrpc":"2.0","id":{id},"method""#);
        assert_eq!(summary(&broken), "-32700 null", "{broken}");
        assert_eq!(recover_id(broken.as_bytes()), "null", "{broken}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered_or_ignored_but_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(open(&bytes));
        drop(recover_id(&bytes));
    }

    #[test]
    fn a_request_cut_anywhere_after_its_id_is_answered_with_it(cut in 24_usize..60) {
        let message = br#"{"jsonrpc":"2.0","id":42,"method":"daemon/status","params":{}}"#;
        prop_assert_eq!(recover_id(&message[..cut.max(25)]), "42");
    }
}

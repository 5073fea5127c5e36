//! The fields of a JSON object, with their values unparsed.
//!
//! A line has many fields and we need few of them. A parser inspects every byte; this code finds the end of a
//! string at memory speed and skips what is not needed. Values that are used are still decoded strictly, by
//! [`super::escape`] or a parser. Skipped values are not validated, except that the object must end where it
//! seems to: a torn line, or two objects on one line, are rejected.

/// Passes name and value (as JSON) of each field of an object to `take`, in order; names are not decoded.
/// `None` for anything but a single object: ignore what `take` has received by then.
pub(super) fn read<'a>(object: &'a str, mut take: impl FnMut(&'a str, &'a str)) -> Option<()> {
    let mut rest = object.trim_ascii_start().strip_prefix('{')?.trim_ascii_start();
    if let Some(after) = rest.strip_prefix('}') {
        return after.trim_ascii_start().is_empty().then_some(());
    }
    loop {
        let (name, after) = rest.split_at(value(rest).filter(|_| rest.starts_with('"'))?);
        let given = after.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        let (value, after) = given.split_at(value(given)?);
        take(&name[1..name.len() - 1], value);
        rest = after.trim_ascii_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_ascii_start(),
            None => break,
        }
    }
    rest.strip_prefix('}')?.trim_ascii_start().is_empty().then_some(())
}

/// Declares an object by the fields that are used, each as JSON; an absent or null field is empty.
macro_rules! object {
    ($(#[$doc:meta])* struct $object:ident { $($(#[$of:meta])* $field:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Default)]
        struct $object<'a> {
            $($(#[$of])* $field: &'a str,)+
        }

        impl<'a> $object<'a> {
            /// Parses the fields of an object; `None` for anything else.
            fn of(json: &'a str) -> Option<Self> {
                let mut object = Self::default();
                $crate::rollout::codex::fields::read(json, |name, value| {
                    let field = match name {
                        $($name => &mut object.$field,)+
                        _ => return,
                    };
                    *field = if value == "null" { "" } else { value };
                })?;
                Some(object)
            }
        }
    };
}

pub(super) use object;

/// Length in bytes of the value at the beginning of `json`.
fn value(json: &str) -> Option<usize> {
    let bytes = json.as_bytes();
    match bytes.first()? {
        b'"' => string(bytes),
        b'{' => nested(bytes, b'{', b'}'),
        b'[' => nested(bytes, b'[', b']'),
        b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
            let is_inside = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
            Some(bytes.iter().take_while(|b| is_inside(b)).count())
        }
        _ => None,
    }
}

/// Length in bytes of the string at the beginning of `json`, including its quotes.
fn string(json: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr(b'"', json.get(at..)?)?;
        // Text has an escape in each line and few quotes: only those before a quote count.
        let escapes = json[1..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        at += 1;
        if escapes % 2 == 0 {
            return Some(at);
        }
    }
}

/// Length in bytes of the object or array at the beginning of `json`.
fn nested(json: &[u8], open: u8, close: u8) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        at += memchr::memchr3(b'"', open, close, json.get(at..)?)?;
        match json[at] {
            b'"' => at += string(&json[at..])?,
            mark => {
                at += 1;
                depth = if mark == open { depth + 1 } else { depth - 1 };
                if depth == 0 {
                    return Some(at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn fields(object: &str) -> Option<Vec<(&str, &str)>> {
        let mut fields = Vec::new();
        read(object, |name, value| fields.push((name, value)))?;
        Some(fields)
    }

    #[test]
    fn fields_are_passed_in_order() {
        assert_eq!(
            fields(r#" { "a" : "x\"}" , "b":[1,"]",[{}]],"c":{"d":"}"} , "e":-1.5e3,"f":null } "#),
            Some(vec![
                ("a", r#""x\"}""#),
                ("b", r#"[1,"]",[{}]]"#),
                ("c", r#"{"d":"}"}"#),
                ("e", "-1.5e3"),
                ("f", "null"),
            ])
        );
        assert_eq!(fields("{}"), Some(Vec::new()));
    }

    #[test]
    fn anything_but_a_single_object_has_no_fields() {
        let whole = r#"{"a":"x\\","b":[{"c":"d"}],"e":{"f":1}}"#;
        for end in 0..whole.len() {
            assert_eq!(fields(&whole[..end]), None, "{}", &whole[..end]);
            let torn = format!("{}{whole}", &whole[..end]);
            assert!(end == 0 || fields(&torn).is_none(), "{torn}");
        }
        for broken in
            ["[1]", "\"a\"", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "{\"a\":1}{\"a\":1}"]
        {
            assert_eq!(fields(broken), None, "{broken}");
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            r#"[a-z"\\{}\[\],:é\n]{0,8}"#.prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(r#"[a-z"{]{0,3}"#, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_object_is_read_as_the_parser_reads_it(
            object in prop::collection::btree_map("[a-z]{1,4}", any_value(), 0..6),
            pretty: bool,
        ) {
            let json = match pretty {
                true => serde_json::to_string_pretty(&object).unwrap(),
                false => serde_json::to_string(&object).unwrap(),
            };
            let read: BTreeMap<String, Value> = fields(&json)
                .unwrap()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), serde_json::from_str(value).unwrap()))
                .collect();
            prop_assert_eq!(read, object);
        }
    }
}

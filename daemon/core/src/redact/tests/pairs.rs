//! Pairs of a name and a value: which value is a secret, and where it begins and ends.

use serde_json::json;

use super::specimens::check_each;
use crate::redact::{MARKER, redact_value};

#[test]
fn a_value_in_a_block_or_a_table_cell_is_hidden() {
    check_each(&[
        "db:\n  password: |\n    «Tr0ub4dor»\n  port: 1",
        "password: |\r\n  «Tr0ub4dor»\r\nport: 1",
        "api_token: >-\n  «{an:32}»\nnext: 1",
        "| DB_PASSWORD | «hunter22» | set |",
        "│ DB_PASSWORD │ «hunter22» │ set │",
    ]);
}

#[test]
fn a_setting_of_a_command_is_hidden() {
    check_each(&[
        "aws configure set aws_secret_access_key «{an:40}» --profile x",
        "set -x API_KEY «{an:32}»",
        "if true; set -gx API_KEY «{an:32}»; end",
        "set -U -x DB_PASSWORD '«hunter22»'",
        "set --global --export GITHUB_TOKEN «{an:40}»",
        "setenv API_KEY «{an:32}»\nsetenv PORT 80",
        r#"{"command":"set -x API_KEY «{an:32}»"}"#,
        "set -x TOKEN_FILE /run/token; set -e SECRET_KEY",
        "set -x PASSWORD_STORE_DIR ~/.store",
        "set -x token budgets higher",
        "setenv PASSWORD_PROMPT off",
        "sort -u token names; cut -x password field",
        "the offset -x password hunter22x",
    ]);
}

#[test]
fn a_quoted_value_is_hidden_up_to_its_closing_quote() {
    check_each(&[
        r#"password = "«hun\"ter22»" and more"#,
        r#"password = b"«hun\"ter22»" and more"#,
        r#"password = "«hun7ter\\»" and more"#,
        // Cut off: the line ends the value.
        "password = \"«hunter22»",
        "password = \"«hunter22»\nsays \"hello\" and stays",
    ]);
}

#[test]
fn a_long_value_is_hidden_whole() {
    check_each(&[
        "password=\"«{an:600}»\" and more",
        "password=«{an:600}» and more",
        "password: «{an:600}»\nport: 1",
        r#"{\"password\":\"«{an:600}»\",\"n\":1}"#,
        "<password>«{an:600}»</password>",
    ]);
}

#[test]
fn an_escaped_quote_does_not_end_a_value_where_its_judged_head_ends() {
    let head = "h7".repeat(127);
    for pad in ["", "x", "xx"] {
        check_each(&[&format!(r#"password = "«{head}{pad}\"and its tail»" and more"#)]);
    }
}

#[test]
fn padded_base64_is_a_value_and_no_declared_type() {
    check_each(&[
        "kind: Secret\ndata:\n  password: «aHVudGVyMjM0NQ==»\n",
        "token: «dG9rZW4tMTIzNDU2Nzg=»",
        "token: «dG9rZW4tMTIzNDU2Nzg=» # until May",
        "{ token: «dG9rZW4tMTIzNDU2Nzg=», n: 1 }",
        "api_key: «c2VjcmV0LTEyMzQ1Njc4OTAtYWJjZGVmZ2hpag==»\n",
        "def connect(password: string=\"«hunter22»\"):",
        "password: String = \"«hunter22»\"",
        "def connect(user: str, password: str=None):",
    ]);
}

#[test]
fn a_comma_ends_a_value_in_a_list_only() {
    check_each(&[
        "password=«hun,t3r22» and more",
        "connect(password=«h7nt3r», host)",
        "user=ada,password=«h7nt3r»,host=db",
    ]);
}

#[test]
fn a_word_is_a_password_only_alone_on_its_line() {
    check_each(&[
        "users:\n  - password: «letters»\n",
        "+  password: «letters»\n",
        "connect(host: host, password: letters\n)",
        "password: whatever you like\n",
        "login password=userInput user=ada",
        "password: «let!mein» # the old one",
        "password: «geheimnüs» # the old one",
        "password = \"«open_sesame»\"",
        // The name of a header.
        "    password: x-Auth-Header\n",
    ]);
}

#[test]
fn letters_that_no_word_has_are_a_password() {
    check_each(&[
        "password=«KQnVlzegcclm»",
        "https://host/x?user=ada&password=«JiuetkFRus»&y=1",
        "mysql --password «JiuetkFRus» db",
        "mysql --user=ada --password=«KQnVlzegcclm» db",
        // Names of variables, programs and placeholders, and sentences.
        "login password=userInput user=ada",
        "login password=dbPasswd user=ada",
        "connect(host, password=ctxValue)",
        "  password: SecretStr\n",
        "the password is required",
        "password required",
        "--password PASSWORD",
        "the --password option",
        "use --password instead of --token-file",
        "--password OpenSSL",
    ]);
}

#[test]
fn code_that_names_a_value_is_kept() {
    check_each(&[
        "let token: Arc<RwLock<Option<BTreeSet<SessionId>>>> = cache7Entry9x;",
        "password = sha512(input)",
        "password = settings.db.pass9\n",
        "    password: uint256\n",
        "password = password2\n",
        "login(user: ada, password: hashed2, x)",
        "login(user: ada, password: hashed_pw2, x)",
        "db:\n  password: !vault |\n    $ANSIBLE_VAULT",
        "db:\n  password: *default_pw\n",
        "password = \"MYSQL_ROOT_PW\"",
        "{\"password\": \"Wachtwoord\"}",
    ]);
}

#[test]
fn a_value_that_refers_to_a_secret_is_kept() {
    check_each(&[
        "password = \"pre9-${DB_PW}\"",
        "password = \"pre9-{{pw}}\"",
        "password = \"abc9[REDACTED_SECRET]def\"",
    ]);
}

#[test]
fn a_name_in_a_sentence_has_no_value() {
    check_each(&[
        "label the token \"v2x9beta7\" in the list",
        "the password argon2id hashes",
        "ALTER USER ada PASSWORD '«h7nt3r»'",
    ]);
}

#[test]
fn a_token_looks_random_in_many_ways() {
    check_each(&[
        "api_token = \"«abQRcdSTefUVghWXijYZ»\"",
        "api_key = \"«qzxkvbwpmrtdhgnyscfl»\"",
        // A real key may contain a placeholder's word.
        "api_key = \"«pQ7xTrExampleWv»\"",
        "\"token\": \"push-notification-iPhoneOS\"",
        "\"token\": \"expires at 12h30m15s today\"",
        "refresh token: 1767225600",
        "\"token\": \"CTRL+ALT+SHIFT+F\"",
        // Few distinct bytes.
        "api_key = \"x1y2x1y2x1y2\"",
        "api_key = \"«a7b2a7b9»\"",
    ]);
}

#[test]
fn the_name_of_a_field_reveals_its_value() {
    for (name, value) in [
        // In an environment file any value counts.
        ("DB_PASSWORD", "Letmein"),
        // Unquoted, a parenthesis would end it.
        ("password", "p)w4"),
        ("db_password", "open sesame"),
    ] {
        let mut field = json!({ name: value });
        assert_eq!(redact_value(&mut field), 1, "{name}: {value}");
        assert_eq!(field, json!({ name: MARKER }));
    }
}

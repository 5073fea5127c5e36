//! Values whose name is further away: signs of a shell inside a value, a name in a field of its own, lists.

use serde_json::json;

use super::specimens::check_each;
use crate::redact::{MARKER, redact_value};

#[test]
fn a_value_alone_on_its_line_is_hidden_with_its_signs() {
    check_each(&[
        "PASSWORD=«ab;cd<ef»",
        "# .env\nDB_PASSWORD=«h7n&t(r2»\nDB_HOST=db",
        "DB_PASSWORD=«hun;ter22»\r\nDB_HOST=db",
        "DB_PASSWORD=«hunter22|x{y}z» # until May",
        "+API_KEY=«{an:20}&{an:12}(»\n",
        "db:\n  password: «h7n;t3r<22»\n  port: 1",
        "  - MYSQL_ROOT_PASSWORD=«ab&cd&ef»\n",
        "spring.datasource.password=«h7n<t3r»\n",
        r#"{"content":"A=1\nDB_PASSWORD=«h7n;t3r&2»\nB=2"}"#,
        r#"{"content":"A=1\nDB_PASSWORD=«h7n;t3r&2»"}"#,
        "SECRET_KEY=«x7(a9b$2)=k!q»\n",
    ]);
}

#[test]
fn signs_of_a_shell_a_query_or_code_end_a_value() {
    check_each(&[
        "DB_PASSWORD=«h7nt3r»; echo done",
        "DB_PASSWORD=«h7nt3r»;\n",
        "DB_PASSWORD=«h7nt3r»&&make\n",
        "DB_PASSWORD=«h7nt3r»||exit\n",
        "DB_PASSWORD=«h7nt3r»;DB_HOST=db\n",
        "token=«{an:20}»&user=bob",
        "PASSWORD=«h7nt3r2»&USER=bob\n",
        "x PASSWORD=«h7nt3r2»;ls\n",
        "PASSWORD=h7nt3r2<br>\nnext",
        "password: string|null\n",
        "password: Brand<string>;\n",
        "    password=get_password(settings),\n",
        "SECRET_KEY=getenv(KEY)\n",
        "SECRET_KEY=load(\n  x)",
        "token: Map<String,Vec<u8>>,\n",
        "  privateKey: Uint8Array;\n",
        "  userPrivateKey: Uint8Array\n): Promise<void>",
        "password: BigUint64Array\n",
        "(apiKey: Ed25519PrivateKey) => x",
        "apiKey: Ed25519PrivateKey | null\n",
        "const { privateKey: fileIpnsPrivateKey, x } = y",
        "  privateKey: ed25519Seed,\n",
        "apiKey: «Blue8Horse42»,\n",
        "apiKey: «Kx9dQ2mZa7pRf4tWy»,\n",
        "apiKey: «Blue8Horse»\n",
        "apiKey = «Bl8Hrs9xQz», next\n",
        "    Token::U32(variant7),\n",
        "password = a1(b2)\n",
        "password: A&B;\n",
    ]);
}

#[test]
fn a_value_beside_its_name_is_hidden() {
    check_each(&[
        r#"{"name":"API_KEY","value":"«{an:32}»"}"#,
        r#"{"name": "DB_PASSWORD", "value": "«letmein»"}, {"name": "PORT", "value": "5432"}"#,
        r#"[{"key":"client_secret","value":"«{an:24}»","type":"text"}]"#,
        r#"{"Name":"DB_PASSWORD","Value":"«letmein»"}"#,
        r#"{"value":"«letmein»","name":"DB_PASSWORD"}"#,
        r#"{"value": "«letmein»", "key": "DB_PASSWORD"}"#,
        "{\n  \"name\": \"API_KEY\",\n  \"value\": \"«{an:32}»\"\n}",
        r#"{\"name\":\"DB_PASSWORD\",\"value\":\"«letmein»\",\"n\":1}"#,
        "{ name: 'DB_PASSWORD', value: '«letmein»' }",
        "env:\n- name: DB_PASSWORD\n  value: «letmein»\n- name: PORT\n  value: \"5432\"\n",
        "env:\n  - name: API_KEY\n    value: \"«{an:32}»\"\n",
        "  - value: «letmein»\n    name: DB_PASSWORD\n",
        "<add key=\"ApiKey\" value=\"«{an:32}»\" />",
        "<property name='password' value='«h7nter22»'/>",
        "set {\n  name  = \"db_password\"\n  value = \"«letmein»\"\n}",
        // Found where the name is, however many values stand before it.
        r#"{"value":"5432","name":"PORT"},{"value":"«letmein»","name":"DB_PASSWORD"}"#,
    ]);
}

#[test]
fn a_value_beside_another_name_is_kept() {
    check_each(&[
        r#"{"name":"PORT","value":"a1b2c3d4e5f6"}"#,
        r#"{"name":"DB_PASSWORD","value":""}"#,
        r#"{"name":"DB_PASSWORD","value":"${DB_PASSWORD}"}"#,
        r#"{"name":"API_KEY","value":"<your-key>"}"#,
        r#"{"name":"API_KEY","value":"OPENAI_API_KEY"}"#,
        r#"{"name":"token","value":"Authentication"}"#,
        r#"{"name":"password","type":"string"},{"name":"city","value":"Utrecht1"}"#,
        r#"{"value":"Utrecht1"},{"name":"password"}"#,
        r#"{"value":"Utrecht1","id":2,"name":"password"}"#,
        "- name: API_KEY\n  valueFrom:\n    secretKeyRef:\n      key: api-key-7\n",
        "{ name: 'password', value: form.password2 }",
        "  name: 'password',\n  value: password1,\n",
        "the name: password\nvalue: high\n",
        r#"{"filename":"password","value":"Utrecht1"}"#,
        r#"<input name="password" type="password" placeholder="Password">"#,
    ]);
}

#[test]
fn a_list_below_a_secret_name_is_hidden() {
    check_each(&[
        r#"{"passwords": ["«letmein»", "«hunter22»"], "n": 1}"#,
        r#"{"passwords":["«letmein»","«hunter22»"]}"#,
        r#"{\"api_keys\":[\"«{an:32}»\",\"«{an:32}»\"],\"n\":1}"#,
        "api_tokens = [\n    '«{an:32}»',\n    '«{an:24}»',\n]",
        r#"let secrets = ["«{an:32}»"];"#,
        r#"{"password": ["«{an:20}»"]}"#,
        "passwords:\n  - «hunter22»\n  - \"«letmein»\"  # old\n  - 'x: y'\nport: 1\n",
        "passwords:\n  - two words\n  - «hunter:22#b» # old\n",
        "+api_keys:\r\n+- «{an:32}»\r\n+- «{an:24}»\r\n",
        r#"{"content":"tokens:\n  - «{an:32}»\n"}"#,
    ]);
}

#[test]
fn a_list_of_words_is_kept() {
    check_each(&[
        r#"{"password": ["This field is required"]}"#,
        "'password' => ['required', 'string', 'min:8', 'confirmed']",
        r#"{"tokens": ["the", "quick", "brown"]}"#,
        r#"TOKENS = ["USDC", "WETH2"]"#,
        r#"secrets: ["DB_PASSWORD", "API_KEY"]"#,
        r#"{"passwords": [], "x": ["Utrecht1"]}"#,
        "passwords[0] = \"${PW}\"",
        r#"passwords = ["passphrase", "passcode"]"#,
        r#"let key = ["{an:32}", "{an:32}"]"#,
        r#"{"tokens": [1, 2, 3], "x": "Utrecht1"}"#,
        "secrets:\n  - db_password\n  - s3-access\n  - source: db\n    target: db2\n",
        "Passwords:\n- at least 12 characters\n- bcrypt, cost 10\n- letmein\n",
        "passwords:\n\n  - Utrecht1\n",
        "passwords:\nport:\n  - Utrecht1\n",
    ]);
}

#[test]
fn fields_of_a_value_reveal_each_other() {
    for (mut field, expected) in [
        (
            json!({ "name": "DB_PASSWORD", "value": "Letmein" }),
            json!({ "name": "DB_PASSWORD", "value": MARKER }),
        ),
        (
            json!({ "key": "db_password", "value": "open sesame" }),
            json!({ "key": "db_password", "value": MARKER }),
        ),
        (
            json!({ "passwords": ["letmein", "", 7, "hunter22"] }),
            json!({ "passwords": [MARKER, "", 7, MARKER] }),
        ),
    ] {
        assert!(redact_value(&mut field) > 0, "{field}");
        assert_eq!(field, expected);
        assert_eq!(redact_value(&mut field), 0, "idempotent");
    }
    for mut field in [
        json!({ "name": "city", "value": "Utrecht1" }),
        json!({ "name": "set the password", "value": "Utrecht1" }),
        json!({ "password": ["required", "min:8"] }),
    ] {
        assert_eq!(redact_value(&mut field), 0, "{field}");
    }
}

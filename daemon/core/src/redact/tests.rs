//! Planted secrets are assembled from pieces, so that no scanner reports these files.

mod named;
mod pairs;
mod planted;
mod protocols;
mod readings;
mod specimens;

use std::borrow::Cow;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::form;
use super::words::WORDS;
use super::{MARKER, redact};
use planted::vendor_tokens;
use specimens::{hex, noise};

#[test]
fn the_tables_are_read() {
    assert!(form::all().len() > 200);
    assert!(WORDS.passwords.len() > 4 && WORDS.function_words.len() > 100);
}

#[test]
fn vendor_tokens_are_hidden_in_every_context() {
    for (vendor, token) in vendor_tokens() {
        for (before, after) in [
            ("", ""),
            ("use ", " for it"),
            ("export X=", "\n"),
            ("{\"x\":\"", "\"}"),
            ("{\\\"x\\\":\\\"", "\\\"}"),
            ("line\n", "\nline"),
            ("(", ")."),
            ("한글 ", " 끝"),
            ("https://host/path?x=", "&y=1"),
        ] {
            let text = format!("{before}{token}{after}");
            let redacted = redact(&text);
            assert_eq!(redacted.text, format!("{before}{MARKER}{after}"), "{vendor}");
            assert_eq!(redacted.hits, 1, "{vendor}");
        }
    }
}

/// Assembled, so that no scanner reports this file.
#[test]
fn a_prefix_of_a_vendor_needs_no_random_letters() {
    for (prefix, rest) in [
        ("sk-ant-", "api03-AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHH1234"),
        ("sk-pro", "j-abcdefghijklmnopqrstuvwxyz"),
        ("sk-or", "-v1-aaaabbbbccccddddeeeeffff"),
        ("xo", "xb-test-token-abcdef"),
        ("whs", "ec_AAAABBBBCCCCDDDDEEEEFFFF"),
    ] {
        check_caught("use § for it", &format!("{prefix}{rest}"));
    }
}

/// Checks that the secret, inserted at `§`, is replaced by the marker.
fn check_caught(template: &str, secret: &str) {
    let text = template.replace('§', secret);
    assert_eq!(redact(&text).text, template.replace('§', MARKER), "{template} with {secret}");
}

#[test]
fn hyphenated_passwords_are_hidden_and_descriptions_kept() {
    for template in ["db:\n  password: §\n", "password=§", "https://host/x?password=§&y=1"] {
        check_caught(template, "sesame-opens-now");
    }
    for text in [
        "db:\n  password: not-set\n",
        "password: same-origin\n",
        "    password = old-value\n",
        "{ password: some-thing, x }",
        "secret: foo-tls-cert\n",
    ] {
        assert_eq!(redact(text).text, text);
    }
}

#[test]
fn named_values_are_caught_in_every_spelling() {
    let generated = noise(32);
    for template in [
        "AWS_SECRET_ACCESS_KEY=§",
        "export DB_PASSWORD=\"§\"",
        "SECRET_KEY: §",
        "SECRET_KEY = '§'",
        "password=§",
        "password: §\nuser: me",
        "{\"api_key\": \"§\", \"n\": 1}",
        "{\"api_key\":\"§\"}",
        "{\\\"token\\\":\\\"§\\\",\\\"n\\\":1}",
        "{\\\\\\\"token\\\\\\\":\\\\\\\"§\\\\\\\"}",
        "'client_secret' => '§',",
        "let api_key: &str = \"§\";",
        "const apiKey: string = '§';",
        "config[\"password\"] = \"§\"",
        "--api-key=§ --verbose",
        "--password §",
        "x-api-key: §\r\n",
        "PRIVATE-TOKEN: §",
        "//registry.npmjs.org/:_authToken=§",
        "https://h/p?access_token=§&page=2",
        "Server=db;Uid=sa;Pwd=§;Port=1",
        "DefaultEndpointsProtocol=https;AccountKey=§;X=y",
        "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=§",
        "ALTER USER app WITH PASSWORD '§';",
        "<password>§</password>",
        "spring.datasource.password=§",
        "docker run -e POSTGRES_PASSWORD=§ postgres",
        "my password is §",
        "\"auth\": \"§\"",
        "API_KEY=§",
        "+API_KEY=§",
        "HEROKU_API_KEY=§",
        "API key: §",
        "api.key=§",
        "Secret Access Key: §",
    ] {
        check_caught(template, &generated);
        check_caught(template, &format!("{}/{}+{}=", noise(11), noise(13), noise(9)));
    }
}

#[test]
fn passwords_people_choose_are_caught() {
    for template in [
        "DB_PASSWORD=§",
        "password=§",
        "password: §",
        "\"password\": \"§\"",
        "PGPASSWORD='§'",
        "postgres://app:§@db.internal:5432/app",
        "mongodb+srv://app:§@cluster0.example.net",
        "redis://:§@localhost:6379/0",
        "https://user:§@example.com/x.git",
        "machine api.example.com login me password §",
        "machine api.example.com\n  login me\n  password §\n",
        "db.internal:5432:app:me:§",
        "curl -u me:§ https://example.com",
        "sshpass -p '§' ssh host",
    ] {
        for password in ["hunter2", "Tr0ub4dor&3x".replace('&', "!").as_str(), "pässwörd9"] {
            check_caught(template, password);
        }
    }
    check_caught("DB_PASSWORD=§", "correcthorse");
    check_caught("services:\n  db:\n    MYSQL_ROOT_PASSWORD: §\n", "letmein");
    check_caught("login:\n  password: §\n  user: me", "letmein");
    check_caught("user=me&password=§&x=1", "letmein");
    check_caught("export DB_PASSWORD=\"§\"", "correct horse battery");
    check_caught("postgres://u:§@h", "p@ss");
}

#[test]
fn passwords_made_of_words_are_hidden_and_sentences_kept() {
    for template in [
        "password = \"§\"",
        "{\"db_password\":\"§\"}",
        "{\\\"db_password\\\":\\\"§\\\"}",
        "ADMIN_PASSPHRASE: '§'",
    ] {
        check_caught(template, "correct horse battery");
        check_caught(template, "open sesame");
    }
    for text in [
        "password: \"must be at least 8 characters\"",
        "{\"password\": \"This field is required\"}",
        "errors = { password: 'is too short' }",
        "print(\"password = \" + value + \" and more\")",
    ] {
        assert_eq!(redact(text).text, text);
    }
}

#[test]
fn passwords_in_prose_are_hidden() {
    for template in [
        "비밀번호는 § 입니다",
        "비밀번호: §",
        "密码是§。",
        "密码：§",
        "パスワードは「§」",
        "mot de passe : §",
        "пароль: §",
    ] {
        let template = template.replace(['「', '」'], " ");
        check_caught(&template, "hunter2");
        check_caught(&template, &noise(20));
    }
    for text in [
        "비밀번호를 8자 이상 입력하세요",
        "密码不能为空",
        "암호: ${DB_PW1}",
        "비밀번호 변경 API v2",
    ] {
        assert_eq!(redact(text).text, text);
    }
}

#[test]
fn headers_are_caught() {
    let token = noise(40);
    for template in [
        "Authorization: Bearer §",
        "authorization: bearer §\r\nhost: x",
        "-H 'Authorization: Basic §' https://x",
        "{\"Authorization\": \"Bearer §\"}",
        "{\\\"authorization\\\":\\\"Bearer §\\\"}",
        "headers[\"Authorization\"] = \"token §\"",
        "sends Bearer § to it",
        "https://acc.blob.core.windows.net/c?sv=2024&sig=§&se=1",
        "https://hooks.slack.com/services/§",
    ] {
        check_caught(template, &token);
    }
    check_caught("Cookie: §", &format!("sid={token}; theme=dark"));
    check_caught("Set-Cookie: §; Path=/; HttpOnly", &format!("sid={token}"));
}

fn pem(label: &str, newline: &str) -> String {
    let body: Vec<String> = (0..4).map(|i| noise(64 - i)).collect();
    let dashes = "-".repeat(5);
    format!(
        "{dashes}BEGIN {label}{dashes}{newline}{}{newline}{dashes}END {label}{dashes}",
        body.join(newline)
    )
}

#[test]
fn whole_and_cut_private_keys_are_hidden() {
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"] {
        for newline in ["\n", "\r\n", "\\n", "\n    ", "\n+"] {
            let key = pem(label, newline);
            check_caught("before\n§\nafter the key", &key);
            let cut = &key[..key.len() - 60];
            assert!(!redact(cut).text.contains(&noise(62)[..20]), "{label} cut at its end");
        }
    }
    let key = pem("RSA PRIVATE KEY", "\n");
    let tail = &key[40..];
    assert_eq!(redact(tail).text, MARKER);
    let encrypted =
        key.replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n", 1);
    check_caught("§\nprose goes on", &encrypted);
    let public = pem("PUBLIC KEY", "\n");
    assert_eq!(redact(&public).text, public);
    check_caught("Private-Lines: 4\n§\nPrivate-MAC: 00", &[noise(64), noise(64)].join("\n"));
    check_caught("{\"private_key\": \"§\\n\", \"x\": 1}", &pem("PRIVATE KEY", "\\n"));
}

#[test]
fn prose_after_a_cut_key_is_kept() {
    let key = pem("RSA PRIVATE KEY", "\n");
    let cut = &key[..200];
    let redacted = redact(&format!("{cut}\n\nThen I ran the tests.")).text.into_owned();
    assert!(redacted.ends_with("Then I ran the tests."), "{redacted}");
}

/// Text without secrets.
const ORDINARY: &[&str] = &[
    "",
    "commit 3fa85c0 and 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "id 018f3c5e-7b1a-7c2d-9e4f-0a1b2c3d4e5f",
    "session_id: 018f3c5e-7b1a-7c2d-9e4f-0a1b2c3d4e5f",
    "password = get_password()",
    "password = getpass.getpass()",
    "token: String,",
    "token: Option<String>,",
    "pub password: &'a str,",
    "password: string;",
    "  password: hashedPassword\n}",
    "connect(host, password=letmein)",
    "{ user, password: letmein }",
    "password: str = Field(...)",
    "let api_key = env::var(\"API_KEY\")?;",
    "api_key = os.environ[\"OPENAI_API_KEY\"]",
    "apiKey: process.env.OPENAI_API_KEY,",
    "const token = localStorage.getItem('token1');",
    "SECRET_KEY=$SECRET",
    "SECRET_KEY=${SECRET}",
    "SECRET_KEY=$(cat /run/secrets/key)",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "password={password}",
    "connect(user=user, password=password)",
    "connect(token=self.token, secret=args.secret)",
    "API_KEY=<your-key>",
    "API_KEY=your_api_key_here",
    "API_KEY=xxxxxxxxxxxxxxxx",
    "password=changeme",
    "\"password\": \"********\"",
    "\"password\": \"\"",
    "\"password\": \"Password\"",
    "\"token\": \"The token to use\"",
    "\"secretName\": \"database-credentials-7\"",
    "token_count=4096",
    "max_tokens=4096",
    "max_output_tokens: 8192",
    "tokens: 1234",
    "\"total_tokens\":123456,\"token\":50256",
    "author: name",
    "keyboard = qwerty1234",
    "monkey=banana1234",
    "primary_key=users_2024_id",
    "cache_key: sha256-abc123def456",
    "next_page_token: CAUQAA1234abcd",
    "PWD=/home/user/Project2",
    "type=\"password\" name=\"login\"",
    "if (password === confirmPassword) {",
    "fn redact(token: u64, secret: bytes32)",
    "postgres://localhost:5432/app",
    "postgres://user:$PASSWORD@localhost/app",
    "postgres://user:${PASSWORD}@localhost/app",
    "https://example.com/a:b@c",
    "ssh://git@github.com:22/x.git",
    "src/main.rs:5432:9: error: token mismatch",
    "docker run -u 1000:1000 image",
    "git push -u origin main",
    "the Bearer authentication scheme of the gateway",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: `Bearer ${token}`",
    "task-list-of-things-to-do-first-and-second",
    "class=\"sk-fading-circle-spinner-one\"",
    "the risk-averse-and-long-hyphenated-word-list",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "grep -n 'BEGIN RSA PRIVATE KEY' -r .",
    "GOOGLE_APPLICATION_CREDENTIALS=/etc/keys/service-account.json",
    "credentials: 'same-origin'",
    "auth: required",
    "\"pwd\": \"osc99\"",
    "const SESSION_KEY = 'app-pending-segment';",
    "press any key: 1234567a to go on",
    "update_plan: mark the password step as done",
    "passwordless login; the secret of it is simple",
];

#[test]
fn ordinary_text_survives() {
    let hash40 = hex(40);
    let hash64 = hex(64);
    let base64 = noise(400);
    for &text in ORDINARY {
        let redacted = redact(text);
        assert_eq!(redacted.text, text);
        assert!(matches!(redacted.text, Cow::Borrowed(_)), "{text}");
        assert_eq!(redacted.hits, 0);
    }
    for text in [
        format!("sha1 {hash40}"),
        format!("sha256:{hash64}"),
        format!("index {}..{} 100644", hex(7), hex(8)),
        format!("data:image/png;base64,{base64}"),
        format!("\"encrypted_content\":\"gAAAAA{base64}\""),
    ] {
        assert_eq!(redact(&text).text, text);
    }
}

#[test]
fn several_secrets_in_one_text_are_all_caught() {
    let mut text = String::new();
    for (_, token) in vendor_tokens() {
        writeln!(text, "found {token} here").unwrap();
    }
    let redacted = redact(&text);
    assert_eq!(redacted.hits as usize, vendor_tokens().len());
    for (vendor, token) in vendor_tokens() {
        assert!(!redacted.text.contains(&token), "{vendor}");
    }
}

/// A quarter of a megabyte of one phrase: a quadratic rule would take minutes.
#[test]
fn hostile_text_takes_linear_time() {
    for phrase in [
        "a",
        "=",
        "\\",
        "\"",
        "-----BEGIN",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "password=",
        "password='",
        "\"password\":\"",
        "eyJ",
        "eyJ.",
        "eyJaaaaaaaaaaaa.",
        "sk-",
        "sk-ant-",
        "xoxb-",
        "://",
        "://a:",
        "Bearer ",
        "Bearer a",
        "token=token",
        "Authorization: Basic ",
        "Cookie: a=",
        "machine a login b password ",
        "machine ",
        ":AA",
        "Q~",
        "SG.",
        "ya29.",
        "hvs.",
        "api_key: &str",
        "password=,",
        "1//0",
        "-u a:",
        "MTA",
        "LS0tLS1CRUdJTi",
        "\"d\":\"",
        "?key=",
        "$2b$",
        "password: |\n  ",
        "PASSWORD=a;\n",
        "PASSWORD=a;b<",
        "passwords:[\"a",
        "\"passwords\":[\"",
        "\"password\",",
        "name=password value=",
        "\"value\":\"name\":\"password",
        "value:a\nname: password\n",
        "| password |",
        ":5433:a:",
        "\u{1b}[",
        "\u{1b}]password=",
        "\\",
        "\\u001b[",
        "token=a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6\n",
        "https://a1b2c3d4e5f6a7b8c9d0",
    ] {
        let text = phrase.repeat((1 << 18) / phrase.len());
        let redacted = redact(&text);
        assert!(redacted.text.len() <= text.len() + (MARKER.len() << 15), "{phrase}");
    }
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => proptest::sample::select(vec![
            "password", "token", "api_key", "SECRET_KEY", "=", ": ", "\"", "\\\"", "'", " ", "\n", "\\n", "://",
            "@", "Bearer ", "Authorization: Basic ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----",
            "Cookie: ", "sk-", "eyJ", ".", "AKIA", ":AA", "é", "한", "<", ">", "[REDACTED_SECRET]", "machine ",
            " -u ", ":5432:", "Q~", "Private-Lines:", "\u{0}", "\u{1b}[0m", "\\\\n", "\\u003d", "\\u001b[1m", ": |\n  ",
            "\"name\":\"", "\"value\":\"", "[\"", "\",", "passwords", ";", "&", "(",
            "a1B2c3D4e5F6a7B8c9D0e1F2a3B4c5D6e7F8", "ghp_", " | ", "\"d\":\"", "LS0tLS1CRUdJTiBQUklW", "\\/\\/",
        ]).prop_map(str::to_owned),
        2 => "[A-Za-z0-9]{1,40}",
        1 => "\\PC{0,12}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn redaction_is_idempotent(text in hostile_text()) {
        let once = redact(&text);
        let twice = redact(&once.text);
        prop_assert_eq!(twice.hits, 0);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert_eq!(once.hits == 0, matches!(once.text, Cow::Borrowed(_)));
        prop_assert!(once.text.len() <= text.len() + once.hits as usize * MARKER.len());
    }

    #[test]
    fn words_and_numbers_are_kept(text in "([a-z]{1,9}|[A-Z][a-z]{1,8}|[0-9]{1,4})([ ,.:;!?\n]{1,2}([a-z]{1,9}|[0-9]{1,4})){0,24}") {
        prop_assert_eq!(redact(&text).hits, 0);
    }

    #[test]
    fn a_planted_token_is_always_hidden(before in hostile_text(), after in hostile_text()) {
        let token = format!("gh{}{}", "p_", noise(36));
        let text = format!("{before} {token} {after}");
        prop_assert!(!redact(&text).text.contains(&token));
    }
}

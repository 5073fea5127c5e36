//! Credentials of protocols and keys in files: what is hidden, and what looks alike and stays.

use super::specimens::check_each;

#[test]
fn a_token_in_place_of_a_user_name_is_hidden() {
    check_each(&[
        "clone https://«{an:40}»@github.com/ada/x.git now",
        "clone https://«{an:40}»:@host.example/ada/x.git now",
        "clone https://«{an:40}»:x-oauth-basic@github.com/ada/x.git now",
        "get https://a1b2c3d4e5f6a7b8.host.example/x now",
        "ssh://deployment-of-the-site@host.example/x",
        "postgres://ada:pre9-${PW}@host.example/x",
    ]);
}

#[test]
fn a_long_password_after_a_flag_is_hidden_whole() {
    check_each(&[
        "docker login -u AWS -p «{b64:1800}» https://1.dkr.ecr.host.example",
        "docker login -u AWS -p '«{b64:1800}»' https://1.dkr.ecr.host.example",
    ]);
}

#[test]
fn a_header_hides_its_credential_and_keeps_words() {
    check_each(&[
        "Authorization: «{an:32}»\n",
        "Authorization: Basic «YWxhZGRpbg==»\n",
        "Authorization: Bearer authentication\n",
        "Authorization: Bearer YOUR_TOKEN_HERE\n",
        "the Bearer authentication-scheme-of-the-gateway stays",
        "Set-Cookie: a=b; Path=/; HttpOnly",
    ]);
}

#[test]
fn a_user_flag_with_numbers_or_a_variable_is_kept() {
    check_each(&[
        "docker run -u 1234:5678 image",
        "curl -u ada:${PW}9 https://host.example",
        "curl -u ada:«h7nt3r» https://host.example",
    ]);
}

#[test]
fn lines_of_login_files_are_hidden_and_other_colons_kept() {
    check_each(&[
        "*:*:*:ada:«hunter22» # all hosts",
        "write db.internal:5432:app:ada:«hunter22» there",
        "echo \"db.internal:5432:app:ada:«hunter22»\" >> ~/.pgpass",
        "db.internal:5432:app:ada:«hunter22» # the replica",
        "db.internal:5999:postgres:ada:«hunter22»\n",
        "src:cfg:*:ada:hunter22",
        "db:5432:/data/pg:rw:delegated",
        "db:5432:app:ada:$PGPW",
    ]);
}

#[test]
fn a_bound_does_not_cut_a_password_inside_a_character() {
    let long = "x".repeat(511);
    check_each(&[&format!("machine h login u password «{long}é»zz")]);
}

#[test]
fn a_word_after_a_password_word_without_a_digit_is_kept() {
    check_each(&[
        "mot de passe : oublie",
        "senha: invalida",
        "Kennwort: vergessen",
        "mot de passe : «oublie7»",
    ]);
}

#[test]
fn only_the_lines_of_a_key_whose_beginning_is_cut_off_are_hidden() {
    let lines = "«{b64:64}\n{b64:64}\n{an:20}==\n-----END RSA PRIVATE KEY-----»\nand so on";
    for before in [
        "$ tail -4 key.pem\nok\n",
        "The last lines of the file with the key that we have to replace soon:\n",
    ] {
        check_each(&[&format!("{before}{lines}")]);
    }
    check_each(&["ok\n-----END RSA PRIVATE KEY-----\nis its last line"]);
}

#[test]
fn a_key_in_one_line_or_in_a_quotation_is_hidden_whole() {
    check_each(&[
        "KEY=\"«-----BEGIN PRIVATE KEY----- {b64:64} {b64:64} -----END PRIVATE KEY-----»\" and more",
        "> «-----BEGIN PRIVATE KEY-----\n> {b64:64}\n> {b64:40}\n> -----END PRIVATE KEY-----»\nThanks",
    ]);
}

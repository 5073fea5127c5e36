//! Summaries in ten languages: a good one is accepted, an unrelated one is marked as doubtful, and neither is
//! discarded.

use super::terms::terms;
use super::{is_doubtful, refuse};

/// Language, the person's request and the agent's report, a good summary, an unrelated one.
const PASSAGES: [(&str, [&str; 2], &str, &str); 10] = [
    (
        "en",
        [
            "Make the download resume after a broken connection, and keep the interface.",
            "The download now resumes where the connection broke; all tests pass.",
        ],
        "Downloads resume after a broken connection without changing the interface. Tests pass; the manual is still to be written.",
        "Peel the potatoes, boil them in salted water and mash them with butter and warm milk until smooth.",
    ),
    (
        "de",
        [
            "Der Herunterlader soll nach einer abgebrochenen Verbindung weitermachen, die Schnittstelle bleibt.",
            "Der Herunterlader setzt nach dem Abbruch fort; alle Prüfungen laufen durch.",
        ],
        "Nach einer abgebrochenen Verbindung setzt der Herunterlader fort, die Schnittstelle ist unverändert. Offen: das Handbuch.",
        "Kartoffeln schälen, in Salzwasser kochen und mit Butter sowie warmer Milch zu einem glatten Brei stampfen.",
    ),
    (
        "fr",
        [
            "Le téléchargement doit reprendre après une connexion interrompue, sans changer l'interface.",
            "Le téléchargement reprend là où la connexion s'est interrompue ; les essais passent.",
        ],
        "Le téléchargement reprend après une interruption de la connexion, interface inchangée. Reste à écrire le manuel.",
        "Épluchez les pommes de terre, faites-les cuire dans l'eau salée puis écrasez-les avec du beurre et du lait chaud.",
    ),
    (
        "es",
        [
            "La descarga debe continuar tras una conexión interrumpida, sin cambiar la interfaz.",
            "La descarga continúa donde se interrumpió la conexión; todas las pruebas pasan.",
        ],
        "Tras una conexión interrumpida la descarga continúa y la interfaz no cambia. Falta escribir el manual.",
        "Pele las patatas, cuézalas en agua con sal y aplástelas con mantequilla y leche caliente hasta obtener un puré.",
    ),
    (
        "it",
        [
            "Lo scaricamento deve riprendere dopo una connessione interrotta, senza cambiare l'interfaccia.",
            "Lo scaricamento riprende dove la connessione si era interrotta; le prove passano.",
        ],
        "Dopo una connessione interrotta lo scaricamento riprende; interfaccia invariata. Manca ancora il manuale.",
        "Sbucciate le patate, lessatele in acqua salata e schiacciatele con burro e latte caldo fino a ottenere una crema.",
    ),
    (
        "pt",
        [
            "A transferência deve continuar depois de uma ligação interrompida, sem mudar a interface.",
            "A transferência continua onde a ligação foi interrompida; todos os testes passam.",
        ],
        "Depois de uma ligação interrompida a transferência continua, com a interface igual. Falta escrever o manual.",
        "Descasque as batatas, coza-as em água e sal e esmague-as com manteiga e leite quente até ficarem cremosas.",
    ),
    (
        "ru",
        [
            "Загрузка должна продолжаться после обрыва соединения, интерфейс не менять.",
            "Загрузка продолжается с места обрыва соединения; все проверки проходят.",
        ],
        "После обрыва соединения загрузку можно продолжить, интерфейс прежний. Осталось написать руководство.",
        "Очистите картофель, сварите в подсоленной воде и разомните с маслом и горячим молоком до однородности.",
    ),
    (
        "zh",
        [
            "下载在连接中断之后应当继续，接口保持不变。",
            "下载现在会从连接中断的地方继续，所有测试都通过了。",
        ],
        "连接中断后下载可以继续进行，接口没有改变，测试通过。下一步：编写说明文档。",
        "把土豆去皮，放进加盐的水里煮熟，再用黄油和热牛奶捣成细腻的土豆泥。",
    ),
    (
        "ja",
        [
            "接続が切れたあともダウンロードを再開できるようにして、インターフェースは変えないでください。",
            "接続が切れた場所からダウンロードを再開します。テストはすべて通りました。",
        ],
        "接続が切れてもダウンロードは再開される。インターフェースは同じ。残りは説明書の作成。",
        "じゃがいもの皮をむき、塩を入れた湯で茹でて、バターと温めた牛乳を加えてなめらかに潰します。",
    ),
    (
        "ko",
        [
            "연결이 끊어진 뒤에도 다운로드가 이어지게 하고 인터페이스는 그대로 두세요.",
            "다운로드가 연결이 끊어진 곳에서 이어집니다. 모든 테스트가 통과했습니다.",
        ],
        "연결이 끊어져도 다운로드를 이어서 받을 수 있습니다. 인터페이스는 바뀌지 않았습니다. 설명서가 남았습니다.",
        "감자의 껍질을 벗기고 소금을 넣은 물에 삶은 다음 버터와 따뜻한 우유를 넣어 부드럽게 으깨 주세요.",
    ),
];

const PROMPT: &str = "Stop working on the task and write down what the next agent needs.";

#[test]
fn a_good_summary_is_accepted_in_any_language() {
    for (language, known, good, _) in PASSAGES {
        assert_eq!(refuse(good, PROMPT, &known, 10_000), Ok(()), "{language}");
        assert!(!is_doubtful(good, &known), "{language}");
    }
}

#[test]
fn an_english_paraphrase_is_accepted_for_any_language() {
    let (_, _, english, _) = PASSAGES[0];
    for (language, known, ..) in PASSAGES {
        assert_eq!(refuse(english, PROMPT, &known, 10_000), Ok(()), "{language}");
    }
}

#[test]
fn an_unrelated_summary_is_doubtful_but_accepted() {
    for (language, known, _, elsewhere) in PASSAGES {
        assert_eq!(refuse(elsewhere, PROMPT, &known, 10_000), Ok(()), "{language}");
        assert!(is_doubtful(elsewhere, &known), "{language}");
    }
}

#[test]
fn a_refusal_is_recognized_in_each_language() {
    for words in [
        "I'm sorry, but I can't help with that request.",
        "Es tut mir leid, aber das kann ich nicht tun.",
        "Désolé, je ne peux pas répondre à cette demande.",
        "Lo siento, no puedo ayudar con eso ahora.",
        "Mi dispiace, non posso aiutarti con questo.",
        "Desculpe, não posso ajudar com este pedido.",
        "К сожалению, я не могу помочь с этим запросом.",
        "抱歉，我无法处理您的这个要求，请您换一个别的问题再试一次吧。",
        "申し訳ありませんが、そのご要望にはお応えできません。",
        "죄송하지만 그 요청은 도와드릴 수 없습니다. 다른 질문을 해 주세요.",
    ] {
        let refusal = refuse(words, PROMPT, &PASSAGES[0].1, 10_000).unwrap_err();
        assert_eq!(refusal.into_str(), "refused_summary", "{words}");
    }
}

#[test]
fn the_forms_of_a_word_are_one_term() {
    for (forms, expected) in [
        (["연결이", "연결은"], "연결"),
        (["接続する", "接続した"], "接続"),
        (["connections", "CONNECTED"], "conne"),
        (["Verbindung", "Verbindungen"], "verbi"),
    ] {
        for form in forms {
            assert!(terms(form).contains(expected), "{form}");
        }
        let shared: Vec<String> = terms(forms[0]).intersection(&terms(forms[1])).cloned().collect();
        assert_eq!(shared, [expected], "{forms:?}");
    }
    assert_eq!(terms("연결이"), terms("연결은"), "an ending of Korean is no term");
}

//! Lines that are records, and lines that are not and why.

use super::*;
use crate::read::fields::{Fields, PageKey};
use crate::read::record::{Body, Record};
use crate::read::testing::word;
use proptest::prelude::*;

fn item(line: &[u8], fields: &Fields) -> Item {
    super::item(line, 0, &Wanted::new(fields, &PageKey::Url, ""), |_| ())
}

fn outcome(line: &str) -> String {
    word(&item(line.as_bytes(), &Fields::default()))
}

/// The configured fields are found in any order among others, and the first of deleted, op,
/// text and html counts.
#[test]
fn fields() {
    assert_eq!(
        outcome(r#"{"x":[1,{"url":"no"}],"text":"tt","url":"http://a","y":null}"#),
        "http://a text 2"
    );
    assert_eq!(outcome(r#"{"url":"a","html":"<p>","text":null}"#), "a html 3");
    assert_eq!(outcome(r#"{"url":"a","html":"<p>","text":"t"}"#), "a text 1");
    assert_eq!(outcome(r#"{"url":"a","text":""}"#), "a text 0");
    assert_eq!(outcome(r#"{"url":"a","text":null,"html":null}"#), "a text 0");
    assert_eq!(outcome(r#"{"url":"a","deleted":true,"text":"t"}"#), "a removed");
    assert_eq!(outcome(r#"{"url":"a","op":"remove"}"#), "a removed");
    assert_eq!(outcome(r#"{"url":"a","op":"add","deleted":false,"text":"t"}"#), "a text 1");
    assert_eq!(outcome(r#"{"url":"a\u0001b","text":"t"}"#), "a%01b text 1");
}

/// A URL may consist of several fields, which may be numbers.
#[test]
fn joined_url() {
    let fields = Fields { url: vec!["site".into(), "id".into()], ..Fields::default() };
    let outcome = |line: &str| word(&item(line.as_bytes(), &fields));
    assert_eq!(outcome(r#"{"id":7,"site":"s","text":""}"#), "s/7 text 0");
    assert_eq!(outcome(r#"{"site":"s","text":""}"#), "!no_url");
}

/// The message for a bad line is in plain words. The parser's message named its own types.
#[test]
fn in_plain_words() {
    let wanted = Wanted::new(&Fields::default(), &PageKey::Url, "");
    for (line, expected) in [
        ("\"abc\"", "no JSON object"),
        ("7", "no JSON object"),
        ("none", "no JSON at byte 2"),
        ("{\"x\":-NaN}", "no number at byte 7"),
        ("{\"x\":NaN1}", "no JSON at byte 6"),
        ("{\"url\":\"a\"}{\"url\":\"b\"}", SEVERAL),
        ("{\"url\":\"a\",", "the line ends within its object"),
        ("{url:1}", "a name without quotes at byte 2"),
        ("{\"url\" 1}", "`:` is wanted at byte 8"),
        ("{\"url\":1 2}", "`,` or `}` is wanted at byte 10"),
        ("{\"url\":\"\\q\"}", "no such escape at byte 10"),
        ("{\"url\":01}", "no number at byte 9"),
        ("{\"url\":\"a\",\"url\":\"b\"}", "the field `url` stands twice"),
        ("{\"url\":\"\\ud800\"}", "half of a surrogate pair"),
    ] {
        let item = super::item(line.as_bytes(), 0, &wanted, |_| ());
        let Item::Reject { detail, .. } = item else { panic!("{line} is taken") };
        assert!(detail.starts_with(expected), "{line}: {detail}");
    }
}

/// The lines that datatrove, dolma, OSCAR and RedPajama write are read although the job names no
/// field, and the names that were taken are noted. The default name comes before all others, even
/// if it holds nothing.
#[test]
fn corpora() {
    for (line, want, noted) in [
        (
            r#"{"text":"t","id":"7","metadata":{"url":"http://a/","date":"2020-01-01"}}"#,
            "http://a/ text 1",
            "url_in_metadata.url date_in_metadata.date",
        ),
        (
            r#"{"id":"7","text":"t","source":"cc","created":"2020-01-01","metadata":{"x":{"url":"no"},"url":"http://a/"}}"#,
            "http://a/ text 1",
            "url_in_metadata.url date_in_created",
        ),
        (
            r#"{"content":"t","warc_headers":{"warc-target-uri":"http://a/","warc-date":"2020-01-01"},"metadata":{"language":"en"}}"#,
            "http://a/ text 1",
            "url_in_warc_headers.warc-target-uri text_in_content date_in_warc_headers.warc-date",
        ),
        (
            r#"{"raw_content":"t","meta":{"url":"http://a/"}}"#,
            "http://a/ text 1",
            "url_in_meta.url text_in_raw_content",
        ),
        (
            r#"{"url":"http://a/","text":"t","metadata":{"url":"http://b/"},"content":"other"}"#,
            "http://a/ text 1",
            "",
        ),
        (r#"{"metadata":{"url":"http://b/"},"url":null,"text":"t"}"#, "!no_url", ""),
        (
            r#"{"url":"http://a/","text":null,"html":"<p>","content":"other"}"#,
            "http://a/ html 3",
            "",
        ),
        (r#"{"metadata":"none","text":"t"}"#, "!no_url", ""),
    ] {
        let mut notes = Vec::new();
        let wanted = Wanted::new(&Fields::default(), &PageKey::Url, "");
        let found = super::item(line.as_bytes(), 0, &wanted, |note| notes.push(note));
        assert_eq!((word(&found).as_str(), notes.join(" ").as_str()), (want, noted), "{line}");
    }
}

/// A path finds a field at any depth. A field whose own name has the dot comes first, wherever it
/// is. A field that appears twice is rejected, also deep in the line.
#[test]
fn paths() {
    let fields = Fields { url: vec!["a.b.c".into()], text: "a.t".into(), ..Fields::default() };
    let outcome = |line: &str| word(&item(line.as_bytes(), &fields));
    assert_eq!(outcome(r#"{"a":{"b":{"c":"u","d":[{"c":1}]},"t":"12"}}"#), "u text 2");
    assert_eq!(outcome(r#"{"a":{"t":"12","b":{"c":"deep"}},"a.b.c":"flat"}"#), "flat text 2");
    assert_eq!(outcome(r#"{"a.b.c":"flat","a":{"t":"12","b":{"c":"deep"}}}"#), "flat text 2");
    assert_eq!(outcome(r#"{"a":{"t":"12","b.c":"half","b":{"c":"deep"}}}"#), "half text 2");
    assert_eq!(outcome(r#"{"a":{"t":"12","b":[{"c":"in a list"}]}}"#), "!no_url");
    assert_eq!(outcome(r#"{"a":{"t":"12","b":{"c":{"d":1}}}}"#), "!bad_field");
    assert_eq!(outcome(r#"{"a":{"t":"1","b":{"c":"1"},"b":{"c":"2"}}}"#), "!duplicate_field");
}

/// With the row as key every line is a page, whether it has a URL or not; with a field, its
/// value is the key.
#[test]
fn keys() {
    let of = |key: &PageKey, line: &str| {
        word(&super::item(
            line.as_bytes(),
            40,
            &Wanted::new(&Fields::default(), key, &"ab".repeat(32)),
            |_| (),
        ))
    };
    let row = format!("{}/40 text 1", "ab".repeat(16));
    assert_eq!(of(&PageKey::Row, r#"{"text":"t"}"#), row);
    assert_eq!(of(&PageKey::Row, r#"{"url":null,"text":"t"}"#), row);
    let id = PageKey::Field("meta.id".into());
    assert_eq!(of(&id, r#"{"text":"t","url":"http://a/","meta":{"id":7}}"#), "7 text 1");
    assert_eq!(of(&id, r#"{"text":"t","url":"http://a/","meta":{}}"#), "!no_key");
}

/// Dates are texts or numbers; a date that is not understood leaves the record without a date and
/// is noted, which it was not before. A missing date is no bad date.
#[test]
fn dates() {
    for (date, want) in [
        ("1600000000", Some(1_600_000_000)),
        ("1600000000123", Some(1_600_000_000)),
        ("\"1600000000123\"", Some(1_600_000_000)),
        ("1600000000123456.0", Some(1_600_000_000)),
        ("\"18.05.2024\"", None),
        ("\" \"", None),
        ("1600000000.9", Some(1_600_000_000)),
        ("\"2020-09-13T12:26:40Z\"", Some(1_600_000_000)),
        ("\"soon\"", None),
        ("1e99", None),
        ("null", None),
        ("[]", None),
    ] {
        let line = format!("{{\"url\":\"a\",\"text\":\"\",\"date\":{date}}}");
        let Item::Record(record) = item(line.as_bytes(), &Fields::default()) else { panic!() };
        assert_eq!((record.date, record.body), (want, Body::Text(String::new())), "{line}");
        assert_eq!(record.bad_date, want.is_none() && !["null", "\" \""].contains(&date), "{line}");
    }
}

/// A reject says what would help: the fields that a line has where one is missing, and the
/// command that makes lines of a document.
#[test]
fn details_help() {
    let detail = |line: &str| match item(line.as_bytes(), &Fields::default()) {
        Item::Reject { reason, detail, .. } => format!("{reason}: {detail}"),
        item => panic!("{item:?}"),
    };
    assert_eq!(
        detail(r#"{"text":"t","id":7,"metadata":{}}"#),
        "no_url: no `url`; it has text, id, metadata"
    );
    assert_eq!(
        detail(r#"{"url":"a","body":"t"}"#),
        "no_text: no `text` and no `html`: a; it has url, body"
    );
    assert!(detail(r#"[{"url":"a","text":"t"}]"#).starts_with("bad_json: a JSON array; "));
    // Of the many names of a line that is a dictionary only the first are held.
    let dictionary: String = (0..10_000).map(|n| format!("\"word{n}\":{n},")).collect();
    let dictionary = detail(&format!("{{{dictionary}\"end\":0}}"));
    assert!(dictionary.contains("it has word0, word1, ") && dictionary.len() < 300, "{dictionary}");
    assert!(detail("[").contains("jq -c '.[]'") && detail("{").contains("jq -c ."));
}

/// A row was rejected for a half of a character in a field that nobody reads, or for its depth.
#[test]
fn fields_that_are_not_read() {
    for value in [
        r#""\ud83d""#,
        r#"[{"\udc00":"\ud800x"}]"#,
        &format!("{}{}", "[".repeat(1000), "]".repeat(1000)),
    ] {
        assert_eq!(
            outcome(&format!(r#"{{"x":{value},"url":"a","text":"t"}}"#)),
            "a text 1",
            "{value}"
        );
    }
}

/// A row was rejected for a half of a character in the name of a field that nobody reads.
#[test]
fn names_that_are_not_read() {
    for name in [r"\ud83d", r"x\udc00", r"\ud83d.url", ""] {
        for line in [
            format!(r#"{{"{name}":1,"url":"a","text":"t"}}"#),
            format!(r#"{{"meta":{{"{name}":{{"url":"b"}},"url":"a"}},"text":"t"}}"#),
        ] {
            assert_eq!(outcome(&line), "a text 1", "{line}");
            assert_eq!(fields_among(line.as_bytes(), &["x", "text"]), Some(Some("text")));
        }
    }
    assert_eq!(outcome("{\"x\ty\":1,\"url\":\"a\",\"text\":\"t\"}"), "!bad_json");
    assert_eq!(outcome(r#"{"ur\u006c":"a","m\u0065ta":{"url":"b"},"text":"t"}"#), "a text 1");
}

/// Each kind of bad line is rejected under its own reason.
#[test]
fn bad_lines() {
    let deep = format!(r#"{{"url":"a","text":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for (line, reason) in [
        ("", "bad_json"),
        ("[]", "bad_json"),
        (r#"{"url":"a","text":"t"} x"#, "bad_json"),
        (r#"{"url":"a","text":"t""#, "bad_json"),
        (r#"{"url":"a","text":"t","x":nan}"#, "bad_json"),
        (r#"{"url":"a","text":"\ud800"}"#, "bad_escape"),
        (r#"{"url":"a","text":"\udc00x"}"#, "bad_escape"),
        (r#"{"url":"a","text":"","date":"\ud800\u0020"}"#, "bad_escape"),
        (r#"{"url":"a","text":"1","url":"b"}"#, "duplicate_field"),
        ("{\"url\":\"a\",\"text\":\"\0\"}", "nul"),
        (r#"{"url":"","text":"t"}"#, "no_url"),
        (r#"{"url":null,"text":"t"}"#, "no_url"),
        (r#"{"text":"t"}"#, "no_url"),
        (r#"{"url":"a"}"#, "no_text"),
        (r#"{"url":"a","text":7}"#, "bad_field"),
        (r#"{"url":["a"],"text":""}"#, "bad_field"),
        (r#"{"url":"a","text":"","deleted":"no"}"#, "bad_field"),
        (&deep, "bad_field"),
    ] {
        assert_eq!(outcome(line), format!("!{reason}"), "{}", &line[..line.len().min(80)]);
    }
    assert_eq!(word(&item(b"{\"url\":\"\xff\"}", &Fields::default())), "!bad_utf8");
    assert_eq!(outcome(&format!(r#"{{"url":"{}","text":""}}"#, "a".repeat(70_000))), "!long_url");
}

/// A line with a number that the parser cannot hold was rejected, although JSON has numbers of any
/// size and most fields are not used. In a field that is used such a number counts as a value of
/// another type.
#[test]
fn vast_numbers() {
    // 70,000 digits ended the run.
    let [digits, many] = [400, 70_000].map(|count| "9".repeat(count));
    let short = ["1e999", "-1E+400", "0.1e4000000000", "123456789012345678901234567890"];
    for number in short.into_iter().chain([&*digits, &*many]) {
        for line in [
            format!(r#"{{"url":"a","x":{number},"text":"t"}}"#),
            format!(
                r#"{{"x\"":[1,{{"y":{number}}},{number}],"z":"\"{number}\\","url":"a","text":"t"}}"#
            ),
        ] {
            assert_eq!(outcome(&line), "a text 1", "{line}");
        }
        assert_eq!(outcome(&format!(r#"{{"url":"a","text":{number}}}"#)), "!bad_field");
        assert_eq!(outcome(&format!(r#"{{"url":{number},"text":"t"}}"#)), "!bad_field");
        let dated = format!(r#"{{"url":"a","text":"t","date":{number}}}"#);
        let Item::Record(record) = item(dated.as_bytes(), &Fields::default()) else { panic!() };
        assert!(record.bad_date && record.date.is_none(), "{dated}");
    }
    let removed = r#"{"url":"a","text":"t","deleted":1e999}"#;
    assert_eq!(outcome(removed), "!bad_field");
    for number in ["01e999", "1.e999", "1e999x", "1e999.", "-e999", "1e999 2", "\"1e999"] {
        let line = format!(r#"{{"url":"a","text":"t","x":{number}}}"#);
        assert_eq!(outcome(&line), "!bad_json", "{line}");
    }
    let detail = |line: &str| match item(line.as_bytes(), &Fields::default()) {
        Item::Reject { detail, .. } => detail,
        item => panic!("{item:?}"),
    };
    assert!(detail(r#"{"x":1e999,"url" 1}"#).starts_with("`:` is wanted at byte 18"));
    assert_eq!(detail(r#"{"x":1e999,"text":"t"}"#), "no `url`; it has x, text");
}

/// Python writes `NaN` for missing values, so each row with such a score was rejected. In a field
/// that is not used it is passed over and noted. In a field that is used it is no value: no score,
/// no date, and no text or key.
#[test]
fn numbers_of_python() {
    for number in numbers::PYTHON_NUMBERS {
        let mut notes = Vec::new();
        let wanted = Wanted::new(&Fields::default(), &PageKey::Url, "");
        let line = format!(
            r#"{{"x":[{number},{{"y": {number} }}],"z":"NaN {number}","u":1e999,"url":"a","text":"Infinity"}}"#
        );
        let found = super::item(line.as_bytes(), 0, &wanted, |note| notes.push(note));
        assert_eq!((word(&found).as_str(), &notes[..]), ("a text 8", &["nan"][..]), "{line}");
        assert_eq!(fields_among(line.as_bytes(), &["cluster", "z"]), Some(Some("z")));
        for line in [r#"{"url":"a","text":N}"#, r#"{"url":N,"text":"t"}"#] {
            assert_eq!(outcome(&line.replace('N', number)), "!bad_field", "{line}");
        }
        let dated = format!(r#"{{"url":"a","text":"t","date":{number}}}"#);
        let Item::Record(record) = item(dated.as_bytes(), &Fields::default()) else { panic!() };
        assert!(record.bad_date && record.date.is_none(), "{dated}");
        let keyless = format!(r#"{{"x":{number},"text":"t"}}"#);
        let Item::Reject { detail, .. } = item(keyless.as_bytes(), &Fields::default()) else {
            panic!("{keyless} is taken")
        };
        assert_eq!(detail, "no `url`; it has x, text");
    }
    assert_eq!(fields_among(br#"{"x":Nan}"#, &["x"]), None);
    // A line of many letters took quadratic time.
    let long = format!(r#"{{"x":NaN,"y":{}"#, "N".repeat(4 << 20));
    assert_eq!(fields_among(long.as_bytes(), &["x"]), None);
}

proptest! {
    /// Any line is one item, and its fields are those that a general parser finds.
    #[test]
    fn twin(url in "[a-z\\\\\"é漢]{1,9}", text in "\\PC{0,30}", noise in "\\PC{0,9}", cut in 0usize..200) {
        let value = serde_json::json!({ "noise": [noise.clone(), { "text": noise }], "text": text, "url": url });
        let line = value.to_string();
        let want = Record { url, date: None, bad_date: false, score: None, is_conversion: false, body: Body::Text(text) };
        prop_assert_eq!(item(line.as_bytes(), &Fields::default()), Item::Record(want));
        let cut = line.floor_char_boundary(cut);
        if cut < line.len() {
            let rejected = matches!(item(&line.as_bytes()[..cut], &Fields::default()), Item::Reject { .. });
            prop_assert!(rejected);
        }
    }
}

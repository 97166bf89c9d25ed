//! Decodes the bytes of a page to UTF-8. Bytes that cannot be decoded become U+FFFD.
//!
//! The charset is the first that applies: a byte order mark; UTF-16 by its zero bytes; UTF-8, if
//! the bytes are nothing else, or if it decodes nearly all of many; HTTP's charset, if it decodes
//! all bytes; the page's own `<meta>` or XML declaration in its first 4 KiB, if it decodes nearly
//! all; UTF-8, if it decodes nearly all of few; detection (chardetng) on the first 1 KiB of bytes
//! that are not ASCII.
//!
//! Follows WHATWG's Encoding Standard and encoding sniffing algorithm. We differ in two ways: a
//! declaration that the bytes contradict is not trusted, and a single-byte charset in HTTP, which
//! no bytes contradict and many servers send by default, counts only if the page declares nothing
//! and its bytes are neither nearly all UTF-8 nor, without any damage, a detected multi-byte
//! charset.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, GB18030, GBK, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};
use memchr::{memchr, memmem};

/// The declaration of a charset lies within this many bytes from the start.
const DECLARATION_BYTES_MAX: usize = 4096;
/// Detection reads this many bytes that are not ASCII, and the ASCII byte after each run of them.
const DETECTION_BYTES_MAX: usize = 1024;
/// At least this many first bytes of a page are markup.
const MARKUP_BYTES: usize = 64;
/// A charset may damage one character in this many bytes that are not ASCII: most wrong charsets
/// damage more.
const DAMAGE_SHARE: usize = 10;
/// This many bytes that are not ASCII may contradict a single-byte charset.
const CONTRADICTED_BYTES_MIN: usize = 32;

/// The text of `bytes`, without a byte order mark.
pub fn decode<'a>(bytes: &'a [u8], http_charset: Option<&str>) -> Cow<'a, str> {
    decode_as(bytes, http_charset).0
}

/// The text of `bytes`, and the charset that they were decoded from.
pub fn decode_as<'a>(
    bytes: &'a [u8],
    http_charset: Option<&str>,
) -> (Cow<'a, str>, &'static Encoding) {
    let as_is = |encoding: &'static Encoding, bytes: &'a [u8]| {
        (encoding.decode_without_bom_handling(bytes).0, encoding)
    };
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(bytes) {
        return as_is(encoding, &bytes[mark_bytes..]);
    }
    if let Some(encoding) = utf_16_by_zeros(bytes) {
        return as_is(encoding, bytes);
    }
    let http = http_charset.and_then(|label| labelled(label.as_bytes()));
    let valid_bytes = Encoding::utf8_valid_up_to(bytes);
    // A crawl may have cut the page within its last character. All bytes of ISO-2022-JP are ASCII.
    if valid_bytes + 4 > bytes.len() && is_cut_utf8(&bytes[valid_bytes..]) {
        let escapes = bytes.is_ascii()
            && memchr(0x1B, bytes).is_some()
            && [http, declared(bytes)].contains(&Some(ISO_2022_JP));
        return as_is(if escapes { ISO_2022_JP } else { UTF_8 }, bytes);
    }
    let meta = declared(bytes);
    let not_ascii = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let read = |encoding, damaged_max| Some((decoded(bytes, encoding, damaged_max)?, encoding));
    // Hardly any text in another charset is mostly valid UTF-8. But UTF-8 is mostly valid GB18030,
    // so what HTTP and the page declare says less.
    let are_many = not_ascii >= CONTRADICTED_BYTES_MIN;
    if are_many && let Some(found) = read(UTF_8, not_ascii / DAMAGE_SHARE) {
        return found;
    }
    let by_http = http.and_then(|http| match (http.is_single_byte(), meta) {
        (false, _) => read(http, 0),
        // By chance few bytes of a single-byte charset are also those of another one.
        (true, None) => are_many
            .then(|| read(detected(bytes), 0).filter(|(_, found)| !found.is_single_byte()))
            .flatten()
            .or_else(|| read(http, 0)),
        (true, Some(_)) => None,
    });
    if let Some(found) = by_http {
        return found;
    }
    for encoding in [meta, http].into_iter().flatten() {
        if let Some(text) = decoded(bytes, encoding, 1 + not_ascii / DAMAGE_SHARE) {
            return (text, encoding);
        }
    }
    // Detection rules UTF-8 out at its first error. Many bytes were tried as UTF-8 above.
    let few = (!are_many).then(|| read(UTF_8, not_ascii / DAMAGE_SHARE)).flatten();
    few.unwrap_or_else(|| as_is(detected(bytes), bytes))
}

/// The encoding of a label. GB2312 and GBK are read as GB18030, which includes both: servers name
/// the smaller set and send the larger one.
fn labelled(label: &[u8]) -> Option<&'static Encoding> {
    match Encoding::for_label(label)? {
        encoding if encoding == GBK => Some(GB18030),
        // This encoding decodes nothing, by design.
        encoding if encoding == REPLACEMENT => None,
        encoding => Some(encoding),
    }
}

/// Whether the bytes after the last whole character are the beginning of one more.
fn is_cut_utf8(rest: &[u8]) -> bool {
    str::from_utf8(rest)
        .map_or_else(|error| error.valid_up_to() == 0 && error.error_len().is_none(), |_| true)
}

/// `bytes` in `encoding`, unless that damages more than `damaged_max` characters. The last
/// character may be cut.
fn decoded<'a>(
    bytes: &'a [u8],
    encoding: &'static Encoding,
    damaged_max: usize,
) -> Option<Cow<'a, str>> {
    if (encoding == UTF_16LE || encoding == UTF_16BE) && !looks_like_utf_16(bytes) {
        return None;
    }
    let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
    if !has_errors {
        return Some(text);
    }
    let cut = usize::from(text.ends_with('\u{FFFD}'));
    let damaged = memmem::find_iter(text.as_bytes(), "\u{FFFD}").count();
    (damaged - cut.min(damaged) <= damaged_max).then_some(text)
}

/// Whether zero bytes are near the start. Nearly all bytes are valid UTF-16, but a page in it has
/// ASCII markup and so zero bytes, and a page in another charset has none.
fn looks_like_utf_16(bytes: &[u8]) -> bool {
    memchr(0, &bytes[..bytes.len().min(DECLARATION_BYTES_MAX)]).is_some()
}

/// The byte order of UTF-16 without a mark, by the places of the zero bytes in its markup.
fn utf_16_by_zeros(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = &bytes[..bytes.len().min(MARKUP_BYTES)];
    let zeros_at =
        |parity: usize| start.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros_at(0), zeros_at(1));
    let is_most = |zeros: usize| zeros * 5 > start.len() && zeros > 1;
    match (is_most(even), is_most(odd)) {
        (false, true) if even * 8 < odd => Some(UTF_16LE),
        (true, false) if odd * 8 < even => Some(UTF_16BE),
        _ => None,
    }
}

/// The page's own declaration, in ASCII: `<meta charset=x>`,
/// `<meta http-equiv=... content="...; charset=x">`, `<?xml ... encoding="x"?>`. A declaration in a
/// comment does not count.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes[..bytes.len().min(DECLARATION_BYTES_MAX)].to_ascii_lowercase();
    let start = without_comments(&start);
    let xml = start
        .trim_ascii_start()
        .strip_prefix(b"<?xml")
        .map(|rest| rest.split(|byte| *byte == b'>').next());
    let xml = xml.flatten().and_then(|declaration| label_behind(declaration, b"encoding"));
    let metas = memmem::find_iter(&start, b"<meta");
    let mut metas = metas.filter_map(|at| start[at..].split(|byte| *byte == b'>').next());
    let encoding = metas.find_map(|meta| label_behind(meta, b"charset")).or(xml)?;
    // The declaration was read as ASCII, so the page is not UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

/// `markup` without its comments. As in browsers, `<!-->` is a whole comment.
fn without_comments(mut markup: &[u8]) -> Vec<u8> {
    let mut rest = Vec::with_capacity(markup.len());
    while let Some(at) = memmem::find(markup, b"<!--") {
        rest.extend_from_slice(&markup[..at]);
        let end = memmem::find(&markup[at + 2..], b"-->").map(|end| at + 2 + end + 3);
        markup = &markup[end.unwrap_or(markup.len())..];
    }
    rest.extend_from_slice(markup);
    rest
}

/// The encoding named after `word` and `=` in a tag.
fn label_behind(tag: &[u8], word: &[u8]) -> Option<&'static Encoding> {
    memmem::find_iter(tag, word).find_map(|at| {
        let rest = tag[at + word.len()..].trim_ascii_start().strip_prefix(b"=")?;
        let rest = rest.trim_ascii_start();
        let rest = rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'")).unwrap_or(rest);
        let label = rest
            .split(|byte| matches!(byte, b'"' | b'\'' | b';' | b'/') || byte.is_ascii_whitespace())
            .next()?;
        labelled(label)
    })
}

/// The charset that the bytes look like.
fn detected(bytes: &[u8]) -> &'static Encoding {
    let mut sample = Vec::with_capacity(2 * DETECTION_BYTES_MAX);
    let mut not_ascii = 0;
    let mut in_run = false;
    for byte in bytes {
        if !byte.is_ascii() {
            not_ascii += 1;
            sample.push(*byte);
        } else if in_run {
            // It may be the second byte of a character.
            sample.push(*byte);
            if not_ascii >= DETECTION_BYTES_MAX {
                break;
            }
        }
        in_run = !byte.is_ascii();
        if sample.len() >= 4 * DETECTION_BYTES_MAX {
            break;
        }
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&sample, false);
    let encoding = detector.guess(None, Utf8Detection::Allow);
    if encoding == GBK { GB18030 } else { encoding }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{BIG5, EUC_JP, EUC_KR, SHIFT_JIS};

    const SIMPLIFIED: &str = "今天上午，市气象台发布了大风蓝色预警信号，请市民注意防范，减少外出。";
    const TRADITIONAL: &str =
        "今天上午，市氣象臺發布了大風藍色預警信號，請市民注意防範，減少外出。";
    const JAPANESE: &str = "きょうの午前、気象台は強風注意報を発表しました。外出を控えてください。";
    const KOREAN: &str = "오늘 오전 기상청은 강풍주의보를 발표했습니다. 외출을 삼가시기 바랍니다.";

    fn page(label: &str, text: &str) -> String {
        let meta =
            if label.is_empty() { String::new() } else { format!("<meta charset=\"{label}\">") };
        format!(
            "<!DOCTYPE html><html><head>{meta}<title>x</title></head><body><p>{}</p></body></html>",
            text.repeat(8)
        )
    }

    fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    /// The text of a page is the same with its charset declared by HTTP, by the page, by both or
    /// not at all.
    #[test]
    fn every_charset_however_declared() {
        let cases = [
            (GB18030, "gb2312", SIMPLIFIED),
            (GB18030, "GBK", SIMPLIFIED),
            (GB18030, "gb18030", SIMPLIFIED),
            (BIG5, "big5", TRADITIONAL),
            (SHIFT_JIS, "Shift_JIS", JAPANESE),
            (EUC_JP, "euc-jp", JAPANESE),
            (EUC_KR, "euc-kr", KOREAN),
            (UTF_8, "utf-8", SIMPLIFIED),
        ];
        for (encoding, label, text) in cases {
            for (meta, http) in [
                (label, None),
                ("", Some(label)),
                ("", None),
                (label, Some(label)),
                (label, Some("utf-8")),
            ] {
                let page = page(meta, text);
                let (bytes, _, has_errors) = encoding.encode(&page);
                assert!(!has_errors);
                assert_eq!(
                    decode(&bytes, http),
                    page,
                    "{label} declared by meta {meta:?}, http {http:?}"
                );
            }
            // Apache's default carries no information.
            let page = page(label, text);
            assert_eq!(
                decode(&encoding.encode(&page).0, Some("ISO-8859-1")),
                page,
                "{label} against iso-8859-1"
            );
        }
    }

    /// A server's default charset made a page unreadable that declares nothing. A page in a
    /// single-byte charset keeps the one of its server.
    #[test]
    fn a_default_of_the_server_is_contradicted() {
        for (encoding, text) in [
            (GB18030, SIMPLIFIED),
            (BIG5, TRADITIONAL),
            (EUC_JP, JAPANESE),
            (SHIFT_JIS, JAPANESE),
            (EUC_KR, KOREAN),
        ] {
            let page = page("", text);
            let (bytes, ..) = encoding.encode(&page);
            assert_eq!(decode(&bytes, Some("ISO-8859-1")), page, "{}", encoding.name());
        }
        let mut bytes = page("", SIMPLIFIED).into_bytes();
        let at = bytes.iter().rposition(|byte| *byte == b'<').expect("a tag");
        bytes.insert(at, 0xFF);
        assert_eq!(decode_as(&bytes, Some("ISO-8859-1")).1, UTF_8);
        for (label, text) in [
            ("ISO-8859-1", "Später hörte man größere Bären über Äste führen."),
            ("ISO-8859-1", "L’été dernier, à l’hôtel, elle a rêvé d’être élève."),
            ("windows-1251", "Сегодня утром в городе открыли новый мост через реку."),
            ("koi8-r", "Сегодня утром в городе открыли новый мост через реку."),
            ("windows-1253", "Σήμερα το πρωί άνοιξε στην πόλη η νέα γέφυρα."),
            ("windows-874", "วันนี้เปิดสะพานใหม่ในเมือง ประชาชนข้ามได้โดยไม่เสียค่าผ่านทาง"),
        ] {
            let page = page("", text);
            let encoding = Encoding::for_label(label.as_bytes()).expect("a charset");
            assert_eq!(decode(&encoding.encode(&page).0, Some(label)), page, "{label}");
        }
    }

    /// UTF-16 is recognised by its mark, and without one by its zero bytes.
    #[test]
    fn utf_16_with_and_without_mark() {
        let page = page("utf-16", SIMPLIFIED);
        for to_bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            assert_eq!(decode(&utf_16(&page, to_bytes), None), page);
            assert_eq!(decode(&utf_16(&format!("\u{FEFF}{page}"), to_bytes), None), page);
            assert_eq!(decode(&utf_16(&page, to_bytes), Some("utf-16")), page);
        }
        assert_eq!(decode(format!("\u{FEFF}{page}").as_bytes(), Some("gbk")), page);
    }

    /// GB18030's four-byte characters are decoded even if the page declares GB2312.
    #[test]
    fn gb2312_is_read_as_gb18030() {
        let page = page("gb2312", "㐀𠀀，这两个字不在国标2312里。");
        assert_eq!(decode(&GB18030.encode(&page).0, None), page);
    }

    /// A page that is cut within its last character, or has a few damaged characters, keeps its
    /// charset.
    #[test]
    fn cut_and_damaged_pages_keep_their_charset() {
        let text = SIMPLIFIED.repeat(9);
        let cut = decode(&text.as_bytes()[..text.len() - 1], Some("gbk"));
        assert!(cut.starts_with(&text[..text.len() - 3]));
        let page = page("gbk", SIMPLIFIED);
        let mut bytes = GB18030.encode(&page).0.into_owned();
        let at = bytes.iter().rposition(|byte| !byte.is_ascii()).expect("not ASCII");
        bytes[at] = 0xFF;
        let read = decode(&bytes, None);
        assert!(read.contains(SIMPLIFIED) && read.contains('\u{FFFD}'), "{read}");
    }

    /// One bad byte in a page in UTF-8 that declares nothing made all of it unreadable. A page in
    /// another charset is not taken for UTF-8, however few bytes are not ASCII.
    #[test]
    fn undeclared_utf_8_with_a_bad_byte() {
        for text in [SIMPLIFIED, KOREAN, "Später hörte man größere Bären über Äste führen."]
        {
            let mut bytes = page("", text).into_bytes();
            let at = bytes.iter().rposition(|byte| *byte == b'<').expect("a tag");
            bytes.insert(at, 0xFF);
            let (read, charset) = decode_as(&bytes, None);
            assert!(charset == UTF_8 && read.contains(text), "{read}");
            assert_eq!(read.matches('\u{FFFD}').count(), 1);
        }
        // UTF-8 is mostly valid GB18030, so a wrong declaration made such a page unreadable, too.
        for (meta, http) in [("gb2312", Some("utf-8")), ("gb2312", None), ("", Some("gbk"))] {
            let mut bytes = page(meta, SIMPLIFIED).into_bytes();
            let at = bytes.iter().rposition(|byte| !byte.is_ascii()).expect("not ASCII");
            bytes.remove(at);
            let (read, charset) = decode_as(&bytes, http);
            assert!(charset == UTF_8 && read.contains(SIMPLIFIED), "{meta} {http:?}: {read}");
        }
        for text in ["Ein Bär.", "Später hörte man größere Bären über Äste führen."] {
            let page = page("", text);
            let (bytes, ..) = encoding_rs::WINDOWS_1252.encode(&page);
            assert_eq!(decode(&bytes, None), page);
        }
    }

    /// A declaration in a comment does not count, as in browsers.
    #[test]
    fn declarations_in_comments() {
        let meta = |label: &str| format!("<meta charset={label}>");
        let of = |markup: String| declared(markup.as_bytes());
        assert_eq!(of(format!("<!-- {} -->{}", meta("big5"), meta("gbk"))), Some(GB18030));
        assert_eq!(of(format!("<!-- {} ", meta("big5"))), None);
        assert_eq!(of(format!("<!-->{}", meta("big5"))), Some(BIG5));
    }

    /// An impossible declaration is not trusted, and no label makes a page disappear.
    #[test]
    fn false_labels() {
        let page = page("", SIMPLIFIED);
        for label in [
            "utf-16le",
            "hz-gb-2312",
            "iso-2022-kr",
            "no-such-charset",
            "",
            "x-user-defined",
            "shift_jis",
        ] {
            assert_eq!(decode(page.as_bytes(), Some(label)), page, "{label}");
        }
        let bytes = GB18030.encode(&page).0;
        for label in ["utf-16le", "replacement", "utf-8", "nonsense"] {
            assert_eq!(decode(&bytes, Some(label)), page, "{label}");
        }
    }

    /// A page in UTF-8 with a stray escape, whose label is of its former bytes, lost its
    /// characters.
    #[test]
    fn iso_2022_jp_is_ascii() {
        let page = "<meta charset=iso-2022-jp><p>図書館は\u{1b}平日も開く。";
        assert_eq!(decode_as(page.as_bytes(), None).1, UTF_8);
        let escaped = b"<meta charset=iso-2022-jp><p>\x1b$B?^=q4[\x1b(B";
        assert_eq!(decode_as(escaped, None).1, ISO_2022_JP);
    }
}

//! Characters as written -> characters as read. In comes a run of a page's text, out go its characters appended to a
//! buffer: entities decoded, white space collapsed. Never writes two spaces in a row, nor more bytes than it reads (but
//! for an entity: at most 4).
//!
//! After the HTML Living Standard, section 13.2.5.72 and on. We differ in knowing the names of HTML 4 only, and in
//! leaving an unknown or impossible entity as written.

use memchr::memchr;

use super::entity_names::ENTITIES;

/// The longest entity we know is `&#x0010FFFF;`: 10 bytes between `&` and `;`.
const ENTITY_BYTES_MAX: usize = 12;

/// Names that old pages write without the semicolon.
const BARE: [&[u8]; 7] = [b"nbsp", b"amp", b"lt", b"gt", b"quot", b"copy", b"reg"];

/// What the C1 controls of a numeric entity mean in practice: windows-1252, 0x80 to 0x9F (0: none).
const WINDOWS_1252: [u16; 32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0, 0,
    0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
];

/// Appends `written` to `text`. Where `keep_lines`, a line break stays one; otherwise all white space is one space.
pub fn append(text: &mut Vec<u8>, written: &[u8], keep_lines: bool) {
    let mut at = 0;
    while at < written.len() {
        let byte = written[at];
        if byte == b'&' {
            at += append_entity(text, &written[at..]);
        } else if byte < b' ' && !matches!(byte, b'\t'..=b'\r') {
            // Nobody sees a control, and the word goes on behind it.
            at += 1;
        } else if byte <= b' ' {
            append_space(text, if keep_lines && byte == b'\n' { b'\n' } else { b' ' });
            at += 1;
        } else {
            let run = written[at..].iter().position(|byte| *byte <= b' ' || *byte == b'&');
            let run = &written[at..at + run.unwrap_or(written.len() - at)];
            text.extend_from_slice(run);
            at += run.len();
        }
    }
}

/// Appends a space or a line break, unless white space stands there already; a line break takes the place of a space.
pub fn append_space(text: &mut Vec<u8>, space: u8) {
    match text.last() {
        None | Some(b'\n') => {}
        Some(b' ') if space == b' ' => {}
        Some(b' ') => {
            text.pop();
            append_space(text, space);
        }
        Some(_) => text.push(space),
    }
}

/// Appends what `written`, which begins with `&`, stands for, and says how many bytes that took.
fn append_entity(text: &mut Vec<u8>, written: &[u8]) -> usize {
    let window = &written[1..written.len().min(1 + ENTITY_BYTES_MAX)];
    let closed = memchr(b';', window).and_then(|end| Some((decode(&window[..end])?, end + 2)));
    let Some((character, bytes)) = closed.or_else(|| bare(window)) else {
        text.push(b'&');
        return 1;
    };
    if character.is_whitespace() {
        append_space(text, b' ');
    } else if !character.is_control() {
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    bytes
}

/// The character named between `&` and `;`.
fn decode(name: &[u8]) -> Option<char> {
    let Some(number) = name.strip_prefix(b"#") else {
        let name = str::from_utf8(name).ok()?;
        let found = ENTITIES.binary_search_by(|(known, _)| known.cmp(&name)).ok()?;
        return char::from_u32(u32::from(ENTITIES[found].1));
    };
    let (digits, radix) = match number {
        [b'x' | b'X', digits @ ..] => (digits, 16),
        digits => (digits, 10),
    };
    // `from_str_radix` would accept a sign.
    if !digits.first()?.is_ascii_hexdigit() {
        return None;
    }
    let code = u32::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()?;
    let code = match code {
        0x80..=0x9F => u32::from(WINDOWS_1252[code as usize - 0x80]),
        _ => code,
    };
    char::from_u32(code).filter(|character| *character != '\0')
}

/// An old page's entity without a semicolon, and the bytes that it takes with its `&`.
fn bare(window: &[u8]) -> Option<(char, usize)> {
    let name = BARE.into_iter().find(|name| window.starts_with(name))?;
    match window.get(name.len()) {
        Some(next) if next.is_ascii_alphanumeric() || *next == b'=' || *next == b'_' => None,
        _ => Some((decode(name)?, 1 + name.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &str, keep_lines: bool) -> String {
        let mut text = Vec::new();
        append(&mut text, written.as_bytes(), keep_lines);
        String::from_utf8(text).expect("UTF-8 in, UTF-8 out")
    }

    /// The table is searched by halves: it must ascend.
    #[test]
    fn table_ascends() {
        assert!(ENTITIES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(
            ENTITIES
                .iter()
                .all(|(name, code)| name.len() <= ENTITY_BYTES_MAX && char::from_u32(u32::from(*code)).is_some())
        );
    }

    /// An entity means the same by name, by number in either radix, and as itself.
    #[test]
    fn one_character_however_written() {
        for written in ["caf\u{e9}", "caf&eacute;", "caf&#233;", "caf&#xE9;", "caf&#XE9;", "caf&#0233;"] {
            assert_eq!(read(written, false), "caf\u{e9}", "{written}");
        }
        assert_eq!(read("&ldquo;&#147;\u{201c}", false), "\u{201c}\u{201c}\u{201c}");
        assert_eq!(read("a&nbsp;b&nbspc&nbsp d&#160;e", false), "a b&nbspc d e");
        assert_eq!(
            read("R&amp;D AT&T a&b; &#x; &#-5; &#xD800; &#0; &", false),
            "R&D AT&T a&b; &#x; &#-5; &#xD800; &#0; &"
        );
    }

    /// White space is one space, or one line break where lines are kept.
    #[test]
    fn white_space_collapses() {
        assert_eq!(read("a \t\r\n  b&nbsp; c", false), "a b c");
        assert_eq!(read("a  \n\n  b\r\nc", true), "a\nb\nc");
        assert_eq!(read("  a", false), "a");
    }
}

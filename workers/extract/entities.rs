//! Turns characters as written into text: decodes entities and collapses white space.
//!
//! Follows the HTML Living Standard from section 13.2.5.72 on. We differ in two ways: only the
//! names of HTML 4 are known, and an unknown or impossible entity stays as written. There are never
//! two spaces in a row, and never more bytes of output than of input, except at most 4 for an
//! entity.

use memchr::memchr;

use super::entity_names::ENTITIES;

/// The longest known entity is `&#x0010FFFF;`: 10 bytes between `&` and `;`.
const ENTITY_BYTES_MAX: usize = 12;

/// Names that old pages write without the semicolon.
const BARE: [&[u8]; 7] = [b"nbsp", b"amp", b"lt", b"gt", b"quot", b"copy", b"reg"];

/// The usual meaning of the C1 controls in a numeric entity: windows-1252, 0x80 to 0x9F (0: none).
const WINDOWS_1252: [u16; 32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
    0x0152, 0, 0x017D, 0, 0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC,
    0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
];

/// Appends `written` to `text`. With `keep_lines` a line break stays; otherwise all white space
/// becomes one space.
pub fn append(text: &mut Vec<u8>, written: &[u8], keep_lines: bool) {
    let mut at = 0;
    while at < written.len() {
        let byte = written[at];
        if byte == b'&' {
            at += append_entity(text, &written[at..]);
        } else if byte < b' ' && !matches!(byte, b'\t'..=b'\r') {
            // A control is invisible, and the word goes on after it.
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

/// Appends a space or a line break, unless there is white space already; a line break replaces a
/// space.
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

/// Appends the character of the entity at the start of `written`, which begins with `&`. Returns
/// the number of bytes that it takes.
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

/// The character with this name between `&` and `;`.
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

/// The character of an entity without a semicolon, as old pages have it, and its bytes including
/// `&`.
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

    /// The table is searched by halves, so it must ascend.
    #[test]
    fn table_ascends() {
        assert!(ENTITIES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(ENTITIES.iter().all(|(name, code)| name.len() <= ENTITY_BYTES_MAX
            && char::from_u32(u32::from(*code)).is_some()));
    }

    /// A character is the same by name, by number in either radix, and as itself.
    #[test]
    fn one_character_however_written() {
        for written in
            ["caf\u{e9}", "caf&eacute;", "caf&#233;", "caf&#xE9;", "caf&#XE9;", "caf&#0233;"]
        {
            assert_eq!(read(written, false), "caf\u{e9}", "{written}");
        }
        assert_eq!(read("&ldquo;&#147;\u{201c}", false), "\u{201c}\u{201c}\u{201c}");
        assert_eq!(read("a&nbsp;b&nbspc&nbsp d&#160;e", false), "a b&nbspc d e");
        assert_eq!(
            read("R&amp;D AT&T a&b; &#x; &#-5; &#xD800; &#0; &", false),
            "R&D AT&T a&b; &#x; &#-5; &#xD800; &#0; &"
        );
    }

    /// White space becomes one space, or one line break where lines are kept.
    #[test]
    fn white_space_collapses() {
        assert_eq!(read("a \t\r\n  b&nbsp; c", false), "a b c");
        assert_eq!(read("a  \n\n  b\r\nc", true), "a\nb\nc");
        assert_eq!(read("  a", false), "a");
    }
}

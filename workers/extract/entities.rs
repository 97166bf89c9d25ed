//! Turns markup characters into text: decodes character references and collapses white space.
//!
//! Follows the HTML Living Standard from section 13.2.5.72 on; its names are those of section 13.5.
//! We differ in that a number that stands for no character stays as written. There are never two
//! spaces in a row, and a character reference is at most one byte longer than it was written.

use htmlize::{BARE_ENTITY_MAX_LENGTH, ENTITIES, ENTITY_MAX_LENGTH};

/// The usual meaning of the C1 controls in a numeric reference: windows-1252, 0x80 to 0x9F (0:
/// none).
const WINDOWS_1252: [u16; 32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
    0x0152, 0, 0x017D, 0, 0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC,
    0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
];

/// Appends `written` to `text`. With `keep_lines` a line break stays; otherwise all white space
/// becomes one space.
pub fn append(text: &mut Vec<u8>, written: &[u8], keep_lines: bool) {
    append_with(text, written, keep_lines, false);
}

/// Appends the value of an attribute to `text`. `&copy=` within an address is no copyright mark.
pub fn append_attribute(text: &mut Vec<u8>, written: &[u8]) {
    append_with(text, written, false, true);
}

fn append_with(text: &mut Vec<u8>, written: &[u8], keep_lines: bool, in_attribute: bool) {
    let mut at = 0;
    while at < written.len() {
        let byte = written[at];
        if byte == b'&' {
            at += append_reference(text, &written[at..], in_attribute);
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

/// Appends the characters of the reference at the start of `written`, which begins with `&`.
/// Returns the number of bytes that it takes.
fn append_reference(text: &mut Vec<u8>, written: &[u8], in_attribute: bool) -> usize {
    if written.get(1) == Some(&b'#') {
        if let Some((character, bytes)) = numeric(written) {
            append_character(text, character);
            return bytes;
        }
    } else if let Some((characters, bytes)) = named(written, in_attribute) {
        characters.chars().for_each(|character| append_character(text, character));
        return bytes;
    }
    text.push(b'&');
    1
}

fn append_character(text: &mut Vec<u8>, character: char) {
    if character.is_whitespace() {
        append_space(text, b' ');
    } else if !character.is_control() {
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// The characters of the name at the start of `written`, and the bytes that it takes. Some old
/// names need no semicolon; in a text they may stand in front of other letters.
fn named(written: &[u8], in_attribute: bool) -> Option<(&'static str, usize)> {
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric();
    let name = written[1..].iter().take(ENTITY_MAX_LENGTH - 1).take_while(is_of_name).count();
    let characters = |bytes: usize| {
        let found = ENTITIES.get(written.get(..bytes)?)?;
        Some((str::from_utf8(found).ok()?, bytes))
    };
    if written.get(1 + name) == Some(&b';')
        && let Some(found) = characters(name + 2)
    {
        return Some(found);
    }
    if in_attribute {
        let is_whole = written.get(1 + name) != Some(&b'=');
        return is_whole.then(|| characters(1 + name)).flatten();
    }
    (2..=BARE_ENTITY_MAX_LENGTH.min(1 + name)).rev().find_map(characters)
}

/// The character of the number at the start of `written`, and the bytes that it takes.
fn numeric(written: &[u8]) -> Option<(char, usize)> {
    let (start, radix) = match written {
        [_, _, b'x' | b'X', ..] => (3, 16),
        _ => (2, 10),
    };
    let digits = written[start..].iter().map_while(|byte| char::from(*byte).to_digit(radix));
    let (count, code) = digits.fold((0, 0_u32), |(count, code), digit| {
        (count + 1, code.saturating_mul(radix).saturating_add(digit))
    });
    let code = match code {
        0x80..=0x9F => u32::from(WINDOWS_1252[code as usize - 0x80]),
        _ => code,
    };
    let end = start + count;
    let character = char::from_u32(code).filter(|character| *character != '\0')?;
    Some((character, end + usize::from(written.get(end) == Some(&b';'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &str, keep_lines: bool) -> String {
        let mut text = Vec::new();
        append(&mut text, written.as_bytes(), keep_lines);
        String::from_utf8(text).expect("UTF-8 in, UTF-8 out")
    }

    /// Only 253 names were known, so `&lstrok;` and `&gbreve;` stayed in Polish and Turkish words.
    /// All names of HTML are, also those of two characters.
    #[test]
    fn every_name() {
        assert_eq!(ENTITIES.len(), 2231);
        for (name, characters) in ENTITIES.entries() {
            assert!(name.starts_with(b"&") && characters.len() <= name.len() + 1);
            let mut text = Vec::new();
            append(&mut text, name, false);
            assert!(!text.starts_with(b"&") || characters.starts_with(b"&"), "{name:?}");
        }
        assert_eq!(read("&Lstrok;&oacute;d&zacute;, &Idot;&gbreve;&scedil;", false), "Łódź, İğş");
        assert_eq!(read("&Mcy;&ecy;&rcy;&NewLine;&Tab;&acE;", false), "Мэр \u{223e}\u{333}");
    }

    /// Old names and numbers without a semicolon stayed as written in front of a letter. In a text
    /// they end where the name ends, in an address only where the letters do.
    #[test]
    fn without_semicolon() {
        let text =
            "caf&eacute au lait &copy2024 &notit; &notin; &#20013&#x6587;&ampx &aogon &lstrok";
        assert_eq!(read(text, false), "café au lait ©2024 ¬it; ∉ 中文&x &aogon &lstrok");
        let mut address = Vec::new();
        append_attribute(&mut address, b"/?a=1&copy=2&amp;b&ampc&lt&reg;&amp");
        assert_eq!(String::from_utf8_lossy(&address), "/?a=1&copy=2&b&ampc<®&");
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
        assert_eq!(read("a&nbsp;b&nbspc&nbsp d&#160;e", false), "a b c d e");
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

//! Shows foreign text without the characters that a terminal or a browser obeys.

/// Whether a character turns the direction of the text behind it, so that an address of a hostile
/// page would be read as another.
pub fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a terminal obeys `c`: a control character, or a mark that turns the direction of what
/// follows.
pub fn is_obeyed(c: char) -> bool {
    c.is_control() || turns_direction(c)
}

/// `text` with every character that a terminal obeys ([`is_obeyed`]) replaced. Text of a crawl must
/// pass through here on its way to a terminal: with a line break it could forge a line of a report,
/// with an escape sequence do anything that the terminal obeys.
pub fn plain(text: &str) -> String {
    text.replace(is_obeyed, "\u{fffd}")
}

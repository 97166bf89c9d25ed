//! Colours on a terminal. The texts may come from hostile pages, so no control character of a text
//! reaches the terminal.

use clap::ColorChoice;
use std::io::IsTerminal;
pub use workers::plain::plain;

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Parts that only the first text has, and refusals.
    Red,
    /// Parts that only the second text has, and acceptances.
    Green,
    /// Addresses.
    Cyan,
    /// Less important text.
    Faint,
    /// The most important text.
    Bold,
}

impl Paint {
    /// A paint for stdout. `auto` is a terminal that is not dumb, unless `NO_COLOR` is set and not
    /// empty (no-color.org).
    pub fn stdout(when: ColorChoice) -> Paint {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let on = match when {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb,
        };
        Paint { on }
    }

    /// `text` in a colour, without control characters.
    pub fn of(self, colour: Colour, text: &str) -> String {
        let text = plain(text);
        let code = match colour {
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Cyan => 36,
            Colour::Faint => 2,
            Colour::Bold => 1,
        };
        if self.on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text }
    }

    /// An address.
    pub fn url(self, url: &str) -> String {
        self.of(Colour::Cyan, url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Escape sequences in the text of a page have no effect on the terminal.
    #[test]
    fn hostile_texts_are_plain() {
        let hostile = "a\x1b[2J\x1b]0;title\x07\u{9b}31m\u{202e}b\r\n";
        let shown = Paint { on: true }.of(Colour::Red, hostile);
        let inner = shown
            .strip_prefix("\x1b[31m")
            .and_then(|rest| rest.strip_suffix("\x1b[0m"))
            .expect("painted");
        assert!(!inner.contains(|c: char| c.is_control() || c == '\u{202e}'), "{inner:?}");
        assert!(!Paint { on: false }.of(Colour::Red, hostile).contains('\x1b'));
    }
}

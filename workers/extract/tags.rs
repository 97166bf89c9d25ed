//! The element names that shape a page's text. In comes a tag's name as written, out goes what it does to the text around
//! it; a name that shapes nothing is [`Element::Inline`]. Never allocates.
//!
//! Names and groups follow the HTML Living Standard (html.spec.whatwg.org, sections 4 and 13.2). We differ where names act
//! alike (`h1` to `h6`, `ul` and `ol`: one tag) and let unknown names pass as inline.

/// What an element does to the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Runs within a line, or shapes nothing.
    Inline,
    /// `a`: runs within a line, its text may count as link text.
    Anchor,
    /// `br`, `hr`: ends a block and has no content.
    Break,
    /// Begins and ends a block of text.
    Block(Tag),
    /// Its content is no text of this page.
    Skipped(Skipped),
}

/// An element that begins and ends a block of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    /// The tree's root, never written in a page.
    Root,
    /// `html`, `body`.
    Body,
    /// `div` and what acts like one.
    Div,
    /// `p`.
    Paragraph,
    /// `section`.
    Section,
    /// `article`.
    Article,
    /// `main`.
    Main,
    /// `h1` to `h6`.
    Heading,
    /// `ul`, `ol`, `menu`.
    List,
    /// `li`.
    Item,
    /// `dl`.
    Definitions,
    /// `dt`, `dd`.
    Definition,
    /// `table`. Row groups and captions shape nothing: their end tags are optional.
    Table,
    /// `tr`.
    Row,
    /// `td`, `th`.
    Cell,
    /// `pre`: line breaks are kept.
    Preformatted,
    /// `blockquote`.
    Quote,
    /// `figure`, `figcaption`.
    Figure,
    /// `form`, `fieldset`.
    Form,
    /// `header`.
    Header,
    /// `nav`, `footer`, `aside`, `dialog`, `search`: the site's, not the page's.
    Chrome,
    /// `select`, `button`.
    Control,
}

impl Tag {
    /// One more than the greatest `tag as usize`.
    pub const COUNT: usize = Tag::Control as usize + 1;
}

/// An element whose content is skipped by search for its end tag. `self as u32` is its bit in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is the element of that name")]
pub enum Skipped {
    Script,
    Style,
    Title,
    Textarea,
    Noscript,
    Noframes,
    Template,
    Svg,
    Math,
    Iframe,
    Object,
    Canvas,
    Audio,
    Video,
}

impl Skipped {
    /// Whether a missing end tag means that the rest of the page is this element's, as in a browser. For the others a
    /// browser would say the same or go on within the element; we go on, for the text behind is worth more.
    pub fn swallows_page(self) -> bool {
        matches!(self, Skipped::Script | Skipped::Style)
    }
}

impl Element {
    /// The element of this name, written in any case.
    pub fn named(name: &[u8]) -> Element {
        const NAME_BYTES_MAX: usize = 10;
        let mut lower = [0; NAME_BYTES_MAX];
        let Some(lower) = lower.get_mut(..name.len()) else {
            return Element::Inline;
        };
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        let tag = match &*lower {
            b"a" => return Element::Anchor,
            b"br" | b"hr" => return Element::Break,
            b"div" | b"center" | b"details" | b"summary" | b"address" | b"hgroup" => Tag::Div,
            b"p" => Tag::Paragraph,
            b"li" => Tag::Item,
            b"ul" | b"ol" | b"menu" | b"dir" => Tag::List,
            b"td" | b"th" => Tag::Cell,
            b"tr" => Tag::Row,
            b"table" => Tag::Table,
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => Tag::Heading,
            b"pre" | b"listing" | b"xmp" => Tag::Preformatted,
            b"section" => Tag::Section,
            b"article" => Tag::Article,
            b"main" => Tag::Main,
            b"header" => Tag::Header,
            b"blockquote" => Tag::Quote,
            b"dl" => Tag::Definitions,
            b"dt" | b"dd" => Tag::Definition,
            b"figure" | b"figcaption" => Tag::Figure,
            b"form" | b"fieldset" => Tag::Form,
            b"nav" | b"footer" | b"aside" | b"dialog" | b"search" => Tag::Chrome,
            b"select" | b"button" => Tag::Control,
            b"body" | b"html" => Tag::Body,
            _ => return Skipped::named(lower).map_or(Element::Inline, Element::Skipped),
        };
        Element::Block(tag)
    }
}

impl Skipped {
    fn named(lower: &[u8]) -> Option<Skipped> {
        Some(match lower {
            b"script" => Skipped::Script,
            b"style" => Skipped::Style,
            b"title" => Skipped::Title,
            b"textarea" => Skipped::Textarea,
            b"noscript" => Skipped::Noscript,
            b"noframes" => Skipped::Noframes,
            b"template" => Skipped::Template,
            b"svg" => Skipped::Svg,
            b"math" => Skipped::Math,
            b"iframe" => Skipped::Iframe,
            b"object" => Skipped::Object,
            b"canvas" => Skipped::Canvas,
            b"audio" => Skipped::Audio,
            b"video" => Skipped::Video,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name means the same in any case, and a name that only begins like a known one is not that one.
    #[test]
    fn names_fold_case_and_match_whole() {
        assert_eq!(Element::named(b"DIV"), Element::Block(Tag::Div));
        assert_eq!(Element::named(b"BlockQuote"), Element::Block(Tag::Quote));
        assert_eq!(Element::named(b"h6"), Element::Block(Tag::Heading));
        assert_eq!(Element::named(b"sCript"), Element::Skipped(Skipped::Script));
        for other in [&b""[..], b"h7", b"pp", b"articles", b"main-content", b"a-name-longer-than-any-element"] {
            assert_eq!(Element::named(other), Element::Inline, "{}", String::from_utf8_lossy(other));
        }
    }
}

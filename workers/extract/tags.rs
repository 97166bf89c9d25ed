//! The element names that shape the text of a page, and what each does to the text around it.
//!
//! Names and groups follow the HTML Living Standard (html.spec.whatwg.org, sections 4 and 13.2). We
//! differ in that names of equal effect share a tag (`h1` to `h6`, `ul` and `ol`) and unknown names
//! count as inline. Nothing is allocated.

/// The effect of an element on the text around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Runs within a line, or has no effect.
    Inline,
    /// `a`: runs within a line; its text may count as link text.
    Anchor,
    /// `link`: has no text, and may name the address of the page.
    Link,
    /// `base`: has no text, and says what relative addresses begin with.
    Base,
    /// `br`, `hr`: ends a block and has no content.
    Break,
    /// `time`: runs within a line, and says that the line has a time, however it is written.
    Time,
    /// `ruby`, `rb`: runs within a line; it, or its end, ends a reading before it.
    Ruby,
    /// `rt`, `rp`: how the characters before it are read, and the brackets around that.
    Reading,
    /// `rtc`: holds several readings.
    Readings,
    /// Begins and ends a block of text.
    Block(Tag),
    /// Its content is not text of the page.
    Skipped(Skipped),
}

/// An element that begins and ends a block of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Tag {
    /// The root of the tree, which no page has.
    Root,
    /// `html`, `body`.
    Body,
    /// `div` and elements of the same effect.
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
    /// `table`. Row groups and captions have no effect: their end tags are optional.
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

/// An element whose content is skipped up to its end tag. `self as u32` is its bit in a set.
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
    /// Whether the rest of the page belongs to this element if its end tag is missing, as in a
    /// browser. For the others a browser does the same or goes on inside the element; we go on
    /// after the start tag, since the text there is worth more.
    pub fn runs_to_page_end(self) -> bool {
        matches!(self, Skipped::Script | Skipped::Style)
    }
}

impl Element {
    /// The element of this name, in any case.
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
            b"time" => return Element::Time,
            b"ruby" | b"rb" => return Element::Ruby,
            b"rt" | b"rp" => return Element::Reading,
            b"rtc" => return Element::Readings,
            b"link" => return Element::Link,
            b"base" => return Element::Base,
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

    /// A name is found in any case, and only as a whole.
    #[test]
    fn names_fold_case_and_match_whole() {
        assert_eq!(Element::named(b"DIV"), Element::Block(Tag::Div));
        assert_eq!(Element::named(b"BlockQuote"), Element::Block(Tag::Quote));
        assert_eq!(Element::named(b"h6"), Element::Block(Tag::Heading));
        assert_eq!(Element::named(b"sCript"), Element::Skipped(Skipped::Script));
        for other in [
            &b""[..],
            b"h7",
            b"pp",
            b"articles",
            b"main-content",
            b"a-name-longer-than-any-element",
        ] {
            assert_eq!(
                Element::named(other),
                Element::Inline,
                "{}",
                String::from_utf8_lossy(other)
            );
        }
    }
}

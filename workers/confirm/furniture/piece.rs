//! The kinds of furniture.

/// What a piece of furniture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Furniture {
    /// How often a page was read, liked or answered.
    Counter,
    /// A time of the day.
    Clock,
    /// When a page was written or sent, and from where.
    DateLine,
    /// The year of a copyright, or the number under which a site is recorded.
    Copyright,
    /// Who wrote, edited or sent it.
    Credit,
    /// A short link, which leads elsewhere by an id that says nothing: `https://t.co/qdw4zb1s9k`.
    Link,
    /// A bar of buttons that send the page to someone.
    Share,
    /// A picture that is written as its name in brackets: `[微笑]`.
    Emoticon,
    /// What a conversion of HTML left of a character: `&nbsp;`.
    Entity,
}

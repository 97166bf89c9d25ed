//! What the keys of a file take, in words.

/// One key of a file. A key in a table is named `table.key`; that of an entry of a list of tables
/// `list.key`, or `list.kind.key` if the entry's kind decides which keys it has.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The dotted name of the key.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Whether the file needs it.
    pub needed: bool,
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// A text.
    Text,
    /// A text or a list of texts.
    Texts,
    /// A list of texts, even of one.
    List,
    /// An IP address.
    Address,
    /// The path of a file of this machine that is read.
    Path,
    /// The path of a file or a folder of this machine that is written.
    Place,
    /// A path or a list of paths.
    Paths,
    /// `true` or `false`.
    Switch,
    /// A whole number between two bounds.
    Whole(u64, u64),
    /// A number between two bounds.
    Number(f64, f64),
    /// A share between two bounds, both in 1/10,000; the value is kept in this unit, too.
    Share(u16, u16),
    /// One of these words.
    Word(&'static [&'static str]),
    /// One or several of these words, at most this many.
    Words(&'static [&'static str], usize),
    /// A list of tables. If `Some`, the entry's `kind`, one of these, decides its keys.
    Tables(Option<&'static [&'static str]>),
}

impl Takes {
    /// Whether it is a text, which needs no quotes on the command line.
    pub fn is_text(self) -> bool {
        match self {
            Takes::Text
            | Takes::Texts
            | Takes::Address
            | Takes::Path
            | Takes::Place
            | Takes::Paths
            | Takes::Word(_)
            | Takes::Words(..) => true,
            Takes::List
            | Takes::Switch
            | Takes::Whole(..)
            | Takes::Number(..)
            | Takes::Share(..)
            | Takes::Tables(_) => false,
        }
    }

    /// The allowed values, as the end of a sentence.
    pub fn wanted(self) -> String {
        match self {
            Takes::Text => "a text in quotes".into(),
            Takes::Texts => "a text in quotes, or a list of them".into(),
            Takes::List => "a list of texts in quotes".into(),
            Takes::Address => "an IP address in quotes".into(),
            Takes::Path | Takes::Place => "a path in quotes".into(),
            Takes::Paths => "a path in quotes, or a list of them".into(),
            Takes::Switch => "true or false".into(),
            Takes::Whole(0, u64::MAX) => "a whole number".into(),
            Takes::Whole(least, u64::MAX) => format!("a whole number from {least} up"),
            Takes::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Takes::Number(least, most) => format!("a number from {least} to {most}"),
            Takes::Share(least, most) => {
                format!("a share from {} to {}", tenths(least), tenths(most))
            }
            Takes::Word(words) => listed(words, "or"),
            Takes::Words(words, most) => {
                format!("a list of at most {most} of {}", listed(words, "and"))
            }
            Takes::Tables(_) => "a list of tables".into(),
        }
    }
}

/// A share in 1/10,000 as a decimal fraction.
fn tenths(share: u16) -> String {
    (f64::from(share) / 1e4).to_string()
}

/// `words` in quotes, the last two with `and` or `or` between them.
pub fn listed(words: &[&str], joint: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} {joint} {last}", first.join(", ")),
        None => "nothing".into(),
    }
}

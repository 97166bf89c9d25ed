//! What is asked of a server, and what it decides.

use crate::ask::answer::{Answer, Because};
use crate::error::Error;
use crate::online::writing::Appended;
use crate::read::record::{Body, Item, Record};

/// What is asked about.
pub enum CheckInput {
    /// A record.
    Record(Record),
    /// A text or a page without a URL.
    Nameless(Body),
}

/// What was decided about a record.
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// Whether the record was inserted.
    pub inserted: bool,
    /// When the answer holds.
    pub after: Appended,
}

/// What becomes of a removal.
pub struct Removal {
    /// The URL.
    pub url: String,
    /// Whether it removes a page: there is a page, and its date is not later.
    pub removed: bool,
    /// Why the next epoch may decide otherwise, as of an answer.
    pub because: Vec<Because>,
    /// Whether it was inserted.
    pub inserted: bool,
    /// When the answer holds.
    pub after: Appended,
}

/// Why a record was not taken.
#[derive(Debug)]
pub enum Refused {
    /// A run would reject it.
    Row(Item),
    /// The overlay has no room until an epoch takes some of its records.
    Full,
    /// The job has no inbox, or this server does not write it.
    NoInbox,
    /// The store cannot be read.
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Failed(error)
    }
}

impl From<Item> for Refused {
    fn from(item: Item) -> Refused {
        Refused::Row(item)
    }
}

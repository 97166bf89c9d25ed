//! Rows for the tests of this room, which does not know the tables of `tables`.

use crate::id::Id;
use crate::store::table::table;

table! {
    /// Keys that are digests, with several rows each.
    pub struct IdsRow in "ids", columns IdsColumns {
        key {
            /// The lookup key.
            id: Id,
            /// What tells rows of one key apart.
            other: Id,
        }
        value {}
        history {}
    }
}

table! {
    /// A value for each key.
    pub struct ValueRow in "values", columns ValueColumns {
        key {
            /// The lookup key.
            id: Id,
        }
        value {
            /// What is known of it.
            value: Id,
        }
        history {}
    }
}

table! {
    /// Byte strings, in smaller batches.
    pub struct BytesRow in "bytes", columns BytesColumns, batch 1024 {
        key {
            /// The lookup key.
            id: Id,
        }
        value {
            /// A number.
            number: u64,
            /// Bytes.
            first: Box<[u8]>,
            /// More of them.
            second: Box<[u8]>,
            /// And more.
            third: Box<[u8]>,
        }
        history {}
    }
}

table! {
    /// Keys that are numbers, with one row each.
    pub struct NumberRow in "numbers", columns NumberColumns {
        key {
            /// The lookup key.
            key: u64,
        }
        value {}
        history {}
    }
}

table! {
    /// The same with several rows each.
    pub struct NumberIdRow in "number_ids", columns NumberIdColumns {
        key {
            /// The lookup key.
            key: u64,
            /// What tells rows of one key apart.
            id: Id,
        }
        value {}
        history {}
    }
}

table! {
    /// The same with filters.
    pub struct FilteredRow in "filtered", columns FilteredColumns, filter 10 {
        key {
            /// The lookup key.
            key: u64,
            /// What tells rows of one key apart.
            id: Id,
        }
        value {}
        history {}
    }
}

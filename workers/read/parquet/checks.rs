//! Checks the numbers in a Parquet file by which its decoder would allocate memory or recurse.
//!
//! A failed allocation and a stack overflow cannot be caught, so the numbers of a footer, a page
//! header or a decoded page are checked before the decoder uses them. No value is decoded here.
//!
//! Footers and page headers use Thrift's compact protocol
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>); their
//! fields are those of
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::schema::types::ColumnDescriptor;

/// The most levels of groups in a schema, and of structures in a footer.
pub const DEPTH_MAX: usize = 64;

/// The most bytes to which a page may decode. Writers make pages of 1 to 100 MB.
pub const PAGE_BYTES_MAX: u64 = 128 << 20;

/// The most values in one block of delta encoding; writers use 128.
const DELTA_BLOCK_MAX: u64 = 1 << 16;

/// What the pages of a column have in common.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The greatest definition level: 0 if no value can be null.
    pub definition_max: i16,
    /// The greatest repetition level: 0 if the column is in no list.
    pub repetition_max: i16,
    /// The fewest bytes that a value in a dictionary takes.
    pub value_bytes_min: usize,
}

impl Shape {
    /// The shape of the pages of `column`.
    pub fn of(column: &ColumnDescriptor) -> Shape {
        let value_bytes_min = match column.physical_type() {
            Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or(1),
            _ => 4,
        };
        Shape {
            definition_max: column.max_def_level(),
            repetition_max: column.max_rep_level(),
            value_bytes_min: value_bytes_min.max(1),
        }
    }
}

/// Whether the schema in a footer is a tree of exactly its elements, at most [`DEPTH_MAX`] deep.
pub fn schema_is_sound(footer: &[u8]) -> bool {
    children(footer).is_some_and(|children| {
        let count = children.len() as u64;
        let mut open: Vec<u64> = Vec::new();
        for (n, &wanted) in children.iter().enumerate() {
            if let Some(left) = open.last_mut() {
                *left -= 1;
            } else if n > 0 {
                return false;
            }
            if wanted > count || open.len() >= DEPTH_MAX {
                return false;
            }
            open.push(wanted);
            while open.last() == Some(&0) {
                open.pop();
            }
        }
        open.is_empty()
    })
}

/// Whether a footer that can be read says that columns are encrypted.
pub fn is_encrypted(footer: &[u8]) -> bool {
    const ENCRYPTION_ALGORITHM: i16 = 8;
    let (mut thrift, mut id) = (Thrift(footer), 0);
    while let Some(Some(kind)) = thrift.field(&mut id) {
        if id == ENCRYPTION_ALGORITHM {
            return true;
        }
        if thrift.skip(kind, 0).is_none() {
            break;
        }
    }
    false
}

/// The number of children that each element of the schema in a footer states.
fn children(footer: &[u8]) -> Option<Vec<u64>> {
    const SCHEMA: i16 = 2;
    const NUM_CHILDREN: i16 = 5;
    let mut thrift = Thrift(footer);
    let mut id = 0;
    loop {
        let kind = thrift.field(&mut id)??;
        if id != SCHEMA {
            thrift.skip(kind, 0)?;
            continue;
        }
        let (kind, size) = thrift.list()?;
        if kind != STRUCT || size > footer.len() as u64 {
            return None;
        }
        let mut all = Vec::new();
        for _ in 0..size {
            let (mut id, mut count) = (0, 0);
            while let Some(kind) = thrift.field(&mut id)? {
                match id {
                    NUM_CHILDREN => count = u64::try_from(thrift.signed()?).ok()?,
                    _ => thrift.skip(kind, 0)?,
                }
            }
            all.push(count);
        }
        return Some(all);
    }
}

/// The bytes to which a page decodes, if these first bytes of its header state them.
pub fn page_bytes(head: &[u8]) -> Option<i64> {
    const UNCOMPRESSED_PAGE_SIZE: i16 = 2;
    let mut thrift = Thrift(head);
    let mut id = 0;
    while let Some(kind) = thrift.field(&mut id)? {
        if id == UNCOMPRESSED_PAGE_SIZE {
            return thrift.signed();
        }
        thrift.skip(kind, 0)?;
    }
    None
}

/// Whether a page decodes to at most [`PAGE_BYTES_MAX`], as far as these first bytes of its header
/// state it.
pub fn page_header_is_sound(head: &[u8]) -> bool {
    page_bytes(head).is_none_or(|bytes| (0..=PAGE_BYTES_MAX as i64).contains(&bytes))
}

/// Whether a page has room for the values that it states, in an encoding that is known to stop at
/// the end of the page. Repetition and definition levels, where the column has them, come before
/// the values.
pub fn page_is_sound(page: &Page, shape: Shape) -> bool {
    let (bytes, values, encoding) = match page {
        Page::DictionaryPage { buf, num_values, .. } => {
            return *num_values as usize <= buf.len() / shape.value_bytes_min;
        }
        Page::DataPage {
            buf,
            num_values,
            encoding,
            def_level_encoding,
            rep_level_encoding,
            ..
        } => {
            let bytes = behind_levels(buf, *num_values, shape.repetition_max, *rep_level_encoding)
                .and_then(|rest| {
                    behind_levels(rest, *num_values, shape.definition_max, *def_level_encoding)
                });
            (bytes, *num_values, *encoding)
        }
        Page::DataPageV2 {
            buf,
            num_values,
            encoding,
            def_levels_byte_len,
            rep_levels_byte_len,
            ..
        } => {
            let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
            (buf.get(levels..), *num_values, *encoding)
        }
    };
    let Some(bytes) = bytes else { return false };
    match encoding {
        Encoding::PLAIN | Encoding::RLE | Encoding::BYTE_STREAM_SPLIT => true,
        Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => true,
        // A page with nothing but nulls may have no values at all.
        _ if bytes.is_empty() => true,
        Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => {
            deltas(bytes, values).is_some()
        }
        Encoding::DELTA_BYTE_ARRAY => {
            deltas(bytes, values).and_then(|rest| deltas(rest, values)).is_some()
        }
        _ => false,
    }
}

/// The bytes after the levels of `values` values, of which `level_max` is the greatest; `None` if
/// they end too late.
fn behind_levels(bytes: &[u8], values: u32, level_max: i16, encoding: Encoding) -> Option<&[u8]> {
    let bits = i16::BITS - level_max.leading_zeros();
    let levels = match (bits, bytes.first_chunk()) {
        (0, _) => 0,
        (_, Some(length)) if encoding == Encoding::RLE => 4 + u32::from_le_bytes(*length) as usize,
        (_, _) => (values as usize * bits as usize).div_ceil(8),
    };
    bytes.get(levels..)
}

/// The bytes after a list of delta-encoded numbers; `None` if it states more than `values_max` or
/// ends too early.
fn deltas(bytes: &[u8], values_max: u32) -> Option<&[u8]> {
    let mut bytes = Thrift(bytes);
    let (block, minis, values) = (bytes.unsigned()?, bytes.unsigned()?, bytes.unsigned()?);
    bytes.unsigned()?;
    if block > DELTA_BLOCK_MAX || minis == 0 || block < minis || values > u64::from(values_max) {
        return None;
    }
    let in_mini = block / minis;
    let mut left = values.saturating_sub(1);
    while left > 0 {
        bytes.unsigned()?;
        for &bits in bytes.take(minis)? {
            if left > 0 {
                bytes.take(u64::from(bits) * in_mini / 8)?;
            }
            left = left.saturating_sub(in_mini);
        }
    }
    Some(bytes.0)
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// The unread rest of a structure in Thrift's compact protocol. Its methods return `None` at the
/// end, and if it cannot be read.
struct Thrift<'a>(&'a [u8]);

impl<'a> Thrift<'a> {
    fn take(&mut self, bytes: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.unsigned()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The type of the next field, with its number in `id`. The inner `None` is the end of the
    /// structure.
    fn field(&mut self, id: &mut i16) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *id = match head >> 4 {
            0 => i16::try_from(self.signed()?).ok()?,
            ahead => id.checked_add(i16::from(ahead))?,
        };
        Some(Some(head & 15))
    }

    /// The type and the number of a list's elements.
    fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let size = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
        Some((head & 15, size))
    }

    /// Reads past a field of type `kind`.
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            _ if depth > DEPTH_MAX => None,
            TRUE | FALSE => Some(()),
            BYTE => self.byte().map(drop),
            4..=I64 => self.unsigned().map(drop),
            DOUBLE => self.take(8).map(drop),
            BINARY => {
                let bytes = self.unsigned()?;
                self.take(bytes).map(drop)
            }
            LIST | SET => {
                let (kind, size) = self.list()?;
                (0..size).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            MAP => {
                let size = self.unsigned()?;
                let kinds = if size > 0 { self.byte()? } else { 0 };
                (0..size).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth + 1)?;
                    self.skip_element(kinds & 15, depth + 1)
                })
            }
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// Reads past an element. Unlike a field, an element has a byte even if it is true or false.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            TRUE | FALSE => self.byte().map(drop),
            _ => self.skip(kind, depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    /// A footer whose schema has elements with these numbers of children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xfc];
        bytes.push(children.len() as u8);
        for count in children {
            bytes.extend([0x48, 1, b'x', 0x15, 2 * count, 0]);
        }
        bytes.push(0);
        bytes
    }

    /// A sound schema is a tree: no child is missing, none is left over, and it is not too deep.
    #[test]
    fn schemas() {
        assert!(schema_is_sound(&footer(&[2, 0, 0])));
        assert!(schema_is_sound(&footer(&[2, 1, 0, 0])));
        assert!(schema_is_sound(&footer(&[0])));
        for wrong in [&[2, 0][..], &[1, 0, 0], &[63, 0], &[0, 0]] {
            assert!(!schema_is_sound(&footer(wrong)), "{wrong:?}");
        }
        let chain = |depth: usize| [vec![1; depth - 1], vec![0]].concat();
        assert!(schema_is_sound(&footer(&chain(DEPTH_MAX))));
        assert!(!schema_is_sound(&footer(&chain(DEPTH_MAX + 1))));
        assert!(!schema_is_sound(b""));
        // The algorithm is field 8, a structure; here behind the schema, field 2.
        let sound = footer(&[1, 0]);
        let encrypted = [&sound[..sound.len() - 1], &[0x6c, 0, 0]].concat();
        assert_eq!([&sound, &encrypted].map(|footer| is_encrypted(footer)), [false, true]);
        assert!(!schema_is_sound(&footer(&[2, 0, 0])[..9]));
    }

    /// A page that states a size beyond the limit, or below zero, is refused; an unreadable header
    /// is left to the decoder.
    #[test]
    fn page_headers() {
        let header = |bytes: i64| {
            let mut head = vec![0x15, 0, 0x15];
            let mut number = ((bytes << 1) ^ (bytes >> 63)) as u64;
            while number >= 0x80 {
                head.push(number as u8 | 0x80);
                number >>= 7;
            }
            [head, vec![number as u8, 0x15, 2, 0]].concat()
        };
        assert!(page_header_is_sound(&header(0)));
        assert!(page_header_is_sound(&header(PAGE_BYTES_MAX as i64)));
        assert!(!page_header_is_sound(&header(PAGE_BYTES_MAX as i64 + 1)));
        assert!(!page_header_is_sound(&header(-1)));
        assert!(page_header_is_sound(b""));
    }

    /// The shape of a column with these greatest levels.
    fn shape(repetition_max: i16, definition_max: i16) -> Shape {
        Shape { definition_max, repetition_max, value_bytes_min: 4 }
    }

    /// A dictionary states at most as many values as its bytes can hold, and a list of deltas at
    /// most as many as its page. The levels of lists stand before those of nulls.
    #[test]
    fn pages() {
        let dictionary = |num_values| Page::DictionaryPage {
            buf: Bytes::from_static(&[0; 8]),
            num_values,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        assert!(page_is_sound(&dictionary(2), shape(0, 0)));
        assert!(!page_is_sound(&dictionary(3), shape(0, 0)));
        let data = |bytes: &'static [u8], encoding| Page::DataPage {
            buf: Bytes::from_static(bytes),
            num_values: 3,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let (three, four) =
            (b"\x80\x01\x04\x03\x02\x00\0\0\0\0", b"\x80\x01\x04\x04\x02\x00\0\0\0\0");
        assert!(page_is_sound(&data(three, Encoding::DELTA_LENGTH_BYTE_ARRAY), shape(0, 0)));
        assert!(!page_is_sound(&data(four, Encoding::DELTA_LENGTH_BYTE_ARRAY), shape(0, 0)));
        assert!(!page_is_sound(&data(three, Encoding::DELTA_BYTE_ARRAY), shape(0, 1)));
        assert!(page_is_sound(
            &data(b"\x02\0\0\0\x03\x01\x80\x01\x04\x01\x02", Encoding::DELTA_BINARY_PACKED),
            shape(0, 1)
        ));
        let list = b"\x01\0\0\0\x07\x02\0\0\0\x03\x01\x80\x01\x04\x01\x02";
        assert!(page_is_sound(&data(list, Encoding::DELTA_BINARY_PACKED), shape(1, 1)));
        assert!(!page_is_sound(&data(list, Encoding::DELTA_BINARY_PACKED), shape(0, 1)));
        assert!(!page_is_sound(&data(b"\x09\0\0\0", Encoding::PLAIN), shape(0, 1)));
    }

    proptest! {
        /// No bytes make a check panic or loop.
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200), level_max in 0i16..9) {
            schema_is_sound(&bytes);
            page_header_is_sound(&bytes);
            for encoding in [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_BINARY_PACKED] {
                let page = Page::DataPage {
                    buf: bytes.clone().into(),
                    num_values: 1 << 30,
                    encoding,
                    def_level_encoding: Encoding::RLE,
                    rep_level_encoding: Encoding::RLE,
                    statistics: None,
                };
                page_is_sound(&page, shape(level_max / 2, level_max));
            }
        }
    }
}

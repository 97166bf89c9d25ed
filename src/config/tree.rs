//! A file as a tree: each value with the line, or the option of the command line, that wrote it.

use crate::config::mistake::Mistake;
use crate::config::syntax;
use crate::config::written::{At, Lines};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use workers::error::{Error, Kind, Result};

/// A value and where it is written.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it is written.
    pub at: At,
    /// The value.
    pub value: Value,
    /// The letters of a plain value from the command line, where a text needs no quotes.
    pub raw: Option<String>,
}

/// A value of the file.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i128),
    /// Another number.
    Number(f64),
    /// `true` or `false`.
    Switch(bool),
    /// A date or a time.
    Date(String),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A table: values by key.
pub type Table = BTreeMap<String, Node>;

/// The longest value that a message repeats, in characters.
const SHOWN_CHARS_MAX: usize = 60;

impl Value {
    /// The value in TOML, cut if it is long.
    pub fn shown(&self) -> String {
        let whole = match self {
            Value::Text(text) => format!("{text:?}"),
            Value::Whole(n) => n.to_string(),
            Value::Number(n) => format!("{n:?}"),
            Value::Switch(on) => on.to_string(),
            Value::Date(date) => date.clone(),
            Value::List(list) => {
                format!("[{}]", list.iter().map(|n| n.value.shown()).collect::<Vec<_>>().join(", "))
            }
            Value::Table(_) => "a table".into(),
        };
        match whole.char_indices().nth(SHOWN_CHARS_MAX) {
            Some((at, _)) => format!("{} ...", &whole[..at]),
            None => whole,
        }
    }
}

/// The tree of `text`, or the place where it is no TOML.
pub fn parse(text: &str) -> std::result::Result<Table, Mistake> {
    let table = DeTable::parse(text).map_err(|error| syntax::mistake(text, &error))?;
    let lines = Lines::of(text);
    Ok(table_of(table.get_ref(), &|offset| At::Line(lines.line_of(offset))))
}

fn table_of(table: &DeTable<'_>, at: &dyn Fn(usize) -> At) -> Table {
    // A table's line is its heading's; the span of its key says that for dotted keys as well.
    table
        .iter()
        .map(|(key, value)| (key.get_ref().to_string(), node(value, key.span().start, at)))
        .collect()
}

fn node(value: &Spanned<DeValue<'_>>, start: usize, at: &dyn Fn(usize) -> At) -> Node {
    let inner = |value: &Spanned<DeValue<'_>>| node(value, value.span().start, at);
    let of = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        // A number of more digits than any key takes is out of every range.
        DeValue::Integer(n) => Value::Whole(
            i128::from_str_radix(&n.as_str().replace('_', ""), n.radix()).unwrap_or(i128::MAX),
        ),
        DeValue::Float(n) => Value::Number(n.as_str().replace('_', "").parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(on) => Value::Switch(*on),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(list) => Value::List(list.iter().map(inner).collect()),
        DeValue::Table(table) => Value::Table(table_of(table, at)),
    };
    Node { at: at(start), value: of, raw: None }
}

/// Applies the `KEY=VALUE` of number `index` of the command line. A value that is not TOML is a
/// text.
///
/// # Errors
///
/// `Usage` if it has no key or no value.
pub fn set(table: &mut Table, set: &str, index: usize) -> Result<()> {
    let usage = |why: &str| Error::new(Kind::Usage, format!("--set {set}: {why}"));
    let (key, value) =
        set.split_once('=').ok_or_else(|| usage("not KEY=VALUE, such as `simhash.k=2`"))?;
    let mut node = match DeTable::parse(&format!("value = {value}")) {
        Ok(table) if table.get_ref().len() == 1 => {
            let mut table = table_of(table.get_ref(), &|_| At::Set(index));
            table.remove("value").ok_or_else(|| usage("no value"))?
        }
        _ => Node { at: At::Set(index), value: Value::Text(value.to_owned()), raw: None },
    };
    node.raw = Some(value.trim().to_owned());
    let mut keys: Vec<&str> = key.split('.').map(str::trim).collect();
    let last = keys
        .pop()
        .filter(|key| !key.is_empty())
        .ok_or_else(|| usage("no key; wanted is KEY=VALUE"))?;
    let mut table = table;
    for key in keys {
        let empty = || Node { at: At::Set(index), value: Value::Table(Table::new()), raw: None };
        let entry = table.entry(key.to_owned()).or_insert_with(empty);
        table = match &mut entry.value {
            Value::Table(table) => table,
            _ => return Err(usage(&format!("`{key}` is no table, so it has no keys"))),
        };
    }
    table.insert(last.to_owned(), node);
    Ok(())
}

/// Where the value of the dotted key `name` is written, or else the table that it would be in. In
/// a list of tables a name is the `kind` of an entry.
pub fn find(table: &Table, name: &str) -> Option<At> {
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    let node = table.get(first)?;
    let deeper = match &node.value {
        Value::Table(table) if !rest.is_empty() => find(table, rest),
        Value::List(list) if !rest.is_empty() => {
            let kind = rest.split('.').next().unwrap_or(rest);
            let is_kind = |item: &&Node| match &item.value {
                Value::Table(table) => {
                    matches!(table.get("kind"), Some(Node { value: Value::Text(of), .. }) if of == kind)
                }
                _ => false,
            };
            list.iter().find(is_kind).map(|item| item.at)
        }
        _ => None,
    };
    Some(deeper.unwrap_or(node.at))
}

//! Checks a tree by the keys that a file may have.

use crate::config::mistake::Mistake;
use crate::config::nearest::nearest;
use crate::config::paths;
use crate::config::takes::{Key, Takes, listed};
use crate::config::tree::{Node, Table, Value};
use crate::config::written::At;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use workers::distinct::distinct;

/// The values of `table`, and every mistake in it. Wrong values are left out of the result.
pub fn checked(table: &Table, keys: &[Key]) -> (toml::Table, Vec<Mistake>) {
    let mut walk = Walk { keys, mistakes: Vec::new() };
    let values =
        walk.table(table, &Place { path: String::new(), heading: String::new(), at: None });
    (values, walk.mistakes)
}

struct Walk<'a> {
    keys: &'a [Key],
    mistakes: Vec<Mistake>,
}

/// A table of the file.
struct Place {
    /// The dotted name of the table and `.`; empty for the file itself.
    path: String,
    /// The name of the table in messages, with a space behind.
    heading: String,
    /// Where the table is written, if it is an entry of a list.
    at: Option<At>,
}

impl Walk<'_> {
    fn wrong(&mut self, at: impl Into<Option<At>>, why: String) {
        self.mistakes.push(Mistake { at: at.into(), why });
    }

    fn table(&mut self, table: &Table, place: &Place) -> toml::Table {
        let mut values = toml::Table::new();
        // A key that was probably meant by a misspelled one is not also reported as missing.
        let mut meant = Vec::new();
        for (name, node) in table {
            let dotted = format!("{}{name}", place.path);
            let key = self.keys.iter().find(|key| key.name == dotted).copied();
            let is_table = self.keys.iter().any(|key| is_below(key.name, &dotted));
            let label = format!("{}{name}", place.heading);
            let value = match (key, &node.value) {
                (Some(Key { takes: Takes::Tables(kinds), .. }), Value::Table(inner)) => {
                    let why = format!("{label} = {}", no_list(&label, kinds, inner, node.at));
                    self.wrong(node.at, why);
                    None
                }
                // A key may be a switch and a table, such as `simhash`.
                (Some(key), value) if !is_table || !matches!(value, Value::Table(_)) => {
                    self.value(key, node, &label)
                }
                (_, Value::Table(inner)) if is_table => {
                    let place = Place {
                        path: format!("{dotted}."),
                        heading: format!("[{dotted}] "),
                        at: None,
                    };
                    Some(toml::Value::Table(self.table(inner, &place)))
                }
                (_, value) if is_table => {
                    let why = format!(
                        "{label} = {}: [{dotted}] is a table, with lines `key = value`",
                        value.shown()
                    );
                    self.wrong(node.at, why);
                    None
                }
                _ => {
                    meant.extend(nearest(name, self.names(&place.path)));
                    let why = self.unknown(name, node, place);
                    self.wrong(node.at, why);
                    None
                }
            };
            values.extend(value.map(|value| (name.clone(), value)));
        }
        for key in self.keys.iter().filter(|key| key.needed) {
            let Some(rest) = key.name.strip_prefix(&place.path) else { continue };
            let (table_name, name) = rest.rsplit_once('.').unwrap_or(("", rest));
            let first = rest.split('.').next().unwrap_or(rest);
            let in_list = self
                .keys
                .iter()
                .any(|list| list.name == format!("{}{first}", place.path) && list.name != key.name);
            if !table.contains_key(first) && !in_list && !meant.contains(&first) {
                let heading = if table_name.is_empty() {
                    place.heading.clone()
                } else {
                    format!("[{table_name}] ")
                };
                self.wrong(
                    place.at,
                    format!("{heading}{name} is missing: {} is wanted", key.takes.wanted()),
                );
            }
        }
        values
    }

    /// The message about `name`, which is no key of the table at `place`.
    fn unknown(&self, name: &str, node: &Node, place: &Place) -> String {
        let is_table = matches!(node.value, Value::Table(_));
        let what = match is_table && place.path.is_empty() {
            true => format!("[{name}]: no such table"),
            false => format!("{}{name}: no such key", place.heading),
        };
        let names = self.names(&place.path);
        if let Some(meant) = nearest(name, names.iter().copied()) {
            let meant = match is_table && place.path.is_empty() {
                true => format!("[{meant}]"),
                false => format!("`{meant}`"),
            };
            return format!("{what}; did you mean {meant}?");
        }
        // A key of another table, written under the wrong heading.
        let lists = || self.keys.iter().filter(|key| matches!(key.takes, Takes::Tables(_)));
        let elsewhere = self.keys.iter().find_map(|key| match key.name.rsplit_once('.') {
            Some((table, last))
                if last == name && !lists().any(|list| table.starts_with(list.name)) =>
            {
                Some(table)
            }
            None if key.name == name => Some(""),
            _ => None,
        });
        match elsewhere {
            Some("") => format!("{what}; `{name}` stands above the first [table]"),
            Some(table) => format!("{what}; it is a key of [{table}]"),
            None if place.path.is_empty() => format!("{what}; there are {}", names.join(", ")),
            None => format!("{what}; {}has {}", place.heading, names.join(", ")),
        }
    }

    /// The keys and tables directly under `path`.
    fn names(&self, path: &str) -> Vec<&'static str> {
        let rests = self.keys.iter().filter_map(|key| key.name.strip_prefix(path));
        distinct(rests.map(|rest| rest.split('.').next().unwrap_or(rest)))
    }

    /// Reports that `node` is not what `key` takes.
    fn not_wanted(&mut self, key: Key, node: &Node, label: &str) -> Option<toml::Value> {
        let (shown, wanted) = (node.value.shown(), key.takes.wanted());
        self.wrong(node.at, format!("{label} = {shown}: {wanted} is wanted"));
        None
    }

    fn value(&mut self, key: Key, node: &Node, label: &str) -> Option<toml::Value> {
        let value = match key.takes {
            Takes::Address if text(node).is_none_or(|text| text.parse::<IpAddr>().is_err()) => None,
            Takes::List if !matches!(node.value, Value::List(_)) => None,
            Takes::Text | Takes::Address | Takes::Path | Takes::Place | Takes::Word(_) => {
                match text(node) {
                    Some(text) => return self.text(key, node, label, text),
                    None => None,
                }
            }
            Takes::Texts | Takes::List | Takes::Paths | Takes::Words(..) => {
                return self.texts(key, node, label);
            }
            Takes::Switch => match node.value {
                Value::Switch(on) => Some(toml::Value::Boolean(on)),
                _ => None,
            },
            Takes::Whole(least, most) => match node.value {
                Value::Whole(n) if (i128::from(least)..=i128::from(most)).contains(&n) => {
                    Some(toml::Value::Integer(i64::try_from(n).unwrap_or(i64::MAX)))
                }
                _ => None,
            },
            Takes::Number(least, most) => match node.value {
                Value::Whole(n) if (least..=most).contains(&(n as f64)) => {
                    Some(toml::Value::Float(n as f64))
                }
                Value::Number(n) if (least..=most).contains(&n) => Some(toml::Value::Float(n)),
                _ => None,
            },
            Takes::Share(least, most) => return self.share(key, node, label, least..=most),
            Takes::Tables(kinds) => match &node.value {
                Value::List(list) => Some(toml::Value::Array(
                    list.iter().filter_map(|item| self.entry(key, kinds, item, label)).collect(),
                )),
                _ => None,
            },
        };
        value.or_else(|| self.not_wanted(key, node, label))
    }

    /// A list of texts, or a text alone.
    fn texts(&mut self, key: Key, node: &Node, label: &str) -> Option<toml::Value> {
        let list = match &node.value {
            Value::List(list) => list.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut values = Vec::new();
        for item in list {
            match text(item) {
                Some(text) => values.extend(self.text(key, item, label, text)),
                None => return self.not_wanted(key, node, label),
            }
        }
        if matches!(key.takes, Takes::Words(_, most) if values.len() > most) {
            return self.not_wanted(key, node, label);
        }
        Some(toml::Value::Array(values))
    }

    /// A share of 1, in 1/10,000. A percentage is wrong, and the share is named that it may mean.
    fn share(
        &mut self,
        key: Key,
        node: &Node,
        label: &str,
        range: RangeInclusive<u16>,
    ) -> Option<toml::Value> {
        match (share(&node.value), &node.value) {
            (Some(share), _) if range.contains(&share) => Some(toml::Value::Integer(share.into())),
            (None, Value::Whole(percent @ 2..=100))
                if (i128::from(*range.start())..=i128::from(*range.end()))
                    .contains(&(percent * 100)) =>
            {
                let (wanted, meant) = (key.takes.wanted(), *percent as f64 / 100.0);
                let why = format!("{label} = {percent}: {wanted} is wanted; write {meant}");
                self.wrong(node.at, why);
                None
            }
            _ => self.not_wanted(key, node, label),
        }
    }

    /// An entry of a list of tables.
    fn entry(
        &mut self,
        key: Key,
        kinds: Option<&[&str]>,
        item: &Node,
        label: &str,
    ) -> Option<toml::Value> {
        let Value::Table(table) = &item.value else {
            self.wrong(item.at, format!("{label} = {}: a table is wanted", item.value.shown()));
            return None;
        };
        let list = format!("[[{label}]] ");
        let Some(kinds) = kinds else {
            let place = Place { path: format!("{}.", key.name), heading: list, at: Some(item.at) };
            return Some(toml::Value::Table(self.table(table, &place)));
        };
        let mut table = table.clone();
        let named = table.remove("kind");
        match named.as_ref().and_then(text) {
            Some(kind) if kinds.contains(&kind) => {
                let (path, heading) = (format!("{}.{kind}.", key.name), format!("{list}{kind}: "));
                let mut values = self.table(&table, &Place { path, heading, at: Some(item.at) });
                values.insert("kind".into(), toml::Value::String(kind.to_owned()));
                Some(toml::Value::Table(values))
            }
            _ => {
                let (given, at) = named.map_or((" is missing".into(), item.at), |node| {
                    (format!(" = {}", node.value.shown()), node.at)
                });
                self.wrong(at, format!("{list}kind{given}: {} is wanted", listed(kinds, "or")));
                None
            }
        }
    }

    fn text(&mut self, key: Key, node: &Node, label: &str, text: &str) -> Option<toml::Value> {
        let why = match key.takes {
            Takes::Path | Takes::Paths => paths::reading(text),
            Takes::Place => paths::writing(text),
            Takes::Word(words) | Takes::Words(words, _) if !words.contains(&text) => {
                Some(match nearest(text, words.iter().copied()) {
                    Some(meant) => format!("no such word; did you mean \"{meant}\"?"),
                    None => format!("{} is wanted", listed(words, "or")),
                })
            }
            _ => None,
        };
        match why {
            Some(why) => {
                self.wrong(node.at, format!("{label} = {text:?}: {why}"));
                None
            }
            None => Some(toml::Value::String(text.to_owned())),
        }
    }
}

/// What is wrong with a table in place of a list of tables, and how to write the list. The kind of
/// an entry may be the name of a table in it.
fn no_list(label: &str, kinds: Option<&[&str]>, table: &Table, at: At) -> String {
    let kind = kinds.and_then(|kinds| {
        let (name, node) = table.iter().find(|(name, _)| kinds.contains(&name.as_str()))?;
        Some((name, &node.value))
    });
    let wanted = Takes::Tables(None).wanted();
    match (kind, at) {
        (Some((kind, Value::Table(keys))), At::Set(_)) => {
            let keys = keys.iter().map(|(key, node)| format!(",{key}={}", node.value.shown()));
            let keys: String = keys.collect();
            format!("a table: {wanted} is wanted; write '{label}=[{{kind=\"{kind}\"{keys}}}]'")
        }
        (Some((kind, _)), _) => {
            format!("a table: {wanted} is wanted; write [[{label}]], and kind = \"{kind}\" in it")
        }
        (None, _) => format!("a table: {wanted} is wanted; write [[{label}]]"),
    }
}

fn is_below(name: &str, table: &str) -> bool {
    name.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

/// The text of `node`; on the command line a text needs no quotes, so `2026` is a text there.
fn text(node: &Node) -> Option<&str> {
    match (&node.value, &node.raw) {
        (Value::Text(text), _) => Some(text),
        (Value::List(_) | Value::Table(_), _) => None,
        (_, raw) => raw.as_deref(),
    }
}

/// A share in 1/10,000. 1 is all of it. Jobs of earlier versions have four digits, 8000 for 0.8; a
/// whole number with fewer digits is probably meant as percent, and would be nearly 0.
fn share(value: &Value) -> Option<u16> {
    match *value {
        Value::Whole(0) => Some(0),
        Value::Whole(1) => Some(10_000),
        Value::Whole(n @ 1000..=10_000) => u16::try_from(n).ok(),
        Value::Number(n) if (0.0..=1.0).contains(&n) => {
            let parts = (n * 1e4).round();
            ((n * 1e4 - parts).abs() < 1e-6).then_some(parts as u16)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tree;

    const KEYS: [Key; 10] = [
        Key { name: "store", takes: Takes::Place, needed: true },
        Key { name: "read.inputs", takes: Takes::Paths, needed: true },
        Key { name: "read.source", takes: Takes::Text, needed: false },
        Key { name: "simhash", takes: Takes::Switch, needed: false },
        Key { name: "simhash.k", takes: Takes::Whole(0, 8), needed: false },
        Key { name: "confirm.least", takes: Takes::Share(5000, 10_000), needed: false },
        Key { name: "keep.by", takes: Takes::Words(&["https", "newest"], 1), needed: false },
        Key {
            name: "signatures",
            takes: Takes::Tables(Some(&["minhash", "spotsigs"])),
            needed: false,
        },
        Key { name: "signatures.minhash.bins", takes: Takes::Whole(1, 128), needed: false },
        Key { name: "signatures.spotsigs.chain", takes: Takes::Whole(1, 16), needed: true },
    ];

    fn mistakes(text: &str) -> Vec<String> {
        let (_, mistakes) = checked(&tree::parse(text).expect("TOML"), &KEYS);
        let at = |mistake: &Mistake| match mistake.at {
            Some(At::Line(line)) => format!("{line}: "),
            _ => String::new(),
        };
        mistakes.iter().map(|mistake| format!("{}{}", at(mistake), mistake.why)).collect()
    }

    /// Each mistake names its line, its key, the given value and the allowed ones; all mistakes are
    /// found at once.
    #[test]
    fn every_mistake_at_once() {
        let head = "store = \"s\"\n[read]\ninputs = \"in\"\n";
        assert_eq!(mistakes(head), Vec::<String>::new());
        let tail = "source = 3\nsorce = 1\n[simhash]\nk = \"two\"\n[confirm]\nleast = 0.80001\n[[signatures]]\nkind = \"minhash\"\nbin = 2\n\
            [[signatures]]\n[[signatures]]\nkind = \"spotsigs\"\n[kep]\n[keep]\nby = [\"https\", \"newest\"]\n";
        let mut found = mistakes(&format!("{head}{tail}"));
        found.sort();
        let mut expected = vec![
            "4: [read] source = 3: a text in quotes is wanted",
            "5: [read] sorce: no such key; did you mean `source`?",
            "7: [simhash] k = \"two\": a whole number from 0 to 8 is wanted",
            "9: [confirm] least = 0.80001: a share from 0.5 to 1 is wanted",
            "12: [[signatures]] minhash: bin: no such key; did you mean `bins`?",
            "13: [[signatures]] kind is missing: \"minhash\" or \"spotsigs\" is wanted",
            "14: [[signatures]] spotsigs: chain is missing: a whole number from 1 to 16 is wanted",
            "16: [kep]: no such table; did you mean [keep]?",
            "18: [keep] by = [\"https\", \"newest\"]: a list of at most 1 of \"https\" and \"newest\" is wanted",
        ];
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(
            mistakes("k = 3\nread = 3\n"),
            [
                "1: k: no such key; it is a key of [simhash]",
                "2: read = 3: [read] is a table, with lines `key = value`",
                "store is missing: a path in quotes is wanted"
            ]
        );
    }

    /// A table in place of a list of tables passed this check, and the program could not read it:
    /// the mistake was called a fault in pagefold.
    #[test]
    fn one_table_is_no_list() {
        let text = "store = \"s\"\n[read]\ninputs = \"in\"\n";
        let wanted = "4: signatures = a table: a list of tables is wanted; write [[signatures]]";
        for (tail, more) in [
            ("[signatures.minhash]\nbins = 20\n", ", and kind = \"minhash\" in it"),
            ("[signatures]\nkind = \"minhash\"\n", ""),
        ] {
            assert_eq!(mistakes(&format!("{text}{tail}")), [format!("{wanted}{more}")]);
        }
        let mut table = tree::parse(text).expect("TOML");
        tree::set(&mut table, "signatures.minhash.bins=20", 0).expect("set");
        let (_, found) = checked(&table, &KEYS);
        assert!(found[0].why.ends_with("; write 'signatures=[{kind=\"minhash\",bins=20}]'"));
    }

    /// Shares are read as fractions and, with four digits, in 1/10,000; one text is a list of one;
    /// a table may be switched off.
    #[test]
    fn values() {
        let text = "store = \"s\"\nsimhash = false\n[read]\ninputs = \"in\"\n[confirm]\nleast = ";
        for (written, share) in
            [("0.8", 8000), ("8000", 8000), ("1", 10_000), ("1.0", 10_000), ("0.67", 6700)]
        {
            let (values, mistakes) =
                checked(&tree::parse(&format!("{text}{written}")).expect("TOML"), &KEYS);
            assert_eq!(mistakes, []);
            assert_eq!(values["confirm"]["least"].as_integer(), Some(share), "{written}");
            assert_eq!(values["read"]["inputs"].as_array().map(Vec::len), Some(1));
            assert_eq!(values["simhash"].as_bool(), Some(false));
        }
    }

    /// A share in percent was taken for a share in 1/10,000: 70 became 0.007, and nothing was left
    /// out.
    #[test]
    fn percent_is_no_share() {
        let text = "store = \"s\"\n[read]\ninputs = \"in\"\n[confirm]\nleast = ";
        for (written, advice) in [
            ("2", ""),
            ("50", "; write 0.5"),
            ("70", "; write 0.7"),
            ("100", "; write 1"),
            ("101", ""),
            ("999", ""),
            ("-1", ""),
            ("10001", ""),
        ] {
            let expected =
                format!("5: [confirm] least = {written}: a share from 0.5 to 1 is wanted{advice}");
            assert_eq!(mistakes(&format!("{text}{written}")), [expected]);
        }
    }
}

//! Keeps the values of the wanted fields while an object is parsed, and skips all others.

use crate::read::fields::Wanted;
use crate::read::value::Value;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Why a line could not be read, and whether the reason is a used field that appears twice.
pub struct Failed {
    pub error: serde_json::Error,
    pub duplicate: bool,
}

/// The values of the wanted fields of `text`.
pub fn values<'t>(text: &'t str, wanted: &Wanted) -> Result<Vec<Option<Value<'t>>>, Failed> {
    let found = wanted.names.iter().map(|_| None).collect();
    let mut object = Object { wanted, found, path: String::new(), levels: 0, duplicate: false };
    let mut parser = serde_json::Deserializer::from_str(text);
    match (&mut object).deserialize(&mut parser).and_then(|()| parser.end()) {
        Ok(()) => Ok(object.found.into_iter().map(|found| found.map(|(_, value)| value)).collect()),
        Err(error) => Err(Failed { error, duplicate: object.duplicate }),
    }
}

/// Takes the values of the wanted fields out of an object and the objects in it.
struct Object<'w, 'de> {
    wanted: &'w Wanted,
    /// The values by name, each with the number of levels at which it was found.
    found: Vec<Option<(usize, Value<'de>)>>,
    /// The path of the object that is being read, with a dot behind it; empty for the line itself.
    path: String,
    levels: usize,
    duplicate: bool,
}

/// What a member of an object is.
struct Member {
    /// The place of its name.
    place: Option<usize>,
    /// Whether fields in it may be wanted.
    is_path: bool,
}

impl<'de> Object<'_, 'de> {
    fn members<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<(), A::Error> {
        let length = self.path.len();
        while let Some(Member { place, is_path }) = map.next_key_seed(Key(self))? {
            let value = if is_path {
                self.path.push('.');
                self.levels += 1;
                let value = map.next_value_seed(Picked(Some(self)))?;
                self.levels -= 1;
                value
            } else if place.is_some() {
                map.next_value_seed(Picked(None))?
            } else {
                map.next_value_seed(Skipped)?;
                Value::Null
            };
            self.path.truncate(length);
            if let Some(place) = place {
                self.find::<A::Error>(place, value)?;
            }
        }
        Ok(())
    }

    /// Takes `value` unless a field with fewer levels was found.
    fn find<E: Error>(&mut self, place: usize, value: Value<'de>) -> Result<(), E> {
        match &self.found[place] {
            Some((levels, _)) if *levels == self.levels => {
                self.duplicate = true;
                let name = &self.wanted.names[place].path;
                Err(E::custom(format_args!("the field `{name}` stands twice")))
            }
            Some((levels, _)) if *levels < self.levels => Ok(()),
            _ => {
                self.found[place] = Some((self.levels, value));
                Ok(())
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Object<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Object<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.members(map)
    }
}

/// What a key of the object means. If fields in it may be wanted, it is added to the path.
struct Key<'o, 'w, 'de>(&'o mut Object<'w, 'de>);

impl<'de> DeserializeSeed<'de> for Key<'_, '_, 'de> {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // As a text it could not have half of a surrogate pair.
        deserializer.deserialize_bytes(self)
    }
}

impl<'de> Visitor<'de> for Key<'_, '_, '_> {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_bytes<E: Error>(self, key: &'de [u8]) -> Result<Self::Value, E> {
        // The parser refuses them in texts only. A name with an escape, which is not borrowed, may
        // have one as an escape, so there nothing is refused.
        if key.iter().any(|byte| *byte < b' ') {
            return Err(E::custom("a control character in a name"));
        }
        self.visit_bytes(key)
    }

    fn visit_bytes<E: Error>(self, key: &[u8]) -> Result<Self::Value, E> {
        let Object { wanted, path, .. } = self.0;
        let (mut member, length) = (Member { place: None, is_path: false }, path.len());
        for (place, name) in wanted.names.iter().enumerate() {
            // Most names are ruled out by their first byte.
            let first = name.path.as_bytes().get(length);
            if first != key.first() && !key.is_empty() {
                continue;
            }
            let Some(of_object) = name.path.strip_prefix(&path[..length]) else { continue };
            let Some(rest) = of_object.as_bytes().strip_prefix(key) else { continue };
            if rest.is_empty() {
                member.place = Some(place);
            } else if rest[0] == b'.' && !member.is_path {
                member.is_path = true;
                path.push_str(&of_object[..key.len()]);
            }
        }
        Ok(member)
    }
}

/// A value that is kept. If it is an object, its members are searched for wanted fields.
struct Picked<'o, 'w, 'de>(Option<&'o mut Object<'w, 'de>>);

/// A value that is not kept. It may have half of a surrogate pair, as Python writes a text that was
/// cut within a character, a number of any size, and any depth.
struct Skipped;

impl<'de> DeserializeSeed<'de> for Picked<'_, '_, 'de> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> DeserializeSeed<'de> for Skipped {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_ignored_any(IgnoredAny).map(drop)
    }
}

impl<'de> Visitor<'de> for Picked<'_, '_, 'de> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(i64::try_from(value).map_or(Value::Unsigned(value), Value::Integer))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value<'de>, A::Error> {
        while list.next_element_seed(Skipped)?.is_some() {}
        Ok(Value::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        if let Some(object) = self.0 {
            return object.members(map).map(|()| Value::Other);
        }
        while map.next_key_seed(Skipped)?.is_some() {
            map.next_value_seed(Skipped)?;
        }
        Ok(Value::Other)
    }
}

//! The secret that the processes of one attempt share.
//!
//! It is decoded and encoded only here, as 64 hex digits, and its debug output never shows it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::Result;
use crate::random_bytes::random_bytes;

const KEY_BYTES: usize = 32;

/// The secret of a mesh.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; KEY_BYTES]);

impl Key {
    /// The key with these bytes.
    pub const fn of(bytes: [u8; KEY_BYTES]) -> Key {
        Key(bytes)
    }

    /// A new random key.
    ///
    /// # Errors
    ///
    /// `Internal` if the system has no random numbers.
    pub fn random() -> Result<Key> {
        random_bytes().map(Key)
    }

    /// The key written as exactly 64 hex digits.
    pub fn from_hex(digits: &[u8]) -> Option<Key> {
        blake3::Hash::from_hex(digits).ok().map(|hash| Key(hash.into()))
    }

    /// Another key, which depends on this one, the `purpose` and the `nonce`.
    pub fn derive(&self, purpose: &'static str, nonce: &str) -> Key {
        Key(blake3::derive_key(purpose, &[&self.0[..], nonce.as_bytes()].concat()))
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    fn to_hex(&self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Key, D::Error> {
        let digits = String::deserialize(deserializer)?;
        // serde's own words would quote the digits.
        Key::from_hex(digits.as_bytes()).ok_or_else(|| de::Error::custom("a key is 64 hex digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key is read from 64 hex digits and written as such; anything else is refused, and neither
    /// the debug output nor an error shows a digit of it.
    #[test]
    fn hex_digits() {
        let (lower, upper) = ("0af1".repeat(16), "0AF1".repeat(16));
        let key = Key::from_hex(upper.as_bytes()).expect("a key");
        assert_eq!(key.bytes()[..2], [0x0a, 0xf1]);
        let json = serde_json::to_string(&key).expect("written");
        assert_eq!(json, format!("\"{lower}\""));
        assert_eq!(serde_json::from_str::<Key>(&json).expect("read"), key);
        for wrong in [
            "",
            &lower[1..],
            &lower.replace('f', "g"),
            &lower.repeat(2),
            &format!("+{}", &lower[1..]),
        ] {
            assert!(Key::from_hex(wrong.as_bytes()).is_none(), "{wrong}");
            let error = serde_json::from_str::<Key>(&format!("\"{wrong}\""))
                .expect_err("no key")
                .to_string();
            assert!(!error.contains("0a"), "{error}");
        }
        assert!(!format!("{key:?}").to_lowercase().contains("0a"));
    }

    /// Another nonce, purpose or key gives another derived key, which is never the key itself.
    #[test]
    fn derived_keys() {
        let (one, two) = (Key::of([1; 32]), Key::of([2; 32]));
        let keys = [
            one.derive("x", "a"),
            one.derive("x", "b"),
            one.derive("y", "a"),
            two.derive("x", "a"),
            one,
        ];
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(key), "{n}");
        }
    }

    /// Random keys differ.
    #[test]
    fn random_keys() {
        assert_ne!(Key::random().expect("a key"), Key::random().expect("a key"));
    }
}

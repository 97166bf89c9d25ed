//! Words that a job adds to the dictionary of Chinese words, by a frozen file in the format of
//! jieba's user dictionaries.
//!
//! A line is `word [frequency] [tag]`, with white space between. A word without a frequency gets
//! the least frequency with which it is found. A given frequency replaces that of a known word.
//! Both are jieba's rules (`add_word`; `load_dict` of jieba-rs takes a missing frequency for 0,
//! with which no word is found). The tag tells verdicts what the word is, such as `nr` for the name
//! of a person. A word that the dictionary has keeps its tag.
//!
//! The words are brought to the normal form of texts, because texts are cut in normal form. A word
//! that is then empty, or has a space, is in no text.

use crate::error::{Error, Kind, Result};
use crate::locks::lock;
use crate::text::normalize::{self, normalize};
use crate::text::segment::suggest::user_words;
use crate::text::segment::user::{FREQUENCY_MAX, UserWords, WORD_CHARS_MAX};
use jieba_rs::Jieba;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use xxhash_rust::xxh3::xxh3_64;

/// The most bytes of a file.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

/// The tag of a word without one: a noun.
const TAG: &str = "n";

/// The words of a file.
pub struct UserDictionary {
    path: PathBuf,
    normal: normalize::Options,
    digest: String,
    key: u64,
    words: Arc<UserWords>,
    /// The words in normal form with their frequencies and tags, as jieba-rs reads them.
    lines: String,
    /// The tags of the words; of one that stands there again its first.
    tags: HashMap<String, String>,
    tagger: OnceLock<Jieba>,
}

impl UserDictionary {
    /// The dictionary at `path`, whose words are normalised as texts.
    ///
    /// A process reads each file once, and all its threads share the words: so they are the words
    /// of the digest in the identity, even if the file is changed meanwhile.
    ///
    /// # Errors
    ///
    /// `NoInput` if there is no such file, `Config` if it is not a file of words.
    pub fn read(path: &Path, normal: &normalize::Options) -> Result<Arc<UserDictionary>> {
        static READ: Mutex<Vec<Arc<UserDictionary>>> = Mutex::new(Vec::new());
        let mut read = lock(&READ);
        if let Some(dictionary) =
            read.iter().find(|known| known.path == path && known.normal == *normal)
        {
            return Ok(dictionary.clone());
        }
        let dictionary = Arc::new(UserDictionary::of(path, &bytes(path)?, normal)?);
        read.push(dictionary.clone());
        Ok(dictionary)
    }

    fn of(path: &Path, bytes: &[u8], normal: &normalize::Options) -> Result<UserDictionary> {
        let entries = entries(path, text(path, bytes)?)?;
        let mut normals = Vec::with_capacity(entries.len());
        for (line, entry) in &entries {
            let mut word = String::new();
            normalize(entry.word, normal, &mut word);
            // The normal form may have more characters than the word.
            if word.chars().count() > WORD_CHARS_MAX {
                let long = format!("a word of more than {WORD_CHARS_MAX} characters");
                let why = format!("line {line}: {long} in normal form; leave it out");
                return Err(Error::config(path, why));
            }
            if !word.is_empty() && !word.contains(char::is_whitespace) {
                normals.push((word, entry));
            }
        }
        let words =
            user_words(normals.iter().map(|(word, entry)| (word.as_str(), entry.frequency)));
        let (mut lines, mut tags) = (String::new(), HashMap::new());
        for (word, entry) in normals {
            let (frequency, tag) = (words.frequency(&word).unwrap_or(1), entry.tag.unwrap_or(TAG));
            lines.push_str(&format!("{word} {frequency} {tag}\n"));
            tags.entry(word).or_insert_with(|| tag.to_owned());
        }
        Ok(UserDictionary {
            path: path.to_owned(),
            normal: normal.clone(),
            digest: blake3::hash(bytes).to_hex().to_string(),
            key: xxh3_64(lines.as_bytes()),
            words: Arc::new(words),
            lines,
            tags,
            tagger: OnceLock::new(),
        })
    }

    /// The digest of the file, which is part of a store's identity.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// A number that differs for other lists of words.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The words, to cut texts by.
    pub fn words(&self) -> Arc<UserWords> {
        self.words.clone()
    }

    /// The tag of `word`; none if it is not one of these.
    pub fn tag(&self, word: &str) -> Option<&str> {
        self.tags.get(word).map(String::as_str)
    }

    /// jieba's dictionary with these words and their tags. It is loaded when it is first needed.
    pub fn tagger(&self) -> &Jieba {
        self.tagger.get_or_init(|| {
            let mut jieba = Jieba::new();
            jieba.load_dict(&mut self.lines.as_bytes()).expect("lines with frequencies");
            jieba
        })
    }
}

/// Two dictionaries are equal if their words are, so the tagger does not count.
impl PartialEq for UserDictionary {
    fn eq(&self, other: &UserDictionary) -> bool {
        self.lines == other.lines
    }
}

impl Eq for UserDictionary {}

impl fmt::Debug for UserDictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserDictionary({}, {})", self.path.display(), self.digest)
    }
}

/// The bytes of the file at `path`.
fn bytes(path: &Path) -> Result<Vec<u8>> {
    let failed = |e: std::io::Error| match e.kind() {
        ErrorKind::NotFound => {
            let line = format!(
                "{}: no such file; {WANTED} in it, or take [features] dictionary away",
                path.display()
            );
            Error::new(Kind::NoInput, line)
        }
        ErrorKind::IsADirectory => {
            Error::config(path, "a folder, where [features] dictionary wants a file")
        }
        _ => Error::io("read", path, e),
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let why = format!(
            "more than {FILE_BYTES_MAX} bytes; a dictionary of words that jieba lacks is smaller"
        );
        return Err(Error::config(path, why));
    }
    Ok(bytes)
}

/// The text of the file at `path`, without a byte order mark.
fn text<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str> {
    let text = str::from_utf8(bytes).map_err(|e| {
        let number = 1 + memchr::memchr_iter(b'\n', &bytes[..e.valid_up_to()]).count();
        Error::config(
            path,
            format!("line {number}: not UTF-8; `iconv -f GB18030 -t UTF-8` makes it of GBK"),
        )
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The form of lines, for messages.
const WANTED: &str = "a line `word [frequency] [tag]` for each word";

/// What a line says.
#[derive(Debug, PartialEq)]
struct Entry<'t> {
    word: &'t str,
    frequency: Option<u64>,
    tag: Option<&'t str>,
}

/// The entries of the lines of `text`, which is the text of the file at `path`, each with the
/// number of its line.
fn entries<'t>(path: &Path, text: &'t str) -> Result<Vec<(usize, Entry<'t>)>> {
    let mut entries = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let entry =
            entry(line).map_err(|why| Error::config(path, format!("line {number}: {why}")))?;
        entries.extend(entry.map(|entry| (number, entry)));
    }
    if entries.is_empty() {
        let why = format!("no word; {WANTED} is wanted, or take [features] dictionary away");
        return Err(Error::config(path, why));
    }
    Ok(entries)
}

/// The entry of `line`; `None` if it is blank. The error says what is wrong, and the remedy.
fn entry(line: &str) -> std::result::Result<Option<Entry<'_>>, String> {
    let mut fields = line.split_whitespace();
    let Some(word) = fields.next() else { return Ok(None) };
    let rest: Vec<&str> = fields.collect();
    if word.starts_with('#') {
        // jieba takes a comment for a word, but never finds a word that begins with `#`.
        return Err("comments are not known here; take the line out".into());
    }
    let (frequency, tag) = match rest[..] {
        [] => (None, None),
        // For jieba only lower-case letters are a tag.
        [tag] if tag.bytes().all(|byte| byte.is_ascii_lowercase()) => (None, Some(tag)),
        [frequency] => (Some(frequency), None),
        [frequency, tag] => (Some(frequency), Some(tag)),
        _ => {
            return Err("more than a word, a frequency and a tag; no word has a space in it".into());
        }
    };
    let parsed = |text: &str| {
        let frequency =
            text.parse().ok().filter(|frequency| (1..=FREQUENCY_MAX).contains(frequency));
        let remedy =
            "write `word frequency tag`, the last two if they are known; no word has a space in it";
        frequency
            .ok_or_else(|| format!("{text:?} is no frequency from 1 to {FREQUENCY_MAX}; {remedy}"))
    };
    Ok(Some(Entry { word, frequency: frequency.map(parsed).transpose()?, tag }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::segment::Segmenter;
    use crate::text::tagged::{Tag, TaggedWords};
    use proptest::prelude::*;

    fn dictionary(text: &[u8]) -> Result<UserDictionary> {
        UserDictionary::of(Path::new("words.txt"), text, &normalize::Options::default())
    }

    fn words(dictionary: &UserDictionary, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        Segmenter::with(dictionary.words()).cut(text, true, |word| words.push(word.to_owned()));
        words
    }

    /// Lines are read as jieba reads them: frequency and tag may be missing, fields are parted by
    /// any white space, blank lines and a byte order mark are ignored.
    #[test]
    fn lines() {
        let all = |line| {
            entry(line).expect("read").map(|Entry { word, frequency, tag }| (word, frequency, tag))
        };
        assert_eq!(all(" 云计算\t5 \r"), Some(("云计算", Some(5), None)));
        assert_eq!(all("李小福　2 nr"), Some(("李小福", Some(2), Some("nr"))));
        assert_eq!(all("凱特琳 nz"), Some(("凱特琳", None, Some("nz"))));
        assert_eq!((all("台中"), all(" \t"), all("")), (Some(("台中", None, None)), None, None));
        let dictionary =
            dictionary("\u{feff}\r\n创新办 3 i\r\n\r\n凱特琳 nz".as_bytes()).expect("read");
        assert_eq!(words(&dictionary, "在创新办的凯特琳"), ["在", "创新办", "的", "凯特琳"]);
        assert_eq!((dictionary.tag("凯特琳"), dictionary.tag("在")), (Some("nz"), None));
    }

    proptest! {
        // Each case loads the whole dictionary of jieba-rs.
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Words, tags and whether a dictionary has a word are those of jieba-rs with the same
        /// words: of words that jieba has, that come again with another tag, that no dictionary
        /// has, and of texts of them.
        #[test]
        fn tags_are_those_of_jieba(
            entries in prop::collection::vec(
                ("[的一是在不了有和人这中大为上国我李王云计算北京天气]{1,4}|[a-c0-2]{1,3}|[龘々〇㐀]{1,2}",
                 prop::option::of(1u64..1_000_000), prop::option::of("nr|nz|nt|v|x")),
                1..12,
            ),
            texts in prop::collection::vec(prop::collection::vec(
                (any::<prop::sample::Index>(), "[一-龥]{0,3}|[李王张]小[一-丐]|[，。 a-c0-9]{0,2}|[龘々〇㐀鿀]{0,3}"),
                0..20,
            ), 1..20),
        ) {
            let line = |(word, frequency, tag): &(String, Option<u64>, Option<String>)| {
                let frequency = frequency.map_or(String::new(), |frequency| frequency.to_string());
                format!("{word} {frequency} {}\n", tag.as_deref().unwrap_or(""))
            };
            let file: String = entries.iter().map(line).collect();
            let dictionary = dictionary(file.as_bytes()).expect("read");
            let jieba = dictionary.tagger();
            for parts in texts {
                let text: String = parts
                    .iter()
                    .flat_map(|(at, other)| [at.get(&entries).0.as_str(), other])
                    .collect();
                let tagged = TaggedWords::of(&text, Some(&dictionary));
                let expected = jieba.tag(&text, true);
                prop_assert_eq!(tagged.words().len(), expected.len(), "{}", text);
                for (at, expected) in expected.into_iter().enumerate() {
                    let tag = Tag { name: expected.tag, known: jieba.has_word(expected.word) };
                    let found = (tagged.words()[at], tagged.tag(at));
                    prop_assert_eq!(found, (expected.word, tag), "{}", text);
                }
            }
        }
    }

    /// Words have the normal form of texts. If two lines have the same normal form, the last one
    /// counts.
    #[test]
    fn words_are_normalised() {
        let text = "AT&Ｔ 9\n\u{200b} 7\n臺積電廠 4\n台积电厂 6 nt\n";
        let dictionary = dictionary(text.as_bytes()).expect("read");
        assert_eq!(dictionary.lines, "at&t 9 n\n台积电厂 6 n\n台积电厂 6 nt\n");
        assert_eq!(dictionary.words.frequency("台积电厂"), Some(6));
        assert_eq!(words(&dictionary, "at&t台积电厂"), ["at&t", "台积电厂"]);
    }

    /// A file that is not a file of words is refused, with its name, the line and the remedy.
    #[test]
    fn other_files_are_refused() {
        let refused = |text: &[u8]| {
            let error = dictionary(text).expect_err("refused");
            assert_eq!(error.kind(), Kind::Config);
            error.to_string()
        };
        let head = "words.txt: line 2: ";
        for frequency in ["12x", "0", "-1", "1.5", "1000000001", "NR", "18446744073709551616"] {
            let line = refused(format!("云计算 5\n区块链 {frequency}\n").as_bytes());
            let why = format!(
                "{head}{frequency:?} is no frequency from 1 to 1000000000; write `word frequency tag`"
            );
            assert!(line.starts_with(&why), "{line}");
        }
        assert!(
            refused("\nEdu Trust认证 2000".as_bytes())
                .starts_with(&format!("{head}\"Trust认证\" is no frequency"))
        );
        assert!(refused("\n云 计 3 n".as_bytes()).contains("no word has a space in it"));
        for comment in ["# c", "#c", " # a line of several words"] {
            let line = refused(format!("云计算 5\n{comment}\n").as_bytes());
            assert_eq!(line, format!("{head}comments are not known here; take the line out"));
        }
        let long = "云".repeat(WORD_CHARS_MAX + 1);
        assert!(
            refused(format!("\n{long} 3").as_bytes())
                .contains("line 2: a word of more than 128 characters")
        );
        assert!(dictionary(&long.as_bytes()[3..]).is_ok());
        for empty in ["", "\u{feff}", " \n\r\n\t\n"] {
            assert!(
                refused(empty.as_bytes())
                    .starts_with("words.txt: no word; a line `word [frequency] [tag]`")
            );
        }
        assert!(
            refused(b"\xd4\xc6\xbc\xc6\xcb\xe3 5\n")
                .starts_with("words.txt: line 1: not UTF-8; `iconv")
        );
    }

    /// A word that only in normal form is too long was a panic. It is refused as others are.
    #[test]
    fn words_that_grow_are_refused() {
        // Each is four characters in normal form.
        let file = |characters: usize| format!("\n{} 5", "㍿".repeat(characters));
        let long = dictionary(file(33).as_bytes()).expect_err("refused");
        let why = "line 2: a word of more than 128 characters in normal form; leave it out";
        assert_eq!((long.kind(), long.to_string()), (Kind::Config, format!("words.txt: {why}")));
        assert!(dictionary(file(32).as_bytes()).is_ok());
    }

    /// A file that is not there, or too large, is refused before its words are read.
    #[test]
    fn files() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = |name: &str| {
            UserDictionary::read(&folder.path().join(name), &normalize::Options::default())
        };
        let error = read("gone.txt").expect_err("not there");
        assert!(
            error.kind() == Kind::NoInput
                && error.to_string().contains("gone.txt: no such file; a line")
        );
        let large = File::create(folder.path().join("large.txt")).expect("made");
        large.set_len(FILE_BYTES_MAX + 1).expect("long");
        assert!(
            read("large.txt")
                .expect_err("too large")
                .to_string()
                .contains("more than 16777216 bytes")
        );
        std::fs::write(folder.path().join("words.txt"), "云计算 5").expect("written");
        let first = read("words.txt").expect("read");
        assert!(Arc::ptr_eq(&first, &read("words.txt").expect("read")), "read once");
    }
}

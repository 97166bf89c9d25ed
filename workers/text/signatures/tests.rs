//! Tests of all signatures together, and helpers for the tests of each.

use super::*;
use crate::random::Random;
use crate::text::features::{self, Featurizer};
use crate::text::letters::Letters;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Two sets of hashes with `shared` in common and `own` more each.
pub fn pair(random: &mut Random, shared: u64, own: u64) -> (Vec<u64>, Vec<u64>) {
    let both: Vec<u64> = (0..shared).map(|_| random.next()).collect();
    let mut with_own = || both.iter().copied().chain((0..own).map(|_| random.next())).collect();
    (with_own(), with_own())
}

/// Asserts that `seen` successes of `trials` independent trials of probability `p` are within five
/// standard deviations of the mean, where they are in all but one of a million cases.
pub fn assert_binomial(seen: usize, trials: usize, p: f64, what: &str) {
    let (expected, deviation) = (trials as f64 * p, (trials as f64 * p * (1.0 - p)).sqrt());
    println!("{what}: {seen} of {trials}, expected {expected:.0}, deviation {deviation:.1}");
    assert!(
        (seen as f64 - expected).abs() <= 5.0 * deviation + 1.0,
        "{what}: {seen} for {expected:.1}"
    );
}

/// The keys that `sign` makes for the text of `normal` and `words`.
pub fn keys_of(
    normal: &str,
    words: &[u64],
    sign: impl FnOnce(&mut Text<'_>, &mut Vec<u64>),
) -> Vec<u64> {
    let mut shinglings = Shinglings::default();
    let mut out = Vec::new();
    sign(&mut Text::new(normal, words, &mut shinglings), &mut out);
    out
}

fn list(toml_like: &str) -> std::result::Result<Vec<Options>, String> {
    let list: Vec<Options> = serde_json::from_str(toml_like).map_err(|e| e.to_string())?;
    check(&list).map(|()| list).map_err(|(_, why)| why)
}

/// Every signature, with a lexicon of words of the texts below.
fn all(folder: &std::path::Path) -> Vec<Options> {
    let lexicon = folder.join("lexicon");
    let words: String = "会议 北京 举行 minister budget speech house spring"
        .split(' ')
        .map(|word| format!("{word}\t9\n"))
        .collect();
    std::fs::write(&lexicon, format!("documents\t100\n{words}")).expect("written");
    let mut list = default_list();
    list.push(Options::SpotSigs(spotsigs::Options::default()));
    list.push(Options::SuperShingles(super_shingles::Options::default()));
    list.push(Options::IMatch(i_match::Options::new(lexicon)));
    list
}

const ARTICLE: &str = "the minister said in a speech to the house that the budget is to grow by half in spring; \
    会议今天在北京举行, 各国的代表在会上对气候的变化和经济的发展都进行了讨论";

/// An entry has its kind and the values that differ from the defaults. The names of kinds are the
/// names in entries.
#[test]
fn entries() {
    let read = list(
        r#"[{"kind": "minhash"}, {"kind": "super_shingles", "unit": "words"},
        {"kind": "i_match", "lexicon": "words.tsv"}, {"kind": "spotsigs", "chain": 3},
        {"kind": "sentences", "letters_max": 500}]"#,
    )
    .expect("sound");
    assert_eq!(read[0], default_list()[0]);
    assert_eq!(read[2], Options::IMatch(i_match::Options::new("words.tsv".into())));
    let kinds: Vec<SignatureKind> = read.iter().filter_map(Options::kind).collect();
    assert_eq!(kinds, SignatureKind::ALL);
    for kind in SignatureKind::ALL {
        assert_eq!(serde_json::to_value(kind).expect("a name"), kind.name());
        assert_eq!(SignatureKind::of_number(kind.number()), Some(kind));
    }
    assert_eq!(SignatureKind::of_number(0), None);
    // Stored with every pair, so these must never change.
    assert_eq!(SignatureKind::ALL.map(SignatureKind::number), [1, 2, 3, 4, 5]);
    assert_eq!(list(&serde_json::to_string(&read).expect("JSON")), Ok(read));
}

/// A wrong entry is refused, and the error names its key.
#[test]
fn wrong_entries() {
    for (entry, key) in [
        (r#"{"kind": "md5"}"#, "md5"),
        (r#"{"bins": 24}"#, "kind"),
        (r#"{"kind": "minhash", "bin": 24}"#, "`bin`"),
        (r#"{"kind": "minhash"}, {"kind": "minhash", "bins": 15}"#, "minhash is there twice"),
        (r#"{"kind": "minhash", "bins": 0}"#, "minhash: bins"),
        (r#"{"kind": "minhash", "bins": 26}"#, "minhash: bins_per_key"),
        (r#"{"kind": "minhash", "bins": 128, "bins_per_key": 2}"#, "minhash: bins_per_key"),
        (r#"{"kind": "simhash", "k": 2}"#, "simhash is there twice"),
        (r#"{"kind": "super_shingles", "groups": 12}"#, "super_shingles: groups"),
        (r#"{"kind": "super_shingles", "groups": 0}"#, "super_shingles: groups"),
        (r#"{"kind": "super_shingles", "shingle": 0}"#, "super_shingles: shingle"),
        (
            r#"{"kind": "super_shingles", "minima_per_group": 0}"#,
            "super_shingles: minima_per_group",
        ),
        (r#"{"kind": "i_match"}"#, "`pagefold lexicon"),
        (r#"{"kind": "i_match", "lexicon": ""}"#, "i_match: lexicon"),
        (r#"{"kind": "i_match", "lexicon": "x", "lexicons": 65}"#, "i_match: lexicons"),
        (
            r#"{"kind": "i_match", "lexicon": "x", "dropped_percent": 100}"#,
            "i_match: dropped_percent",
        ),
        (
            r#"{"kind": "i_match", "lexicon": "x", "documents_permille_max": 1001}"#,
            "i_match: documents_permille_max",
        ),
        (r#"{"kind": "i_match", "lexicon": "x", "words_min": 0}"#, "i_match: words_min"),
        (r#"{"kind": "spotsigs", "similarity_percent": 5}"#, "spotsigs: similarity_percent"),
        (r#"{"kind": "spotsigs", "prefix_max": 33}"#, "spotsigs: prefix_max"),
        (r#"{"kind": "spotsigs", "distance": 0}"#, "spotsigs: distance"),
        (r#"{"kind": "sentences", "sentences": 9}"#, "sentences: sentences"),
    ] {
        let why = list(&format!("[{entry}]")).expect_err(entry);
        assert!(why.contains(key), "{entry}: {why}");
    }
}

/// The identity depends on the content of a lexicon, not on its path, and not on the order of the
/// list.
#[test]
fn identity_is_of_file_contents() {
    let (here, there) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let first = all(here.path());
    let mut second = all(there.path());
    second.reverse();
    assert_eq!(identity(&first).expect("read"), identity(&second).expect("read"));
    std::fs::write(there.path().join("lexicon"), "documents\t7\n").expect("written");
    assert_ne!(identity(&first).expect("read"), identity(&second).expect("read"));
    std::fs::remove_file(there.path().join("lexicon")).expect("removed");
    assert!(identity(&second).expect_err("no file").to_string().contains("lexicon"));
}

/// Keys are appended, and each signature makes some for a real text. Another signer, another order
/// of signatures and other texts before change nothing.
#[test]
fn keys_are_a_function_of_the_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let normal = normalize::Options::default();
    let mut list = all(folder.path());
    let mut signer = Signer::new(&list, &normal).expect("read");
    assert!(signer.uses_words());
    list.reverse();
    let mut other = Signer::new(&list, &normal).expect("read");
    let mut featurizer = Featurizer::new(&features::Options::default(), &normal).expect("no files");
    let (mut words, mut features, mut shinglings) = (Vec::new(), Vec::new(), Shinglings::default());
    let mut sign = |signer: &mut Signer, text: &str, out: &mut Vec<Key>| {
        featurizer.words_and_features(text, &Letters::of(text), &mut words, &mut features);
        signer.sign(&mut Text::new(text, &words, &mut shinglings), out);
    };
    let (mut once, mut again) = (Vec::new(), Vec::new());
    sign(&mut signer, ARTICLE, &mut once);
    sign(&mut other, "something else 别的", &mut again);
    let before = again.clone();
    sign(&mut other, ARTICLE, &mut again);
    assert_eq!(again[..before.len()], before);
    assert_eq!(again[before.len()..], once);
    assert!(once.is_sorted());
    let kinds: BTreeSet<SignatureKind> = once.iter().map(|key| key.kind).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), SignatureKind::ALL);
    let mut empty = Vec::new();
    sign(&mut signer, "", &mut empty);
    assert!(empty.is_empty());
}

/// Stores keep these keys. A change of one needs a new `VERSION` of its signature.
#[test]
fn keys_never_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut signer =
        Signer::new(&all(folder.path()), &normalize::Options::default()).expect("read");
    let words: Vec<u64> =
        "the minister said in a speech to the house that the budget is to grow by half in spring"
            .split(' ')
            .map(features::word_hash)
            .collect();
    let (mut shinglings, mut keys) = (Shinglings::default(), Vec::new());
    signer.sign(&mut Text::new(ARTICLE, &words, &mut shinglings), &mut keys);
    let digest = |kind: SignatureKind| {
        let bytes: Vec<u8> = keys
            .iter()
            .filter(|key| key.kind == kind)
            .flat_map(|key| key.key.to_le_bytes())
            .collect();
        blake3::hash(&bytes).to_hex()[..16].to_owned()
    };
    assert_eq!(
        SignatureKind::ALL.map(digest),
        [
            "6c64b3a11e32f7d4",
            "028ffda99215a265",
            "9d3c844e3d879f18",
            "6b82621fa1d69372",
            "5628bacd690f9b53"
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No text has more keys than the bound or a key twice, and none makes a signature panic.
    #[test]
    fn any_text(text in "\\PC{0,300}", options in 0usize..3) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut list = all(folder.path());
        for entry in &mut list {
            match (entry, options) {
                (Options::MinHash(options), 1) => *options = minhash::Options { bins: 128, bins_per_key: 4 },
                (Options::MinHash(options), 2) => *options = minhash::Options { bins: 1, bins_per_key: 1 },
                (Options::SuperShingles(options), 1) => options.groups = 11,
                (Options::IMatch(options), 1) => (options.lexicons, options.words_min) = (64, 1),
                (Options::SpotSigs(options), 2) => (options.spots_min, options.chain) = (1, 1),
                (Options::Sentences(options), 1) => (options.sentences, options.letters_max) = (8, usize::MAX),
                _ => {}
            }
        }
        prop_assert_eq!(check(&list), Ok(()));
        let mut signer = Signer::new(&list, &normalize::Options::default()).expect("read");
        let words: Vec<u64> = text.chars().map(|c| features::word_hash(c.encode_utf8(&mut [0; 4]))).collect();
        let (mut shinglings, mut keys) = (Shinglings::default(), Vec::new());
        signer.sign(&mut Text::new(&text, &words, &mut shinglings), &mut keys);
        prop_assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        for kind in SignatureKind::ALL {
            prop_assert!(keys.iter().filter(|key| key.kind == kind).count() <= KEYS_MAX);
        }
    }
}

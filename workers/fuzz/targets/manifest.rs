//! The store's own small files: a manifest through `store::manifest::head`, and `FORMAT` through
//! `Store::open`.
//!
//! Input: one control byte, then `0` a manifest's file; `1` the manifest within it, whose digest is
//! made here, because it cannot be guessed; `2` the file `FORMAT`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use support::{control, file, pick};
use workers::store::manifest::{FORMAT, Manifest, head};
use workers::store::{Store, digest_of};

#[derive(Clone, Copy)]
enum Form {
    File,
    Manifest,
    Format,
}

fuzz_target!(|input: &[u8]| {
    let Some(([form], content)) = control(input) else { return };
    match pick(form, &[Form::File, Form::Manifest, Form::Format]) {
        Form::File => check(content),
        Form::Manifest => check(&envelope(content)),
        Form::Format => check_format(content),
    }
});

fn envelope(body: &[u8]) -> Vec<u8> {
    let digest = blake3::hash(body.trim_ascii()).to_hex();
    [b"{\"digest\":\"", digest.as_bytes(), b"\",\"manifest\":", body.trim_ascii(), b"}"].concat()
}

/// The store whose first manifest is `bytes`.
fn store(bytes: &[u8]) -> PathBuf {
    let path = file("store/manifest/00000000000000000001.json", bytes);
    path.ancestors().nth(2).expect("two folders").to_owned()
}

/// A manifest is refused, or has this format and the version in its name, and is the same when
/// written again.
fn check(bytes: &[u8]) {
    let Ok(found) = head(&store(bytes)) else { return };
    let found: Manifest = found.expect("there is a manifest").manifest;
    assert_eq!((found.format, found.version), (FORMAT, 1));
    let body = serde_json::to_vec(&found).expect("a manifest can be written");
    let again = head(&store(&envelope(&body)))
        .expect("what was written can be read")
        .expect("there is a manifest");
    assert_eq!(again.manifest, found, "written and read again");
    assert_eq!(again.digest, blake3::hash(&body).to_hex().as_str());
}

/// A store opens with its own identity and with no other.
fn check_format(bytes: &[u8]) {
    let path = file("format/FORMAT", bytes);
    let root = path.parent().expect("a folder");
    let opened = Store::open(root, None);
    let identity: serde_json::Value =
        serde_json::json!({ "features": { "version": 1 }, "simhash": { "k": 3 } });
    let by_identity = Store::open(root, Some(&identity));
    if by_identity.is_ok() {
        let text = String::from_utf8_lossy(bytes);
        assert!(opened.is_ok() && text.contains(&digest_of(&identity)[..8]), "{text}");
    }
}

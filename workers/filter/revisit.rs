//! Makes the record that replaces a folded record in an archive: a revisit (WARC 1.1, ISO
//! 28500:2017, 6.7), which has the header of the response and says where the same content is.
//!
//! It refers to the record of the cluster's representative. Besides the URL, the revisit needs
//! fields of that record's header, so all archives are read once before they are filtered.

use crate::id::Id;
use crate::read::headers::Headers;
use crate::read::record::Heading;

/// The profile of WARC 1.1 for a payload that is the same, byte for byte.
const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// Our profile for a payload that only says the same. WARC has no profile for this, and allows new
/// ones.
const NEAR: &str = "urn:pagefold:revisit:near-duplicate";

/// The fields that a revisit copies from the record that it replaces. It has another block, and so
/// other digests and lengths.
const COPIED: [&str; 5] =
    ["WARC-Target-URI", "WARC-Date", "WARC-IP-Address", "WARC-Warcinfo-ID", "WARC-Concurrent-To"];

/// The record that a revisit refers to, in the words of its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Box<[u8]>,
    id: Option<Box<[u8]>>,
    date: Option<Box<[u8]>>,
    digest: Option<Box<[u8]>>,
    /// The header of its HTTP response.
    http: Box<[u8]>,
}

impl Target {
    /// The record with this head; `None` if it has no URL.
    pub fn of(head: &Heading) -> Option<Target> {
        let fields = Headers::parse(head.header());
        let get = |name: &str| fields.get(name).filter(|value| is_one_line(value)).map(Box::from);
        Some(Target {
            url: get("WARC-Target-URI")?,
            id: get("WARC-Record-ID"),
            date: get("WARC-Date"),
            digest: get("WARC-Payload-Digest"),
            http: head.http().into(),
        })
    }
}

fn is_one_line(value: &[u8]) -> bool {
    !value.iter().any(u8::is_ascii_control)
}

/// The revisit that replaces the record with `head` and refers to `target`.
///
/// Its HTTP header must say how the payload that it refers to is encoded. So it is the header of
/// `target`, unless both payloads are the same, in the same encodings.
pub fn revisit(head: &Heading, target: &Target) -> Vec<u8> {
    let fields = Headers::parse(head.header());
    let mut record = b"WARC/1.1\r\n".to_vec();
    let mut put =
        |name: &str, value: &[u8]| record.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    put("WARC-Type", b"revisit");
    put("WARC-Record-ID", id_of(head.header()).as_bytes());
    for name in COPIED {
        fields
            .get(name)
            .filter(|value| is_one_line(value))
            .into_iter()
            .for_each(|value| put(name, value));
    }
    let digest = fields.get("WARC-Payload-Digest");
    let is_identical = digest.is_some() && digest == target.digest.as_deref();
    put("WARC-Profile", if is_identical { IDENTICAL } else { NEAR }.as_bytes());
    for (name, value) in [
        ("WARC-Refers-To", &target.id),
        ("WARC-Refers-To-Target-URI", &Some(target.url.clone())),
        ("WARC-Refers-To-Date", &target.date),
        // The digest of the payload of `target`, by which replay tools find it.
        ("WARC-Payload-Digest", &target.digest),
    ] {
        value.iter().for_each(|value| put(name, value));
    }
    let has_own = is_identical && encodings(head.http()) == encodings(&target.http);
    // A record that is no response has no HTTP header, whatever it refers to.
    let is_bare = head.http().is_empty() || target.http.is_empty();
    let http = if has_own || is_bare { head.http() } else { &target.http };
    if !http.is_empty() {
        put("Content-Type", b"application/http; msgtype=response");
    }
    put("Content-Length", http.len().to_string().as_bytes());
    [&record[..], b"\r\n", http, b"\r\n\r\n"].concat()
}

/// The encodings of the payload by its HTTP header.
fn encodings(http: &[u8]) -> [Option<Vec<u8>>; 2] {
    let fields = Headers::parse(http);
    ["Content-Encoding", "Transfer-Encoding"]
        .map(|name| fields.get(name).map(<[u8]>::to_ascii_lowercase))
}

/// The id of a revisit: a UUID of version 8, made from the header of the record that it replaces,
/// so that it is the same each time.
fn id_of(header: &[u8]) -> String {
    let mut bytes = Id::of(header).to_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = Id::from_bytes(bytes).to_string();
    format!(
        "<urn:uuid:{}-{}-{}-{}-{}>",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(url: &str, digest: &str, http: &str) -> Heading {
        let header = format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-01-02T03:04:05Z\r\n\
             WARC-Record-ID: <urn:uuid:{url}>\r\nWARC-Payload-Digest: {digest}\r\nWARC-Block-Digest: sha1:B\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: 9999\r\n\r\n"
        );
        Heading::of(header.as_bytes(), http.as_bytes())
    }

    /// A revisit had the HTTP header of the record that it replaces, so that the payload of the
    /// other record was replayed without its encoding or in another charset.
    #[test]
    fn headers_name_the_encoding_of_what_is_replayed() {
        let http = |encoding: &str| {
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{encoding}\r\n")
        };
        let (plain, packed) = (http(""), http("Content-Encoding: br\r\n"));
        let target = Target::of(&head("http://b/", "sha1:P", &packed)).expect("a URL");
        for (digest, own, expected) in
            [("sha1:P", &packed, &packed), ("sha1:P", &plain, &packed), ("sha1:Q", &plain, &packed)]
        {
            let made = revisit(&head("http://a/", digest, own), &target);
            let text = String::from_utf8(made).expect("UTF-8");
            let (_, block) = text.split_once("\r\n\r\n").expect("a header");
            assert_eq!(block, format!("{expected}\r\n\r\n"), "{digest} {own}");
        }
    }

    /// A revisit has what the standard asks for: the URL and the date of the record that it
    /// replaces, an HTTP header, and where the content is. It claims an identical payload only
    /// where the digests say so.
    #[test]
    fn what_a_revisit_says() {
        let http = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
        let target = Target::of(&head("http://b/", "sha1:P", http)).expect("a URL");
        for (digest, profile) in [("sha1:P", IDENTICAL), ("sha1:Q", NEAR)] {
            let made =
                revisit(&head("http://a/", digest, &format!("{http}<p>the page</p>")), &target);
            let text = String::from_utf8(made.clone()).expect("UTF-8");
            let (header, block) = text.split_once("\r\n\r\n").expect("a header");
            assert_eq!(block, format!("{http}\r\n\r\n"));
            let fields = Headers::parse(header.as_bytes());
            for (name, value) in [
                ("WARC-Type", "revisit"),
                ("WARC-Target-URI", "http://a/"),
                ("WARC-Date", "2024-01-02T03:04:05Z"),
                ("WARC-Profile", profile),
                ("WARC-Refers-To", "<urn:uuid:http://b/>"),
                ("WARC-Refers-To-Target-URI", "http://b/"),
                ("WARC-Refers-To-Date", "2024-01-02T03:04:05Z"),
                ("WARC-Payload-Digest", "sha1:P"),
                ("Content-Length", &http.len().to_string()),
            ] {
                assert_eq!(fields.text(name), Some(value), "{name}");
            }
            assert_eq!(fields.get("WARC-Block-Digest"), None);
            let id = fields.text("WARC-Record-ID").expect("an id");
            assert!(id.len() == 47 && id.starts_with("<urn:uuid:") && &id[24..25] == "8", "{id}");
        }
        let bare = revisit(&head("http://a/", "sha1:Q", "<p>no HTTP</p>"), &target);
        assert!(
            String::from_utf8(bare).expect("UTF-8").ends_with("Content-Length: 0\r\n\r\n\r\n\r\n")
        );
    }
}

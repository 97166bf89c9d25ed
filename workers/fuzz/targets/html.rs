//! Pages of any charset through `extract`.
//!
//! Input: one control byte, HTTP's charset up to the first line break (an empty line: none), then
//! the page. Control: `0` the main text, `1` all text, `2` the main text of the first 1000 bytes,
//! `3` a page that is no HTML, `4` the main text of the page repeated to 1 MiB, `5` all text of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use support::{control, grown, pick};
use workers::extract::{Extracted, Options, html, plain};

#[derive(Clone, Copy)]
struct Form {
    plain: bool,
    main_text: bool,
    grown: bool,
    html_bytes_max: u64,
}

const MAIN: Form = Form { plain: false, main_text: true, grown: false, html_bytes_max: 8 << 20 };
const FORMS: [Form; 6] = [
    MAIN,
    Form { main_text: false, ..MAIN },
    Form { html_bytes_max: 1000, ..MAIN },
    Form { plain: true, ..MAIN },
    Form { grown: true, ..MAIN },
    Form { grown: true, main_text: false, ..MAIN },
];

/// A byte becomes at most three, in U+FFFD and in the wide characters of single-byte charsets; one
/// more U+FFFD may stand for the end of a page that was cut within a character.
const GROWTH_MAX: usize = 3;

fuzz_target!(|input: &[u8]| {
    let Some(([form], rest)) = control(input) else { return };
    let form = pick(form, &FORMS);
    let line = rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    let charset = String::from_utf8_lossy(&rest[..line]);
    let charset = Some(&*charset).filter(|charset| !charset.is_empty());
    let page = rest.get(line + 1..).unwrap_or_default();
    let page = if form.grown { grown(page) } else { page.to_vec() };
    let options = Options {
        main_text: form.main_text,
        html_bytes_max: form.html_bytes_max,
        ..Options::default()
    };
    let say = || if form.plain { plain(&page, charset) } else { html(&page, charset, &options) };
    let said = say();
    if !form.grown {
        assert_eq!(said, say(), "read twice");
    }
    check(&said, &page);
    if form.plain {
        check_plain(&said.text, &page);
    } else {
        check_html(&said, &page, &options);
    }
});

fn check(said: &Extracted, page: &[u8]) {
    let most = GROWTH_MAX * (page.len() + 1);
    assert!(
        said.text.len() <= most,
        "{} bytes of text from {} of a page",
        said.text.len(),
        page.len()
    );
}

/// A page that can only be UTF-8 is not changed: it has no byte order mark, no zero byte as UTF-16
/// has, and no escape as ISO-2022-JP has.
fn check_plain(text: &str, page: &[u8]) {
    let plainly = !page.starts_with(b"\xef\xbb\xbf") && !page.contains(&0) && !page.contains(&0x1b);
    if let Some(page) = str::from_utf8(page).ok().filter(|_| plainly) {
        assert_eq!(text, page);
    }
}

/// White space is collapsed and no line is empty.
fn check_html(said: &Extracted, page: &[u8], options: &Options) {
    assert_eq!(said.is_cut, page.len() as u64 > options.html_bytes_max);
    assert!(
        !said.text.contains("  ") && !said.text.contains("\n\n"),
        "white space: {:?}",
        said.text
    );
    assert!(
        !said.text.starts_with([' ', '\n']) && !said.text.ends_with('\n'),
        "white space around: {:?}",
        said.text
    );
}

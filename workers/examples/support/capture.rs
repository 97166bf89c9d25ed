//! Writes the demo's pages as six crawl files, with a count of what is in them and the truth.
//!
//! Like real crawls they also hold requests, revisits, redirects, errors, an image, pages without
//! an article, and broken records.

use std::collections::BTreeMap;

use crate::articles::{Article, NEW_YEAR};
use crate::plan::{Copy, Page};
use crate::random::Random;
use crate::site::{HOSTS, Site};
use crate::warc::{Record, Warc, chunked, gzip, http, payload_digest};
use jiff::ToSpan;
use jiff::civil::DateTime;

/// Everything the demo writes.
pub struct Demo {
    /// Names and bytes.
    pub files: Vec<(String, Vec<u8>)>,
    /// The label of every URL that is live at the end and has text.
    pub truth: BTreeMap<String, String>,
    /// How many of each kind there are.
    pub counts: BTreeMap<String, usize>,
}

/// What a WARC file holds for one visit.
enum Visit<'a> {
    Page(&'a Page),
    /// A page whose record is damaged; `true` if its member is cut short.
    Damaged(&'a Page, bool),
    /// A second visit that found the page unchanged.
    Revisit(&'a Page),
    /// An answer without an article: kind, URL, first line, headers and body.
    Other(&'static str, String, &'static str, Vec<(&'static str, String)>, Vec<u8>),
}

/// The demo of these pages.
pub fn demo(articles: &[Article], pages: &[Page], seed: u64) -> Demo {
    let mut random = Random::of(seed, 2);
    let mut demo = Demo { files: Vec::new(), truth: BTreeMap::new(), counts: BTreeMap::new() };
    let site = Site::new(articles);
    for page in pages {
        demo.truth.insert(page.url.clone(), format!("article-{:03}", page.label));
        demo.count(&format!("page {:?}", page.copy).to_lowercase());
    }
    for file in 0..3 {
        let mut visits: Vec<(DateTime, Visit<'_>)> =
            of_file(pages, file).into_iter().map(|page| (page.moment, Visit::Page(page))).collect();
        if file > 0 {
            demo.damage(&mut visits, file == 2);
        }
        demo.add_second_visits(&mut visits);
        demo.add_others(&mut visits, file, pages);
        visits.sort_by_key(|(moment, _)| *moment);
        let bytes = demo.warc(&visits, &site, file, &mut random);
        demo.files.push((format!("crawl-{file:02}.warc.gz"), bytes));
    }
    let wet = demo.wet(&of_file(pages, 3), random.clone());
    demo.files.push(("crawl-03.warc.wet.gz".into(), wet));
    let lines = demo.json_lines(
        &of_file(pages, 4),
        &["{\"url\": \"https://feed.example/item/9\", \"text\": \"写到一半，机器", ""],
    );
    demo.files.push(("crawl-04.jsonl.gz".into(), gzip(lines.as_bytes())));
    let lines = demo.json_lines(
        &of_file(pages, 5),
        &["{\"text\": \"这一行没有地址。\", \"date\": \"2025-06-05\"}", "不是一行记录"],
    );
    demo.files.push(("crawl-05.jsonl".into(), lines.into_bytes()));
    demo
}

fn of_file(pages: &[Page], file: usize) -> Vec<&Page> {
    let mut pages: Vec<&Page> = pages.iter().filter(|page| HOSTS[page.host].file == file).collect();
    pages.sort_by(|a, b| (a.moment, &a.url).cmp(&(b.moment, &b.url)));
    pages
}

impl Demo {
    fn count(&mut self, kind: &str) {
        *self.counts.entry(kind.into()).or_insert(0) += 1;
    }

    /// Damages the record of one mirrored page in the middle of the file.
    fn damage<'a>(&mut self, visits: &mut [(DateTime, Visit<'a>)], cut: bool) {
        let middle = visits.len() / 2;
        for (_, visit) in &mut visits[middle..] {
            if let Visit::Page(page) = *visit
                && page.copy == Copy::Mirror
            {
                self.truth.remove(&page.url);
                self.count(if cut { "damaged, member cut short" } else { "damaged, bytes wrong" });
                *visit = Visit::Damaged(page, cut);
                return;
            }
        }
    }

    /// Visits every eighth original once more.
    fn add_second_visits<'a>(&mut self, visits: &mut Vec<(DateTime, Visit<'a>)>) {
        let originals = visits.iter().filter_map(|(moment, visit)| match visit {
            Visit::Page(page) if page.copy == Copy::Original => Some((*moment + 10.days(), *page)),
            _ => None,
        });
        let second: Vec<_> =
            originals.step_by(8).map(|(moment, page)| (moment, Visit::Revisit(page))).collect();
        visits.extend(second);
    }

    /// Adds records that are not articles, at their own times; changes of known pages come after
    /// all first visits.
    fn add_others(&mut self, visits: &mut Vec<(DateTime, Visit<'_>)>, file: usize, pages: &[Page]) {
        // Edited pages with one visit, so that their changes touch no other page.
        let once =
            |page: &&Page| pages.iter().filter(|other| other.number == page.number).count() == 1;
        let edited = [Copy::Headline, Copy::Sentence, Copy::Figure, Copy::Dateline];
        let mut known = of_file(pages, file)
            .into_iter()
            .filter(|page| edited.contains(&page.copy))
            .filter(once);
        let mut next = || {
            known.next().map(|page| page.url.clone()).expect("every file has three edited pages")
        };
        let host = HOSTS.iter().find(|host| host.file == file).map_or("", |host| host.name);
        let html = || vec![("Content-Type", "text/html; charset=utf-8".to_string())];
        let target = |page: &Page| {
            vec![("Location", page.url.clone()), ("Content-Type", "text/html".into())]
        };
        let first = of_file(pages, file)[0];
        let at = |path: &str| format!("https://{host}{path}");
        self.truth.insert(at("/index"), format!("index-{file}"));
        let mut others = vec![
            (
                "redirect 301",
                at("/old/1"),
                "301 Moved Permanently",
                target(first),
                b"<html><body>Moved</body></html>".to_vec(),
            ),
            ("redirect 301", at("/old/2"), "301 Moved Permanently", target(first), Vec::new()),
            (
                "not found 404",
                at("/nothing"),
                "404 Not Found",
                html(),
                b"<html><body><h1>404</h1></body></html>".to_vec(),
            ),
            ("navigation page", at("/index"), "200 OK", html(), navigation(pages, file)),
        ];
        match file {
            0 => {
                let gone = next();
                self.truth.remove(&gone);
                others.push((
                    "gone 404",
                    gone,
                    "404 Not Found",
                    html(),
                    b"<html><body>Not found</body></html>".to_vec(),
                ));
                others.push((
                    "image",
                    at("/logo.gif"),
                    "200 OK",
                    vec![("Content-Type", "image/gif".into())],
                    GIF.to_vec(),
                ));
                others.push((
                    "unavailable 503",
                    next(),
                    "503 Service Unavailable",
                    html(),
                    b"<html>Busy</html>".to_vec(),
                ));
            }
            1 => {
                let notice = "<html><head><title>通知</title></head><body><p>今天休息，明天见。</p></body></html>";
                for path in ["/notice/1", "/notice/2"] {
                    others.push((
                        "over-short page",
                        at(path),
                        "200 OK",
                        html(),
                        notice.as_bytes().to_vec(),
                    ));
                    self.truth.insert(at(path), "notice".into());
                }
                others.push(("empty page", at("/empty"), "200 OK", html(), Vec::new()));
            }
            _ => {
                let hello = "<html><body><p>你好，世界。</p></body></html>";
                others.push((
                    "over-short page",
                    at("/hello"),
                    "200 OK",
                    html(),
                    hello.as_bytes().to_vec(),
                ));
                self.truth.insert(at("/hello"), "hello".into());
                let blank =
                    "<html><head><title>空白</title></head><body><div> &nbsp; </div></body></html>";
                others.push((
                    "empty page",
                    at("/blank"),
                    "200 OK",
                    html(),
                    blank.as_bytes().to_vec(),
                ));
            }
        }
        others.push((
            "not modified 304",
            next(),
            "304 Not Modified",
            vec![("ETag", "\"a1\"".into())],
            Vec::new(),
        ));
        for (index, (kind, url, status, headers, body)) in others.into_iter().enumerate() {
            let moment = NEW_YEAR + 165.days() + (977 * index as i64).seconds();
            visits.push((moment, Visit::Other(kind, url, status, headers, body)));
        }
    }

    fn warc(
        &mut self,
        visits: &[(DateTime, Visit<'_>)],
        site: &Site,
        file: usize,
        random: &mut Random,
    ) -> Vec<u8> {
        let mut warc = Warc::new(Random::of(random.next(), 0));
        let start = visits.first().map_or(NEW_YEAR, |(moment, _)| *moment);
        push_info(&mut warc, &format!("crawl-{file:02}.warc.gz"), start);
        // Record id, date and payload digest of each URL's first visit, to which revisits refer.
        let mut seen = BTreeMap::new();
        for (index, (moment, visit)) in visits.iter().enumerate() {
            let (url, status, headers, body) = match visit {
                Visit::Page(page) | Visit::Damaged(page, _) => {
                    let (headers, body) = self.page_answer(page, site);
                    (&page.url, "200 OK", headers, body)
                }
                Visit::Revisit(page) => {
                    self.count("revisit");
                    push_revisit(&mut warc, page, *moment, &seen[&page.url]);
                    continue;
                }
                Visit::Other(kind, url, status, headers, body) => {
                    self.count(kind);
                    (url, *status, headers.clone(), body.clone())
                }
            };
            let concurrent = (index.is_multiple_of(6)).then(|| {
                self.count("request");
                push_request(&mut warc, url, *moment)
            });
            let date = [("Date", http_date(*moment)), ("Server", "nginx".into())];
            let headers: Vec<(&str, String)> = date.into_iter().chain(headers).collect();
            let digest = payload_digest(&body);
            let mut extra = vec![("WARC-Payload-Digest", digest.clone())];
            extra.extend(concurrent.map(|id| ("WARC-Concurrent-To", id)));
            let block = http(&format!("HTTP/1.1 {status}"), &headers, &body);
            let content_type = "application/http; msgtype=response";
            let id = warc.push(&Record {
                kind: "response",
                url: Some(url),
                moment: *moment,
                content_type,
                extra,
                block,
            });
            seen.entry(url.clone()).or_insert((id, format!("{moment}Z"), digest));
            if let Visit::Damaged(_, cut) = visit {
                warc.damage(*cut);
            }
        }
        warc.finish()
    }

    /// Headers and body of a page; some are compressed or chunked, as servers send them.
    fn page_answer(&mut self, page: &Page, site: &Site) -> (Vec<(&'static str, String)>, Vec<u8>) {
        let served = site.serve(page);
        let mut headers = vec![("Content-Type", served.content_type.to_string())];
        let mut body = served.body;
        match page.number % 12 {
            0 => {
                self.count("answer compressed");
                headers.push(("Content-Encoding", "gzip".into()));
                body = gzip(&body);
            }
            1 => {
                self.count("answer in chunks");
                headers.push(("Transfer-Encoding", "chunked".into()));
                return (headers, chunked(&body, 1400));
            }
            _ => {}
        }
        headers.push(("Content-Length", body.len().to_string()));
        (headers, body)
    }

    fn wet(&mut self, pages: &[&Page], random: Random) -> Vec<u8> {
        let mut warc = Warc::new(random);
        push_info(&mut warc, "crawl-03.warc.wet.gz", pages[0].moment);
        for page in pages {
            self.count("conversion");
            let block = format!("{}\n{}\n", page.article.title, page.article.text()).into_bytes();
            let extra = vec![(
                "WARC-Identified-Content-Language",
                if page.article.english { "eng" } else { "zho" }.to_string(),
            )];
            let (url, content_type) = (Some(page.url.as_str()), "text/plain");
            warc.push(&Record {
                kind: "conversion",
                url,
                moment: page.moment,
                content_type,
                extra,
                block,
            });
        }
        warc.finish()
    }

    /// The pages as JSON lines, with `broken` ones among them.
    fn json_lines(&mut self, pages: &[&Page], broken: &[&str]) -> String {
        let mut lines: Vec<String> = Vec::new();
        for page in pages {
            self.count("JSON line");
            let quoted = |text: &str| serde_json::Value::from(text).to_string();
            let (url, title) = (quoted(&page.url), quoted(&page.article.title));
            let (date, text) = (format!("{}Z", page.moment), quoted(&page.article.text()));
            lines.push(format!(
                "{{\"url\":{url},\"date\":\"{date}\",\"title\":{title},\"text\":{text}}}"
            ));
        }
        for (index, line) in broken.iter().enumerate() {
            self.count(if line.is_empty() { "blank JSON line" } else { "broken JSON line" });
            lines.insert(lines.len() / 3 * (index + 1), (*line).into());
        }
        lines.join("\n") + "\n"
    }
}

/// A page of links only.
fn navigation(pages: &[Page], file: usize) -> Vec<u8> {
    let mut html = String::from(
        "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>目录</title></head><body><ul>\n",
    );
    for page in of_file(pages, file).iter().filter(|page| page.copy == Copy::Original).take(30) {
        html += &format!("<li><a href=\"{}\">{}</a></li>\n", page.url, page.article.title);
    }
    (html + "</ul></body></html>\n").into_bytes()
}

/// A picture of one transparent pixel.
const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

fn push_info(warc: &mut Warc, name: &str, moment: DateTime) {
    let block =
        b"software: pagefold demo_crawl\r\nformat: WARC File Format 1.1\r\nisPartOf: demo\r\n"
            .to_vec();
    let extra = vec![("WARC-Filename", name.to_string())];
    warc.push(&Record {
        kind: "warcinfo",
        url: None,
        moment,
        content_type: "application/warc-fields",
        extra,
        block,
    });
}

fn push_request(warc: &mut Warc, url: &str, moment: DateTime) -> String {
    let (host, path) = split(url);
    let headers = [
        ("Host", host.into()),
        ("User-Agent", "demo-crawler/1.0".into()),
        ("Accept", "*/*".into()),
    ];
    let block = http(&format!("GET {path} HTTP/1.1"), &headers, b"");
    let content_type = "application/http; msgtype=request";
    warc.push(&Record {
        kind: "request",
        url: Some(url),
        moment,
        content_type,
        extra: Vec::new(),
        block,
    })
}

fn push_revisit(warc: &mut Warc, page: &Page, moment: DateTime, first: &(String, String, String)) {
    let (id, date, digest) = first;
    let extra = vec![
        (
            "WARC-Profile",
            "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest".to_string(),
        ),
        ("WARC-Refers-To", id.clone()),
        ("WARC-Refers-To-Target-URI", page.url.clone()),
        ("WARC-Refers-To-Date", date.clone()),
        ("WARC-Payload-Digest", digest.clone()),
    ];
    let block = http(
        "HTTP/1.1 200 OK",
        &[("Date", http_date(moment)), ("Content-Type", "text/html".into())],
        b"",
    );
    let (url, content_type) = (Some(page.url.as_str()), "application/http; msgtype=response");
    warc.push(&Record { kind: "revisit", url, moment, content_type, extra, block });
}

/// A moment as HTTP writes it (RFC 9110): `Tue, 04 Mar 2025 05:06:07 GMT`.
fn http_date(moment: DateTime) -> String {
    moment.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Host and path of a URL.
fn split(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

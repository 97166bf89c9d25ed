//! Renders pages in the form that the demo's hosts serve: HTML in each host's chrome and charset.
//!
//! Links to other articles differ from page to page. All hosts are under `.example` (RFC 2606).

use encoding_rs::{BIG5, Encoding, GBK, UTF_8};

use crate::articles::{Article, pick};
use crate::plan::{Copy, Page};
use crate::random::Random;
use crate::traditional::Traditional;

/// A host and its way of serving.
pub struct Host {
    /// Its name.
    pub name: &'static str,
    /// The file of the crawl that holds its pages.
    pub file: usize,
    /// Its pages' chrome; empty for hosts that serve plain text.
    chrome: &'static str,
    /// The parts of a path before and after a page's number.
    path: (&'static str, &'static str),
    /// Whether its pages are under https.
    pub https: bool,
    /// Content-Type of its pages; the charset is here, in the page, or in both.
    content_type: &'static str,
}

/// The hosts; `plan` refers to them by their place here.
pub const HOSTS: [Host; 10] = [
    Host {
        name: "news.example",
        file: 0,
        chrome: include_str!("chrome/news.html"),
        path: ("/local/2025/", ".html"),
        https: true,
        content_type: "text/html; charset=utf-8",
    },
    Host {
        name: "daily.example",
        file: 0,
        chrome: include_str!("chrome/daily.html"),
        path: ("/html/2025/content_", ".htm"),
        https: false,
        content_type: "text/html",
    },
    Host {
        name: "mirror.example",
        file: 1,
        chrome: include_str!("chrome/mirror.html"),
        path: ("/t/", ""),
        https: true,
        content_type: "text/html; charset=GBK",
    },
    Host {
        name: "tw.example",
        file: 1,
        chrome: include_str!("chrome/tw.html"),
        path: ("/story/", ""),
        https: true,
        content_type: "text/html",
    },
    Host {
        name: "blog.example",
        file: 2,
        chrome: include_str!("chrome/blog.html"),
        path: ("/2025/", "/"),
        https: true,
        content_type: "text/html",
    },
    Host {
        name: "docs.example",
        file: 2,
        chrome: include_str!("chrome/docs.html"),
        path: ("/shelf/", ".html"),
        https: true,
        content_type: "text/html; charset=UTF-8",
    },
    Host {
        name: "portal.example",
        file: 3,
        chrome: "",
        path: ("/read?id=", ""),
        https: true,
        content_type: "text/plain",
    },
    Host {
        name: "feed.example",
        file: 4,
        chrome: "",
        path: ("/item/", ""),
        https: true,
        content_type: "text/plain",
    },
    Host {
        name: "notes.example",
        file: 5,
        chrome: "",
        path: ("/n/", ".html"),
        https: true,
        content_type: "text/plain",
    },
    Host {
        name: "digest.example",
        file: 4,
        chrome: "",
        path: ("/?story=", ""),
        https: true,
        content_type: "text/plain",
    },
];

/// The place of the host that writes traditional characters.
pub const TW: usize = 3;
/// The place of the host for English articles.
pub const DOCS: usize = 5;
const DAILY: usize = 1;
const MIRROR: usize = 2;

const PRINT: &str = "<html><head><meta charset=\"utf-8\"><title>{{title}}</title></head>\n<body onload=\"window.print()\">\n\
    <h1>{{title}}</h1>\n<p class=\"small\">{{date}} {{author}}</p>\n{{body}}\n</body></html>\n";

impl Host {
    /// Whether its pages are HTML.
    pub fn is_html(&self) -> bool {
        !self.chrome.is_empty()
    }

    /// The URL of its page with this number.
    pub fn url(&self, number: usize) -> String {
        let scheme = if self.https { "https" } else { "http" };
        format!("{scheme}://{}{}{number}{}", self.name, self.path.0, self.path.1)
    }
}

/// The answer of a host: Content-Type and body.
pub struct Served {
    /// HTTP's Content-Type.
    pub content_type: &'static str,
    /// The body in the page's charset.
    pub body: Vec<u8>,
}

/// Renders pages.
pub struct Site {
    traditional: Traditional,
    titles: Vec<(bool, String)>,
}

impl Site {
    /// A renderer that takes related titles from `articles`.
    pub fn new(articles: &[Article]) -> Site {
        let titles =
            articles.iter().map(|article| (article.english, article.title.clone())).collect();
        Site { traditional: Traditional::new(), titles }
    }

    /// The page as served; the same page number gives the same bytes.
    pub fn serve(&self, page: &Page) -> Served {
        let host = &HOSTS[page.host];
        let mut random = Random::of(u64::MAX, page.number as u64);
        let print = page.copy == Copy::Print;
        let big5 = page.host == TW && page.number.is_multiple_of(2);
        let encoding: &'static Encoding = match page.host {
            _ if print => UTF_8,
            DAILY | MIRROR => GBK,
            TW if big5 => BIG5,
            _ => UTF_8,
        };
        let chrome = if print { PRINT } else { host.chrome };
        let html = self.fill(chrome, page, if big5 { "big5" } else { "utf-8" }, &mut random);
        let html = if page.host == TW { self.traditional.convert(&html) } else { html };
        let (body, _, unmappable) = encoding.encode(&html);
        assert!(!unmappable, "{} holds a character that {} lacks", page.url, encoding.name());
        Served {
            content_type: if print { "text/html; charset=utf-8" } else { host.content_type },
            body: body.into_owned(),
        }
    }

    fn fill(&self, chrome: &str, page: &Page, charset: &str, random: &mut Random) -> String {
        let article = &page.article;
        let mut body = String::new();
        for (is_heading, line) in article.lines() {
            body += &match (page.host, is_heading) {
                (DAILY, true) => format!("<b>{line}</b><br>\n<br>\n"),
                (DAILY, false) => format!("　　{line}<br>\n<br>\n"),
                (_, true) => format!("<h3>{line}</h3>\n"),
                (0, false) => format!("<p>　　{line}</p>\n"),
                (_, false) => format!("<p>{line}</p>\n"),
            };
        }
        let related = self.related(page, random);
        let editors =
            if article.english { "Jo Lane|Sam Reed" } else { "小雨|远山|木棉|晴川" };
        chrome
            .replace("{{title}}", &article.title)
            .replace("{{body}}", body.trim_end())
            .replace("{{related}}", &related)
            .replace("{{date}}", &article.written_date())
            .replace("{{author}}", article.author)
            .replace("{{editor}}", pick(editors, "|", random))
            .replace("{{place}}", article.place)
            .replace("{{theme}}", article.theme)
            .replace("{{charset}}", charset)
            .replace("{{id}}", &page.number.to_string())
            .replace("{{token}}", &format!("{:08x}", random.next() as u32))
            .replace("{{count}}", &(20 + random.below(9000)).to_string())
            .replace("{{comments}}", &random.below(90).to_string())
    }

    /// Three to six links to other articles in the page's language.
    fn related(&self, page: &Page, random: &mut Random) -> String {
        let mut lines = Vec::new();
        let count = 3 + random.below(4);
        while lines.len() < count {
            let (english, title) = &self.titles[random.below(self.titles.len())];
            if *english != page.article.english
                || *title == page.article.title
                || lines.iter().any(|line: &String| line.contains(title))
            {
                continue;
            }
            let host = &HOSTS[page.host];
            let link = format!(
                "<a href=\"{}{}{}\">{title}</a>",
                host.path.0,
                1000 + random.below(3000),
                host.path.1
            );
            lines.push(match page.host {
                DAILY => format!("·{link}<br>"),
                4 => format!("<p>{link}</p>"),
                _ => format!("<li>{link}</li>"),
            });
        }
        lines.join("\n")
    }
}

//! Tests of the extractor as a whole: an article has the same text in any site's chrome and in any
//! charset, and no page causes a panic or work out of proportion to its size.

mod others;
mod subject;

use crate::extract::{Options, counted_html, html, plain};
use proptest::prelude::*;

/// Work after decoding, for each byte of a page.
const STEPS_PER_BYTE: u64 = 28;
/// The work that even an empty page takes.
const STEPS_MIN: u64 = 200;

fn text(page: &str) -> String {
    html(page.as_bytes(), None, &Options::default()).text
}

const NEWS: &str = "<p>本报讯 昨日上午九时，随着最后一段钢箱梁缓缓就位，跨江大桥主桥顺利合龙，两岸居民期盼多年的通道即将贯通。</p>\
    <p>据项目负责人介绍，大桥全长三千二百米，双向六车道，设计时速八十公里，预计明年六月通车。</p>\
    <blockquote>“合龙误差只有两毫米，比规范要求小了一个数量级。”总工程师在现场说。</blockquote>\
    <p>通车以后，从老城区到开发区只需十分钟，比绕行<a href=\"/bridge\">二桥</a>少用四十分钟。</p>";

const SHORT: &str = "<p>市气象台今天上午发布大风蓝色预警，预计未来二十四小时有六级偏北风。</p>";

const MANUAL: &str = "<p>The store keeps every table as a set of sorted runs, and each run is written once.</p>\
    <h2 id=\"menu-of-commands\">Commands<a class=\"headerlink\" href=\"#menu-of-commands\">¶</a></h2>\
    <dl><dt>run</dt><dd>Reads new input and commits an epoch.</dd><dt>gc</dt><dd>Deletes what no epoch needs.</dd></dl>\
    <h2 id=\"sharing\">Sharing</h2>\
    <div class=\"admonition note\"><p>Note</p><p>Two processes may read, only one may write.</p></div>\
    <pre><code>pagefold run job.toml\npagefold gc job.toml</code></pre>\
    <table><thead><tr><th>exit</th><th>meaning</th></tr></thead><tbody><tr><td>0</td><td>committed</td></tr>\
    <tr><td>75</td><td>try again</td></tr></tbody></table>\
    <ul><li>fast</li><li>exact</li><li>resumable, see <a href=\"#sharing\">Sharing</a></li></ul>\
    <details><summary>Why runs?</summary><p>Because they merge, and because a reader never waits.</p></details>";

/// The chromes of very different sites. `{}` is the article, `$` a number that makes a variant.
const CHROMES: [&str; 6] = [
    // A portal of the table age: no classes, a link list beside the article, a licence at the foot.
    "<html><head><title>标题甲_新闻中心</title></head><body><table><tr><td><a href=/>首页</a> | <a href=/n>新闻</a> | \
     <a href=/s>体育</a></td></tr></table><table><tr><td width=200><ul><li><a href=/1>某地举行第$届文化节开幕式</a><li>\
     <a href=/2>某市公布第$批重点项目名单</a><li><a href=/3>专家谈第$季度经济形势</a></ul></td><td><h1>标题甲</h1>{}\
     </td></tr></table><center>京ICP证$号 网络文化经营许可证<br>版权所有 新闻中心</center></body></html>",
    // The same with class names in pinyin and English, and comments and a share bar in the
    // article's column.
    "<html><head><meta charset=utf-8><title>标题甲 - 某某网</title><script>var a='<p>$</p>';</script></head><body><div class=\"daohang nav\">\
     <a href=/>首页</a><a href=/n>新闻</a></div><div class=\"mbx\">当前位置：<a href=/>首页</a> &gt; 正文</div><div class=\"left-col\">\
     <h1>标题甲</h1><div class=\"share\">分享到微信，微博，第$次转发</div><div class=\"article-content\">{}</div><p>（责任编辑：王小$）</p>\
     <div class=\"pinglun\"><p>网友$楼：说得好，支持一下，希望早日实现，大家都方便。</p><p>网友二：已阅，谢谢分享。</p></div></div>\
     <div class=\"sidebar\"><h3>热门</h3><a href=/5>排行第$名的新闻标题很长很长</a></div><div class=\"footer\">版权所有 © $</div></body></html>",
    // A documentation site: article within main, a side bar of links before it and a table of
    // contents after it.
    "<!doctype html><html><head><title>标题甲 - Docs</title></head><body><header class=md-header><nav><a href=/>Docs v$</a></nav></header>\
     <div class=md-container><main class=md-main><div class=\"md-sidebar md-sidebar--primary\"><nav><ul><li><a href=a>Install version $</a>\
     <li><a href=b>Configure</a></ul></nav></div><div class=md-content><article class=\"md-content__inner md-typeset\"><a href=edit class=md-icon \
     title=Edit><svg><path d=M10></svg></a><h1 id=x>标题甲<a class=headerlink href=#x>¶</a></h1>{}</article></div>\
     <div class=\"md-sidebar md-sidebar--secondary\"><nav><a href=#x>标题甲</a></nav></div></main><footer>Made with tools, version $.</footer>\
     </div></body></html>",
    // A blog: sections throughout, related posts as teasers after the post.
    "<html><body><div id=page><div id=masthead><h2><a href=/>Blog $</a></h2><ul id=menu-main><li><a href=/about>About</a></ul></div>\
     <div id=primary><article class=\"post hentry\"><header class=entry-header><h1 class=entry-title>标题甲</h1><div class=entry-meta>\
     2024-01-$ by <a href=/me>me</a></div></header><div class=entry-content>{}</div><footer>Tagged <a href=/t>t$</a></footer></article>\
     <div class=related-posts><h3>Related</h3><p><a href=/r1>Another post number $, with a long and winding title</a></p></div>\
     <div id=comments><ol><li><p>First comment, number $, which is long enough to look like text.</p></li></ol></div></div>\
     <aside><p>Subscribe to us, $ readers already did, and they like it.</p></aside></div><title>标题甲 | Blog</title></body></html>",
    // Only divs without names.
    "<html><title>标题甲</title><body><div><div><a href=/>a$</a> <a href=/b>b</a></div><div><div>标题甲</div><div>{}</div></div><div>\
     <a href=/c>另一篇关于第$件事的报道</a><a href=/d>再一篇</a></div></div></body></html>",
    // One page in one form; neither the form nor a dialog before it hides the article.
    "<html><title>标题甲</title><body><form style=\"display:none\" id=aspnetForm><div role=dialog><p>We use cookies, $ of them, and more.</p></div>\
     <div class=\"column main\"><div id=zoom>{}</div></div><div class=copyright>Copyright © $, all rights reserved.</div></form></body></html>",
];

fn in_chrome(chrome: &str, article: &str, variant: u32) -> String {
    chrome.replace('$', &variant.to_string()).replace("{}", article)
}

/// The text of an article is the same in every site's chrome, with any menu, rank and comment
/// count.
#[test]
fn same_article_in_every_chrome() {
    for article in [NEWS, SHORT, MANUAL] {
        let alone = text(&format!("<body><article>{article}</article></body>"));
        for (which, chrome) in CHROMES.iter().enumerate() {
            for variant in [3, 17, 2024] {
                let in_chrome = in_chrome(chrome, article, variant);
                assert_eq!(text(&in_chrome), alone, "chrome {which}, variant {variant}");
            }
        }
    }
}

/// In a long article a date line and a title were a small addition, and were included on some sites
/// only.
#[test]
fn long_article_brings_no_chrome_along() {
    let article = NEWS.repeat(12);
    let alone = text(&format!("<body><article>{article}</article></body>"));
    for (which, chrome) in CHROMES.iter().enumerate() {
        // Not a day of the calendar: the line must be left out for its place, not for its form.
        assert_eq!(text(&in_chrome(chrome, &article, 2024)), alone, "chrome {which}");
    }
}

/// A reference page is many entries, none of them the page: a section named `extract-head` or
/// `comments` is text too.
#[test]
fn every_entry_of_a_reference() {
    let entry = |name: &str, text: &str| {
        format!(
            "<section id=\"{name}\"><dl class=\"py class\"><dt>class {name}</dt><dd><p>{text}</p><dl><dt>get(key)</dt>\
            <dd><p>Returns the value of the key, or the default.</p></dd></dl></dd></dl></section>"
        )
    };
    let long =
        "Keeps pairs in order, and says so in a long paragraph, which holds most of the text. "
            .repeat(6);
    let page = format!(
        "<div role=navigation><a href=/>Home</a></div><div role=main><div class=body>{}{}{}</div></div>",
        entry("extract-head", "Reads the first bytes, no more."),
        entry("ordered", &long),
        entry("comments", "Reads comments, if any.")
    );
    let text = text(&page);
    for expected in [
        "class extract-head\n",
        "Reads the first bytes",
        "Keeps pairs",
        "class comments\n",
        "Reads comments, if any.\nget(key)\n",
    ] {
        assert!(text.contains(expected), "{expected:?} not in {text}");
    }
}

/// The parts of a documentation page are extracted whole and in order: definitions, notes, lines of
/// code, tables, lists.
#[test]
fn every_part_of_a_manual() {
    let expected = "The store keeps every table as a set of sorted runs, and each run is written once.\nCommands\nrun\n\
        Reads new input and commits an epoch.\ngc\nDeletes what no epoch needs.\nSharing\nNote\n\
        Two processes may read, only one may write.\npagefold run job.toml\npagefold gc job.toml\nexit\nmeaning\n0\ncommitted\n75\n\
        try again\nfast\nexact\nresumable, see Sharing\nWhy runs?\nBecause they merge, and because a reader never waits.";
    assert_eq!(text(&in_chrome(CHROMES[2], MANUAL, 1)), expected);
}

/// A `<br>` in preformatted text left the blank before it at the end of the line.
#[test]
fn break_in_preformatted_text() {
    assert_eq!(text("<pre>a, b <br> c\n\n<br>d.</pre>"), "a, b\nc\nd.");
}

/// Line numbers beside code are not text, in the markup of any highlighter; the code is.
#[test]
fn line_numbers_are_dropped() {
    let rows = "<table><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre></div><td class=code><pre>let a = 1;\nlet b = 2;</pre></table>";
    let page = format!(
        "<article><p>{}</p>{rows}</article>",
        "Some words, and then code follows here. ".repeat(8)
    );
    assert!(text(&page).ends_with("here.\nlet a = 1;\nlet b = 2;"), "{}", text(&page));
}

/// The text of a page is the same in every charset that can encode it.
#[test]
fn same_text_in_every_charset() {
    let page = in_chrome(CHROMES[1], NEWS, 9).replace("<meta charset=utf-8>", "").replace('©', "");
    let expected = text(&page);
    for encoding in [encoding_rs::GBK, encoding_rs::GB18030, encoding_rs::UTF_8] {
        let (bytes, _, has_errors) = encoding.encode(&page);
        assert!(!has_errors, "{}", encoding.name());
        for charset in [None, Some(encoding.name())] {
            assert_eq!(
                html(&bytes, charset, &Options::default()).text,
                expected,
                "{} declared {charset:?}",
                encoding.name()
            );
        }
    }
    for to_bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let bytes: Vec<u8> = page.encode_utf16().flat_map(to_bytes).collect();
        assert_eq!(html(&bytes, None, &Options::default()).text, expected);
    }
}

/// Only a page without main text, or with too many elements, is gathered, and only a long one cut.
#[test]
fn what_is_gathered_and_what_is_cut() {
    let of = |page: &[u8], options: &Options| {
        let extracted = html(page, None, options);
        (extracted.is_gathered, extracted.is_cut)
    };
    let options = Options::default();
    let good = in_chrome(CHROMES[1], NEWS, 1);
    assert_eq!(of(good.as_bytes(), &options), (false, false));
    assert!(of(good.as_bytes(), &Options { html_bytes_max: 40, ..options.clone() }).1);
    assert_eq!(of("<a href=/>x</a>".as_bytes(), &options), (true, false));
    assert_eq!(of("<p>".repeat((1 << 20) + 1).as_bytes(), &options), (true, false));
}

/// A page whose text is gathered lost its only sentence if the title repeats it, and every post of
/// a site was the sentence about its cookies.
#[test]
fn the_title_of_a_short_post_is_its_text() {
    let post = |post: &str| {
        text(&format!(
            "<title>Ada: {post}</title><div><p>{post}</p></div><p>We use cookies to improve the \
             service, and by using it you agree.</p>"
        ))
    };
    for sentence in ["今天大桥通车了，真好。", "The bridge is open since today, and it is long."]
    {
        assert!(post(sentence).contains(sentence), "{}", post(sentence));
    }
}

/// Readings beside characters and their brackets became text, so a page with them was no copy of
/// the same page without. Their end tags are optional, and one that is never closed ends with its
/// line.
#[test]
fn readings_are_no_text() {
    let plain = format!("<body><article>{NEWS}<p>葛飾区の図書館は、平日も開く。</article>");
    for word in [
        "<ruby>葛飾区<rt>かつしかく</rt></ruby>",
        "<ruby>葛飾<rt>かつしか</rt>区<rt>く</rt></ruby>",
        "<RUBY><RB>葛飾区</RB><RP>（</RP><RT>かつしかく</RT><RP>）</RP></RUBY>",
        "<ruby>葛<rp>(<rt>かつ<rp>)</rp>飾区</ruby>",
        "<ruby><rb>葛飾<rb>区<rt>かつしか<rt>く</ruby>",
        "<ruby><rb>葛飾区</rb><rp>(</rp><rtc><rt>かつしか</rt><rt>く</rt>< く</rtc><rp>)</rp></ruby>",
        "<ruby><ruby>葛飾区<rt>かつしかく</rt></ruby><rt>Katsushika</rt></ruby>",
    ] {
        assert_eq!(text(&plain.replace("葛飾区", word)), text(&plain), "{word}");
        let all = Options { main_text: false, ..Options::default() };
        assert_eq!(html(word.as_bytes(), None, &all).text, "葛飾区", "{word}");
    }
    assert_eq!(text("<p>区<rt>く, く<p>二行目、終わり。"), "区\n二行目、終わり。");
}

/// A body that only a script shows, as WeChat's, was dropped as hidden, and what stands around it
/// was the text.
#[test]
fn a_body_that_a_script_shows() {
    let body = |attributes: &str, article: &str| {
        format!(
            "<html><title>标题甲</title><body><div id=img-content><h1 class=rich_media_title>标题甲</h1>\
             <div class=rich_media_content {attributes}>{article}</div></div><div class=tool><p>预览时标签不可点，\
             微信扫一扫关注该公众号，使用小程序，轻点两下取消赞，轻点两下取消在看。</p></div></body></html>"
        )
    };
    for article in [NEWS, SHORT] {
        for hidden in ["id=js_content style=\"visibility: hidden; opacity: 0\"", "hidden"] {
            assert_eq!(text(&body(hidden, article)), text(&body("", article)), "{hidden}");
        }
    }
    let menu = "<footer class=post-content><p>这是本站的说明，每一页都有，与文章无关，请勿转载。</p></footer>";
    assert_eq!(text(&body("", &format!("{NEWS}{menu}"))), text(&body("", NEWS)));
}

/// Random invisible text at the ends of lines, which a forum writes anew into each copy, was text.
/// A longer one, which a script may show, and one with elements of its own stay.
#[test]
fn short_invisible_text_in_a_line() {
    let page = |hidden: &str| {
        let lines = ["大桥昨日合龙", "，两岸居民期盼多年。", "<br>通车以后只需十分钟"];
        format!(
            "<article>{NEWS}<p>{}{hidden}{}{hidden}{}。</p></article>",
            lines[0], lines[1], lines[2]
        )
    };
    let plain = text(&page(""));
    for hidden in [
        "<span style=\"display:none\">5 e, 3# u</span>",
        "<font class=\"jammer\">) W8 u$ x</font>",
        "<FONT class=jammer>3 &lt; 4</Font >",
        "<i hidden>x</i>",
        "<b style='color:red; Visibility: Hidden'></b>",
    ] {
        assert_eq!(text(&page(hidden)), plain, "{hidden}");
        let all = Options { main_text: false, ..Options::default() };
        assert_eq!(html(format!("a{hidden}b").as_bytes(), None, &all).text, "ab", "{hidden}");
    }
    let long = "而且从开发区到老城区也只需十分钟，".repeat(4);
    for shown in [
        "<span class=jammers>x</span>",
        "<span aria-hidden=true>x</span>",
        "<i hidden>x<b>y</b></i>",
        "<i hidden>x</b></i>",
        "<i hidden>x</ii></i>",
        "<i hidden>x",
        &format!("<span style='display:none'>{long}</span>"),
    ] {
        assert_ne!(text(&page(shown)), plain, "{shown}");
    }
}

/// A wrapper of the whole page with a name such as `share-wrap` was dropped with the article, and a
/// disclaimer was the text of each page of the site.
#[test]
fn the_wrapper_of_the_page_is_no_share_bar() {
    let disclaimer = "<div class=bottom><p>本网转载的内容均来自网络，版权归原作者所有，如有侵权请与本网联系，我们将在第一时间删除，\
        本网不对内容的真实性负责，请读者自行核实。凡本网注明来源的作品，未经授权，任何单位和个人不得转载、摘编，或者以其他方式使用，违者必究。\
        已经授权的，应当在授权的范围内使用，并且注明来源。</p></div>";
    let article = NEWS.repeat(6);
    let page = |class: &str| {
        format!(
            "<title>标题甲_某某网</title><body><div class={class}><div class=share-wrap><h1>标题甲</h1>{article}</div>\
             <div class=share><p>分享到微信，微博，复制链接，打印，举报，收藏。</p></div></div>{disclaimer}</body>"
        )
    };
    let found = text(&page("sidebar-right"));
    assert_eq!(found, text(&page("x").replace("share-wrap", "y")));
    assert!(found.contains("跨江大桥") && !found.contains("转载"), "{found}");
    // Without the heading it is as unlikely as before.
    let aside = format!(
        "<title>标题甲</title><body><div class=y><h1>标题甲</h1>{NEWS}</div><div class=share-wrap><h2>别处</h2>{article}</div>"
    );
    assert_eq!(text(&aside), text(&format!("<body><article>{NEWS}</article></body>")));
}

/// Code in a `pre` whose class names its language was dropped.
#[test]
fn code_with_a_language_stays() {
    let page = |class: &str| {
        format!("<article>{MANUAL}<pre class=\"{class}\">let a = 1;\nlet b = 2;</pre></article>")
    };
    assert_eq!(text(&page("prettyprint lang-java")), text(&page("")));
    assert!(text(&page("")).ends_with("let b = 2;"));
}

/// Sections whose title is `Cookies` or `Comments` were dropped where a section is a `div`.
#[test]
fn sections_written_as_div() {
    let section =
        |attributes: &str, text: &str| format!("<div {attributes}><h2>A</h2><p>{text}</p></div>");
    let page = |class: &str, name: &str| {
        format!(
            "<body><div class=body>{}{}{}</div></body>",
            section(
                "class=\"section\" id=\"quickstart\"",
                "Install it, import it, and make a request, which takes a line of code. It returns an object."
            ),
            section(
                &format!("class=\"{class}\" id=\"{name}\""),
                "If a response has cookies, you read them by name, and you send your own with a dictionary. They stay in a session."
            ),
            section(
                "class=\"section\" id=\"timeouts\"",
                "A request waits for as long as it is told, and after that it raises an error, which you handle."
            )
        )
    };
    let plain = text(&page("section", "x"));
    assert!(plain.contains("by name"), "{plain}");
    for name in ["cookies", "comments", "related"] {
        assert_eq!(text(&page("section", name)), plain);
        assert_eq!(text(&page("section level2", name)), plain);
    }
}

/// A table of data was removed with the box around it that makes it scroll.
#[test]
fn tables_in_boxes_that_scroll() {
    let rows: String =
        (1..9).map(|n| format!("<tr><td>型号{n}</td><td>{n}00毫米</td></tr>")).collect();
    let page = |class: &str| {
        format!(
            "<article>{}<div class={class}><table>{rows}</table></div>{SHORT}</article>",
            NEWS.repeat(2)
        )
    };
    assert_eq!(text(&page("table-scroll")), text(&page("x")));
    assert!(text(&page("x")).contains("型号8"));
    let links =
        rows.replace("<td>型号", "<td><a href=/x>型号").replace("</td><td>", "</a></td><td>");
    let found = text(&page("rank").replace(&rows, &links));
    assert!(!found.contains("型号"), "{found}");
}

/// Lists and tables of an article were dropped for their names or their links: ingredients, steps,
/// data of a product, a table whose names are links. So were headings in a box of their own.
#[test]
fn parts_of_an_article_stay() {
    let intro = "<p>红烧肉是江南名菜，做法各家不同，下面是祖母传下来的做法，用料简单，火候要足，一个半小时可成。</p>\
         <p>选肉要三层，皮朝下先煎，出油以后再放糖，颜色才红亮。</p>";
    let rows: String = ["五花肉 500克", "冰糖 30克", "老抽 一勺", "黄酒 半碗"]
        .iter()
        .map(|row| format!("<div>{row}</div>"))
        .collect();
    let linked: String = (1..9)
        .map(|n| {
            format!("<tr><td>{n}</td><td><a href=/p{n}>第{n}位选手的名字</a></td><td>{n}分</td><td>胜</td></tr>")
        })
        .collect();
    for part in [
        format!("<div class=ingredient-list>{rows}</div>"),
        format!("<div class=param-rank>{rows}</div>"),
        format!("<table>{linked}</table>"),
        "<div class=\"mw-heading mw-heading2\"><h2>历史</h2></div><p>清代已有记载，见于县志。</p>"
            .into(),
    ] {
        let found =
            text(&format!("<body><div class=text>{intro}{part}<p>趁热上桌，配白饭。</p></div>"));
        for wanted in ["冰糖 30克", "第3位选手的名字", "历史"].iter().filter(|w| part.contains(**w))
        {
            assert!(found.contains(wanted), "{part}: {found}");
        }
    }
}

/// The first and the last entries of a chronology were removed as date lines of the site.
#[test]
fn entries_of_a_chronology_stay() {
    let entries: String =
        (1..=20).map(|n| format!("<p>20{:02}年3月5日 公司通过第{n}次认证</p>", n + 1)).collect();
    let page = format!("<article><p>责任编辑：王小二</p>{entries}<p>来源：某某网</p></article>");
    let found = text(&page);
    assert!(found.starts_with("2002年3月5日 公司") && found.ends_with("第20次认证"), "{found}");
    // One or two are the site's.
    let page = format!("<article><p>2024-01-03 10:20</p>{NEWS}<p>2024年1月3日</p></article>");
    assert_eq!(text(&page), text(&format!("<article>{NEWS}</article>")));
}

/// Without `main_text` no text of the page is lost.
#[test]
fn all_text_on_request() {
    let page = "<title>t</title><nav><a href=/>Menu</a></nav><p>Body<br>two</p><script>no()</script><footer>Foot</footer>";
    let all = Options { main_text: false, ..Options::default() };
    let extracted = html(page.as_bytes(), None, &all);
    assert_eq!((extracted.text.as_str(), extracted.is_gathered), ("Menu\nBody\ntwo\nFoot", false));
}

fn assert_linear(name: &str, page: &[u8]) {
    for main_text in [true, false] {
        let (_, steps) = counted_html(
            page,
            None,
            &Options { main_text, html_bytes_max: 1 << 30, ..Options::default() },
        );
        let allowed = STEPS_MIN + STEPS_PER_BYTE * page.len() as u64;
        assert!(steps <= allowed, "{name}: {steps} steps for {} bytes", page.len());
    }
}

/// Pages built to slow down parsers cost no more than others of their size.
#[test]
fn hostile_pages_are_linear() {
    let attributes: String =
        (0..1_000_000).map(|number| format!(" a{number}=\"{number}\"")).collect();
    let pages: [(&str, String); 24] = [
        ("nested div", "<div>".repeat(100_000) + "x"),
        ("nested and closed", "<div>".repeat(100_000) + "x" + &"</div>".repeat(100_000)),
        ("attributes", format!("<div{attributes}>x</div>")),
        ("anchors and divs", "<a href=x><div>".repeat(50_000)),
        ("formatting", "<b><i><p>x".repeat(50_000)),
        ("svg and end tags", "<svg></x>".repeat(100_000)),
        (
            "every skipped element",
            "<svg><math><object><template><noscript><canvas></x>".repeat(20_000),
        ),
        (
            "script",
            format!("<script>{}</script>x", "if (a </b && c) { '<div>' }\n".repeat(400_000)),
        ),
        ("unclosed scripts", "<script>a</".repeat(50_000)),
        ("unclosed comments", "<!-- a".repeat(100_000)),
        ("comments", "<!---->".repeat(100_000)),
        ("unclosed quotes", "<a href=\"x>".repeat(100_001)),
        ("quotes of both kinds", "<a b='\" c=\"'>".repeat(50_000) + "<a b='"),
        ("quotes after blanks", format!("<a{}>", " \" '".repeat(100_000))),
        ("less-than", "<".repeat(1_000_000)),
        ("slashes", "</".repeat(500_000)),
        ("entities", "&amp;&#x41;&unknown;&".repeat(50_000)),
        ("ampersands", "&".repeat(1_000_000)),
        ("list scopes", "<li>".to_string() + &"<ul><div>".repeat(190) + &"</li>".repeat(100_000)),
        ("table scopes", "<table><tr><td>".repeat(30_000) + &"</td></tr></table>".repeat(30_000)),
        ("definition items", "<dl><dt>a<dd>b".repeat(50_000)),
        ("classes", format!("<div class=\"{}\">x", "article-content ".repeat(100_000))),
        ("class words", "<div class=\"main-content article-body sidebar\">x</div>".repeat(20_000)),
        ("options", "<select><option>a".repeat(50_000)),
    ];
    for (name, page) in &pages {
        assert_linear(name, page.as_bytes());
    }
    assert_linear("blanks", &vec![b' '; 1 << 20]);
    assert_linear("zeros", &vec![0; 1 << 20]);
    assert_linear("not UTF-8", &vec![0xFF; 1 << 20]);
}

/// Work grows with the page: twice the page, at most twice the steps.
#[test]
fn steps_double_with_the_page() {
    for part in [NEWS, MANUAL, "<div class=a>x", "<a href=x>b<p>", "<!--", "<svg></x>", "<p id='"] {
        let steps =
            |times| counted_html(part.repeat(times).as_bytes(), None, &Options::default()).1;
        let (once, twice) = (steps(500), steps(1000));
        assert!(twice <= 2 * once + STEPS_MIN, "{part}: {once} then {twice}");
    }
}

/// Random tag soup: whole tags and fragments of tags.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "(div|p|a|li|ul|table|tr|td|dl|dd|h1|pre|form|nav|select|button|svg|script|title|body|x-y|br)".prop_flat_map(
            |name: String| {
                prop_oneof![
                    Just(format!("<{name}>")),
                    Just(format!("</{name}>")),
                    Just(format!("<{name}/>")),
                    Just(format!("<{name} class=\"content comment\" href=#x style='display:none'>")),
                    Just(format!("<{name} class='")),
                ]
            }
        ),
        "[ -~\u{a0}\u{3000}一二。，\n]{0,40}",
        "&(#x?[0-9a-f]{1,9}|[a-z]{1,8});?",
        "<!--|-->|<!|<\\?|[<>&\"'/=]{1,3}",
    ];
    let pieces = prop::collection::vec(piece.prop_map(String::into_bytes), 0..60);
    let noise = prop::collection::vec(any::<u8>(), 0..8);
    (pieces, noise).prop_map(|(pieces, noise)| {
        pieces.into_iter().flat_map(|piece| [piece, noise.clone()].concat()).collect()
    })
}

proptest! {
    // A failure prints its input, shrunk; nothing is written to the source tree.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Tag soup never causes a panic, keeps to its steps, and has no line with blanks at its ends.
    #[test]
    fn soup_is_extracted(page in soup()) {
        assert_linear("soup", &page);
        let text = html(&page, None, &Options::default()).text;
        for line in text.lines() {
            prop_assert!(!line.starts_with(' ') && !line.ends_with(' ') && !line.is_empty(), "{line:?}");
        }
    }

    /// Any bytes under any label are extracted without a panic.
    #[test]
    fn noise_is_extracted(page in prop::collection::vec(any::<u8>(), 0..400), label in "[ -~]{0,12}") {
        html(&page, Some(&label), &Options::default());
        plain(&page, Some(&label));
    }

    /// Main text is part of all text: every line of it occurs in the plain twin's text.
    #[test]
    fn main_text_is_part_of_all(page in soup()) {
        let all = html(&page, None, &Options { main_text: false, ..Options::default() }).text;
        for line in html(&page, None, &Options::default()).text.lines() {
            let squeezed: String = line.split_whitespace().collect();
            let everything: String = all.split_whitespace().collect();
            prop_assert!(everything.contains(&squeezed), "{line:?} not in {all:?}");
        }
    }
}

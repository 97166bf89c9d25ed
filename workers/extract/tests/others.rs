//! Tests that replies and teasers in an article's container are distinguished from the article, and
//! that what looks a little like them stays.

use crate::extract::{Options, html};
use proptest::prelude::*;

fn text(page: &str) -> String {
    html(page.as_bytes(), None, &Options::default()).text
}

const CHINESE: &str = "<p>本报讯 昨日上午九时，随着最后一段钢箱梁缓缓就位，跨江大桥主桥顺利合龙，两岸居民期盼多年的通道即将贯通。</p>\
    <p>据项目负责人介绍，大桥全长三千二百米，双向六车道，设计时速八十公里，预计明年六月通车。</p>";
const ENGLISH: &str = "<p>The last beam of the new bridge was set in place at nine on Monday, and the council, which had waited \
    for two years, met on the deck to drink tea.</p><p>Traffic is to cross it from June on, said the engineer, if the paint dries.</p>";
const ARTICLES: [&str; 2] = [CHINESE, ENGLISH];

/// How sites set replies and teasers below an article, each by its own sign. `{}` is the text of
/// one.
const FRAMES: [(&str, &str, &str); 13] = [
    // The name of the container.
    (
        "<div class=\"article-comments\">",
        "<div class=\"comment-content\"><p>网友甲</p><p>{}</p></div>",
        "</div>",
    ),
    (
        "<section class=\"replies\">",
        "<article class=\"post reply\"><p>{}</p></article>",
        "</section>",
    ),
    (
        "<div class=\"relatedPosts\">",
        "<div><h4><a href=/a>又一座桥的故事</a></h4><p>{}</p></div>",
        "</div>",
    ),
    ("<div id=\"recommend-content\">", "<div class=text><p>{}</p></div>", "</div>"),
    ("<h3>Comments</h3><ol class=comment-list>", "<li><p>{}</p></li>", "</ol>"),
    // The name of each reply, its microdata or its role.
    ("<div>", "<div class=\"comment-text\"><p>{}</p></div>", "</div>"),
    (
        "<div>",
        "<div itemprop=comment itemscope itemtype=\"https://schema.org/Comment\"><p>{}</p></div>",
        "</div>",
    ),
    ("<div>", "<div role=comment><p>{}</p></div>", "</div>"),
    // A heading.
    ("<h3>网友评论(12)</h3>", "<div><div>网友甲 2024-03-05 10:20</div><p>{}</p></div>", ""),
    (
        "<h2>3 Comments</h2>",
        "<div><div>Ada, March 5, 2024</div><p>{}</p></div>",
        "<p>Leave a reply</p>",
    ),
    ("<p>【相关阅读】</p>", "<p><a href=/a>又一座桥的故事，以及造桥的人</a></p><p>{}</p>", ""),
    (
        "<h3>You may also like</h3>",
        "<div><a href=/a>The story of another bridge</a></div><p>{}</p>",
        "",
    ),
    // The form of each reply.
    (
        "",
        "<div><div>2#</div><div>发表于 2024-3-5 10:20:31</div><p>{}</p><div>回复 举报</div></div>",
        "",
    ),
];

/// What people write below articles, long or short.
fn written() -> impl Strategy<Value = String> {
    let zh = "(说得好，支持一下|希望早日实现，大家都方便|已阅，谢谢分享|我家就住在桥边，天天看着它长高){1,4}";
    let en = "((I crossed the old one every day|my uncle, who paints, says hello|good news, if it is true), ){1,4}";
    prop_oneof![zh, en].prop_map(|text| format!("{text}。"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An article with any replies or teasers in its container has the same text as without them,
    /// however much longer they are.
    #[test]
    fn article_without_what_others_wrote(
        article in 0..ARTICLES.len(),
        frame in 0..FRAMES.len(),
        others in prop::collection::vec(written(), 2..30),
    ) {
        let (open, other, close) = FRAMES[frame];
        let others: String = others.iter().map(|text| other.replace("{}", text)).collect();
        let page = |below: &str| format!("<body><div><h1>Bridge</h1>{}{below}</div></body>", ARTICLES[article]);
        let alone = text(&page(""));
        prop_assert_eq!(text(&page(&[open, &others, close].concat())), alone);
    }

    /// A thread has the text of its first post, however many replies of the same form there are and
    /// whatever the site calls them.
    #[test]
    fn thread_is_its_first_post(
        article in 0..ARTICLES.len(),
        english in any::<bool>(),
        replies in prop::collection::vec(written(), 0..30),
    ) {
        let post = |text: &str, floor: usize| match english {
            true => format!("<div class=p><div>Ada</div><div>March 5, 2024 10:20</div>{text}<div>Reply Quote</div></div>"),
            false => format!("<div class=p><div>网友甲 发表于 2024-3-5 10:20 {floor}楼</div>{text}<div>回复 | 举报</div></div>"),
        };
        let first = post(ARTICLES[article], 1);
        let replies: String = replies.iter().zip(2..).map(|(text, floor)| post(&format!("<p>{text}</p>"), floor)).collect();
        let alone = text(&format!("<body><div>{first}</div></body>"));
        prop_assert!(alone.contains("，") || alone.contains("council"), "{alone}");
        prop_assert_eq!(text(&format!("<body><div>{first}{replies}</div></body>")), alone);
    }

    /// Teasers without any name or heading are recognised by their form, from three on, up to eight
    /// times as long as the article.
    #[test]
    fn unnamed_teasers(article in 0..ARTICLES.len(), summaries in prop::collection::vec(written(), 3..6)) {
        let teaser = |summary: &String| {
            format!("<div class=x><h3><a href=/b>又一座桥的故事</a></h3><p>{summary}</p><div>2024-03-05</div></div>")
        };
        let teasers: String = summaries.iter().map(teaser).collect();
        let article = ARTICLES[article];
        let alone = text(&format!("<body><div>{article}</div></body>"));
        // Below the article; and before it, as some sites have them.
        prop_assert_eq!(text(&format!("<body><div>{article}{teasers}</div></body>")), &*alone);
        prop_assert_eq!(text(&format!("<body><div>{teasers}{article}</div></body>")), &*alone);
    }
}

/// Replies stayed where no blank stands between the floor and the button, and where the time is as
/// brief as most forums write it today.
#[test]
fn replies_in_common_markup() {
    let first = text(&format!("<body><div><div class=p>{ENGLISH}</div></div></body>"));
    let reply = "<p>You could write a small unit that loads it again after resume, as I do on three machines.</p>";
    let times = [
        "1d",
        "4h",
        "Mar 3",
        "Mar '26",
        "03/12/2026",
        "<time datetime='2026-03-01T10:00'>lately</time>",
    ];
    let rows = [
        "<button>Reply</button><span>#{}</span>",
        "<a>Like</a><a>Reply</a>",
        "<span>{}楼</span><a>回复</a>",
        "<a>赞</a><a>回复</a>",
    ];
    for time in times {
        for row in rows {
            let post = |number: usize, text: &str| {
                let row = row.replace("{}", &number.to_string());
                format!(
                    "<div class=p><div><a>Ada</a></div><div>{time}</div>{text}<div>{row}</div></div>"
                )
            };
            let posts: String =
                (1..6).map(|n| post(n, if n == 1 { ENGLISH } else { reply })).collect();
            let found = text(&format!("<body><div>{posts}</div></body>"));
            assert!(found.contains(&first) && !found.contains("resume"), "{time} {row}: {found}");
        }
    }
}

/// The text of a page all of whose text is main text.
fn whole(page: &str) {
    let all = Options { main_text: false, ..Options::default() };
    let page = format!("<body><div class=content>{page}</div></body>");
    assert_eq!(text(&page), html(page.as_bytes(), None, &all).text);
}

/// A page of which links, entries, questions or code are the text stays whole: what looks like
/// teasers or replies lacks their signs.
#[test]
fn what_looks_like_others_stays() {
    let intro = "<p>These are the crates that we use, and why we use them; each was looked at with care, and so may you.</p>";
    let entry = |n: usize| {
        format!(
            "<div><h3><a href=/c{n}>The crate number {n}</a></h3><p>Keeps {n} pairs in order, whatever it costs, and gives \
             them back in the same order to all who ask for them.</p></div>"
        )
    };
    let list: String = (0..12).map(entry).collect();
    whole(&format!("{intro}{list}"));
    let entry = |n: usize| {
        format!(
            "<li><a href=/c{n}>crate {n}</a> keeps pairs in order, and gives them back, in version {n}.</li>"
        )
    };
    let list: String = (0..12).map(entry).collect();
    whole(&format!("{intro}<ul>{list}</ul>"));

    let question = |n: usize| {
        format!(
            "<h3>How do I cross bridge {n}?</h3><p>On foot, by bicycle or by bus {n}, which leaves every hour at 10:05, as the table says.</p>"
        )
    };
    whole(&(0..9).map(question).collect::<String>());

    let answer = |n: usize| {
        format!(
            "<div class=entry><p>By boat, as people did for {n} years before there was a bridge, and as some still do.</p></div>"
        )
    };
    whole(&format!(
        "<p>How do I cross the river, if the bridge is closed?</p>{}",
        (1..9).map(answer).collect::<String>()
    ));

    // Each of these lost all but its first entry.
    let answered = |n: usize| {
        format!(
            "<li class=item><h3>第{n}座桥什么时候通车?</h3><p>2024-03-0{n} 10:20</p><p>去年说是年底，现在是三月。</p>\
             <h4>回复：</h4><p>第{n}座桥因水位偏高，工期顺延三个月。</p></li>"
        )
    };
    whole(&format!("<ul>{}</ul>", (1..6).map(answered).collect::<String>()));
    let floor = |n: usize| {
        format!(
            "<div class=room><p>{n}楼 阅览室</p><p>开放时间：8:00—22:00</p><p>藏书{n}万册，以地方志和旧报纸为主。</p></div>"
        )
    };
    whole(&(1..6).map(floor).collect::<String>());
    let episode = |n: usize| {
        format!(
            "<section class=episode><h2>#{n}</h2><time>2024-03-0{n}</time><p>The bridge keeper number {n} tells how \
             the river rose, and what the council said.</p></section>"
        )
    };
    whole(&(1..6).map(episode).collect::<String>());

    let update = |n: usize| {
        format!(
            "<div class=entry><div>10:{n}</div><p>The beam number {n} is on its way, and the crowd cheers.</p></div>"
        )
    };
    whole(&(10..30).map(update).collect::<String>());

    let within = "<h3>相关阅读</h3><p><a href=/a>又一座桥的故事</a></p><p>通车以后，从老城区到开发区只需十分钟，比绕行少用四十分钟。</p>";
    whole(&format!("{CHINESE}{within}"));
    let chapter = "<h2>Comments</h2><p>A comment begins with a mark, and runs to the end of the line, whatever is in it.</p>\
        <pre>// so\nlet a = 1;</pre><p>Comments do not nest, and the compiler never reads them.</p><h2>Related</h2>\
        <p>Attributes, of which there are many, are written in brackets and read by the compiler.</p>";
    whole(&format!("{intro}{chapter}"));
    let chinese = "<h2>评论</h2><p>对这部小说的评论历来很多，有人称赞它的结构，也有人批评它的结局。</p>\
        <p>一九五四年的讨论持续了两年，参加的人遍及全国。</p>";
    whole(&format!("{CHINESE}{chinese}"));
}

/// On a Chinese front page a post that shows how often it was read and answered was a reply to the
/// first.
#[test]
fn front_page_with_counts_of_readers() {
    let post = |n: usize| {
        format!(
            "<div class=post><h2>第{n}天</h2><p>今天走到第{n}座桥，桥上的人都在等船，船却迟迟不来。</p><div>2024-03-0{n} 阅读(1{n}) 回复(3)</div></div>"
        )
    };
    let found = text(&format!(
        "<body><div class=content>{}</div></body>",
        (1..9).map(post).collect::<String>()
    ));
    assert!((1..9).all(|n| found.contains(&format!("第{n}座桥"))), "{found}");
}

/// The last chapter of a reference was removed if its title is `Response` or `Recommended` and only
/// short lines follow.
#[test]
fn chapters_named_as_lists_of_others() {
    let intro = "<p>The method returns the state of the job, which a client may poll, and takes the id of the job as its argument.</p>";
    whole(&format!("{intro}<h2>Response</h2><pre>{{\"ok\": true}}</pre>"));
    whole(&format!("{intro}<h2>Recommended</h2><ul><li>OS: Windows 10<li>Memory: 8 GB</ul>"));
    // With links or comments behind, or with nothing, they are lists of others.
    let alone = text(&format!("<body><div class=content>{intro}</div></body>"));
    for others in [
        "<h2>Recommended</h2><p><a href=/a>The story of another bridge</a></p>",
        "<h2>1 Response</h2><p>Ada, March 5, 2024</p><p>Good news, if it is true.</p>",
        "<h2>Reply</h2>",
    ] {
        assert_eq!(text(&format!("<body><div class=content>{intro}{others}</div></body>")), alone);
    }
    let chapter = "<h2>Response</h2><pre>{\"ok\": true}</pre>";
    let comments = "<h2>Comments</h2><p>Ada, March 5, 2024</p><p>Good news, if it is true.</p>";
    assert_eq!(
        text(&format!("<body><div class=content>{intro}{chapter}{comments}</div></body>")),
        text(&format!("<body><div class=content>{intro}{chapter}</div></body>"))
    );
}

/// A front page that is nothing but teasers keeps them, and a page that is nothing but comments
/// keeps these.
#[test]
fn page_of_others_alone() {
    let teaser = |n: usize| {
        format!(
            "<div><h3><a href=/{n}>The story of bridge number {n}</a></h3><p>It was built in a year, and it still stands.</p><div>2024-03-0{n}</div></div>"
        )
    };
    let found =
        text(&format!("<body><div>{}</div></body>", (1..9).map(teaser).collect::<String>()));
    assert!(found.contains("bridge number 1") && found.contains("bridge number 8"), "{found}");
    let comment = "<div class=comment><p>I crossed the old one every day, and I shall miss it, as will my dog.</p></div>";
    let found = text(&format!("<body><div id=comments>{}</div></body>", comment.repeat(5)));
    assert_eq!(found.matches("my dog").count(), 5, "{found}");
}

/// A later page of a thread, an article in an element with an unlikely name beside its heading, and
/// a hidden page had a disclaimer of the site as their text, so all pages of the site were one.
#[test]
fn articles_that_were_lost_to_a_footer() {
    let footer = "<div class=bottom><p>本网站所刊登的各种新闻、信息和专题资料，未经协议授权，不得下载或转载使用。\
         如需转载请与本站编辑部联系，联系电话见页面底部，本站保留追究法律责任的权利。欢迎监督。</p></div>";
    let page = |body: &str| {
        format!("<title>大桥主桥合龙 - 某网</title><body><h1>大桥主桥合龙</h1>{body}{footer}")
    };
    let third = "<p>施工期间，两岸渡口照常开放，江面分时段通航，水文站每小时发布一次水位。</p>\
         <p>合龙当天，上千名居民来到江边，许多人带着相机，老人们说等这一天等了二十年。</p>";
    // Half as long as the disclaimer, with the heading in it.
    let short = "<p>本报讯 昨日上午九时，随着最后一段钢箱梁就位，跨江大桥主桥合龙。</p>\
         <p>大桥全长三千二百米，双向六车道，预计明年六月通车，届时两岸往来只需十分钟，不必再等渡船。</p>";
    let body = format!("<div class=con_head><h1>大桥主桥合龙</h1>{short}</div>");
    let found = text(&page(&body).replacen("<h1>大桥主桥合龙</h1>", "", 1));
    assert!(found.contains("主桥合龙。") && found.contains("十分钟"), "{found}");
    for class in ["con_head", "sharebox", "commentary", "hot", "overhead"] {
        let found = text(&page(&format!("<div class={class}>{CHINESE}{third}</div>")));
        assert!(found.contains("跨江大桥主桥顺利合龙"), "{class}: {found}");
        assert!(found.contains("等了二十年"), "{class}: {found}");
        // Many pages mark no heading as such: it is the line that the title repeats.
        let line = "<div>大桥主桥合龙</div>";
        let body = format!("<div class={class}>{line}{CHINESE}{third}</div>");
        let found = text(&page(&body).replace("<h1>大桥主桥合龙</h1>", ""));
        assert!(found.contains("跨江大桥主桥顺利合龙"), "{class}: {found}");
    }
    let posts: String = (11..19)
        .map(|floor| {
            format!(
                "<div class=post><div class=info><span>2024-05-0{}</span> <a>#{floor}</a></div>\
                 <div class=message><p>第{floor}位网友说，这座桥他每天都要看一眼，从打第一根桩看到今天，\
                 比修自己家的房子还上心。</p></div></div>",
                floor % 9 + 1
            )
        })
        .collect();
    let found = text(&page(&format!("<div id=posts>{posts}</div>")));
    assert!(found.contains("第12位网友说") && found.contains("第18位网友说"), "{found}");
}

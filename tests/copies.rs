use crate::workbench::Bench;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A bench of pages, one of each text, in the default job.
fn bench(pages: &[Value]) -> Bench {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let line = |(n, page): (usize, &Value)| {
        let mut page = page.clone();
        page["url"] = format!("http://site{n}.example/a/{n}.html").into();
        format!("{page}\n")
    };
    let lines: String = pages.iter().enumerate().map(line).collect();
    std::fs::write(bench.at("in/1.jsonl"), lines).expect("written");
    bench.run_well(&[]);
    bench
}

/// Asserts that `pages` fold into one.
fn fold(pages: &[Value]) {
    let bench = bench(pages);
    let clusters: BTreeSet<String> =
        bench.lines("members").iter().map(|row| row["cluster"].to_string()).collect();
    assert_eq!(clusters.len(), 1, "{:?}", bench.lines("pairs"));
}

fn texts<const N: usize>(texts: [&str; N]) -> [Value; N] {
    texts.map(|text| json!({ "text": text }))
}

/// A post and its copy with two other characters fold. They have few words and share hardly more
/// than half of their 2-grams: once they were too short to be compared.
#[test]
fn a_short_post_with_two_edits() {
    fold(&texts(["你妈妈喊你回家吃饭哦，回家罗回家罗", "你妈妈叫你回家吃饭啦，回家罗回家罗"]));
}

/// A report of one sentence folds with its copies under a headline, before a note and around an
/// advertisement. Once no signature proposed such pairs.
#[test]
fn a_sentence_in_another_frame() {
    let report = "央视网消息：也门胡塞武装与沙特代表团在萨那的正式直接谈判仍在进行。双方讨论了停火和交换俘虏等问题。";
    let frames = [
        report.to_owned(),
        format!("也门和谈仍在进行民众期盼和平\n{report}"),
        format!("{report}\n（编辑李明，转载请注明出处）"),
        report.replacen('。', "。扫码下载客户端。", 1),
    ];
    for framed in &frames[1..] {
        fold(&texts([report, framed]));
    }
}

/// Two copies of an article on pages with another visit counter and clock fold, as text and as
/// HTML.
#[test]
fn another_counter_and_clock() {
    let article = "春季的第一批茶叶昨天在山里开始采摘，茶农们清晨就背着竹篓上山。村里的老人说，今年雨水足，\
        叶子比往年厚一些，价钱也比往年好。镇上的茶厂已经派人来收购，第一批将在月底送到省城的市场。";
    let counters = [("12345", "10:02:33"), ("907", "23:41:09")];
    let as_text = counters.map(
        |(visits, time)| json!({ "text": format!("访问数:{visits} 当前时间:{time}\n{article}") }),
    );
    fold(&as_text);
    let as_html = counters.map(|(visits, time)| {
        let body = format!("<p>访问数:{visits} 当前时间:{time}</p><p>{article}</p>");
        json!({ "html": format!("<html><head><title>茶</title></head><body><div>{body}</div></body></html>") })
    });
    fold(&as_html);
}

/// Texts of three words are compared with each other, and what differs decides.
#[test]
fn three_words_are_compared() {
    let bench =
        bench(&texts(["harbour bridge closed", "harbour bridges closed", "harbour bridge opened"]));
    let pairs = bench.lines("pairs");
    assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair["reason"].is_string()), "{pairs:?}");
    let clusters: BTreeSet<String> =
        bench.lines("members").iter().map(|row| row["cluster"].to_string()).collect();
    assert!(clusters.len() > 1, "{pairs:?}");
}

use crate::ask::query;
use crate::workbench::{Bench, failure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

/// The example of the page about frozen files: the words, and the lines of the job.
fn example() -> (String, String) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/lexicon/README.md");
    let page = std::fs::read_to_string(page).expect("readable");
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with("Words that jieba lacks"))
        .expect("there");
    let block = |language: &str| {
        let block = section
            .split(&format!("```{language}\n"))
            .nth(1)
            .and_then(|rest| rest.split("```").next());
        block.expect("a block").to_owned()
    };
    (block("text"), block("toml"))
}

/// A report about visitors of `place`; the reports differ in nothing else. In so long a text
/// another word is an edit, and another name is not.
fn report(place: &str) -> String {
    let others = "老城区的几家博物馆也延长了开放时间，夜场的票往往提前两天就订完，志愿者在门口教老人用手机预约。\
         海边的浴场换了新的救生设备，清早有人沿着沙滩捡垃圾，傍晚常有乐队在码头演出。山里的农家乐今年换了菜单，\
         野菜和豆腐最受欢迎，主人说厨房从早忙到晚，邻居都来帮忙。铁路部门加开了几趟慢车，停靠的小站卖起了桃子和\
         玉米，站长说好多年没有这么热闹。书店把藤椅搬到树下，路过的人坐下来翻几页，老板不催也不问。菜场里说各地\
         方言的人都有，摊主学会了几句客气话。交警把路口的信号灯调得更长，方便推婴儿车的人过街。医院在广场设了\
         急救点，护士说中暑的人比往年少，多半是因为树荫比从前密了。学校的操场向外地的孩子开放，傍晚总能看见\
         他们和本地的孩子一起踢球。邮局卖的明信片换了新图案，盖戳的队伍一直排到街角的茶馆。茶馆的说书人加了\
         晚场，听的人自己带板凳，散场以后还在门口争论故事的结局。旅行社的导游说，客人问得最多的是哪里凉快。\
         河上的游船改用了安静的马达，船夫一边撑篙一边讲两岸的旧事，孩子们把手伸进水里。";
    format!(
        "市文化和旅游局昨天公布了暑期游客人数，{place}在七月接待游客最多，比去年同期增加了一成。景区负责人说，\
         游客多数来自周边城市，停车场在周末常常停满，管理处因此增开了接驳线路，并提醒游客错峰出行。为实现碳中和\
         的目标，接驳车辆已经全部换成电动客车，沿途的充电设施也在春天建成。{others}"
    )
}

/// A bench whose job adds the words of the page, with reports about two places that they name.
fn bench() -> Bench {
    let (words, more) = example();
    let bench = Bench::new(Path::new("in"), &more);
    std::fs::write(bench.at("words.txt"), words).expect("written");
    std::fs::create_dir(bench.at("in")).expect("made");
    write(&bench, "1.jsonl", &[("a", "蓝月谷"), ("b", "千年古镇文化旅游区")]);
    bench
}

fn row((host, place): &(&str, &str)) -> String {
    format!("{}\n", json!({ "url": format!("http://{host}.example/"), "text": report(place) }))
}

fn write(bench: &Bench, name: &str, rows: &[(&str, &str)]) {
    std::fs::write(bench.at("in").join(name), rows.iter().map(row).collect::<String>())
        .expect("written");
}

fn json_of(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The words that `pagefold lexicon` counts.
fn words(bench: &Bench, threads: &str) -> BTreeSet<String> {
    let arguments =
        ["--kind", "idf", "--docs-min", "1", "--out", "idf.tsv", "--threads", threads, "--json"];
    json_of(&bench.pagefold("lexicon", &arguments));
    let file = std::fs::read_to_string(bench.at("idf.tsv")).expect("written");
    let lines = file.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.filter_map(|line| line.split_once('\t')).map(|(word, _)| word.to_owned()).collect()
}

/// With the words of the page texts are cut into other words, by any number of threads, and the
/// places that they name keep reports apart that fold without them. `query` says before the epoch
/// what `explain` says after it, and both say that a name differs.
#[test]
fn words_of_a_job() {
    let bench = bench();
    let (with, lines) = (words(&bench, "1"), example().0);
    let added: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(with, words(&bench, "3"), "threads change no word");
    let bare = Bench::new(Path::new("in"), "");
    crate::workbench::copy_folder(&bench.at("in"), &bare.at("in"));
    let without = words(&bare, "1");
    let found =
        |words: &BTreeSet<String>| added.iter().filter(|word| words.contains(**word)).count();
    assert_eq!(found(&with), 3, "{with:?}");
    // The model of unseen words finds one of them by itself.
    assert_eq!(found(&without), 1, "{without:?}");
    bare.run_well(&[]);
    assert_eq!(bare.lines("redirects").len(), 1, "one place among many words is an edit");

    bench.run_well(&[]);
    assert_eq!(bench.lines("redirects").len(), 0);
    let pair = |a: &str, b: &str| {
        let urls = [a, b].map(|host| format!("http://{host}.example/"));
        json_of(&bench.pagefold("explain", &[&urls[0], &urls[1], "--json"]))
    };
    let found = pair("a", "b");
    assert_eq!(
        (&found["verdict"]["reason"], &found["parts"][0]["kind"]),
        (&"names".into(), &"name".into()),
        "{found}"
    );

    let asked = row(&("c", "碧水湾"));
    let answer = json_of(&query(&bench, &["--json", "--all"], &asked));
    write(&bench, "2.jsonl", &[("c", "碧水湾")]);
    bench.run_well(&[]);
    let all = ["matches", "refused"]
        .map(|list| answer[list].as_array().cloned().unwrap_or_default())
        .concat();
    assert_eq!(all.len(), 2, "{answer}");
    for said in all {
        let url = said["url"].as_str().expect("a URL");
        let then = pair("c", url.trim_start_matches("http://").trim_end_matches(".example/"));
        for key in ["reason", "similarity", "accepted"] {
            assert_eq!(said[key], then["verdict"][key], "{url} {key}: {answer} {then}");
        }
        assert_eq!(said["distance"], then["simhash"]["distance"], "{url}");
    }
    let output = bench.pagefold("verify", &["--deep"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A changed file is refused by every command that would use it, with the remedy, and nothing is
/// done; with the old bytes, under any name, the store is as it was, and `rebuild` obeys the new
/// ones.
#[test]
fn a_changed_file_is_another_identity() {
    let bench = bench();
    bench.run_well(&["--threads", "2"]);
    let (old, tables) = (std::fs::read(bench.at("words.txt")).expect("readable"), bench.tables());
    std::fs::write(bench.at("words.txt"), "碳中和 9\n").expect("written");
    let remedy = "the store was built with features.dictionary = a file of digest ";
    for command in ["run", "check", "explain", "query", "serve"] {
        let more: &[&str] = match command {
            "explain" => &["http://a.example/"],
            "query" => &["words.txt"],
            "serve" => &["--bind", "127.0.0.1:0"],
            _ => &[],
        };
        let output = bench.pagefold(command, more);
        let said = String::from_utf8(output.stdout).expect("UTF-8") + &failure(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{command}: {said}");
        assert!(
            said.contains(remedy) && said.contains("`pagefold rebuild job.toml` obeys the job"),
            "{command}: {said}"
        );
    }
    std::fs::write(bench.at("renamed.txt"), old).expect("written");
    let with = ["--set", "features.dictionary=renamed.txt"];
    assert!(bench.run_well(&with).contains("nothing due"));
    assert!(bench.tables() == tables);
    let none = bench.run(&["--set", "store=other", "--set", "features.dictionary=gone.txt"]);
    assert_eq!(none.status.code(), Some(66));
    let rebuilt = bench.pagefold("rebuild", &[]);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    assert!(bench.run_well(&[]).contains("nothing due"));
    assert_eq!(bench.lines("redirects").len(), 1, "no place is named any more");
}

/// A file that is none of words ends with the file, the line and the remedy, and makes no store
/// that would be refused once the file is right. `check` finds it beforehand.
#[test]
fn files_of_other_things() {
    let bench = bench();
    let fails = |bytes: &[u8], code: i32, expected: &[&str]| {
        std::fs::write(bench.at("words.txt"), bytes).expect("written");
        for command in ["run", "check", "lexicon"] {
            let more: &[&str] = if command == "lexicon" { &["--out", "idf.tsv"] } else { &[] };
            let output = bench.pagefold(command, more);
            let said = failure(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{command}: {said}");
            assert!(
                expected.iter().all(|what| said.contains(what)),
                "{command}: {said} lacks one of {expected:?}"
            );
            assert!(!bench.at("store").exists() && !bench.at("idf.tsv").exists());
        }
    };
    let wanted = "write `word frequency tag`";
    fails(
        "碳中和\n\n蓝月谷 9x ns\n".as_bytes(),
        78,
        &["words.txt: line 3: \"9x\" is no frequency", wanted],
    );
    fails(
        "Edu Trust认证 2000\n".as_bytes(),
        78,
        &["words.txt: line 1: \"Trust认证\" is no", "no word has a space"],
    );
    fails(
        b"\n \n",
        78,
        &["words.txt: no word; a line `word [frequency] [tag]`", "take [features] dictionary away"],
    );
    fails(
        b"\xcc\xbc\xd6\xd0\xba\xcd\n",
        78,
        &["words.txt: line 1: not UTF-8; `iconv -f GB18030 -t UTF-8`"],
    );
    fails(&[b'x'; (16 << 20) + 1], 78, &["words.txt: more than 16777216 bytes"]);
    std::fs::remove_file(bench.at("words.txt")).expect("removed");
    let output = bench.run(&[]);
    let said = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(66), "{said}");
    assert!(
        said.contains("words.txt: no such file; a line `word [frequency] [tag]` for each word"),
        "{said}"
    );
    // A file as Windows writes it.
    std::fs::write(bench.at("words.txt"), "\u{feff}碳中和 3\r\n\r\n蓝月谷 nr\r\n")
        .expect("written");
    bench.run_well(&[]);
}

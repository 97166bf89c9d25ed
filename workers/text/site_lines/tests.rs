//! Which lines are taken off, and which stay.

use super::*;
use crate::text::lists::lines;
use crate::text::site_lines::phrases::{LIST, Says, listed};
use std::collections::BTreeSet;

/// Whether `line` is furniture, at the foot of a page at the latest.
fn is_furniture(line: &str) -> bool {
    let mut lines = SiteLines::new(&normalize::Options::default());
    let [above, at_foot] = [false, true].map(|is_foot| lines.is_furniture(line, is_foot));
    assert!(above == at_foot || line.contains(['©', '权']), "{line}: the cheap test is wrong");
    at_foot
}

/// What sites put around articles.
#[test]
fn lines_of_sites() {
    for line in [
        "首页 > 新闻中心 > 正文",
        "首頁　論壇　登錄 | 註冊",
        "要闻 | 视频 | 财经 | 体育 | 房产",
        "2019-04-14 23:11　点击 1020",
        "2019年4月14日 来源：晚报　作者：佚名　点击：88",
        "上一页 [1] [2] [3] 下一页 尾页",
        "跳转到第 页",
        "分享到：QQ空间 新浪微博 微信",
        "相关阅读：一周回顾 | 热点专题",
        "您是第 2584 位访客",
        "已有 12 条评论，点击查看",
        "【责任编辑：T006935】",
        "责任编辑：李想　校对：方圆",
        "（记者 陈默 通讯员 何苗）",
        "（图片来源：视觉图库）",
        "技术支持：云帆网络",
        "Copyright © 2012-2021 备案号：湘ICP备1244号",
        "网站备案/许可证号：湘ICP备案证第1244号-1",
        "湘公网安备 43010202000078号",
        "版权与免责声明：转载本文请注明来源，文中观点不代表本网立场。",
        "特别声明：以上内容(如有图片或视频亦包括在内)为自媒体平台“云号”用户上传并发布，本平台仅提供\
         信息存储服务。 Notice: The content above (including the pictures and videos if any) is \
         uploaded and posted by a user of Cloud, a social media platform, which only stores it.",
        "“特别声明：以上作品由用户上传，不代表本站。”",
        "返回搜狐，查看更多",
        "平台声明：该文观点仅代表作者本人。",
        "转载请注明出处：云帆网",
        "本文仅代表作者观点，不代表本站立场。",
        "Views expressed in this article are those of the author alone.",
        "今天是星期二　农历八月初三　多云 21℃",
        "举报 收藏 点赞(9417)",
        "Skip to main content",
        "Privacy  Terms  Contact",
        "Posted on 2020-07-22 by admin | 7280 views",
        "2020-07-25T12:47:00Z | 3,211 views",
        "8000 comments. Leave a reply",
        "Was this helpful? Yes (9973) No (3)",
        "Sign up to our weekly newsletter",
        "We use cookies to improve your experience. By browsing on you accept our policy.",
        "扫描二维码，关注云帆网公众号",
        "版权所有：云帆网 未经授权不得转载",
        "Copyright © 2012 The Harbour Trust Ltd. All rights reserved. Privacy policy",
        "Last updated: 2 hours ago",
        "Previous article | Next article",
        "You are here: Home / Archive / 2020",
        "© 2020 The Island News",
        "입력 2022.07.14 오전 10:21 | 수정 2022.07.14 오후 1:05",
        "목록 | 이전글 | 다음글",
        "前の記事 | 次の記事 | トップページ",
        "Startseite | Impressum | Datenschutz",
        "Главная | Новости | Контакты | Войти",
        "Просмотров: 96 | Комментариев: 1",
        "作者：健康小助手 时间：2020-03-01",
        "作者：健康小助手 2020-03-01 18:32",
        "加入购物车 立即购买",
        "风险提示：股市有风险，投资需谨慎。以上内容不构成投资建议。",
    ] {
        assert!(is_furniture(line), "{line}");
    }
}

/// Counters, reading times and the labels of dates were whole phrases of the list, so that most
/// wordings were none: they are told by their parts.
#[test]
fn counters_and_labels_have_parts() {
    for line in [
        "本文共有31682人读过",
        "63287人正在看",
        "👁 58336",
        "❤ 1196  🔁 170",
        "热度 34037℃",
        "本帖被浏览91331次，回帖35条",
        "围观人数：14606",
        "共 26 条回帖",
        "433 人喜欢",
        "PV：22450　UV：251",
        "18个回答 · 85491次浏览",
        "12 visits · 3 comments",
        "阅 13582 赞 553 藏 11",
        "本日访问 896 总访问 52273",
        "入库时间：2024年5月15日",
        "采集于 2023-05-09",
        "最近更新：2022-01-25",
        "写于2022年1月25日",
        "贴出时间 2024-06-01 16:38",
        "本页更新 2021.01.17",
        "昨天 11:02",
        "最后回复 18:50",
        "(11:02 发自网页版)",
        "00:26 来自微博网页版",
        "First published on March 14, 2024",
        "This story was updated on 2 August 2023",
        "This page was last edited on 2023-08-02",
        "Updated at 4:56 PM on 14 March 2024",
        "Posted at 4.56pm",
        "Updated 9:12 a.m. ET",
        "Updated 3 hours ago · 24 comments",
        "Read 12 times",
        "Shared 12 times",
        "12 people like this",
        "Saved by 12 people",
        "Join the conversation (361)",
        "Estimated reading time: 3 minutes",
        "Time to read: 3 min",
        "Read in 3 minutes",
        "Visitors today: 12",
        "Page 2 of 3",
        "Lesezeit: 2 Minuten",
        "Temps de lecture : 2 min",
        "Tiempo de lectura: 2 minutos",
        "Время чтения: 2 мин",
        "この記事は2分で読めます",
        "읽는 시간 2분",
        "Thời gian đọc: 2 phút",
        "مدة القراءة: 4 دقائق",
        "コメント12件",
        "댓글 12개",
        "12 تعليقا",
        "Publié le 14/03/2024 à 09h12",
        "Actualizado el 14 de marzo de 2024 a las 17:40",
        "آخر تحديث: 14 مارس 2024 الساعة 17:40",
        "更新：2024年3月14日 17時40分",
        "수정 2024.03.14. 17:40",
    ] {
        assert!(is_furniture(line), "{line}");
    }
    for line in [
        "报名人数：500",
        "最高气温 30℃",
        "投稿截止日期：2024年5月15日",
        "投稿时间：3月5日至4月1日",
        "收藏3000册图书",
        "开庭时间：2024-03-05",
        "集合 08:30",
        "更新 3 个品种",
        "整理 12 箱",
        "整理时间",
        "比分 3:1",
        "今天 3:1 获胜",
        "第26期",
        "Issued 14 March 2024",
        "As of 4:56 PM",
        "Score: 12",
        "Rank: 12",
        "Issue 12",
        "Article ID: 12",
        "Rovers 14 points",
        "今天 19:35",
        "Сегодня 19:30",
        "公開：2024年3月8日",
        "首发：2024年3月8日",
        "♥ 10 9 8 4",
        "5 visits",
        "回答：3",
        "Join the discussion at 7 pm",
        "Join the discussion on 5 March",
        "Sign up by 5 March",
        "Sign in to the account",
        "Comments 3 to 5 were struck",
        "Save the email to print",
        "Read by 12 March",
        "8 March 2024",
        "Page 2 of the letter",
    ] {
        assert!(!is_furniture(line), "{line}");
    }
}

fn without_lines_of_site(page: &str) -> String {
    let mut text = page.to_owned();
    SiteLines::new(&normalize::Options::default()).take_off(&mut text);
    text
}

const ARTICLE: &str = "A lorry carrying frozen fish overturned on the road near Eastmere early \
    on Friday. Nobody was hurt, and the road reopened shortly after noon. Until then drivers \
    had to wait for up to an hour.";

/// Two copies of an article were refused if each has its date, or its author and its date, in
/// lines between the headline and the text: without lines the date is a part of the sentence.
#[test]
fn dates_in_the_head_get_bars() {
    let page = |head: &str| without_lines_of_site(&format!("{head}\n{ARTICLE}"));
    assert_eq!(
        page("Fish lorry blocks road\nBy Anna Holt\n8 March 2024"),
        format!("Fish lorry blocks road\n| 8 March 2024 |\n{ARTICLE}")
    );
    assert_eq!(page("By Anna Holt\nFish lorry"), format!("Fish lorry\n{ARTICLE}"));
    // The name may be that of a place, so it stays, too.
    assert_eq!(
        page("Fish lorry blocks road\nAnna Holt | 8 March 2024"),
        format!("Fish lorry blocks road\n| Anna Holt | 8 March 2024 |\n{ARTICLE}")
    );
    assert_eq!(page("2024-03-08 10:32"), format!("2024-03-08 10:32 |\n{ARTICLE}"));
    assert_eq!(
        page("Date: 8 March 2024\n\nFish lorry"),
        format!("8 March 2024 |\n\nFish lorry\n{ARTICLE}")
    );
    assert_eq!(page("Date: 8 March 2024"), format!("8 March 2024 |\n{ARTICLE}"));
    for head in [
        "Fish lorry blocks road\n8 March 2024\nEastmere",
        "Exam\n18:00",
        "Hearing\n8 March 2024, 18:00",
        "Exam\nDate: 8 March 2024",
        "It was cold.\n\n8 March 2024\nEnd",
    ] {
        assert_eq!(page(head), format!("{head}\n{ARTICLE}"));
    }
    for page in [
        "Yoga class\n8 March 2024\nBring a mat. The hall is warm.",
        "| 8 March 2024 |\n| 9 March 2024 |",
        "Anna Holt\n8 March 2024\nBen Price\n9 March 2024\nClara Meyer\n10 March 2024",
    ] {
        assert_eq!(without_lines_of_site(page), page);
    }
    let diary = format!("{ARTICLE}\n9 March 2024\n{ARTICLE}");
    assert_eq!(without_lines_of_site(&diary), diary);
}

/// The titles of other pages below a heading were left when the heading was removed. In a short
/// text they are more than a fifth.
#[test]
fn headings_take_their_titles() {
    let titles = "Tram line to open in May\nWeekend weather: rain from the west";
    let page = format!("{ARTICLE}\nRelated articles\n{titles}\n\n12 comments");
    assert_eq!(without_lines_of_site(&page), format!("{ARTICLE}\n"));
    // One line of the site that no list has kept all titles.
    for footer in ["Westbury Post is a member of Ipso.", "Westbury Post Ltd, 12 High Street"] {
        let page = format!("{ARTICLE}\nRelated articles\n{titles}\n\n{footer}\n");
        assert_eq!(without_lines_of_site(&page), format!("{ARTICLE}\n\n{footer}"));
    }
    for page in [
        format!("{ARTICLE}\nRelated work\n{titles}"),
        // A sentence goes on below.
        format!("{ARTICLE}\nRelated articles\n{titles}\n{ARTICLE}"),
        format!("{ARTICLE}\nMost popular\n{titles}"),
        // The links are the content.
        format!("Where to read more.\n\nRelated articles\n{titles}\n{titles}"),
    ] {
        let left = without_lines_of_site(&page);
        assert!(left.contains(titles), "{left}");
    }
}

/// Below the text stand another source, another price and other devices on each site. A list
/// that ends so keeps its last lines.
#[test]
fn lines_below_the_text() {
    let below = "Source: Reuters\nSubscribe for $1 a week\nSent from my iPhone";
    assert_eq!(without_lines_of_site(&format!("{ARTICLE}\n{below}")), ARTICLE);
    let cast = "导演：蒋海燕\n主演：周一帆\n翻译：王立";
    let page = format!("{ARTICLE}\n{cast}");
    assert_eq!(without_lines_of_site(&page), page);
    let prices = format!("{ARTICLE}\nA paper: 2 euros\nSubscribe for $1 a week");
    assert_eq!(without_lines_of_site(&prices), prices);
    let inside = format!("{ARTICLE}\nSubscribe for $1 a week\n{ARTICLE}");
    assert_eq!(without_lines_of_site(&inside), inside);
    // The same names above a text are its authors.
    for fact in ["By Order of the County Court", "Clara Meyer, Editor", "Sent via Royal Mail"] {
        let page = format!("{ARTICLE}\n{fact}");
        assert_eq!(without_lines_of_site(&page), page);
    }
}

/// A line with any other word stays, and so do words and dates that are what a page is about.
/// Paragraphs about `ICP备案` vanished: only a number makes such a word a record.
#[test]
fn lines_of_articles() {
    for line in [
        "",
        "***",
        "2019-04-14 23:11",
        "南溪大桥即将维修",
        "首页改版以后更好用了",
        "教育",
        "大 中",
        "Home",
        "Search",
        "x",
        "12",
        "Yes No Yes Yes No Yes",
        "x x x x x x",
        "阅读",
        "点击",
        "时间：3月5日上午",
        "地点：石桥镇",
        "作者：李白",
        "日期：2024-10-05",
        "日期：3月5日 时间：14:00",
        "来源：央视新闻今晚的消息说，台风将于明天登陆，请各地居民做好准备，不要外出，关好门窗，储备食物",
        "联系我们 0571-12345",
        "Contact us: 555-0100",
        "记者：谈谈您的童年",
        "举报电话：0571-12345",
        "企业网站应当依法办理ICP备案手续",
        "公安部门要求网站在三十日内完成公网安备登记",
        "什么是ICP备案？",
        "特别声明：近日有人冒充本公司员工，请勿受骗",
        "声明：我们从未委托他人招聘",
        "转载这篇文章的人都没有注明出处",
        "The views from the tower are worth the climb",
        "image: nginx:1.25",
        "новостройка 12",
        "댓글은 12",
        "author: smith",
        "shares 5,000",
        "Sign in with the key of your account",
        "今天是星期六，爸爸带我去南山植物园看樱花",
        "您是第三代守林人？",
        "We use cookies as a treat for the dogs, one each, and never before the walk",
        "The film is © 2003 by the studio, which sold it to Northwind for 40 million dollars",
        "该书版权所有者为张三，一审判决出售有效。",
        "未经许可，任何单位和个人不得在河道内采砂。",
        "Copyright 2001 by the authors. The vote was 7 to 3. All rights reserved.",
        "Copyright 1999 The Harbour. All rights reserved. Permission to copy it is denied.",
        "Next page describes the valves",
        "the viewer read more than 12 comments",
        "Last updated: the towers of the old town and the walls that the guild built in stone",
    ] {
        assert!(!is_furniture(line), "{line}");
    }
}

/// A page of nothing but such lines, or of little more, stays as it is.
#[test]
fn little_is_left_as_it_is() {
    let mut lines = SiteLines::new(&normalize::Options::default());
    let mut text = "首页 | 登录 | 注册\n404 not found\n返回首页".to_owned();
    let before = text.clone();
    assert_eq!(lines.take_off(&mut text), 0);
    assert_eq!(text, before);
    let article = "桥修好了。".repeat(10);
    let mut text = format!("首页 | 登录 | 注册\n{article}\r\n\n{article}\n返回首页");
    assert_eq!(lines.take_off(&mut text), 2);
    assert_eq!(text, format!("{article}\n\n{article}"));
}

/// A line of copyright above a text is part of a licence. At the foot of a page it is the
/// site's.
#[test]
fn copyright_is_of_the_site_at_the_foot() {
    let mut lines = SiteLines::new(&normalize::Options::default());
    let line = "Copyright (c) 1998 The Harbour. All rights reserved.";
    let terms = "Redistribution and use in any form are permitted. ".repeat(12);
    let mut licence = format!("{line}\n{terms}");
    assert_eq!(lines.take_off(&mut licence), 0);
    let mut page = format!("{terms}\n{line}\n\nSitemap | Contact us\n");
    assert_eq!(lines.take_off(&mut page), 2);
    assert_eq!(page, format!("{terms}\n"));
}

/// The list is in normal form, each line has a known kind, and no phrase is in two kinds of
/// which a line may consist.
#[test]
fn the_list_is_well_formed() {
    let options = normalize::Options::default();
    for line in lines(LIST) {
        let (name, _) = line.split_once(' ').expect("a kind");
        assert!(Says::ALL.iter().any(|(known, _)| *known == name), "{line}");
        assert!(line.chars().count() <= 130, "{line}");
    }
    let mut normal = String::new();
    let mut words = BTreeSet::new();
    for (phrase, says) in listed() {
        normalize(phrase, &options, &mut normal);
        assert_eq!(normal, phrase);
        assert!(!says.is_word() || words.insert(phrase), "{phrase} twice");
        assert!(first_word(phrase).len() <= WORD_BYTES_MAX, "{phrase}");
    }
}

//! Negative controls: pages of one template with other facts, which must not fold.
//!
//! A slot is in braces: a list of words of which one is drawn, `0-9` for a number, `一` for a
//! Chinese numeral, or `name` for a made-up personal name.

use crate::random::Random;

/// A template and its name in tables.
pub struct Template {
    /// The name.
    pub name: &'static str,
    text: &'static str,
}

impl Template {
    /// One page of the template.
    pub fn page(&self, random: &mut Random) -> String {
        let mut page = String::new();
        let mut rest = self.text;
        while let Some((before, slot, after)) = next_slot(rest) {
            page.push_str(before);
            page.push_str(&fill(slot, random));
            rest = after;
        }
        page.push_str(rest);
        page
    }
}

fn next_slot(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (slot, after) = rest.split_once('}')?;
    Some((before, slot, after))
}

const SURNAMES: &str = "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕施张孔曹严华金魏陶姜";
const GIVEN: &str = "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华慧巧美静淑惠珠翠雅芝玉萍";

fn fill(slot: &str, random: &mut Random) -> String {
    let letter = |letters: &str, random: &mut Random| {
        let letters: Vec<char> = letters.chars().collect();
        letters[random.below(letters.len())]
    };
    if slot == "name" {
        let given: String = (0..1 + random.below(2u32)).map(|_| letter(GIVEN, random)).collect();
        return format!("{}{given}", letter(SURNAMES, random));
    }
    if slot == "一" {
        return chinese_numeral(2 + random.below(97u32));
    }
    if let Some((low, high)) = slot.split_once('-')
        && let (Ok(low), Ok(high)) = (low.parse::<u32>(), high.parse::<u32>())
    {
        return (low + random.below(high - low + 1)).to_string();
    }
    let list = match slot {
        "city" => CITIES,
        "province" => PROVINCES,
        "country" => COUNTRIES,
        list => list,
    };
    let words: Vec<&str> = list.split('|').collect();
    words[random.below(words.len())].to_owned()
}

fn chinese_numeral(number: u32) -> String {
    let digits: Vec<char> = "零一二三四五六七八九".chars().collect();
    let (tens, ones) = (number / 10, number % 10);
    let mut numeral = String::new();
    if tens > 1 {
        numeral.push(digits[tens as usize]);
    }
    if tens > 0 {
        numeral.push('十');
    }
    if ones > 0 {
        numeral.push(digits[ones as usize]);
    }
    numeral
}

const CITIES: &str = "南京|杭州|成都|武汉|西安|长沙|青岛|大连|厦门|昆明|郑州|合肥|南昌|贵阳|兰州|太原|济南|福州|苏州|无锡";
const PROVINCES: &str =
    "甘肃|湖南|四川|河北|山东|江西|浙江|广东|辽宁|吉林|安徽|福建|贵州|云南|陕西|青海";
const COUNTRIES: &str = "法国|德国|巴西|埃及|泰国|越南|智利|秘鲁|肯尼亚|意大利|西班牙|阿根廷|墨西哥|新加坡|塞尔维亚|哈萨克斯坦";

/// Every template, in the order of the table.
pub const ALL: [Template; 19] = [
    Template {
        name: "weather",
        text: "{city}市气象台发布天气预报：今天白天多云，偏南风{2-4}级，最高气温{18-36}度；今天夜间晴，最低气温{5-17}度。\
        未来三天以晴到多云天气为主，气温变化不大，请市民注意防晒补水，出行注意交通安全。",
    },
    Template {
        name: "weather warning, words differ",
        text: "{city}市气象台发布{暴雨|大风|雷电|高温|寒潮|大雾|冰雹|道路结冰}{蓝色|黄色|橙色|红色}预警信号：预计未来\
        六小时内，{东部|西部|南部|北部|中部|山区|沿海}地区将受影响，请有关单位和人员做好防范准备，减少户外活动，注意出行安全，妥善安置易受影响的室外物品，\
        学校和幼儿园应当采取措施确保学生和幼儿安全，户外作业人员应当停止作业。",
    },
    Template {
        name: "earthquake",
        text: "中国地震台网正式测定：{3-11}月{1-28}日{0-23}时{10-59}分在{province}省{city}发生{3-6}.{0-9}级地震，震源深度{5-30}千米，震中位于\
        北纬{25-42}.{10-99}度，东经{95-125}.{10-99}度。目前当地生产生活秩序正常，暂未收到人员伤亡和财产损失报告。",
    },
    Template {
        name: "share prices",
        text: "今日收盘，{city}{建材|机械|医药|电力|银行|食品|航空}股份报{5-80}.{10-99}元，{上涨|下跌}{0-9}.{10-99}%，成交额{1-40}.{10-99}亿元，换手率{0-9}.{10-99}%。\
        以上数据仅供参考，不构成投资建议，投资者据此操作风险自担，股市有风险，入市需谨慎。",
    },
    Template {
        name: "lottery",
        text: "双色球第{2015-2024}{100-150}期开奖公告：红球{1-9}、{10-15}、{16-20}、{21-25}、{26-29}、{30-33}，蓝球{1-16}。本期销售额{3-4}.{10-99}亿元，\
        一等奖{1-15}注，单注奖金{500-999}万元。中奖者请在开奖之日起六十个自然日内兑奖，逾期视为弃奖。",
    },
    Template {
        name: "appointment, names differ",
        text: "经市人大常委会会议通过，决定任命{name}为市{财政|教育|卫生|交通|民政|水利|农业|审计}局局长，免去{name}的市{财政|教育|卫生|交通|民政|水利|农业|审计}局局长职务。\
        会议还听取了有关工作报告，并进行了分组审议。",
    },
    Template {
        name: "court notice, names differ",
        text: "{name}：本院受理原告{name}诉被告{name}民间借贷纠纷一案，现依法向你公告送达起诉状副本、应诉通知书、举证通知书、开庭传票及民事裁定书。\
        自公告之日起经过三十日即视为送达。提出答辩状和举证的期限分别为公告期满后的十五日内，并定于举证期满后第三日上午九时在本院第一审判庭公开开庭审理，逾期将依法缺席裁判。",
    },
    Template {
        name: "court notice, case number",
        text: "本院于{2015-2024}年{1-12}月{1-28}日立案执行（{2015-2024}）苏{100-999}执{1000-9999}号一案，被执行人未按执行通知书指定的期间履行生效法律文书确定的给付义务，\
        本院依照规定对被执行人采取限制消费措施，限制其实施高消费及非生活和工作必需的消费行为。如有违反，依法处罚。",
    },
    Template {
        name: "welcome ceremony",
        text: "{1-28}日下午，在人民大会堂东大厅，为来华进行国事访问的{country}总统举行欢迎仪式。军乐团奏两国国歌，鸣放礼炮二十一响。\
        随后检阅了中国人民解放军仪仗队，并观看分列式。仪式结束后，双方举行了会谈，就双边关系和共同关心的问题深入交换意见。",
    },
    Template {
        name: "session, ordinals differ",
        text: "第{一}届全国人大常委会第{一}次会议在北京举行闭幕会。会议经表决通过了有关法律和决定，听取和审议了有关专项工作报告。\
        闭幕会后举行了专题讲座，常委会组成人员、列席会议的各专门委员会成员和全国人大代表参加。会议指出，要坚持依法履职，不断提高立法质量和监督实效，为经济社会发展提供有力的法治保障。",
    },
    Template {
        name: "another province",
        text: "奋力谱写中国式现代化{province}篇章。{province}省委举行理论学习中心组学习会，强调要完整准确全面贯彻新发展理念，加快构建现代化产业体系，\
        持续推进乡村全面振兴，切实保障和改善民生，以实干实绩推动高质量发展迈上新台阶，奋力开创各项事业新局面。",
    },
    Template {
        name: "product",
        text: "{轻薄|游戏|商务|学生}笔记本电脑 {xt|pro|zen|nova}-{100-999} {13-17}英寸 {8-64}GB内存 {256-2048}GB固态硬盘，全国联保，七天无理由退货，\
        下单后二十四小时内发货，由官方旗舰店发出并提供售后服务。价格{2000-9999}元，库存{1-500}件，欢迎选购。",
    },
    Template {
        name: "job advert",
        text: "本公司因业务发展需要，现面向社会诚聘{会计|司机|厨师|电工|销售|文员|护士|教师|程序员|设计师}{1-9}名，工作地点{city}。要求品行端正，责任心强，具有良好的沟通能力和团队合作精神，\
        有相关工作经验者优先。待遇从优，缴纳社会保险，提供工作餐和住宿，节假日按国家规定休息。有意者请将简历发送至公司邮箱，我们会在收到简历后尽快安排面试，感谢您的关注与支持，期待您的加入。",
    },
    Template {
        name: "flat to let",
        text: "{city}{中山|人民|解放|建设|和平|新华|胜利}路精装{1-4}室{1-2}厅出租，面积{40-150}平方米，{3-30}楼，{朝南|朝东|朝北|南北通透}，家电齐全，拎包入住，\
        近地铁和商场，生活便利，月租{1500-9000}元，押一付三，看房请提前预约，中介勿扰，随时可以入住。",
    },
    Template {
        name: "dictionary entry",
        text: "{坚持|努力|美丽|安静|勇敢|迅速|温暖|清楚|仔细|热情|光明|寒冷}：汉语词语，常用于书面语和口语，是现代汉语的常用词之一。在句子中可以作谓语、定语或者状语。\
        详细解释、近义词、反义词、造句以及相关词语请参见词典正文，更多内容请使用搜索功能查询，欢迎纠正错误并补充例句。",
    },
    Template {
        name: "match report",
        text: "{city}队昨晚主场以{0-5}比{0-5}{战平|力克|不敌|险胜}{city}队。上半场第{5-44}分钟，{name}接队友传球射门得手；下半场双方展开激烈争夺，\
        第{50-89}分钟{name}头球破门。本场比赛现场共有{8000-60000}名观众观战，下一轮联赛将于本周末继续进行，敬请关注。",
    },
    Template {
        name: "notice of another year",
        text: "关于做好{2008-2024}年度先进集体和先进个人评选工作的通知。各部门、各单位：为总结经验、表彰先进，现将有关事项通知如下。\
        评选范围为本单位全体在职人员，评选工作坚持公开、公平、公正的原则，自下而上逐级推荐。请于{2008-2024}年{1-12}月{1-28}日前将推荐材料报送办公室，逾期不予受理。\
        推荐材料应当真实准确，重点突出，字数在一千字以内，并附电子文档。评选结果将在单位内部公示五个工作日，接受群众监督。",
    },
    Template {
        name: "contact page",
        text: "联系我们。客户服务热线：400-{100-999}-{1000-9999}，联系人：{name}，地址：{city}市{中山|人民|解放|建设|和平|新华|胜利}路{1-300}号。服务时间为每周一至周五上午九点到下午五点，\
        欢迎来电咨询，我们将竭诚为您服务，如有意见和建议也请及时反馈。",
    },
    Template {
        name: "English notice",
        text: "The {planning|finance|library|parks|schools|harbour|transport} committee will meet on {Monday|Tuesday|Wednesday|Thursday|Friday} {1-28} {January|March|May|July|September|November} \
        at the town hall in {Dover|Leeds|Oxford|Bristol|Norwich|Durham|Exeter}. Members of the public are welcome to attend and may put questions to the chair at the end of the meeting. \
        Papers are available from the clerk one week before the meeting, and minutes are published on this page within a month.",
    },
];

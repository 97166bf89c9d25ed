//! The words of made-up texts, drawn with the frequencies of Zipf's law, 1 / (rank + 2.7). The
//! lists are compiled in.

use crate::random::Random;

/// Words of one language. The first `function_words` are in every text; a text's topic rotates the
/// others, so that texts of two topics have different frequent words.
pub struct Vocabulary {
    words: Vec<String>,
    function_words: usize,
    /// Word ranks, each as often as its frequency requires; 65,536 of them, so that 16 random bits
    /// draw one.
    ranks: Vec<u16>,
}

impl Vocabulary {
    /// Some 2,900 Chinese words, most of them in dictionaries.
    pub fn chinese() -> Vocabulary {
        let mut words: Vec<String> =
            CHINESE_FUNCTION.split_whitespace().map(String::from).collect();
        let function_words = words.len();
        words.extend(CHINESE.split_whitespace().map(String::from));
        // Compounds such as 石 + 桥 and 竹 + 椅, taken along the diagonals, so that neighbouring ranks
        // share no character.
        let (first, second): (Vec<char>, Vec<char>) =
            (COMPOUND_FIRST.chars().collect(), COMPOUND_SECOND.chars().collect());
        for shift in 0..second.len() {
            for (index, head) in first.iter().enumerate() {
                words.push([*head, second[(index + shift) % second.len()]].iter().collect());
            }
        }
        Vocabulary::new(words, function_words)
    }

    /// About 3,000 English words: the list, and each word with the endings. With the list alone all
    /// English texts would share their frequent words, and chains of fingerprints would join
    /// thousands of them.
    pub fn english() -> Vocabulary {
        let mut words: Vec<String> =
            ENGLISH_FUNCTION.split_whitespace().map(String::from).collect();
        let function_words = words.len();
        words.extend(ENGLISH.split_whitespace().map(String::from));
        for ending in ["s", "er", "ing", "less", "like", "ward", "ful", "ish"] {
            words.extend(ENGLISH.split_whitespace().map(|word| format!("{word}{ending}")));
        }
        Vocabulary::new(words, function_words)
    }

    fn new(words: Vec<String>, function_words: usize) -> Vocabulary {
        let weights: Vec<f64> = (0..words.len()).map(|rank| 1.0 / (rank as f64 + 2.7)).collect();
        let total: f64 = weights.iter().sum();
        let mut ranks = Vec::with_capacity(1 << 16);
        let mut sum = 0.0;
        for (rank, weight) in weights.iter().enumerate() {
            sum += weight;
            let end = (sum / total * 65_536.0) as usize;
            ranks.resize(end.clamp(ranks.len(), 1 << 16), rank as u16);
        }
        ranks.resize(1 << 16, 0);
        Vocabulary { words, function_words, ranks }
    }

    /// The number of the word that 16 random bits draw in a text of `topic`.
    pub fn draw(&self, bits: u16, topic: usize) -> u16 {
        let rank = usize::from(self.ranks[usize::from(bits)]);
        if rank < self.function_words {
            return rank as u16;
        }
        let turned =
            (rank - self.function_words + topic) % (self.words.len() - self.function_words);
        (self.function_words + turned) as u16
    }

    /// A topic for a new text.
    pub fn topic(&self, random: &mut Random) -> usize {
        random.below(self.words.len() - self.function_words)
    }

    /// The word with this number.
    pub fn word(&self, number: u16) -> &str {
        &self.words[usize::from(number)]
    }
}

const CHINESE_FUNCTION: &str = "的 了 在 是 和 也 有 不 就 这 那 都 一 上 从 到 与 对 把 被 为 中 后 还 很 而 又 于 以 等 它 他们 我们 \
    人们 一个 没有 可以 因为 所以 但是 如果 已经 其中 以及 并且 不过 虽然 只是 这里 那里 一些 许多 非常 开始 进行 成为 需要 能够 之后 之前";

const CHINESE: &str = "今天 明天 昨天 早晨 上午 中午 下午 傍晚 夜里 春天 夏天 秋天 冬天 周末 假期 节日 时间 时候 时期 年代 世纪 过去 现在 将来 \
    最近 当时 地方 城市 乡村 村庄 小镇 街道 广场 公园 花园 市场 商店 书店 饭店 茶馆 旅馆 学校 教室 操场 医院 银行 邮局 车站 码头 机场 港口 \
    铁路 公路 隧道 大桥 河流 湖泊 海洋 海岸 岛屿 山脉 山谷 森林 草原 沙漠 田野 果园 温室 水库 瀑布 泉水 池塘 天空 云彩 阳光 月亮 星星 雨水 \
    雪花 雷声 闪电 彩虹 雾气 露水 霜冻 气温 湿度 风力 气候 季节 天气 预报 观测 记录 数据 数字 图表 地图 照片 画册 书籍 杂志 报纸 文章 故事 \
    小说 诗歌 散文 日记 信件 作者 读者 编辑 记者 老师 学生 同学 朋友 邻居 居民 游客 旅客 乘客 司机 工人 农民 渔民 医生 护士 厨师 木匠 铁匠 \
    画家 歌手 演员 导演 教授 学者 专家 馆员 店主 孩子 老人 青年 父亲 母亲 爷爷 奶奶 哥哥 妹妹 家庭 亲戚 客人 主人 社区 活动 节目 比赛 展览 \
    音乐 舞蹈 戏剧 电影 电视 广播 摄影 绘画 书法 雕刻 陶瓷 刺绣 剪纸 编织 手工 工艺 技术 方法 经验 知识 历史 文化 艺术 科学 数学 物理 化学 \
    生物 地理 天文 哲学 语言 文字 词语 句子 段落 标题 内容 意思 问题 答案 原因 结果 过程 步骤 计划 目标 任务 工作 生活 学习 研究 调查 讨论 \
    会议 报告 通知 消息 新闻 信息 资料 档案 文件 合同 规则 标准 制度 条件 环境 资源 能源 电力 煤炭 石油 木材 钢铁 水泥 玻璃 塑料 纸张 布料 \
    棉花 羊毛 丝绸 皮革 颜料 油漆 机器 工具 设备 仪器 零件 发动机 汽车 火车 轮船 飞机 自行车 公共汽车 出租车 地铁 卡车 马车 帆船 电话 手机 \
    电脑 软件 网络 网站 网页 相机 钟表 电灯 冰箱 空调 风扇 炉子 锅子 刀子 筷子 勺子 盘子 杯子 瓶子 篮子 箱子 桌子 椅子 柜子 床铺 窗户 大门 \
    屋顶 墙壁 地板 楼梯 走廊 院子 厨房 客厅 卧室 书房 阳台 米饭 面条 馒头 包子 饺子 豆腐 白菜 萝卜 土豆 番茄 黄瓜 茄子 辣椒 大蒜 生姜 香菜 \
    菠菜 玉米 小麦 大豆 花生 芝麻 苹果 香蕉 葡萄 西瓜 桃子 梨子 橘子 柠檬 草莓 樱桃 石榴 核桃 牛奶 鸡蛋 牛肉 羊肉 鸡肉 鱼肉 海鲜 食盐 白糖 \
    酱油 食醋 茶叶 咖啡 果汁 啤酒 早饭 午饭 晚饭 点心 汤圆 月饼 粽子 味道 香气 颜色 红色 黄色 蓝色 绿色 白色 黑色 灰色 紫色 形状 大小 高度 \
    长度 宽度 重量 速度 温度 面积 距离 方向 位置 东边 西边 南边 北边 中间 旁边 前面 后面 里面 外面 附近 周围 动物 植物 鸟类 昆虫 鱼类 老虎 \
    狮子 大象 猴子 熊猫 兔子 松鼠 狐狸 马匹 水牛 山羊 绵羊 小狗 小猫 公鸡 鸭子 燕子 麻雀 喜鹊 白鹭 天鹅 蝴蝶 蜜蜂 蜻蜓 蚂蚁 青蛙 乌龟 树木 \
    树叶 树根 树枝 花朵 花瓣 果实 种子 幼苗 草地 竹子 松树 柳树 杨树 梅花 兰花 菊花 荷花 牡丹 月季 桂花 茉莉 水仙 修理 建设 建造 设计 制造 \
    生产 加工 包装 运输 销售 购买 价格 收入 支出 成本 利润 数量 质量 服务 管理 组织 领导 成员 团队 公司 工厂 商业 农业 工业 渔业 林业 旅游 \
    交通 通信 教育 体育 卫生 健康 安全 保护 保存 整理 收集 分类 比较 分析 计算 测量 检查 试验 发现 发明 创造 改变 改进 提高 增加 减少 扩大 \
    缩小 完成 实现 继续 停止 准备 安排 参加 举行 组成 包括 属于 代表 表示 说明 解释 介绍 描述 回忆 想象 认为 觉得 希望 喜欢 愿意 决定 选择 \
    使用 利用 采用 提供 得到 保持 离开 到达 经过 返回 出发 旅行 散步 跑步 游泳 爬山 钓鱼 唱歌 跳舞 画画 写字 读书 看报 聊天 休息 睡觉 起床 \
    美丽 安静 热闹 干净 明亮 温暖 凉爽 寒冷 炎热 干燥 潮湿 新鲜 古老 现代 传统 普通 特别 重要 主要 简单 复杂 容易 困难 丰富 完整 清楚 准确 \
    快速 缓慢 宽阔 狭窄 深厚 柔软 坚硬 光滑 粗糙 平静 高兴 快乐 认真 努力 仔细 耐心 热情 友好 自然 著名 十分 比较 逐渐 常常 往往 终于 忽然";

const COMPOUND_FIRST: &str = "石木铁竹土金银铜玉瓦砖草花果茶酒米面盐油水火风雪云山河江湖海溪泉井田林园村镇城街春夏秋冬东西南北";
const COMPOUND_SECOND: &str = "桥路墙门窗屋楼塔亭台车船灯镜盆碗壶箱笼架桌椅床帘布衣帽鞋画书信纸笔琴鼓钟树叶根苗鸟鱼虫马牛羊场店坊";

const ENGLISH_FUNCTION: &str = "the of and to in a is that for it was on with as at by from this which or an are be were has had not but \
    they their its one all can there when more some into other about after";

const ENGLISH: &str = "time people water place year work house town village river bridge road station train library book paper garden \
    field forest mountain valley coast island harbour market school teacher student writer reader letter story history science music \
    picture colour light shadow morning evening winter summer spring autumn weather wind rain snow cloud storm temperature season \
    month week hour minute number measure record report result question answer reason method problem example pattern system machine \
    engine wheel bicycle carriage boat sail anchor rope hammer needle thread cloth wool cotton leather glass stone brick timber iron \
    copper silver clay kitchen oven bread flour butter cheese honey apple pear cherry onion carrot cabbage potato bean pepper salt \
    sugar coffee tea cup plate spoon knife table chair window door roof wall floor stair room corner street square park fountain tower \
    clock bell lamp candle mirror basket box shelf drawer map chart table line circle surface edge centre distance height length width \
    weight speed direction north south east west animal bird fish horse sheep cattle swallow heron owl fox rabbit bee butterfly tree \
    leaf root branch flower seed grass moss soil sand hill lake stream pond spring island shore wave tide moon star planet comet \
    telescope lens observer sky night daylight neighbour visitor traveller farmer fisherman carpenter baker gardener librarian engineer \
    painter singer doctor child family friend group member guide driver keeper carry build repair open close begin finish travel walk \
    climb swim read write draw paint sing listen watch gather collect sort store keep mend plant water harvest cook bake taste share \
    offer bring leave arrive return follow remember describe explain compare discover notice choose prepare protect improve change \
    grow move turn hold stand rest sleep wake early late slow quick quiet loud bright dark warm cool dry wet fresh old new long short \
    wide narrow deep shallow heavy plain simple common rare careful patient gentle steady local ancient modern public private useful";

#[cfg(test)]
mod tests {
    use super::*;

    /// Frequencies fall with rank, and every 16 bits draw a word that exists.
    #[test]
    fn the_first_word_is_the_most_frequent() {
        for vocabulary in [Vocabulary::chinese(), Vocabulary::english()] {
            let mut counts = vec![0u32; vocabulary.words.len()];
            (0..=u16::MAX).for_each(|bits| counts[usize::from(vocabulary.draw(bits, 0))] += 1);
            assert!(counts.windows(2).all(|pair| pair[0] + 1 >= pair[1]));
            assert!(counts[0] > 20 * counts[200]);
        }
    }
}

//! Converts the demo's simplified Chinese to traditional characters.
//!
//! It knows the demo's own characters and is not a general converter.

use std::collections::HashMap;

/// Simplified and traditional characters, in pairs.
const CHARACTERS: &str = "万萬与與专專丛叢东東丝絲丢丟两兩个個为為举舉么麼乌烏习習书書买買乱亂于於云雲亩畝亲親从從仓倉仪儀们們价價\
    会會伞傘传傳伤傷体體侦偵侧側倾傾儿兒关關兰蘭养養内內册冊写寫军軍农農冲沖决決冻凍净淨准準凉涼减減几幾凭憑击擊凿鑿划劃则則刚剛别別制製\
    办辦动動势勢匀勻区區单單卖賣占佔卫衛却卻厅廳历歷厉厲压壓厘釐县縣参參双雙发發变變叠疊叶葉号號后後听聽吴吳员員响響哑啞咸鹹喷噴围圍园園\
    圆圓图圖团團场場坏壞块塊坚堅坞塢垭埡墙牆壳殼声聲壶壺处處备備复復够夠头頭夹夾妇婦姜薑学學宁寧实實宽寬对對导導尘塵尝嘗尽盡层層屉屜岁歲\
    岛島岭嶺师師帐帳帘簾带帶帮幫干乾并並广廣库庫应應废廢开開弃棄张張弯彎弹彈归歸当當录錄志誌怀懷总總惊驚惯慣愿願懒懶戏戲户戶扑撲扫掃抢搶\
    护護报報担擔拢攏拦攔拧擰拨撥挂掛挡擋挤擠捡撿换換捣搗捞撈据據掺摻搅攪摄攝摆擺摇搖摊攤撑撐敌敵数數断斷无無旧舊时時昼晝显顯晒曬机機杀殺\
    杂雜权權杆桿条條来來杨楊枣棗枫楓柜櫃标標栏欄树樹样樣桥橋桩樁档檔梦夢检檢楼樓槛檻横橫欢歡毁毀气氣汇匯汤湯沟溝没沒浅淺浆漿浇澆测測浏瀏\
    涂塗涨漲涩澀渔漁温溫湾灣湿濕满滿滤濾滩灘潜潛灭滅灯燈点點烂爛烟煙烦煩烧燒烫燙热熱爱愛牵牽状狀独獨狮獅猪豬猫貓献獻环環现現电電画畫皱皺\
    盏盞盐鹽盖蓋盘盤着著码碼砖磚碱鹼离離种種积積窍竅窑窯窝窩笋筍笔筆笼籠筑築签簽篮籃类類粮糧紧緊红紅约約级級纸紙纹紋线線练練组組细細终終\
    经經绑綁绒絨结結绕繞给給绝絕绣繡续續绳繩绿綠缆纜编編缘緣缝縫缠纏缩縮缮繕网網罚罰联聯胶膠脑腦脚腳脱脫脸臉腊臘艺藝节節芦蘆苇葦茎莖荆荊\
    荚莢荞蕎荡蕩荫蔭药藥莲蓮莴萵莺鶯萝蘿蓝藍虫蟲虾蝦蚁蟻蚂螞蜡蠟补補袄襖袜襪装裝裤褲见見观觀规規览覽觉覺计計订訂认認让讓议議记記讲講许許\
    论論设設访訪评評识識诉訴试試话話该該误誤说說请請读讀课課谁誰调調谢謝谱譜责責账帳货貨贩販贴貼贵貴费費赞贊赶趕车車轨軌转轉轮輪软軟轴軸\
    轻輕载載辆輛辈輩辐輻辑輯辙轍边邊迁遷过過运運还還这這进進远遠连連迟遲适適递遞邮郵邻鄰采採里裡鉴鑑针針钉釘钓釣钟鐘钢鋼钥鑰钱錢铁鐵铃鈴\
    铅鉛铜銅银銀铸鑄铺鋪链鏈锁鎖锄鋤锅鍋锈鏽错錯锤錘键鍵镇鎮镜鏡长長门門闪閃闭閉问問间間闷悶闹鬧闻聞阅閱队隊阳陽阴陰阶階陆陸陈陳随隨隐隱\
    难難雏雛雾霧静靜页頁项項顶頂顺順须須顾顧颈頸颗顆颜顏风風飘飄飞飛饭飯饮飲饼餅馆館馈饋馒饅马馬驮馱驱驅驿驛验驗骑騎骗騙鱼魚鲛鮫鲜鮮鲞鯗\
    鳞鱗鸟鳥鸡雞鸣鳴鸥鷗鸭鴨鸽鴿鹃鵑鹊鵲鹤鶴鹬鷸鹭鷺麦麥黄黃齐齊齿齒龙龍颠顛葱蔥厢廂滚滾翘翹领領余餘猬蝟炖燉选選删刪";

/// For characters with several traditional forms, the words that do not take the usual one.
const WORDS: [(&str, &str); 56] = [
    ("公里", "公里"),
    ("海里", "海里"),
    ("五里", "五里"),
    ("里程", "里程"),
    ("面条", "麵條"),
    ("面粉", "麵粉"),
    ("面团", "麵團"),
    ("面皮", "麵皮"),
    ("面头", "麵頭"),
    ("荞麦面", "蕎麥麵"),
    ("和面只", "和麵只"),
    ("和面说", "和麵說"),
    ("醒面", "醒麵"),
    ("揉面", "揉麵"),
    ("切面平整", "切面平整"),
    ("切面", "切麵"),
    ("下面的锅", "下麵的鍋"),
    ("老面肥", "老麵肥"),
    ("一碗面", "一碗麵"),
    ("年面，", "年麵，"),
    ("吃完面", "吃完麵"),
    ("喜欢面", "喜歡麵"),
    ("成白面", "成白麵"),
    ("一只", "一隻"),
    ("两只", "兩隻"),
    ("几只", "幾隻"),
    ("十只", "十隻"),
    ("0只", "0隻"),
    ("万只", "萬隻"),
    ("怀表", "懷錶"),
    ("修表", "修錶"),
    ("志愿", "志願"),
    ("书签", "書籤"),
    ("标签", "標籤"),
    ("晒谷场", "曬穀場"),
    ("周末", "週末"),
    ("周以后", "週以後"),
    ("游客", "遊客"),
    ("哪里松", "哪裡鬆"),
    ("群并在", "群併在"),
    ("冲起", "衝起"),
    ("太松", "太鬆"),
    ("手工面", "手工麵"),
    ("面杖", "麵杖"),
    ("面食", "麵食"),
    ("那只", "那隻"),
    ("台风", "颱風"),
    ("环志", "環志"),
    ("日历", "日曆"),
    ("理发", "理髮"),
    ("复制", "複製"),
    ("联系", "聯繫"),
    ("萝卜", "蘿蔔"),
    ("舍不得", "捨不得"),
    ("卷了边", "捲了邊"),
    ("仿佛", "彷彿"),
];

/// Converts text by words where a word is known, else by characters.
pub struct Traditional {
    characters: HashMap<char, char>,
}

impl Traditional {
    /// The demo's converter.
    pub fn new() -> Traditional {
        let characters: Vec<char> =
            CHARACTERS.chars().filter(|character| *character != ' ').collect();
        Traditional {
            characters: characters.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
        }
    }

    /// `text` in traditional characters; everything that is not simplified Chinese stays.
    pub fn convert(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            match WORDS.iter().find(|(simplified, _)| rest.starts_with(simplified)) {
                Some((simplified, traditional)) => {
                    out.push_str(traditional);
                    rest = &rest[simplified.len()..];
                }
                None => {
                    out.push(self.characters.get(&character).copied().unwrap_or(character));
                    rest = &rest[character.len_utf8()..];
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 里 and 面 each have two traditional forms; the first matching word decides.
    #[test]
    fn words_go_before_characters() {
        let traditional = Traditional::new();
        assert_eq!(
            traditional.convert("山里走了十公里，吃一碗面，水面很静"),
            "山裡走了十公里，吃一碗麵，水面很靜"
        );
        let pairs = CHARACTERS.chars().filter(|character| *character != ' ').count();
        assert_eq!(pairs % 2, 0);
        assert_eq!(traditional.characters.len(), pairs / 2, "a character stands twice");
    }
}

//! Tests that products of one shop have texts of their own, and that a page about reviews or about
//! delivery keeps these.

use crate::extract::{Options, html};

fn text(page: &str) -> String {
    html(page.as_bytes(), None, &Options::default()).text
}

/// Descriptions of different lengths, short enough that what a shop repeats is longer.
const HATS: [&str; 3] = [
    "A wide brim shades the face and the neck on long summer days.",
    "A wide brim shades the face and the neck on long summer days, and the cotton lining keeps the head cool when \
     the sun is high.",
    "A wide brim shades the face and the neck on long summer days, and the cotton lining keeps the head cool when \
     the sun is high. It folds flat into a pocket and takes its shape again at once.",
];
const WRITTEN: [&str; 3] = [
    "I ordered on Monday and the parcel was here on Wednesday, wrapped with care and exactly as described.",
    "Friendly people on the phone who helped me to find the right size, I will certainly order again.",
    "One item was missing, but they sent it the next day without any discussion, which is rare today.",
];
const DELIVERY: &str = "<h2>Delivery and returns</h2><p>We deliver within three working days to all addresses in the \
    United Kingdom, free of charge from fifty pounds.</p><p>You may return any item within thirty days, unused and in its \
    packaging, and we refund the price by the way you paid.</p>";

fn reviews(open: &str, one: &str, close: &str) -> String {
    let all: String = WRITTEN.iter().map(|text| one.replace("{}", text)).collect();
    [open, &all, close].concat()
}

/// What a shop sets below each product.
fn below() -> Vec<String> {
    vec![
        reviews(
            "<section id=reviews class=reviews><h2>Customer reviews</h2>",
            "<div class=review><b>Ada</b><p>{}</p></div>",
            "</section>",
        ),
        reviews("<h2>Reviews</h2><div>", "<div class=\"product-review\"><p>{}</p></div>", "</div>"),
        reviews("<div class=product__reviews>", "<div class=x><p>{}</p></div>", "</div>"),
        reviews(
            "<section class=testimonials><h2>What our customers say</h2>",
            "<blockquote><p>{}</p><cite>Ada</cite></blockquote>",
            "</section>",
        ),
        reviews(
            "<div class=r><h2>Reviews</h2>",
            "<div itemprop=review itemscope itemtype='https://schema.org/Review'><p itemprop=reviewBody>{}</p></div>",
            "</div>",
        ),
        reviews("<div id=comments>", "<div class=comment><p>{}</p></div>", "</div>"),
        format!("<div class=delivery-info>{DELIVERY}</div>"),
    ]
}

fn page(description: &str, below: &str) -> String {
    format!(
        "<title>Sun hat | Shop</title><body><header><nav><a href=/>Home</a></nav></header><div class=product>\
         <h1>Sun hat</h1><span class=price>£19.00</span><button>Add to basket</button>{description}</div>{below}\
         <footer><p>© 2026 Shop. All rights reserved.</p></footer></body>"
    )
}

/// All products of a shop had one text, that of the reviews or the terms below each, which are
/// longer than a description.
#[test]
fn product_has_its_description() {
    for hat in HATS {
        for below in below() {
            let description = format!("<div class=description><p>{hat}</p></div>");
            assert_eq!(text(&page(&description, &below)), hat, "{below}");
        }
    }
}

/// A description that lay apart from what scored higher was lost. Without names of its own or of
/// the shop's block both are taken.
#[test]
fn description_is_not_lost() {
    for hat in HATS {
        for class in ["description", "product-description", "txt"] {
            let description = format!("<div class='{class}'><p>{hat}</p></div>");
            for below in [
                format!("<div class=x>{DELIVERY}</div>"),
                reviews("<div class=y><h2>They say</h2>", "<p>{}</p>", "</div>"),
            ] {
                let found = text(&page(&description, &below));
                assert!(found.contains(hat), "{class}: {found}");
            }
        }
    }
}

/// A line about the picture above an article, and a box about the author below it, are no part of
/// the article.
#[test]
fn description_of_other_things() {
    let article = "<p>The last beam of the new bridge was set in place at nine on Monday, and the council, which had waited \
        for two years, met on the deck to drink tea.</p><p>Traffic is to cross it from June on, if the paint dries.</p>";
    let box_ = "<div class=author><div class=description><p>Ada writes about bridges, and about the rivers under them.</p>\
        </div></div>";
    let head = "<div><h1>A new bridge</h1><p>The bridge on Sunday, seen from the east (photo: Ada).</p></div>";
    let alone = text(&format!("<title>A new bridge</title><body><div>{article}</div></body>"));
    for page in [
        format!("<title>A new bridge</title><body>{head}<div>{article}</div></body>"),
        format!(
            "<title>A new bridge</title><body><h1>A new bridge</h1><div>{article}</div>{box_}</body>"
        ),
    ] {
        assert_eq!(text(&page), alone);
    }
}

/// What is named as a review may be the article; a page that is nothing but reviews, or that is
/// about delivery, keeps them.
#[test]
fn page_of_reviews_or_terms() {
    let body: String = WRITTEN.iter().map(|text| format!("<p>{text}</p>")).collect();
    let more = "<div><p>Subscribe to our letters, which go out to readers on each Friday, about films and books, and about \
        all that was shown at the festivals of the year, by those who were there.</p></div>";
    for (open, close) in [
        ("<h1>The parcel</h1><div class=review>", "</div>"),
        ("<div itemscope itemtype='https://schema.org/Review'><h1>The parcel</h1>", "</div>"),
        ("<div class=reviews><h1>The parcel</h1><div class=review>", "</div></div>"),
        ("<div class=delivery-info><h1>The parcel</h1>", "</div>"),
    ] {
        let page =
            format!("<title>The parcel | Films</title><body>{open}{body}{close}{more}</body>");
        let found = text(&page);
        WRITTEN.iter().for_each(|text| assert!(found.contains(text), "{open}: {found}"));
    }
    let all = reviews("<section class=reviews>", "<div class=review><p>{}</p></div>", "</section>");
    let found = html(format!("<body>{all}</body>").as_bytes(), None, &Options::default());
    assert_eq!((found.text, found.is_gathered), (WRITTEN.join("\n"), false));
}

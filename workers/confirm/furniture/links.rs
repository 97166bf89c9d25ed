//! Short links, whose ids say nothing of a text.

/// The most bytes of a short link, of the name of its host, and the fewest of its id.
const LINK_BYTES_MAX: usize = 40;
const LINK_HOST_BYTES_MAX: usize = 10;
const LINK_ID_BYTES_MIN: usize = 5;

/// The end of the short link that has the byte at `place`.
pub fn end(text: &str, place: usize) -> Option<usize> {
    let of_link = |c: char| c.is_ascii_graphic() && !"()<>[]{}\"'".contains(c);
    let before = text[..place].chars().rev().take(LINK_BYTES_MAX);
    let head = place - before.take_while(|c| of_link(*c)).count();
    let behind = text[head..].bytes().take(3 * LINK_BYTES_MAX);
    let run = &text[head..head + behind.take_while(|byte| of_link(char::from(*byte))).count()];
    let start = head + run.find("http")?;
    let link = text[start..head + run.len()].trim_end_matches(['.', ',', ';', '!', '?']);
    let path = link.strip_prefix("https://").or_else(|| link.strip_prefix("http://"))?;
    let (host, id) = path.split_once('/')?;
    let is_id = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_short = link.len() <= LINK_BYTES_MAX
        && host.len() <= LINK_HOST_BYTES_MAX
        && id.len() >= LINK_ID_BYTES_MIN
        && id.chars().all(is_id);
    let end = start + link.len();
    (is_short && (start..end).contains(&place)).then_some(end)
}

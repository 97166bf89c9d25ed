//! Finds the known name that was probably meant by an unknown one.

/// The name among `names` that is a few letters away from `word`, if there is one.
///
/// Letters are added, left out, replaced or swapped with their neighbour (Damerau, 1964): at most
/// one letter in a short word, and one in four otherwise. A name that begins with the word is near,
/// too.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = word.chars().count();
    let most = (letters / 4).clamp(1, 3);
    let far = |name: &str| match name.len() > word.len() && word.len() > 2 && name.starts_with(word)
    {
        true => 1,
        false => distance(word, name),
    };
    names
        .into_iter()
        .map(|name| (far(name), name))
        .filter(|(far, _)| *far <= most && *far < letters)
        .min()
        .map(|(_, name)| name)
}

fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slip of the finger finds its name; another word finds none, however few names there are.
    #[test]
    fn slips_and_other_words() {
        let names = ["inputs", "source", "complete", "rejects_max", "k"];
        for (word, meant) in [
            ("input", Some("inputs")),
            ("inputz", Some("inputs")),
            ("soruce", Some("source")),
            ("rejects", Some("rejects_max")),
            ("kk", Some("k")),
            ("explain", None),
            ("paths", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
    }
}

//! Puts what people wrote into words that are safe to print: clipped, escaped, compared.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The most characters of foreign text that a message repeats; a log line stays well below 4 KiB.
const SHOWN_CHARS: usize = 60;

/// The most characters of another library's message.
const MESSAGE_CHARS: usize = 200;

/// A piece of foreign text between backticks, clipped, with control and direction characters escaped.
pub(super) fn show(text: &str) -> String {
    format!("`{}`", clip(text, SHOWN_CHARS))
}

/// Another library's message, escaped the same way. It ends with the reason, so the end is kept.
pub(super) fn message(text: &str) -> String {
    let more = text.chars().count().saturating_sub(MESSAGE_CHARS);
    let end: String = text.chars().skip(more).collect();
    format!("{}{}", if more > 0 { ".." } else { "" }, clip(&end, MESSAGE_CHARS))
}

fn clip(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == most {
            shown.push_str("..");
            break;
        }
        if is_invisible(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Whether a character does something else than being seen: controls, direction overrides, zero widths.
pub(super) fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A value as a message names it: short ones as they are, long ones by their kind.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) => format!("the text {}", show(text)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a mapping".into(),
    }
}

/// The known word that a misspelt one most likely stands for.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(SHOWN_CHARS).flat_map(char::to_lowercase).collect();
    // A third of the letters may be wrong: `parttion` is `partition`, `foo` is nothing.
    let allowed = (word.len() / 3).max(1);
    known
        .iter()
        .map(|&name| (distance(&word, &name.to_lowercase().chars().collect::<Vec<_>>()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// How many letters of one word are to be put in, left out, changed or swapped with the next to make it the other.
pub(super) fn distance_of(left: &str, right: &str) -> usize {
    distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
}

/// Levenshtein's distance, two neighbours that are swapped being one mistake.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (down, l) in left.iter().enumerate() {
        let mut row = Vec::with_capacity(right.len() + 1);
        row.push(down + 1);
        let cell = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX - 1);
        for (across, r) in right.iter().enumerate() {
            let mut cost = cell(&above, across) + usize::from(l != r);
            cost = cost.min(cell(&above, across + 1) + 1).min(cell(&row, across) + 1);
            let swapped = across > 0 && down > 0 && right.get(across - 1) == Some(l) && left.get(down - 1) == Some(r);
            if swapped {
                cost = cost.min(cell(&before, across - 1) + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(left.len())
}

/// Whether a name is a DNS label of RFC 1123: at most 63 of `a-z`, `0-9` and `-`, which neither begins nor ends it.
pub(super) fn is_dns_label(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (1..=63).contains(&name.len())
        && name.bytes().all(|byte| inner(byte) || byte == b'-')
        && name.bytes().next().is_some_and(inner)
        && name.bytes().last().is_some_and(inner)
}

/// SHA-256, the first 20 hexadecimal digits: 80 bits, as in [`crate::model::TemplateHash`].
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_neighbour() {
        let known = ["partition", "pause", "replicas", "minReadySeconds"];
        for (word, near) in [
            ("parttion", Some("partition")),
            ("Partition", Some("partition")),
            ("replica", Some("replicas")),
            ("minreadyseconds", Some("minReadySeconds")),
            ("foo", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, &known), near, "{word}");
        }
        assert_eq!(distance(&['a', 'b'], &['b', 'a']), 1);
        assert_eq!(distance_of("abcd", "badc"), 2);
        assert_eq!(distance(&[], &['b', 'a']), 2);
    }

    #[test]
    fn shown_text_is_short_and_does_nothing_to_a_terminal() {
        assert_eq!(show("\u{1b}[31m\u{202e}x"), "`\\u{1b}[31m\\u{202e}x`");
        assert!(show(&"a".repeat(10_000)).len() < 100);
    }

    #[test]
    fn labels_are_told_from_other_names() {
        for good in ["web", "0-a", "a"] {
            assert!(is_dns_label(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a.b", "A", "../x", "a\u{202e}b", &"a".repeat(64)] {
            assert!(!is_dns_label(bad), "{bad}");
        }
    }
}

//! Text from elsewhere, made fit for a terminal: commit subjects and messages of servers may hold anything.

/// One line: line breaks and tabs become spaces, what steers a terminal becomes U+FFFD.
pub(crate) fn line(text: &str) -> String {
    text.chars().map(|letter| if matches!(letter, '\n' | '\r' | '\t') { ' ' } else { shown(letter) }).collect()
}

/// Several lines: as [`line()`], with the line breaks kept.
pub(crate) fn lines(text: &str) -> String {
    text.chars().map(|letter| if matches!(letter, '\n') { letter } else { shown(letter) }).collect()
}

/// The letter, unless it steers the terminal or the direction of writing.
fn shown(letter: char) -> char {
    let steers = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if letter.is_control() || steers { char::REPLACEMENT_CHARACTER } else { letter }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(line("a\x1b[2Jb\nc\u{202e}d"), "a\u{fffd}[2Jb c\u{fffd}d");
        assert_eq!(lines("a\x07\nb"), "a\u{fffd}\nb");
        assert_eq!(line("Änderung ✓ 日本"), "Änderung ✓ 日本");
    }
}

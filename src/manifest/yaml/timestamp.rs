//! Tells whether a text is a timestamp, as the tag `!!timestamp` wants it.

/// Whether Go reads a text as `2006-1-2`, with or without ` 15:4:5.9` or `T15:4:5.9Z07:00` behind.
pub(super) fn is_timestamp(text: &str) -> bool {
    parse(text).is_some()
}

fn parse(text: &str) -> Option<()> {
    let mut rest = text;
    let year = take(&mut rest, 4, 4)?;
    sign(&mut rest, "-")?;
    let month = take(&mut rest, 1, 2)?;
    sign(&mut rest, "-")?;
    let day = take(&mut rest, 1, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) {
        return None;
    }
    if rest.is_empty() {
        return Some(());
    }
    let zoned = match sign(&mut rest, "T").or_else(|| sign(&mut rest, "t")) {
        Some(()) => true,
        None => {
            sign(&mut rest, " ")?;
            // Go skips blanks before a number that a layout puts behind one.
            rest = rest.trim_start_matches(' ');
            false
        }
    };
    clock(&mut rest)?;
    if zoned {
        zone(&mut rest)?;
    }
    rest.is_empty().then_some(())
}

fn clock(rest: &mut &str) -> Option<()> {
    for (index, limit) in [24, 60, 60].into_iter().enumerate() {
        if index > 0 {
            sign(rest, ":")?;
        }
        take(rest, 1, 2).filter(|value| *value < limit)?;
    }
    if let Some(fraction) = rest.strip_prefix(['.', ','])
        && fraction.starts_with(|letter: char| letter.is_ascii_digit())
    {
        *rest = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
    }
    Some(())
}

fn zone(rest: &mut &str) -> Option<()> {
    if sign(rest, "Z").is_some() {
        return Some(());
    }
    sign(rest, "+").or_else(|| sign(rest, "-"))?;
    take(rest, 2, 2).filter(|hours| *hours <= 24)?;
    sign(rest, ":")?;
    take(rest, 2, 2).filter(|minutes| *minutes <= 60)?;
    Some(())
}

fn sign(rest: &mut &str, sign: &str) -> Option<()> {
    *rest = rest.strip_prefix(sign)?;
    Some(())
}

/// A number of so many digits.
fn take(rest: &mut &str, least: usize, most: usize) -> Option<u32> {
    let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if digits < least {
        return None;
    }
    let (number, behind) = rest.split_at_checked(digits)?;
    *rest = behind;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn timestamps_are_those_of_go() {
        for text in [
            "2001-12-14",
            "2001-1-2",
            "2001-12-14t21:59:43.10-05:00",
            "2024-01-02T03:04:05Z",
            "2001-12-14 1:5:3",
            "2000-02-29",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
        for text in ["2001-2-29", "01-2-3", "2001-12-14 21:59:43.10 -5", "2001-12-14T25:00:00Z", "2001-12-14x", "x"] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}

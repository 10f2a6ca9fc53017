//! What the cells of all tables have in common: ages, lists, and the words for nothing.

use jiff::Timestamp;
use serde_json::Value;

/// Stands where there is nothing.
pub(super) const NONE: &str = "<none>";

/// A text; empty where there is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A text, or another where it is empty.
pub(super) fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

/// A list in one cell.
pub(super) fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.collect::<Vec<_>>().join(",")
}

/// How long an object has been there.
pub(super) fn age(object: &Value, now: Timestamp) -> String {
    since(&object["metadata"]["creationTimestamp"], now)
}

/// How long ago a time is.
pub(super) fn since(time: &Value, now: Timestamp) -> String {
    match text(time).parse::<Timestamp>() {
        Ok(time) => duration(now.duration_since(time).as_secs_f64()),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// A duration with the precision that its length deserves: `k8s.io/apimachinery/pkg/util/duration`.
fn duration(seconds: f64) -> String {
    #[allow(clippy::cast_possible_truncation, reason = "two times are no more than 20,000 years apart")]
    let seconds = seconds.trunc() as i64;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let two = |whole: i64, unit: char, rest: i64, small: char| match rest {
        0 => format!("{whole}{unit}"),
        _ => format!("{whole}{unit}{rest}{small}"),
    };
    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => two(hours / 24, 'd', hours % 24, 'h'),
        _ if hours < 24 * 365 * 2 => format!("{}d", hours / 24),
        _ if hours < 24 * 365 * 8 => two(hours / 24 / 365, 'y', hours / 24 % 365, 'd'),
        _ => format!("{}y", hours / 24 / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_told_as_kubectl_tells_them() {
        const HOUR: f64 = 3600.0;
        for (seconds, words) in [
            (-5.0, "<invalid>"),
            (-1.5, "0s"),
            (-0.5, "0s"),
            (0.9, "0s"),
            (119.9, "119s"),
            (120.0, "2m"),
            (150.0, "2m30s"),
            (600.0, "10m"),
            (179.0 * 60.0, "179m"),
            (3.0 * HOUR, "3h"),
            (3.5 * HOUR, "3h30m"),
            (8.5 * HOUR, "8h"),
            (48.0 * HOUR, "2d"),
            (50.0 * HOUR, "2d2h"),
            (24.0 * 8.0 * HOUR, "8d"),
            (24.0 * 365.0 * 2.0 * HOUR, "2y"),
            (24.0 * 400.0 * 2.0 * HOUR, "2y70d"),
            (24.0 * 365.0 * 9.0 * HOUR, "9y"),
        ] {
            assert_eq!(duration(seconds), words, "{seconds}");
        }
    }
}

//! Prints a time as the API server returns it: in UTC, in whole seconds.

use serde_json::Value;

/// The time in UTC; null for the zero time, which Go writes so. What is no RFC 3339 time stays as it is.
///
/// Mirrors `UnmarshalJSON` and `MarshalJSON` of `k8s.io/apimachinery/pkg/apis/meta/v1.Time`, and what Go's `time.Parse`
/// takes beyond RFC 3339: an hour of one digit, a comma before the fraction, an offset of 24 hours.
pub(super) fn in_utc(time: &Value) -> Value {
    match time.as_str().and_then(seconds) {
        Some(ZERO) => Value::Null,
        Some(seconds) => printed(seconds).into(),
        None => time.clone(),
    }
}

/// Whether a text is a time at all.
pub(crate) fn is_time(text: &str) -> bool {
    seconds(text).is_some()
}

/// 0001-01-01T00:00:00Z, in seconds since 1970.
const ZERO: i64 = -62_135_596_800;

const SECONDS_OF_A_DAY: i64 = 86_400;

/// The days of 400 years, after which the calendar repeats.
const DAYS_OF_AN_ERA: i64 = 146_097;

/// The seconds since 1970; a fraction is cut off.
fn seconds(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once('T')?;
    let mut date = date.split('-');
    let year = number(date.next()?, 4..=4)?;
    let month = number(date.next()?, 2..=2).filter(|month| (1..=12).contains(month))?;
    let day = number(date.next()?, 2..=2).filter(|day| (1..=31).contains(day))?;
    let zone = rest.find(['Z', '+', '-'])?;
    let (clock, zone) = rest.split_at(zone);
    let clock = clock.split_once(['.', ',']).map_or(clock, |(whole, _fraction)| whole);
    let mut clock = clock.split(':');
    let hour = number(clock.next()?, 1..=2)?;
    let minute = number(clock.next()?, 2..=2)?;
    let second = number(clock.next()?, 2..=2)?;
    if date.next().is_some() || clock.next().is_some() {
        return None;
    }
    Some(days(year, month, day) * SECONDS_OF_A_DAY + hour * 3_600 + minute * 60 + second - offset(zone)?)
}

/// `Z`, `+02:00` or `-05:30`, in seconds.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next()? {
        'Z' => return (zone.len() == 1).then_some(0),
        '+' => 1,
        _ => -1,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    Some(sign * (number(hours, 2..=2)? * 3_600 + number(minutes, 2..=2)? * 60))
}

fn number(digits: &str, length: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let fits = length.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if fits { digits.parse().ok() } else { None }
}

/// The days since 1970 of a date in the Gregorian calendar; years begin in March here, so that leap days come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_OF_AN_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_TO_1970
}

/// From the first of March of the year 0.
const DAYS_TO_1970: i64 = 719_468;

fn printed(seconds: i64) -> String {
    let (day, clock) = (seconds.div_euclid(SECONDS_OF_A_DAY) + DAYS_TO_1970, seconds.rem_euclid(SECONDS_OF_A_DAY));
    let (era, of_era) = (day.div_euclid(DAYS_OF_AN_ERA), day.rem_euclid(DAYS_OF_AN_ERA));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::in_utc;

    #[test]
    fn times_are_printed_in_utc_and_whole_seconds() {
        for (given, printed) in [
            ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
            ("2024-02-29T23:59:59+02:00", "2024-02-29T21:59:59Z"),
            ("2024-12-31T23:30:00-05:30", "2025-01-01T05:00:00Z"),
            ("2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z"),
            ("2023-03-01T00:30:00+01:00", "2023-02-28T23:30:00Z"),
            ("2000-03-01T00:00:00+00:01", "2000-02-29T23:59:00Z"),
            ("1900-03-01T00:00:00+00:01", "1900-02-28T23:59:00Z"),
            ("2024-01-02T03:04:05.999999999+14:00", "2024-01-01T13:04:05Z"),
            ("2024-01-02T3:04:05,5Z", "2024-01-02T03:04:05Z"),
            ("2024-01-02T03:04:05+24:00", "2024-01-01T03:04:05Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(in_utc(&json!(given)), json!(printed), "{given}");
            assert_eq!(in_utc(&json!(printed)), json!(printed), "{printed}");
        }
    }

    #[test]
    fn the_zero_time_is_null_and_what_is_none_stays() {
        for zero in ["0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00.5Z"] {
            assert_eq!(in_utc(&json!(zero)), Value::Null);
        }
        for other in [json!(""), json!("now"), json!("2024-01-02"), json!("T::Z"), json!("2024-01-02Té+0:é"), json!(1)]
        {
            assert_eq!(in_utc(&other), other);
        }
    }
}

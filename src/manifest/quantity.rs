//! Prints a resource quantity (`500m`, `1.5Gi`, `1e3`) in the form in which the API server returns it.
//!
//! Mirrors `k8s.io/apimachinery/pkg/api/resource/quantity.go`: short numbers take a fast path, on which a spelling that
//! looks canonical enough is kept verbatim; everything else is printed from its value.

use std::cmp::Ordering;

/// The most digits of a quantity, and the greatest exponent either way. Kubernetes has no such bound and computes with
/// `10^exponent`: over `1e2147483647`, and even `0e2147483647`, a server's code takes more than ten seconds.
pub const MOST_DIGITS: usize = 1_000;

/// Whether a text is a quantity beyond [`MOST_DIGITS`], which is none for us and must not be sent to a server.
pub fn is_out_of_bounds(text: &str) -> bool {
    let Some(spelling) = Spelling::scan(text.trim()) else { return false };
    let exponent = spelling.suffix.strip_prefix(['e', 'E']).unwrap_or_default();
    let digits = exponent.trim_start_matches(['-', '+']).trim_start_matches('0');
    let number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    spelling.written > MOST_DIGITS
        || (number(digits) && digits.parse::<usize>().map_or(!digits.is_empty(), |exponent| exponent > MOST_DIGITS))
}

/// Why a text is no quantity, in Kubernetes' words; none where it is one. Without [`MOST_DIGITS`], and without computing.
pub(crate) fn mistake(text: &str) -> Option<&'static str> {
    const FORM: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let Some(spelling) = Some(text.trim()).filter(|text| !text.is_empty()).and_then(Spelling::scan) else {
        return Some(FORM);
    };
    let Some(suffix) = Suffix::parse(spelling.suffix) else {
        return Some("unable to parse quantity's suffix");
    };
    let is_number = spelling.has_digits || spelling.is_fast(suffix);
    (!is_number).then_some("unable to parse numeric part of quantity")
}

/// Whether a quantity is rounded up to thousandths before it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Rounded: the values of resource lists (requests, limits, overhead).
    Milli,
    /// Printed as it is: `emptyDir.sizeLimit` and `resourceFieldRef.divisor`.
    Exact,
}

/// The canonical form of a quantity, or nothing if the text is none.
pub fn canonical(text: &str, rounding: Rounding) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let spelling = Spelling::scan(text)?;
    if is_out_of_bounds(text) {
        return None;
    }
    let suffix = Suffix::parse(spelling.suffix)?;
    if spelling.is_kept(suffix, rounding) {
        return Some(text.to_owned());
    }
    let amount = spelling.amount(suffix)?;
    Some(match suffix {
        Suffix::Binary(_) => print_binary(amount, rounding),
        Suffix::Decimal(_) | Suffix::Exponent(_) => print_decimal(amount, suffix, rounding),
    })
}

/// The order of two quantities by what they amount to; none where one of them is no quantity.
pub fn compare(left: &str, right: &str) -> Option<Ordering> {
    Some(Number::parse(left)?.cmp(&Number::parse(right)?))
}

/// What a quantity amounts to.
#[derive(Debug, Clone)]
pub struct Number(Amount);

impl Number {
    /// Reads a quantity; none where the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || is_out_of_bounds(text) {
            return None;
        }
        let spelling = Spelling::scan(text)?;
        let mut amount = spelling.amount(Suffix::parse(spelling.suffix)?)?;
        while amount.digits.last() == Some(&0) {
            amount.digits.pop();
            amount.exponent += 1;
        }
        if amount.digits.is_empty() {
            (amount.exponent, amount.negative) = (0, false);
        }
        Some(Self(amount))
    }

    /// The same rounded up to thousandths, as the values of resource lists are.
    #[must_use]
    pub fn in_thousandths(mut self) -> Self {
        self.0.round_up(MILLI);
        while self.0.digits.last() == Some(&0) {
            self.0.digits.pop();
            self.0.exponent += 1;
        }
        self
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.0.negative
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.digits.is_empty()
    }

    /// Whether it is a whole number.
    pub fn is_whole(&self) -> bool {
        self.0.exponent >= 0 || self.is_zero()
    }

    /// Whether it is a whole multiple of another; false too where one of them is no whole number, or a huge one.
    pub fn is_multiple_of(&self, unit: &Self) -> bool {
        match (self.whole(), unit.whole()) {
            (Some(amount), Some(unit)) if unit > 0 => amount % unit == 0,
            _ => false,
        }
    }

    fn whole(&self) -> Option<u128> {
        let zeros = u32::try_from(self.0.exponent).ok()?;
        let digits = self
            .0
            .digits
            .iter()
            .try_fold(0_u128, |number, digit| number.checked_mul(10)?.checked_add(u128::from(*digit)))?;
        10_u128.checked_pow(zeros)?.checked_mul(digits)
    }

    /// The place of the first digit: how many digits stand before the point, negative for small fractions.
    fn magnitude(&self) -> i64 {
        i64::try_from(self.0.digits.len()).unwrap_or(i64::MAX).saturating_add(self.0.exponent)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.0.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let size = || self.magnitude().cmp(&other.magnitude()).then_with(|| self.0.digits.cmp(&other.0.digits));
        match sign(self).cmp(&sign(other)) {
            Ordering::Equal if sign(self) == 0 => Ordering::Equal,
            Ordering::Equal if self.0.negative => size().reverse(),
            Ordering::Equal => size(),
            unequal => unequal,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

/// The parts of a quantity as they are written.
struct Spelling<'a> {
    negative: bool,
    /// The digits before the point, without leading zeros; "0" if none are left.
    whole: &'a str,
    /// The digits behind the point.
    fraction: &'a str,
    suffix: &'a str,
    /// Whether there is any digit at all.
    has_digits: bool,
    /// How many characters stand before the suffix.
    written: usize,
}

impl<'a> Spelling<'a> {
    /// `parseQuantityString`; a lone sign or point counts as zero there, and so it does here.
    fn scan(text: &'a str) -> Option<Self> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let significant = unsigned.trim_start_matches('0');
        let (whole, rest) = split_digits(significant);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let has_digits = significant.len() < unsigned.len() || !whole.is_empty() || !fraction.is_empty();
        let after_letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let exponent = after_letters.strip_prefix(['-', '+']).unwrap_or(after_letters);
        let whole = if whole.is_empty() { "0" } else { whole };
        let written = text.len() - suffix.len();
        let all = Self { negative, whole, fraction, suffix, has_digits, written };
        exponent.bytes().all(|b| b.is_ascii_digit()).then_some(all)
    }

    /// Whether the fast path applies, on which the value is an int64 times a power of ten.
    fn is_fast(&self, suffix: Suffix) -> bool {
        /// `maxInt64Factors`: so many digits always fit.
        const MAX_DIGITS: usize = 18;
        match suffix {
            Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => {
                self.digit_count() <= MAX_DIGITS && i64::from(exponent) - self.fraction_length() >= NANO
            }
            Suffix::Binary(power) => {
                // 2^10 is about three decimal digits.
                let digits = self.whole.len() + power as usize * 3 / 10 + 1;
                self.fraction.is_empty() && digits <= 15
            }
        }
    }

    /// Whether the spelling passes for canonical and is kept verbatim.
    fn is_kept(&self, suffix: Suffix, rounding: Rounding) -> bool {
        if !self.is_fast(suffix) {
            return false;
        }
        match suffix {
            // The last three bits are those of the last three digits: 1000 is a multiple of 8.
            Suffix::Binary(_) => !last_digits(self.whole).is_multiple_of(8),
            Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => {
                let scale = i64::from(exponent) - self.fraction_length();
                let digits = [self.whole, self.fraction].concat();
                scale % 3 == 0
                    && !digits.ends_with("000")
                    && !digits.starts_with('0')
                    && (rounding == Rounding::Exact || scale >= MILLI)
            }
        }
    }

    /// The value: exact on the fast path, otherwise rounded up to billionths and, if binary, capped at 2^63-1.
    fn amount(&self, suffix: Suffix) -> Option<Amount> {
        let fast = self.is_fast(suffix);
        if !fast && !self.has_digits {
            return None;
        }
        let digits = [self.whole, self.fraction].concat().bytes().map(|b| b - b'0').collect();
        let mut amount = Amount { negative: self.negative, digits, exponent: -self.fraction_length() };
        amount.trim();
        match suffix {
            Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => amount.exponent += i64::from(exponent),
            Suffix::Binary(power) => (0..power / 10).for_each(|_| amount.multiply_by_1024()),
        }
        if !fast {
            amount.round_up(NANO);
        }
        if matches!(suffix, Suffix::Binary(_)) {
            amount.cap();
        }
        Some(amount)
    }

    fn digit_count(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    fn fraction_length(&self) -> i64 {
        i64::try_from(self.fraction.len()).unwrap_or(i64::MAX)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len()))
}

fn last_digits(digits: &str) -> u32 {
    let tail = digits.get(digits.len().saturating_sub(3)..).unwrap_or(digits);
    tail.bytes().fold(0, |number, b| number * 10 + u32::from(b - b'0'))
}

/// Powers of ten of the smallest steps.
const NANO: i64 = -9;
const MILLI: i64 = -3;

#[derive(Clone, Copy)]
enum Suffix {
    /// A power of ten with a letter, or none.
    Decimal(i32),
    /// A power of ten with `e` or `E`.
    Exponent(i32),
    /// A power of two.
    Binary(u32),
}

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        if let Some((_, exponent)) = DECIMAL.iter().find(|(suffix, _)| *suffix == text) {
            return Some(Self::Decimal(*exponent));
        }
        if let Some((_, power)) = BINARY.iter().find(|(suffix, _)| *suffix == text) {
            return Some(Self::Binary(*power));
        }
        let exponent: i64 = text.strip_prefix(['e', 'E'])?.parse().ok()?;
        #[expect(clippy::cast_possible_truncation, reason = "Go wraps here too")]
        Some(Self::Exponent(exponent as i32))
    }
}

const DECIMAL: [(&str, i32); 10] =
    [("", 0), ("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// `digits * 10^exponent`; no leading zeros, and no digits at all for zero.
#[derive(Debug, Clone)]
struct Amount {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Amount {
    fn trim(&mut self) {
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
    }

    fn multiply_by_1024(&mut self) {
        let mut carry = 0_u32;
        for digit in self.digits.iter_mut().rev() {
            carry += u32::from(*digit) * 1024;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            self.digits.insert(0, (carry % 10) as u8);
            carry /= 10;
        }
    }

    /// Rounds away from zero to a multiple of `10^step`; says whether that changed the value.
    fn round_up(&mut self, step: i64) -> bool {
        let Ok(cut) = usize::try_from(step - self.exponent) else { return false };
        if self.digits.is_empty() || cut == 0 {
            return false;
        }
        self.exponent = step;
        let kept = self.digits.len().saturating_sub(cut);
        let inexact = self.digits.drain(kept..).any(|digit| digit != 0);
        if inexact {
            self.add_one();
        }
        inexact
    }

    fn add_one(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    /// The whole part, if it fits.
    fn whole(&self) -> Option<u64> {
        let length = i64::try_from(self.digits.len()).ok()?.checked_add(self.exponent)?;
        if length > 20 {
            return None;
        }
        (0..length).try_fold(0_u64, |number, index| {
            let digit = usize::try_from(index).ok().and_then(|index| self.digits.get(index)).copied().unwrap_or(0);
            number.checked_mul(10)?.checked_add(u64::from(digit))
        })
    }

    /// Caps at 2^63-1, the largest binary value.
    fn cap(&mut self) {
        const MAX: u64 = i64::MAX as u64;
        let fraction = self.exponent < 0 && self.whole() == Some(MAX);
        if self.whole().is_none_or(|whole| whole > MAX) || fraction {
            self.digits = MAX.to_string().bytes().map(|b| b - b'0').collect();
            self.exponent = 0;
        }
    }

    /// The digits and the exponent once the latter is the largest multiple of three that leaves an integer.
    fn canonical(mut self) -> (String, i64) {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        while self.exponent % 3 != 0 {
            self.digits.push(0);
            self.exponent -= 1;
        }
        let sign = if self.negative { "-" } else { "" };
        let digits = self.digits.into_iter().map(|digit| char::from(b'0' + digit));
        (sign.chars().chain(digits).collect(), self.exponent)
    }
}

fn print_decimal(mut amount: Amount, suffix: Suffix, rounding: Rounding) -> String {
    if rounding == Rounding::Milli {
        amount.round_up(MILLI);
    }
    if amount.digits.is_empty() {
        return "0".to_owned();
    }
    let (digits, exponent) = amount.canonical();
    if matches!(suffix, Suffix::Exponent(_)) {
        return if exponent == 0 { digits } else { format!("{digits}e{exponent}") };
    }
    // Beyond E there is no letter, and upstream prints none.
    let letter = DECIMAL.iter().find(|(_, power)| i64::from(*power) == exponent).map_or("", |(letter, _)| letter);
    digits + letter
}

fn print_binary(mut amount: Amount, rounding: Rounding) -> String {
    if rounding == Rounding::Milli {
        amount.round_up(MILLI);
    }
    let whole = amount.whole().unwrap_or_default();
    let has_fraction = amount.exponent < 0 && {
        let places = usize::try_from(-amount.exponent).unwrap_or(usize::MAX);
        amount.digits.iter().rev().take(places).any(|digit| *digit != 0)
    };
    if whole < 1024 || has_fraction {
        return print_decimal(amount, Suffix::Decimal(0), Rounding::Exact);
    }
    let sign = if amount.negative { "-" } else { "" };
    let (mut number, mut power) = (whole, 0);
    while number >= 1024 && number % 1024 == 0 {
        number /= 1024;
        power += 10;
    }
    let letter = BINARY.iter().find(|(_, of)| *of == power).map_or("", |(letter, _)| letter);
    format!("{sign}{number}{letter}")
}

#[cfg(test)]
mod tests {
    use super::{MOST_DIGITS, Number, Rounding, canonical, compare, is_out_of_bounds};

    #[test]
    fn quantities_are_compared_by_what_they_amount_to() {
        for (left, order, right) in [
            ("1", '=', "1000m"),
            ("1Gi", '=', "1024Mi"),
            ("1Gi", '>', "1G"),
            ("0", '=', "-0"),
            ("100m", '<', "1"),
            ("2", '>', "1500m"),
            ("-1", '<', "0"),
            ("-2", '<', "-1"),
            ("1e3", '=', "1k"),
            ("10", '>', "9"),
            ("999999", '<', "1M"),
            ("0.5", '=', "500m"),
            ("1.5Gi", '=', "1536Mi"),
            ("1n", '>', "0"),
        ] {
            let found = match compare(left, right).unwrap() {
                std::cmp::Ordering::Less => '<',
                std::cmp::Ordering::Equal => '=',
                std::cmp::Ordering::Greater => '>',
            };
            assert_eq!(found, order, "{left} {right}");
        }
        assert_eq!(compare("1", "one"), None);
        assert!(Number::parse("1000m").unwrap().is_whole() && !Number::parse("1500m").unwrap().is_whole());
        let multiple =
            |left: &str, right: &str| Number::parse(left).unwrap().is_multiple_of(&Number::parse(right).unwrap());
        assert!(multiple("4Mi", "2Mi") && multiple("0", "2Mi") && !multiple("3Mi", "2Mi") && !multiple("1500m", "1"));
        assert!(Number::parse("1n").unwrap().in_thousandths() == Number::parse("1m").unwrap());
    }

    #[test]
    fn spellings_that_look_canonical_are_kept() {
        for kept in ["0", "1.250", "2.125G", "+1", "01", "1.", "1e0", "1E9", "03Gi", "+3Gi", "1024k", "100m"] {
            assert_eq!(canonical(kept, Rounding::Milli).as_deref(), Some(kept));
        }
    }

    #[test]
    fn other_spellings_are_printed_from_the_value() {
        for (spelling, printed) in [
            ("1.5", "1500m"),
            ("0.5", "500m"),
            ("0.250", "250m"),
            ("+64Mi", "64Mi"),
            ("1e10", "10e9"),
            ("1e-1", "100e-3"),
            ("1.25e9", "1250e6"),
            ("1000e-3", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("-1.5Gi", "-1536Mi"),
            ("65536Ki", "64Mi"),
            ("1.9Gi", "2040109465600m"),
            ("1.1Mi", "1153433600m"),
            ("1000m", "1"),
            ("8Ei", "9223372036854775807"),
            ("9Ei", "9223372036854775807"),
            ("1n", "1m"),
            ("1000E", "1"),
            (" 2.50 ", "2500m"),
            ("+", "0"),
            ("0.0", "0"),
            ("1e-999", "1e-3"),
        ] {
            assert_eq!(canonical(spelling, Rounding::Milli).as_deref(), Some(printed), "{spelling}");
            assert_eq!(canonical(printed, Rounding::Milli).as_deref(), Some(printed), "{printed} again");
        }
    }

    #[test]
    fn only_resource_lists_are_rounded_to_thousandths() {
        assert_eq!(canonical("0.0001", Rounding::Exact).as_deref(), Some("100u"));
        assert_eq!(canonical("0.0001", Rounding::Milli).as_deref(), Some("1m"));
        assert_eq!(canonical("0.00000000001", Rounding::Exact).as_deref(), Some("1n"));
    }

    #[test]
    fn what_a_server_would_compute_for_ever_is_none() {
        let (most, more) = ("1".repeat(MOST_DIGITS), "1".repeat(MOST_DIGITS + 1));
        let zeros = "0".repeat(MOST_DIGITS + 1);
        for huge in ["1e2147483647", "0e2147483647", "1E-2147483647", "1e1001", "-1e+1001", "1e99999999999999999999"]
            .into_iter()
            .chain([&*more, &*zeros])
        {
            assert!(is_out_of_bounds(huge), "{huge}");
            assert_eq!(canonical(huge, Rounding::Exact), None, "{huge}");
            assert!(Number::parse(huge).is_none(), "{huge}");
        }
        for fine in ["1e1000", "1e-1000", "1e0000000001", "9E", "1Ei", &most] {
            assert!(!is_out_of_bounds(fine) && Number::parse(fine).is_some(), "{fine}");
        }
        assert!(!is_out_of_bounds("x") && !is_out_of_bounds("1e") && !is_out_of_bounds(""));
    }

    #[test]
    fn what_is_no_quantity_has_no_form() {
        for text in ["", " ", "x", "1x", "1 Gi", "1GiB", "1e", "1e+", "--1", "1.2.3", "0x10", "1ki", "é", "1Gi\u{e9}"]
        {
            assert_eq!(canonical(text, Rounding::Milli), None, "{text}");
        }
    }
}

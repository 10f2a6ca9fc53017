//! Label selectors: `app=web,tier in (a, b),!canary`.
//!
//! Reads them as `k8s.io/apimachinery/pkg/labels` does and refuses them in its words.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sim::status::Status;

/// What an object's labels have to be; the default takes everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Reads a selector.
    ///
    /// # Errors
    /// 400, with what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        parse(text).map(Self).map_err(Status::bad_request)
    }

    /// Whether everything is taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these labels are taken.
    pub(crate) fn takes(&self, labels: &Value) -> bool {
        self.0.iter().all(|requirement| requirement.met(labels.get(&requirement.key).and_then(Value::as_str)))
    }
}

impl Requirement {
    fn met(&self, value: Option<&str>) -> bool {
        let compares = |good: fn(&i64, &i64) -> bool| {
            let limit = self.values.first().and_then(|it| it.parse().ok());
            value.and_then(|it| it.parse().ok()).zip(limit).is_some_and(|(value, limit)| good(&value, &limit))
        };
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => compares(i64::gt),
            Operator::LessThan => compares(i64::lt),
        }
    }
}

/// A piece of a selector, with its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    Word,
    Comma,
    Open,
    Close,
    Not,
    Equals,
    NotEquals,
    In,
    NotIn,
    GreaterThan,
    LessThan,
    Bad,
}

fn tokens(text: &str) -> Vec<(Token, String)> {
    let special = |char: char| "=!(),><".contains(char);
    let space = |char: char| matches!(char, ' ' | '\t' | '\r' | '\n');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(space);
    while let Some(first) = rest.chars().next() {
        let (token, length) = if special(first) {
            symbol(rest)
        } else {
            let length = rest.find(|char| special(char) || space(char)).unwrap_or(rest.len());
            let token = match &rest[..length] {
                "in" => Token::In,
                "notin" => Token::NotIn,
                _ => Token::Word,
            };
            (token, length)
        };
        tokens.push((token, rest[..length].to_owned()));
        rest = rest[length..].trim_start_matches(space);
    }
    tokens
}

/// The longest symbol that the text begins with, and its length.
fn symbol(text: &str) -> (Token, usize) {
    const SYMBOLS: [(&str, Token); 9] = [
        ("==", Token::Equals),
        ("!=", Token::NotEquals),
        ("=", Token::Equals),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
        (",", Token::Comma),
        (">", Token::GreaterThan),
        ("<", Token::LessThan),
    ];
    let found = SYMBOLS.into_iter().find(|(symbol, _)| text.starts_with(symbol));
    found.map_or((Token::Bad, 1), |(symbol, token)| (token, symbol.len()))
}

/// The pieces that are still to be read.
struct Parser {
    tokens: Vec<(Token, String)>,
    at: usize,
}

impl Parser {
    /// The next piece where values may stand: `in` and `notin` are words there.
    fn peek(&self) -> (Token, &str) {
        match self.tokens.get(self.at) {
            None => (Token::End, ""),
            Some((Token::In | Token::NotIn, text)) => (Token::Word, text),
            Some((token, text)) => (*token, text),
        }
    }

    fn take(&mut self) -> (Token, String) {
        let (token, text) = self.peek();
        let taken = (token, text.to_owned());
        self.at += 1;
        taken
    }

    fn take_operator(&mut self) -> (Token, String) {
        let taken = self.tokens.get(self.at).cloned().unwrap_or((Token::End, String::new()));
        self.at += 1;
        taken
    }
}

fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            (Token::End, _) => return Ok(requirements),
            (Token::Word | Token::Not, _) => {}
            (_, text) => return Err(format!("found '{text}', expected: !, identifier, or 'end of string'")),
        }
        let requirement = requirement(&mut parser).map_err(|why| format!("unable to parse requirement: {why}"))?;
        requirements.push(requirement);
        match parser.take() {
            (Token::End, _) => return Ok(requirements),
            (Token::Comma, _) => match parser.peek() {
                (Token::Word | Token::Not, _) => {}
                (_, text) => return Err(format!("found '{text}', expected: identifier after ','")),
            },
            (_, text) => return Err(format!("found '{text}', expected: ',' or 'end of string'")),
        }
    }
}

fn requirement(parser: &mut Parser) -> Result<Requirement, String> {
    let mut taken = parser.take();
    let absent = taken.0 == Token::Not;
    if absent {
        taken = parser.take();
    }
    let (Token::Word, key) = taken else {
        return Err(format!("found '{}', expected: identifier", taken.1));
    };
    if let Some(wrong) = wrong_key(&key) {
        return Err(format!("<nil>: Invalid value: {}: {wrong}", quoted(&key)));
    }
    if absent {
        return Ok(Requirement { key, operator: Operator::DoesNotExist, values: BTreeSet::new() });
    }
    if matches!(parser.peek().0, Token::End | Token::Comma) {
        return Ok(Requirement { key, operator: Operator::Exists, values: BTreeSet::new() });
    }
    let (token, text) = parser.take_operator();
    let (operator, values) = match token {
        Token::In => (Operator::In, values(parser)?),
        Token::NotIn => (Operator::NotIn, values(parser)?),
        Token::Equals => (Operator::In, value(parser)?),
        Token::NotEquals => (Operator::NotIn, value(parser)?),
        Token::GreaterThan => (Operator::GreaterThan, value(parser)?),
        Token::LessThan => (Operator::LessThan, value(parser)?),
        Token::End | Token::Word | Token::Comma | Token::Open | Token::Close | Token::Not | Token::Bad => {
            return Err(format!("found '{text}', expected: in, notin, =, ==, !=, gt, lt"));
        }
    };
    let mut wrong = Vec::new();
    for (at, value) in values.iter().enumerate() {
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) && value.parse::<i64>().is_err() {
            wrong.push(format!(
                "values[{at}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                quoted(value)
            ));
        }
        if let Some(why) = wrong_value(value) {
            wrong.push(format!("values[{at}][{key}]: Invalid value: {}: {why}", quoted(value)));
        }
    }
    match wrong.as_slice() {
        [] => Ok(Requirement { key, operator, values }),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

/// The values in parentheses. Nothing between two commas is the empty value.
fn values(parser: &mut Parser) -> Result<BTreeSet<String>, String> {
    let (Token::Open, _) = parser.take() else {
        parser.at -= 1;
        return Err(format!("found '{}' expected: '('", parser.peek().1));
    };
    let mut values = BTreeSet::new();
    match parser.peek() {
        (Token::Close, _) => {
            parser.take();
            return Ok(values);
        }
        (Token::Word | Token::Comma, _) => {}
        (_, text) => return Err(format!("found '{text}', expected: ',', ')' or identifier")),
    }
    loop {
        match parser.take() {
            (Token::Word, text) => {
                values.insert(text);
                match parser.peek() {
                    (Token::Comma, _) => {}
                    (Token::Close, _) => break,
                    (_, text) => return Err(format!("found '{text}', expected: ',' or ')'")),
                }
            }
            (Token::Comma, _) => {
                if values.is_empty() {
                    values.insert(String::new());
                }
                match parser.peek().0 {
                    Token::Close => {
                        values.insert(String::new());
                        break;
                    }
                    Token::Comma => {
                        parser.take();
                        values.insert(String::new());
                    }
                    _ => {}
                }
            }
            (_, text) => return Err(format!("found '{text}', expected: ',', or identifier")),
        }
    }
    parser.take();
    Ok(values)
}

/// The one value behind `=` and its like; nothing is the empty value.
fn value(parser: &mut Parser) -> Result<BTreeSet<String>, String> {
    match parser.peek() {
        (Token::End | Token::Comma, _) => Ok(BTreeSet::from([String::new()])),
        (Token::Word, _) => Ok(BTreeSet::from([parser.take().1])),
        (_, text) => Err(format!("found '{text}', expected: identifier")),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

const MOST_CHARACTERS: usize = 63;

fn framed(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    outer(bytes.first()) && outer(bytes.last()) && bytes.iter().all(|byte| inner(*byte))
}

/// What the server says of a label's key that is none.
fn wrong_key(key: &str) -> Option<String> {
    let parts: Vec<&str> = key.split('/').collect();
    let mut wrong: Vec<String> = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".into());
            } else if !is_domain(prefix) {
                wrong.push("prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')".into());
            }
            name
        }
        _ => {
            return Some("a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')".into());
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".into());
    } else if name.len() > MOST_CHARACTERS {
        wrong.push("name part must be no more than 63 bytes".into());
    }
    if !framed(name) {
        wrong.push("name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')".into());
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

fn is_domain(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 253
        && text.split('.').all(|part| {
            let bytes = part.as_bytes();
            let outer = |byte: Option<&u8>| byte.is_some_and(|byte| good(*byte));
            outer(bytes.first()) && outer(bytes.last()) && bytes.iter().all(|byte| good(*byte) || *byte == b'-')
        })
}

/// What the server says of a label's value that is none.
fn wrong_value(value: &str) -> Option<String> {
    let mut wrong = Vec::new();
    if value.len() > MOST_CHARACTERS {
        wrong.push("must be no more than 63 bytes");
    }
    if !value.is_empty() && !framed(value) {
        wrong.push("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{LabelSelector, parse};

    #[test]
    fn selectors_take_what_kubernetes_takes() {
        let labels = json!({"app": "web", "tier": "front", "n": "5", "empty": "", "in": "x"});
        for (selector, takes) in [
            ("", true),
            ("app=web", true),
            ("app==web", true),
            ("app = web", true),
            ("app!=web", false),
            ("nope!=web", true),
            ("app in (web,api)", true),
            ("app in (api , db)", false),
            ("app notin (api)", true),
            ("nope notin (api)", true),
            ("app", true),
            ("!app", false),
            ("! nope", true),
            ("app,tier=front,!nope", true),
            ("app,tier=back", false),
            ("n>4", true),
            ("n>5", false),
            ("n<6", true),
            ("app<6", false),
            ("empty=", true),
            ("empty in (,a)", true),
            ("app in (a,)", false),
            ("app in ()", false),
            ("app notin ()", true),
            ("empty", true),
            ("in=x", true),
            ("in in (x)", true),
        ] {
            assert_eq!(LabelSelector::parse(selector).unwrap().takes(&labels), takes, "{selector}");
        }
    }

    /// The texts are those of a 1.36.3 server.
    #[test]
    fn what_is_no_selector_is_refused_in_the_words_of_the_server() {
        for (selector, words) in [
            ("app===web", "unable to parse requirement: found '=', expected: identifier"),
            ("app in web", "unable to parse requirement: found 'web' expected: '('"),
            (",", "found ',', expected: !, identifier, or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
            ("=", "found '=', expected: !, identifier, or 'end of string'"),
            ("/b", "unable to parse requirement: <nil>: Invalid value: \"/b\": prefix part must be non-empty"),
            (
                "a<",
                "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
            (
                "app>web",
                "unable to parse requirement: values[0]: Invalid value: \"web\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
            (
                "a=-",
                "unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ),
            (
                "-x",
                "unable to parse requirement: <nil>: Invalid value: \"-x\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ),
        ] {
            assert_eq!(parse(selector).unwrap_err(), words, "{selector}");
        }
    }
}

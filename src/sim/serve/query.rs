//! Takes a request's target apart: the path and the parameters, decoded.

/// The path of a target, decoded; none where it cannot be.
pub(super) fn path(encoded: &str) -> Option<String> {
    decode(encoded, false)
}

/// The parameters of a query, decoded, in order; none where one of them cannot be.
pub(super) fn parameters(query: &str) -> Option<Vec<(String, String)>> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(key, true)?, decode(value, true)?))
        })
        .collect()
}

/// `%XX` as the byte it stands for, and `+` as a space where it is one; none where it is no UTF-8, or cut short.
fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(bytes.next()?)? * 16 + digit(bytes.next()?)?
            }
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        assert_eq!(path("/api/v1/pods/a%2Fb+c"), Some("/api/v1/pods/a/b+c".into()));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            parameters("watch=true&labelSelector=a%3Db%2Cc+d&&limit="),
            Some(vec![pair("watch", "true"), pair("labelSelector", "a=b,c d"), pair("limit", "")])
        );
        assert_eq!(parameters(""), Some(Vec::new()));
        for bad in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(path(bad), None, "{bad}");
        }
    }
}

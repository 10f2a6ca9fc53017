//! Who may ask over a socket: the name that the request is sent to, and the token that it brings.

use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST, ORIGIN};

use crate::sim::status::Status;

/// A token that begins so is that of the user it goes on with. Whoever can reach the socket may do everything: tokens
/// are there to tell one client from another.
const PREFIX: &str = "phaseline-user:";

/// As whom those go who do not say who they are: kubectl keeps its token to itself where there is no TLS.
const SILENT: &str = "admin";

/// The longest name of a user.
const MOST_CHARACTERS: usize = 253;

/// The token of a user.
pub fn token(user: &str) -> String {
    format!("{PREFIX}{user}")
}

/// Who asks.
///
/// # Errors
/// 403 for a name that is not this machine's and for pages in a browser, 401 for a token that is none.
pub(super) fn user(headers: &HeaderMap) -> Result<&str, Status> {
    local(headers)?;
    if headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site") {
        return Err(Status::new(403, "Forbidden", "the embedded cluster does not answer to pages in a browser"));
    }
    let Some(header) = headers.get(AUTHORIZATION) else { return Ok(SILENT) };
    let token = header.to_str().ok().and_then(|text| {
        let (scheme, token) = text.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    match token.and_then(|token| token.strip_prefix(PREFIX)) {
        Some(user) if !user.is_empty() && user.len() <= MOST_CHARACTERS => Ok(user),
        _ => Err(Status::new(401, "Unauthorized", "Unauthorized")),
    }
}

/// Refuses what was sent to another name: a page in a browser may have had its own name point here.
fn local(headers: &HeaderMap) -> Result<(), Status> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let loopback = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if loopback || name.eq_ignore_ascii_case("localhost") {
        return Ok(());
    }
    let message =
        "the embedded cluster answers to localhost, 127.0.0.1 and [::1] only, not to the name in the Host header";
    Err(Status::new(403, "Forbidden", message))
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{AUTHORIZATION, HOST};

    use super::{token, user};

    fn asked(host: &str, authorization: &str) -> Result<String, u16> {
        let mut headers = HeaderMap::new();
        if !host.is_empty() {
            headers.insert(HOST, host.parse().unwrap());
        }
        if !authorization.is_empty() {
            headers.insert(AUTHORIZATION, authorization.parse().unwrap());
        }
        user(&headers).map(Into::into).map_err(|status| status.code)
    }

    #[test]
    fn a_token_says_who_it_is() {
        let bearer = |user: &str| format!("Bearer {}", token(user));
        let daemon = "system:serviceaccount:shop:phaseline";
        assert_eq!(asked("127.0.0.1:80", &bearer("jo")), Ok("jo".into()));
        assert_eq!(asked("localhost", &bearer(daemon).to_lowercase()), Ok(daemon.into()));
        assert_eq!(asked("localhost", ""), Ok("admin".into()));
        for wrong in ["Bearer", "Bearer x", "Basic YTpi", "Bearer phaseline-user:", &bearer(&"a".repeat(300))] {
            assert_eq!(asked("127.0.0.1:80", wrong), Err(401), "{wrong}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_answered_to() {
        for host in ["127.0.0.1:8001", "127.1.2.3", "localhost:1", "LOCALHOST", "[::1]:8001"] {
            assert!(asked(host, "").is_ok(), "{host}");
        }
        for host in
            ["", "example.com", "example.com:8001", "10.0.0.1:8001", "[fe80::1]:1", "localhost.example.com", "["]
        {
            assert_eq!(asked(host, ""), Err(403), "{host}");
        }
    }

    #[test]
    fn pages_in_a_browser_are_not_answered() {
        for name in ["origin", "sec-fetch-site"] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost".parse().unwrap());
            headers.insert(name, "null".parse().unwrap());
            assert_eq!(user(&headers).unwrap_err().code, 403, "{name}");
        }
    }
}

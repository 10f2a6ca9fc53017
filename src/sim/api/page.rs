//! Lists in pages: the `continue` token, in the server's own form.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::manifest::go_syntax;
use crate::sim::resource::Resource;
use crate::sim::status::Status;

/// A token longer than this was not made here: names have 253 characters at most.
const MOST_BYTES: usize = 2048;

/// Where a list goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The resource version of its first page; none: whatever there is now.
    pub(crate) version: Option<u64>,
    /// What was listed last: `NAMESPACE/NAME`, or the name where only one namespace is listed.
    pub(crate) after: String,
}

impl Page {
    /// Reads a token.
    ///
    /// # Errors
    /// 400.
    pub(crate) fn read(token: &str) -> Result<Self, Status> {
        let wrong =
            |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        if token.len() > MOST_BYTES {
            return Err(wrong("too long"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| wrong(&error.to_string()))?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(&go_syntax::fault(&bytes).unwrap_or_else(|| error.to_string())))?;
        if value["v"] != "meta.k8s.io/v1" {
            return Err(wrong(&format!("server does not recognize this encoded version {}", value["v"])));
        }
        let version = match value["rv"].as_i64() {
            Some(-1) => None,
            Some(version) if version > 0 => Some(version.unsigned_abs()),
            _ => return Err(wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")),
        };
        let start = value["start"].as_str().unwrap_or_default();
        let start = start.strip_prefix('/').unwrap_or(start);
        match start.strip_suffix('\0') {
            Some(after) if !after.is_empty() => Ok(Self { version, after: after.to_owned() }),
            _ => Err(wrong("encoded start key empty (version meta.k8s.io/v1)")),
        }
    }

    /// The token.
    pub(crate) fn token(&self, resource: Resource) -> String {
        // Events lie elsewhere in a real server's store, and their keys begin otherwise.
        let slash = if resource == Resource::Events { "" } else { "/" };
        let version = self.version.and_then(|it| i64::try_from(it).ok()).unwrap_or(-1);
        let token = json!({"v": "meta.k8s.io/v1", "rv": version, "start": format!("{slash}{}\0", self.after)});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::Page;
    use crate::sim::resource::Resource;

    #[test]
    fn the_token_of_a_real_server_is_read_and_ours_is_of_its_form() {
        let real = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTEwNCwic3RhcnQiOiIvd2ViLTBcdTAwMDAifQ";
        let page = Page::read(real).unwrap();
        assert_eq!(page, Page { version: Some(1104), after: "web-0".into() });
        assert_eq!(Page::read(&page.token(Resource::Pods)).unwrap(), page);
        let events = Page { version: None, after: "shop/web-0.18e9f4151036d0e0".into() };
        let token = URL_SAFE_NO_PAD.decode(events.token(Resource::Events)).unwrap();
        let token = String::from_utf8(token).unwrap();
        assert_eq!(token, r#"{"rv":-1,"start":"shop/web-0.18e9f4151036d0e0\u0000","v":"meta.k8s.io/v1"}"#);
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        // As a 1.36.3 server says it.
        assert_eq!(
            Page::read("abc").unwrap_err().message,
            "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value"
        );
        for token in [
            "abc",
            "%%%",
            &encoded("{}"),
            &encoded(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"/a\u0000"}"#),
            &encoded(r#"{"v":"meta.k8s.io/v1","rv":7,"start":""}"#),
            &encoded(r#"{"v":"meta.k8s.io/v1","rv":7,"start":"/\u0000"}"#),
            &"a".repeat(5000),
        ] {
            let status = Page::read(token).unwrap_err();
            assert!(status.message.starts_with("invalid continue token: continue key is not valid: "), "{token}");
            assert_eq!(status.code, 400);
        }
    }
}

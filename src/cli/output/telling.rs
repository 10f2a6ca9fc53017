//! Tells what looks like a secret, by its name and by its shape.

/// Parts of names whose values nobody should read over somebody's shoulder.
const CONTAINED: [&str; 10] =
    ["PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "SECRET", "CREDENTIAL", "APIKEY", "PRIVATE", "WEBHOOK", "SIGNING"];

/// Words that tell wherever they stand in a name of several.
const WORDS: [&str; 13] =
    ["PASS", "PWD", "PW", "CRED", "CREDS", "DSN", "COOKIE", "SALT", "PEPPER", "JWT", "BEARER", "KEYS", "CONNSTR"];

/// Words that tell at the end of a name: `BASIC_AUTH`, and not `AUTH_MODE`.
const LAST: [&str; 7] = ["AUTH", "AUTHORIZATION", "PIN", "OTP", "TOTP", "SIGNATURE", "SIG"];

/// What is reached with a password in its address.
const WITH_PASSWORD: [&str; 20] = [
    "DATABASE",
    "DB",
    "REDIS",
    "MONGO",
    "MONGODB",
    "POSTGRES",
    "POSTGRESQL",
    "PG",
    "MYSQL",
    "MARIADB",
    "AMQP",
    "RABBITMQ",
    "BROKER",
    "CELERY",
    "SMTP",
    "MAIL",
    "LDAP",
    "JDBC",
    "SENTRY",
    "CONNECTION",
];

/// Words that end in PASS and are none.
const NO_PASS: [&str; 6] = ["BYPASS", "COMPASS", "TRESPASS", "SURPASS", "UNDERPASS", "OVERPASS"];

/// How tokens and keys of well-known services begin.
const BEGINNINGS: [&str; 30] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxs-",
    "xapp-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "whsec_",
    "sk-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "dop_v1_",
    "hvs.",
    "SG.",
    "AGE-SECRET-KEY-",
    "eyJ",
];

/// The fewest letters of a token behind its beginning.
const LEAST_TOKEN: usize = 12;
/// The fewest letters of a text that chance alone could have made.
const LEAST_RANDOM: usize = 32;

/// Whether something of this name had better not be shown.
pub(super) fn is_telling(name: &str) -> bool {
    let words = words(name);
    let upper: String = name.to_ascii_uppercase().chars().filter(char::is_ascii_alphanumeric).collect();
    let several = words.len() > 1;
    let ends_with_key = words.iter().any(|word| word.ends_with("KEY"));
    let pass = |word: &str| word.len() > 4 && word.ends_with("PASS") && !NO_PASS.contains(&word);
    let last = words.last().map_or("", String::as_str);
    let address = matches!(last, "URL" | "URI" | "STRING" | "STR" | "ADDRESS");
    ends_with_key
        || CONTAINED.iter().any(|part| upper.contains(part))
        // The environment's own PWD is a folder.
        || words.iter().any(|word| WORDS.contains(&word.as_str()) && (several || word != "PWD") || pass(word))
        || LAST.contains(&last)
        || address && words.iter().any(|word| WITH_PASSWORD.contains(&word.as_str()))
}

/// The words of a name, in capitals: `DB_PASS`, `db-pass`, `dbPass`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let begins = letter.is_ascii_uppercase() && before.is_ascii_lowercase();
        if begins || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_uppercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a value has the shape of a secret: an address with a password, a key, a token, what only chance makes.
pub(super) fn is_secret(value: &str) -> bool {
    if value.contains("-----BEGIN") && value.contains("PRIVATE KEY") {
        return true;
    }
    value
        .split(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | ','))
        .any(|word| has_userinfo(word) || is_token(word) || has_telling_pair(word) || is_random(word))
        || is_header(value)
}

/// `postgres://user:word@host`, `https://token@host`.
fn has_userinfo(word: &str) -> bool {
    let Some((scheme, rest)) = word.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A password may hold a slash.
    let user = authority.rsplit_once('@').or_else(|| rest.split_once(':')?.1.rsplit_once('@')).map(|(user, _)| user);
    let scheme = scheme.rsplit(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    user.is_some_and(|user| user.contains(':') || scheme.starts_with("http") && !user.is_empty())
        || authority.rsplit_once('@').is_none() && user.is_some() && rest.contains('@')
}

fn is_token(word: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| {
        let Some(at) = word.find(beginning) else { return false };
        let alone = word[..at].chars().next_back().is_none_or(|letter| !letter.is_ascii_alphanumeric());
        let rest = &word[at + beginning.len()..];
        let letters = rest.chars().take_while(|letter| letter.is_ascii_alphanumeric() || "-_.+/=".contains(*letter));
        alone && letters.count() >= LEAST_TOKEN && rest.chars().any(|letter| letter.is_ascii_digit())
    })
}

/// `?access_token=..`, `Password=..;`: a name that tells, with a value.
fn has_telling_pair(word: &str) -> bool {
    word.split(['?', '&', ';']).any(|pair| {
        pair.split_once('=').is_some_and(|(name, value)| {
            !value.is_empty() && !name.is_empty() && !name.contains("://") && is_telling(name.trim_start_matches('-'))
        })
    })
}

/// `Authorization: Bearer ..`, `Basic ..`.
fn is_header(value: &str) -> bool {
    let mut words = value.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if matches!(word.to_ascii_lowercase().as_str(), "bearer" | "basic")
            && words.peek().is_some_and(|token| token.len() >= LEAST_TOKEN)
        {
            return true;
        }
    }
    false
}

/// Letters of both cases and digits, as base64 has them; digests, paths and names have fewer kinds.
fn is_random(word: &str) -> bool {
    let count = |is: fn(&char) -> bool| word.chars().filter(is).count();
    word.len() >= LEAST_RANDOM
        && !word.starts_with('/')
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "+/=_-".contains(letter))
        && count(char::is_ascii_digit) >= 3
        && count(char::is_ascii_uppercase) >= 3
        && count(char::is_ascii_lowercase) >= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell() {
        for name in [
            "DB_PASSWORD",
            "apiKey",
            "AWS_SECRET_ACCESS_KEY",
            "token",
            "TLS_KEYS",
            "user-credentials",
            "DATABASE_URL",
            "MYSQL_PWD",
            "DB_PASS",
            "dbPass",
            "PGPASSWORD",
            "REDIS_URL",
            "MONGO_URI",
            "SENTRY_DSN",
            "BASIC_AUTH",
            "SLACK_WEBHOOK_URL",
            "SESSION_COOKIE",
            "PASSWORD_SALT",
            "SMTP_PASS",
            "DBPASS",
            "JDBC_CONNECTION_STRING",
            "GITHUB_PAT_TOKEN",
            "ENCRYPTION_KEY",
            "AWS_CREDS",
            "COOKIE_SECRET",
            "authorization",
            "RABBITMQ_ERLANG_COOKIE",
            "PRIVATE_PEM",
            "CLIENT_PW",
            "otp",
        ] {
            assert!(is_telling(name), "{name}");
        }
        for name in [
            "LOG_LEVEL",
            "KEYCLOAK_URL",
            "PORT",
            "KEYSPACE",
            "PWD",
            "OLDPWD_",
            "BYPASS_CACHE",
            "COMPASS",
            "AUTH_MODE",
            "PUBLIC_URL",
            "REPLICAS",
            "PASSIVE",
            "SPINNER",
            "HOSTNAME",
            "POD_NAME",
            "DB_HOST",
            "DESIGN",
            "checksum/config",
        ] {
            assert!(!is_telling(name), "{name}");
        }
    }

    #[test]
    fn shapes_tell() {
        for value in [
            "postgres://app:hunter2@db:5432/app",
            "postgres://app:hun/ter2@db:5432/app",
            "jdbc:mysql://root:pw@db/x",
            "--dsn=redis://:word@cache:6379",
            "https://ghp_abcdef@github.com/x.git",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "glpat-xxxx-yyyyZZZZ1234567",
            "AKIAIOSFODNN7EXAMPLE",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
            "Authorization: Bearer abcdefghijklmno",
            "Server=db;User=sa;Password=x;",
            "https://h/x?access_token=abc",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY0123",
        ] {
            assert!(is_secret(value), "{value}");
        }
        for value in [
            "https://example.com/a?page=2",
            "http://web.default.svc:8080",
            "ssh://git@host/x",
            "nginx:1.27@sha256:0d17b565c37bcbd895e9d92315a05c1c3c9a29f762b011a10c54a66cd53c9b31",
            "0d17b565c37bcbd895e9d92315a05c1c3c9a29f762b011a10c54a66cd53c9b31",
            "/usr/local/share/java/MyProgram-1.2.3-With-Dependencies-A-B-C.jar",
            "info",
            "--port=8080",
            "a@b.example",
            "1h30m",
            "-Xmx512m",
            "JAVA_OPTS=-Xmx1g",
            "",
            "my-very-long-service-name-in-some-namespace-0123",
        ] {
            assert!(!is_secret(value), "{value}");
        }
    }
}

//! Makes the plain values of generated manifests: usual ones, and those at which readers differ.

use fastrand::Rng;
use serde_json::{Value, json};

/// A text for a field; what it is called decides which ones make sense.
pub(super) fn text(rng: &mut Rng, field: &str) -> String {
    if rng.u8(..100) < 8 {
        return pick(rng, ODD_TEXTS).to_owned();
    }
    let pool: &[&str] = match field {
        "image" | "reference" => return image(rng),
        "imagePullPolicy" | "pullPolicy" => &["Always", "IfNotPresent", "Never", ""],
        "type" => &["RollingUpdate", "OnDelete", "", "RuntimeDefault", "Localhost", "Directory", "Recreate"],
        "protocol" => &["TCP", "UDP", "SCTP", ""],
        "scheme" => &["HTTP", "HTTPS", ""],
        "operator" => &["In", "NotIn", "Exists", "DoesNotExist", "Equal", ""],
        "restartPolicy" => &["Always", "", "Never", "OnFailure", "NotRequired"],
        "dnsPolicy" => &["ClusterFirst", "None", "Default", ""],
        "podManagementPolicy" => &["Parallel", "OrderedReady", ""],
        "whenDeleted" | "whenScaled" => &["Retain", "Delete", ""],
        "volumeMode" => &["Filesystem", "Block", ""],
        "phase" => &["Pending", "Bound", ""],
        "serviceAccount" | "serviceAccountName" => &["", "one", "two"],
        "name" => &["data", "cfg", "v0", "v1", "web"],
        "schedulerName" => &["default-scheduler", "", "other"],
        "terminationMessagePath" => &["/dev/termination-log", "", "/x"],
        "path" => &["/", "", "a/b", "/healthz"],
        "stopSignal" => &["SIGTERM", "SIGKILL", ""],
        "apiVersion" => &["v1", "", "apps/v1"],
        "medium" => &["", "Memory", "HugePages"],
        _ => &["", "a", "web", "x-1", "/data", "kubernetes.io/hostname", "a b"],
    };
    pick(rng, pool).to_owned()
}

fn pick<T: Copy>(rng: &mut Rng, pool: &[T]) -> T {
    pool[rng.usize(..pool.len())]
}

const ODD_TEXTS: &[&str] = &[
    "",
    " ",
    "null",
    "true",
    "0",
    "1.0",
    "~",
    "<a>&b\"'\\",
    "ä€😀",
    "line\nbreak\r\n\ttab",
    "\u{0}\u{1}\u{8}\u{c}\u{1f}",
    "\u{7f}\u{80}\u{85}\u{9f}\u{a0}",
    "\u{2028}\u{2029}\u{fffe}\u{ffff}\u{feff}\u{fffd}",
    "\u{e000}\u{10ffff}\u{1f468}\u{200d}",
    "# no comment: - [x] {y} *a &b !c %d @e `f",
    "$(POD_NAME) {{ .Values.x }}",
];

fn image(rng: &mut Rng) -> String {
    const HOSTS: &[&str] = &[
        "",
        "",
        "",
        "docker.io/",
        "index.docker.io/",
        "ghcr.io/org/",
        "registry:5000/",
        "localhost/",
        "localhost:5000/a/",
        "library/",
        "Host/",
        "foo_bar.x/",
        "[::1]:5000/",
        "[fe80::1]/",
        "-bad.io/",
        "a..b/",
        "EXAMPLE.com/",
        "x.io:/",
        "x.io:port/",
        "a//b/",
        "_a/",
        "a.b.c.d/e__f/",
        "a---b/",
    ];
    const NAMES: &[&str] = &[
        "nginx",
        "app",
        "App",
        "a_b",
        "a__b",
        "a___b",
        "a-b",
        "a.b",
        "-a",
        "a-",
        "",
        "a/b",
        "é",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ];
    const TAGS: &[&str] =
        &["", "", ":latest", ":1", ":v1.2.3-alpine", ":LATEST", ":", ":a:b", ":_x", ":-x", ":.x", ": ", ":latest "];
    const DIGESTS: &[&str] = &[
        "",
        "",
        "",
        "",
        "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "@sha256:0123",
        "@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
        "@md5:0123456789abcdef0123456789abcdef",
        "@",
        "@sha512:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ];
    if rng.u8(..40) == 0 {
        return format!("{}:latest", "a".repeat(rng.usize(240..270)));
    }
    if rng.u8(..40) == 0 {
        return format!("a:{}", "b".repeat(rng.usize(126..131)));
    }
    [pick(rng, HOSTS), pick(rng, NAMES), pick(rng, TAGS), pick(rng, DIGESTS)].concat()
}

pub(super) fn key(rng: &mut Rng) -> String {
    const KEYS: &[&str] = &[
        "a",
        "app",
        "app.kubernetes.io/name",
        "cpu",
        "memory",
        "storage",
        "ephemeral-storage",
        "hugepages-2Mi",
        "nvidia.com/gpu",
        "B",
        "$a",
        "",
        "true",
        "1",
        "ä",
        "\u{2028}",
        "<&>",
        "pod.beta.kubernetes.io/init-containers",
        "pod.alpha.kubernetes.io/init-container-statuses",
        "kubectl.kubernetes.io/restartedAt",
        "\u{ffff}",
        "😀",
    ];
    pick(rng, KEYS).to_owned()
}

/// A whole number, rarely one that does not fit or is spelled as a fraction.
pub(super) fn whole(rng: &mut Rng, bits: u8) -> Value {
    match rng.u8(..100) {
        0..30 => json!(rng.i64(0..4)),
        30..70 => json!(pick(rng, &[5, 10, 30, 80, 420, 0o777, 1000, 3600, 65535, 65536_i64])),
        70..78 => json!(-rng.i64(1..100)),
        78..84 => json!(i64::from(pick(rng, &[i32::MAX, i32::MIN, i32::MAX - 1]))),
        84..88 if bits == 64 => json!(rng.i64(..)),
        84..88 => json!(pick(rng, &[2_147_483_648_i64, 4_294_967_296, 4_294_967_299, 9_007_199_254_740_993, i64::MIN])),
        88..92 => json!(pick(rng, &[10.0, 0.0, -0.0, 1e3, 3e9, 1e15])),
        92..93 => json!(pick(rng, &[9_223_372_036_854_775_808_u64, u64::MAX])),
        93..94 => json!(pick(rng, &[1e19, 1e20, 1e21, -1e19, 1e300])),
        94..95 => json!(1.5),
        _ => json!(0),
    }
}

pub(super) fn quantity(rng: &mut Rng) -> Value {
    const USUAL: &[&str] = &["100m", "1", "0", "512Mi", "1Gi", "0.5", "1.5", "2G", "1e3", "250m", "64Mi", "10Gi"];
    // With an exponent such as e2147483647 the server computes for ever, and so would the oracle.
    const SUFFIXES: &[&str] = &[
        "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E2", "e-3",
        "e0", "e+6", "E9", "e12", "e-10", "e18", "e19", "e100", "e-100",
    ];
    const WRONG_SUFFIXES: &[&str] = &["K", "ki", "mi", "Zi", "e", "E+", "kk", " "];
    match rng.u8(..100) {
        0..35 => json!(pick(rng, USUAL)),
        35..45 => json!(rng.i64(0..5000)),
        45..50 => {
            json!(pick(rng, &[0.5, 1.5, 0.1, 1e3, 1e-3, 2.0, 1e21, 1e-7, 0.000_000_000_1, 123_456_789.125, -0.5]))
        }
        50..53 => json!(rng.i64(..)),
        53..54 => json!(pick(rng, ODD_TEXTS)),
        _ => {
            let sign = pick(rng, &["", "", "", "", "", "", "", "-", "+", " "]);
            let longest = pick(rng, &[0, 1, 1, 2, 3, 4, 5, 8, 15, 18, 19, 25, 40]);
            let whole = digits(rng, longest);
            let point = pick(rng, &["", "", ".", "."]);
            let longest = pick(rng, &[0, 1, 1, 2, 3, 6, 9, 12, 20]);
            let fraction = if point.is_empty() { String::new() } else { digits(rng, longest) };
            let suffixes = if rng.u8(..50) == 0 { WRONG_SUFFIXES } else { SUFFIXES };
            json!(format!("{sign}{whole}{point}{fraction}{}", pick(rng, suffixes)))
        }
    }
}

/// Up to so many digits, with more zeros than chance would give.
fn digits(rng: &mut Rng, most: usize) -> String {
    let length = rng.usize(..=most);
    (0..length).map(|_| if rng.u8(..3) == 0 { '0' } else { char::from(b'0' + rng.u8(..10)) }).collect()
}

pub(super) fn int_or_text(rng: &mut Rng) -> Value {
    match rng.u8(..10) {
        0..5 => whole(rng, 32),
        5..9 => json!(pick(rng, &["http", "80", "", "25%", "metrics", "0"])),
        _ => json!(pick(rng, ODD_TEXTS)),
    }
}

pub(super) fn time(rng: &mut Rng) -> Value {
    json!(pick(
        rng,
        &[
            "2024-01-02T03:04:05Z",
            "2024-02-29T23:59:59+02:00",
            "2024-12-31T23:30:00-05:30",
            "2024-01-02T03:04:05.678Z",
            "2024-01-02T03:04:05.999999999+14:00",
            "1970-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "0000-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "2024-01-02T3:04:05Z",
            "2024-01-02T03:04:05,5Z",
            "2024-01-02T03:04:05+24:00",
            "2024-01-02T03:04:05+23:59",
            "2024-01-02T03:04:05-00:00",
            "",
            "now",
        ]
    ))
}

/// Anything, for a field without a type.
pub(super) fn anything(rng: &mut Rng) -> Value {
    match rng.u8(..7) {
        0 => json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}),
        1 => json!({}),
        2 => json!({"f:spec": {"k:{\"name\":\"a\"}": {".": {}}}}),
        3 => json!({"b": 1, "a": [1.5, 9_007_199_254_740_993_i64, null, "<"]}),
        4 => json!({"x": null}),
        5 => json!("text"),
        _ => json!({"a": {"b": [true, false, 0.1]}}),
    }
}

/// A value of another kind than the one expected.
pub(super) fn wrong(rng: &mut Rng) -> Value {
    match rng.u8(..9) {
        0 => json!(null),
        1 => json!(true),
        2 => json!(1),
        3 => json!(1.5),
        4 => json!("text"),
        5 => json!([]),
        6 => json!({}),
        7 => json!([null]),
        _ => json!({"a": null}),
    }
}

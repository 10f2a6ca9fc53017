//! Sets that are good, and every way in which one is not.

use serde_json::json;

use super::*;
use crate::manifest::default::Level;
use crate::manifest::parse;
use crate::model::Severity;

/// A good set; tests change single lines of it.
pub(in crate::manifest) const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: web
  annotations: {a: b}
spec:
  serviceName: web
  replicas: 3
  selector:
    matchLabels: {app: web}
  updateStrategy:
    type: RollingUpdate
  template:
    metadata:
      labels: {app: web, tier: front}
    spec:
      containers:
      - name: main
        image: nginx
";

fn of_text(text: &str) -> SetReading {
    let (documents, findings) = parse("sets/web.yaml", text.as_bytes());
    assert_eq!(findings, [], "{text}");
    read(&documents[0], "default")
}

/// The good set with one text put in the place of another.
fn with(old: &str, new: &str) -> SetReading {
    assert!(GOOD.contains(old), "{old}");
    of_text(&GOOD.replace(old, new))
}

/// The findings, each as `line:column: message | hint`, warnings marked.
fn said(reading: &SetReading) -> Vec<String> {
    let line = |finding: &Diagnostic| {
        let warning = if finding.severity == Severity::Warning { "warning: " } else { "" };
        format!("{}:{}: {warning}{} | {}", finding.line, finding.column, finding.message, finding.hint)
    };
    reading.diagnostics.iter().map(line).collect()
}

#[test]
fn a_good_set_is_read_as_it_is_written() {
    let reading = of_text(GOOD);
    assert_eq!(reading.diagnostics, []);
    let manifest = reading.manifest.unwrap();
    assert_eq!(manifest.workload, WorkloadId::new("default", "web"));
    assert_eq!((manifest.namespace_given, manifest.replicas, manifest.partition), (false, Some(3), None));
    assert_eq!((manifest.adopt, manifest.allow_claim_deletion), (false, false));
    assert_eq!((manifest.file.as_str(), manifest.line), ("sets/web.yaml", 1));
    assert_eq!(manifest.value["metadata"], json!({"name": "web", "namespace": "default", "annotations": {"a": "b"}}));
}

#[test]
fn what_is_not_the_authors_is_taken_out() {
    let text = GOOD
        .replace("  name: web\n", "  name: web\n  namespace: prod\n  creationTimestamp: null\n  generation: 3\n")
        .replace("      labels:", "      creationTimestamp: null\n      labels:")
        .replace("  replicas: 3\n", "  replicas: null\n  updateStrategy: {rollingUpdate: {partition: 2}}\n")
        .replace("  updateStrategy:\n    type: RollingUpdate\n", "")
        .replace("{a: b}", "{phaseline.dev/adopt: 'true', phaseline.dev/allow-claim-deletion: 'true'}")
        + "status: {replicas: 3}\n";
    let reading = of_text(&text);
    assert_eq!(
        said(&reading),
        [
            "7:15: warning: `metadata.generation` is left out: only the server writes it | ",
            "23:9: warning: `status` is left out: only the server writes it | ",
        ]
    );
    let manifest = reading.manifest.unwrap();
    assert_eq!(manifest.workload, WorkloadId::new("prod", "web"));
    assert_eq!((manifest.namespace_given, manifest.replicas, manifest.partition), (true, None, Some(2)));
    assert_eq!((manifest.adopt, manifest.allow_claim_deletion), (true, true));
    let text = manifest.value.to_string();
    for gone in ["null", "status", "generation", "creationTimestamp"] {
        assert!(!text.contains(gone), "{gone}");
    }
    assert_eq!(manifest.value["spec"]["updateStrategy"]["rollingUpdate"]["partition"], json!(2));
}

#[test]
fn names_are_checked() {
    const LABEL: &str = "at most 63 of a-z, 0-9 and `-`, and neither begins nor ends with `-`";
    let name = |name: &str| said(&with("  name: web\n", &format!("  name: {name}\n")));
    let long = "a".repeat(254);
    for (bad, shown) in [
        (long.as_str(), format!("`{}..`", "a".repeat(60))),
        ("Web", "`Web`".into()),
        ("../x", "`../x`".into()),
        ("a.b", "`a.b`".into()),
        ("\"a\\u202eb\"", "`a\\u{202e}b`".into()),
    ] {
        assert_eq!(name(bad), [format!("4:9: the text {shown} is no name of a StatefulSet | {LABEL}")], "{bad}");
    }
    assert_eq!(name("3"), [format!("4:9: `3` is no name of a StatefulSet | {LABEL}")]);
    let fifty_three = "a".repeat(53);
    let reading = with("  name: web\n", &format!("  name: {fifty_three}\n"));
    assert!(reading.manifest.is_some());
    assert_eq!(
        said(&reading),
        [
            "4:9: warning: the name has 53 characters, more than 52 | its pods carry `<name>-<hash>` as a label, which would \
          not fit into 63 characters: none would start"
        ]
    );
    let reading = with("  name: web\n", "  generateName: web-\n");
    assert_eq!(reading.workload, None);
    assert_eq!(
        said(&reading),
        ["3:1: `generateName` without a name | give it a `metadata.name`: a set from Git needs a lasting one"]
    );
    assert_eq!(said(&with("  name: web\n", "")), ["3:1: the set has no name | give it a `metadata.name`"]);
    let reading = with("  name: web\n", "  name: web\n  namespace: A\n");
    assert_eq!(said(&reading), [format!("5:14: the text `A` is no name of a namespace | {LABEL}")]);
    assert_eq!(reading.workload, None);
}

#[test]
fn fields_that_cannot_be_are_told_with_their_place() {
    const COUNT: &str = "a whole number from 0 to 2147483647";
    const AGREE: &str = "selector and `spec.template.metadata.labels` have to agree";
    const DRIVEN: &str = "Phaseline drives `RollingUpdate`";
    const UNAVAILABLE: &str = "a number of pods from 1, or a share from \"1%\" to \"100%\"";
    let rolling = |block: &str| format!("RollingUpdate\n    rollingUpdate: {{{block}}}\n");
    let replicas = |number: &str| format!("replicas: {number}\n");
    for (old, new, expected) in [
        ("replicas: 3\n", replicas("-1"), "8:13: `spec.replicas`: `-1` must not be negative | `kubectl explain statefulset.spec.replicas` says what goes there".into()),
        ("replicas: 3\n", replicas("1.5"), "8:13: `spec.replicas`: `1.5` is given, a whole number is expected | `kubectl explain statefulset.spec.replicas` says what goes there".into()),
        ("replicas: 3\n", replicas("2147483648"), format!("8:13: `spec.replicas` cannot be 2147483648 | {COUNT}: the server would take another one for it, unseen")),
        ("replicas: 3\n", replicas("'3'"), "8:13: `spec.replicas`: the text `3` is given, a number is expected | write it without quotes".into()),
        ("replicas: 3\n", replicas("{{}: 1}").replace("{{}: 1}", "[3]"), "8:13: `spec.replicas`: a list is given, a number is expected | `kubectl explain statefulset.spec.replicas` says what goes there".into()),
        ("replicas: 3\n", "minReadySeconds: -1\n".into(), "8:20: `spec.minReadySeconds`: `-1` must not be negative | `kubectl explain statefulset.spec.minReadySeconds` says what goes there".into()),
        ("replicas: 3\n", "ordinals: {start: -1}\n".into(), "8:21: `spec.ordinals.start`: `-1` must not be negative | `kubectl explain statefulset.spec.ordinals.start` says what goes there".into()),
        ("RollingUpdate\n", rolling("partition: -1"), "13:32: `spec.updateStrategy.rollingUpdate.partition`: `-1` must not be negative | `kubectl explain statefulset.spec.updateStrategy.rollingUpdate.partition` says what goes there".into()),
        ("RollingUpdate\n", rolling("maxUnavailable: 0"), format!("13:37: `maxUnavailable` cannot be `0` | {UNAVAILABLE}")),
        ("RollingUpdate\n", rolling("maxUnavailable: 200%"), format!("13:37: `maxUnavailable` cannot be the text `200%` | {UNAVAILABLE}")),
        ("type: RollingUpdate\n", "type: OnDelete\n".into(), format!("12:11: with `OnDelete` nothing would roll | {DRIVEN}")),
        ("type: RollingUpdate\n", "type: Recreate\n".into(), "12:11: `spec.updateStrategy.type`: the text `Recreate` is not supported | one of `RollingUpdate`, `OnDelete`".into()),
        ("{app: web}\n", "{app: api}\n".into(), format!("10:24: the selector wants `app` to be the text `api`, the template's labels do not say so | {AGREE}")),
        ("{app: web}\n", "{}\n".into(), "9:3: the selector is empty | select the labels of `spec.template.metadata.labels`".into()),
        ("  selector:\n    matchLabels: {app: web}\n", String::new(), "6:1: the set has no `spec.selector` | select the labels of `spec.template.metadata.labels`".into()),
        ("matchLabels: {app: web}\n", "matchExpressions: [{key: app, operator: In, values: [api]}]\n".into(), format!("10:24: the selector does not match the template's labels | {AGREE}")),
        ("      containers:\n", "      restartPolicy: Never\n      containers:\n".into(), "17:22: `spec.template.spec.restartPolicy`: the text `Never` is not supported | one of `Always`".into()),
        ("      - name: main\n        image: nginx\n", String::new(), "17:7: the pods have no containers | list at least one in `spec.template.spec.containers`".into()),
        ("      - name: main\n        image", "      - image".into(), "18:9: the container has no name | give it a `name`, another one than the others have".into()),
        ("image: nginx\n", "image: nginx\n      - {name: main, image: x}\n".into(), "20:9: `spec.template.spec.containers[1]`: there are two items of one name: `main` | server-side apply refuses them: keep one".into()),
        ("image: nginx\n", "image: nginx\n        ports: [null]\n".into(), "20:17: `spec.template.spec.containers[0].ports[0]`: a list item without a value | remove the `-`, or write the item".into()),
        ("{a: b}", "{phaseline.dev/adopt: true}".into(), "5:38: `metadata.annotations[phaseline.dev/adopt]`: `true` is given, text is expected | put it into quotes".into()),
        ("{a: b}", "{phaseline.dev/rollout: '{}'}".into(), "5:17: the annotation `phaseline.dev/rollout` is Phaseline's own | remove it from the manifest".into()),
        ("{a: b}", "{phaseline.dev/request: '{}'}".into(), "5:17: the annotation `phaseline.dev/request` is Phaseline's own | remove it from the manifest".into()),
        ("  name: web\n", "  name: web\n  uid: 1-2\n".into(), "5:3: `metadata.uid` belongs to one object of one cluster | the manifest was exported from a cluster: remove `uid`, `resourceVersion` and `status`".into()),
        ("  name: web\n", "  name: web\n  resourceVersion: '7'\n".into(), "5:3: `metadata.resourceVersion` belongs to one object of one cluster | the manifest was exported from a cluster: remove `uid`, `resourceVersion` and `status`".into()),
        ("apps/v1\n", "apps/v1beta1\n".into(), "1:13: a StatefulSet of `apps/v1beta1` is not driven | Kubernetes serves it no more: write `apiVersion: apps/v1`, and `spec.selector` with the labels of the template".into()),
        ("apps/v1\n", "apps.kruise.io/v1beta1\n".into(), "1:13: a StatefulSet of `apps.kruise.io/v1beta1` is not driven | it is Kruise's, not driven by Phaseline".into()),
    ] {
        let reading = with(old, &new);
        assert_eq!(said(&reading), [expected], "{new}");
        assert!(reading.diagnostics.iter().all(|finding| !finding.hint.is_empty()), "no way out: {new}");
        assert_eq!(reading.manifest, None, "{new}");
        assert_eq!(reading.workload, Some(WorkloadId::new("default", "web")), "{new}");
    }
    let reading = with("{a: b}", "{phaseline.dev/adopt: 'yes'}");
    assert_eq!(said(&reading), ["5:38: warning: `yes` is taken for \"false\" | "]);
    assert!(!reading.manifest.unwrap().adopt);
}

/// For a rollout as for who asks: such a thing is never sent.
#[test]
fn quantities_that_a_server_computes_for_ever_are_refused() {
    let place = "spec.template.spec.containers[0].resources.limits[cpu]";
    let limit = |key: &str, amount: &str| {
        GOOD.replace("image: nginx\n", &format!("image: nginx\n        resources: {{limits: {{{key}: {amount}}}}}\n"))
    };
    let volume = GOOD.replace(
        "      containers:\n",
        "      volumes: [{name: a, emptyDir: {medium: HugePages-1e2147483647}}]\n      containers:\n",
    );
    let mut texts = vec![limit("hugepages-1e2147483647", "1"), volume];
    for amount in ["1e2147483647", "'0e2147483647'", "'1e-2147483647'"] {
        assert!(said(&of_text(&limit("cpu", amount)))[0].contains(place), "{amount}");
        texts.push(limit("cpu", amount));
    }
    for text in texts {
        let (documents, _) = parse("sets/web.yaml", text.as_bytes());
        for checks in [Checks::Rollout, Checks::Past, Checks::Server(Level::V1_33), Checks::Server(Level::V1_36)] {
            let reading = read_for(&documents[0], "default", checks);
            let errors: Vec<_> = reading.diagnostics.iter().filter(|finding| finding.is_error()).collect();
            assert_eq!((errors.len(), &reading.manifest), (1, &None), "{text}");
            let message = &errors[0].message;
            assert!(message.ends_with("has more than 1000 digits, or such an exponent"), "{message}");
            assert!(errors[0].hint.contains("with a suffix"), "{}", errors[0].hint);
        }
    }
    assert_eq!(said(&of_text(&limit("cpu", "1e3"))), Vec::<String>::new());
}

#[test]
fn selectors_may_be_expressions() {
    for expression in [
        "{key: app, operator: In, values: [api, web]}",
        "{key: app, operator: NotIn, values: [api]}",
        "{key: tier, operator: Exists}",
        "{key: other, operator: DoesNotExist}",
    ] {
        let reading = with("matchLabels: {app: web}", &format!("matchExpressions: [{expression}]"));
        assert_eq!(said(&reading), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn a_patch_is_called_a_patch() {
    let text = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec:\n  replicas: 5\n";
    assert_eq!(
        said(&of_text(text)),
        ["4:1: looks like a kustomize patch, not a whole StatefulSet: neither selector nor image | render the \
          kustomization (`kubectl kustomize`) in CI and commit what comes out"]
    );
    assert_eq!(said(&of_text("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\n")).len(), 1);
}

#[test]
fn odd_shapes_of_a_set_are_findings() {
    for odd in [
        "spec: 3",
        "spec: []",
        "spec: {selector: 3, template: []}",
        "spec: {selector: {matchLabels: []}, template: {spec: {containers: [1, [], {name: 3}]}}}",
    ] {
        let reading = of_text(&format!("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: web}}\n{odd}\n"));
        assert!(reading.manifest.is_none() && !reading.diagnostics.is_empty(), "{odd}");
    }
    let reading = of_text("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: 3\nspec: {selector: {}}\n");
    assert!(reading.workload.is_none() && reading.manifest.is_none());
}

#[test]
fn keys_without_a_value_are_absent_but_in_maps() {
    let mut value = serde_json::json!({
        "metadata": {"name": "web", "labels": {"a": null, "b": "1"}, "annotations": null},
        "spec": {"minReadySeconds": null, "template": {"spec": {"nodeSelector": {"zone": null}, "volumes": null,
            "containers": [{"name": "web", "command": null, "resources": {"limits": {"cpu": null}, "requests": null}}]}}},
    });
    strip_nulls(&mut value);
    let expected = serde_json::json!({
        "metadata": {"name": "web", "labels": {"a": "", "b": "1"}},
        "spec": {"template": {"spec": {"nodeSelector": {"zone": ""},
            "containers": [{"name": "web", "resources": {"limits": {"cpu": "0"}}}]}}},
    });
    assert_eq!(value, expected);
}

//! Describes the pod template and the pod itself.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Level;
use super::container::{CONTAINER, EPHEMERAL_CONTAINER, RESOURCE_REQUIREMENTS};
use super::meta::{LOCAL_OBJECT_REFERENCE, OBJECT_META};
use super::scheduling::{AFFINITY, TOLERATION, TOPOLOGY_SPREAD_CONSTRAINT};
use super::schema::{
    BY_NAME, Key, Object, Reading, flag, int32, int64, int64s, object, objects, quantity_map, text, text_map, texts,
};
use super::security::{APP_ARMOR_PROFILE, SE_LINUX_OPTIONS, SECCOMP_PROFILE, WINDOWS_SECURITY_CONTEXT_OPTIONS};
use super::volume::VOLUME;

/// `PodTemplateSpec`.
pub(super) static POD_TEMPLATE_SPEC: Object =
    Object::of("PodTemplateSpec", &[object("metadata", &OBJECT_META).always(), object("spec", &POD_SPEC).always()])
        .then(after_pod_template);

/// `PodSpec`.
pub(crate) static POD_SPEC: Object = Object::of(
    "PodSpec",
    &[
        objects("volumes", &VOLUME).keyed(BY_NAME),
        objects("initContainers", &CONTAINER).keyed(BY_NAME),
        objects("containers", &CONTAINER).keyed(BY_NAME).always(),
        objects("ephemeralContainers", &EPHEMERAL_CONTAINER).keyed(BY_NAME),
        text("restartPolicy").go("v1.RestartPolicy").or_text("Always"),
        int64("terminationGracePeriodSeconds").pointer().or_int(30),
        int64("activeDeadlineSeconds").pointer(),
        text("dnsPolicy").go("v1.DNSPolicy").or_text("ClusterFirst"),
        text_map("nodeSelector").whole(),
        text("serviceAccountName"),
        text("serviceAccount"),
        flag("automountServiceAccountToken").pointer(),
        text("nodeName"),
        flag("hostNetwork"),
        flag("hostPID"),
        flag("hostIPC"),
        flag("shareProcessNamespace").pointer(),
        object("securityContext", &POD_SECURITY_CONTEXT).always(),
        objects("imagePullSecrets", &LOCAL_OBJECT_REFERENCE).keyed(BY_NAME),
        text("hostname"),
        text("subdomain"),
        object("affinity", &AFFINITY),
        text("schedulerName").or_text("default-scheduler"),
        objects("tolerations", &TOLERATION),
        objects("hostAliases", &HOST_ALIAS).keyed(&[Key::of("ip")]),
        text("priorityClassName"),
        int32("priority").pointer(),
        object("dnsConfig", &POD_DNS_CONFIG),
        objects("readinessGates", &POD_READINESS_GATE),
        text("runtimeClassName").pointer(),
        flag("enableServiceLinks").pointer(),
        text("preemptionPolicy").go("v1.PreemptionPolicy").pointer(),
        quantity_map("overhead"),
        objects("topologySpreadConstraints", &TOPOLOGY_SPREAD_CONSTRAINT)
            .keyed(&[Key::of("topologyKey"), Key::of("whenUnsatisfiable")]),
        flag("setHostnameAsFQDN").pointer(),
        object("os", &POD_OS),
        flag("hostUsers").pointer(),
        objects("schedulingGates", &POD_SCHEDULING_GATE).keyed(BY_NAME),
        objects("resourceClaims", &POD_RESOURCE_CLAIM).keyed(BY_NAME).dropped_at_1_33(),
        object("resources", &RESOURCE_REQUIREMENTS).dropped_at_1_33(),
        text("hostnameOverride").pointer().since_1_36(),
        object("schedulingGroup", &POD_SCHEDULING_GROUP).since_1_36().dropped(),
    ],
)
.then(after_pod_spec);

/// `PodSecurityContext`.
pub(super) static POD_SECURITY_CONTEXT: Object = Object::of(
    "PodSecurityContext",
    &[
        object("seLinuxOptions", &SE_LINUX_OPTIONS),
        object("windowsOptions", &WINDOWS_SECURITY_CONTEXT_OPTIONS),
        int64("runAsUser").pointer(),
        int64("runAsGroup").pointer(),
        flag("runAsNonRoot").pointer(),
        int64s("supplementalGroups"),
        text("supplementalGroupsPolicy").go("v1.SupplementalGroupsPolicy").pointer(),
        int64("fsGroup").pointer(),
        objects("sysctls", &SYSCTL),
        text("fsGroupChangePolicy").go("v1.PodFSGroupChangePolicy").pointer(),
        object("seccompProfile", &SECCOMP_PROFILE),
        object("appArmorProfile", &APP_ARMOR_PROFILE),
        text("seLinuxChangePolicy").go("v1.PodSELinuxChangePolicy").pointer(),
    ],
);

/// `Sysctl`.
pub(super) static SYSCTL: Object = Object::of("Sysctl", &[text("name").always(), text("value").always()]);

/// `HostAlias`.
pub(super) static HOST_ALIAS: Object = Object::of("HostAlias", &[text("ip").always(), texts("hostnames")]);

/// `PodDNSConfig`.
pub(super) static POD_DNS_CONFIG: Object =
    Object::of("PodDNSConfig", &[texts("nameservers"), texts("searches"), objects("options", &POD_DNS_CONFIG_OPTION)]);

/// `PodDNSConfigOption`.
pub(super) static POD_DNS_CONFIG_OPTION: Object =
    Object::of("PodDNSConfigOption", &[text("name"), text("value").pointer()]);

/// `PodReadinessGate`.
pub(super) static POD_READINESS_GATE: Object =
    Object::of("PodReadinessGate", &[text("conditionType").go("v1.PodConditionType").always()]);

/// `PodOS`.
pub(super) static POD_OS: Object = Object::of("PodOS", &[text("name").go("v1.OSName").always()]);

/// `PodSchedulingGate`.
pub(super) static POD_SCHEDULING_GATE: Object = Object::of("PodSchedulingGate", &[text("name").always()]);

/// `PodResourceClaim`.
pub(super) static POD_RESOURCE_CLAIM: Object = Object::of(
    "PodResourceClaim",
    &[text("name").always(), text("resourceClaimName").pointer(), text("resourceClaimTemplateName").pointer()],
);

/// `PodSchedulingGroup`.
pub(super) static POD_SCHEDULING_GROUP: Object = Object::of("PodSchedulingGroup", &[text("podGroupName").pointer()]);

/// `dropInitContainerAnnotations`: the annotations of before there were init containers go.
fn after_pod_template(template: &mut Map<String, Value>, _: Reading) {
    const DROPPED: [&str; 4] = [
        "pod.beta.kubernetes.io/init-containers",
        "pod.alpha.kubernetes.io/init-containers",
        "pod.beta.kubernetes.io/init-container-statuses",
        "pod.alpha.kubernetes.io/init-container-statuses",
    ];
    let Some(Value::Object(metadata)) = template.get_mut("metadata") else { return };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else { return };
    for name in DROPPED {
        annotations.remove(name);
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn after_pod_spec(spec: &mut Map<String, Value>, reading: Reading) {
    mirror_service_account(spec);
    if reading.gated && reading.level < Level::V1_36 {
        drop_image_volumes(spec);
    }
}

/// `Convert_v1_PodSpec_To_core_PodSpec` and back: `serviceAccount` is the old name of `serviceAccountName`, which wins.
fn mirror_service_account(spec: &mut Map<String, Value>) {
    let account = spec.get("serviceAccountName").or_else(|| spec.get("serviceAccount")).cloned();
    if let Some(account) = account {
        spec.insert("serviceAccountName".to_owned(), account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
}

/// `dropImageVolumes`: while the gate ImageVolume is closed, image volumes go together with their mounts.
fn drop_image_volumes(spec: &mut Map<String, Value>) {
    let mut dropped = BTreeSet::new();
    drop_items(spec, "volumes", |volume| {
        let is_image = volume.get("image").is_some();
        if is_image && let Some(Value::String(name)) = volume.get("name") {
            dropped.insert(name.clone());
        }
        is_image
    });
    if dropped.is_empty() {
        return;
    }
    for field in ["containers", "initContainers", "ephemeralContainers"] {
        let Some(Value::Array(containers)) = spec.get_mut(field) else { continue };
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            drop_items(container, "volumeMounts", |mount| {
                mount.get("name").and_then(Value::as_str).is_some_and(|name| dropped.contains(name))
            });
        }
    }
}

/// Drops items of a list, and the list with its last item.
fn drop_items(object: &mut Map<String, Value>, field: &str, mut is_dropped: impl FnMut(&Value) -> bool) {
    let Some(Value::Array(items)) = object.get_mut(field) else { return };
    items.retain(|item| !is_dropped(item));
    if items.is_empty() {
        object.remove(field);
    }
}

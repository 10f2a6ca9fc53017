//! Describes a container, its ports, mounts, environment and resources.

use serde_json::{Map, Value};

use super::image::default_pull_policy;
use super::probe::{LIFECYCLE, PROBE};
use super::schema::{
    BY_NAME, BY_PORT, Key, Object, Reading, flag, int32, int32s, object, objects, quantity, quantity_map, text, texts,
};
use super::security::SECURITY_CONTEXT;

/// `Container`.
pub(super) static CONTAINER: Object = Object::of(&[
    text("name").always(),
    text("image"),
    texts("command"),
    texts("args"),
    text("workingDir"),
    objects("ports", &CONTAINER_PORT).keyed(BY_PORT),
    objects("envFrom", &ENV_FROM_SOURCE),
    objects("env", &ENV_VAR).keyed(BY_NAME),
    object("resources", &RESOURCE_REQUIREMENTS).always(),
    objects("resizePolicy", &CONTAINER_RESIZE_POLICY),
    text("restartPolicy").pointer(),
    objects("restartPolicyRules", &CONTAINER_RESTART_RULE).since_1_36(),
    objects("volumeMounts", &VOLUME_MOUNT).keyed(&[Key::of("mountPath")]),
    objects("volumeDevices", &VOLUME_DEVICE).keyed(&[Key::of("devicePath")]),
    object("livenessProbe", &PROBE),
    object("readinessProbe", &PROBE),
    object("startupProbe", &PROBE),
    object("lifecycle", &LIFECYCLE),
    text("terminationMessagePath").or_text("/dev/termination-log"),
    text("terminationMessagePolicy").or_text("File"),
    text("imagePullPolicy"),
    object("securityContext", &SECURITY_CONTEXT),
    flag("stdin"),
    flag("stdinOnce"),
    flag("tty"),
])
.then(after_container);

/// `EphemeralContainer`.
pub(super) static EPHEMERAL_CONTAINER: Object = Object::of(&[
    text("name").always(),
    text("image"),
    texts("command"),
    texts("args"),
    text("workingDir"),
    objects("ports", &CONTAINER_PORT).keyed(BY_PORT),
    objects("envFrom", &ENV_FROM_SOURCE),
    objects("env", &ENV_VAR).keyed(BY_NAME),
    object("resources", &RESOURCE_REQUIREMENTS).always(),
    objects("resizePolicy", &CONTAINER_RESIZE_POLICY),
    text("restartPolicy").pointer(),
    objects("restartPolicyRules", &CONTAINER_RESTART_RULE).since_1_36(),
    objects("volumeMounts", &VOLUME_MOUNT).keyed(&[Key::of("mountPath")]),
    objects("volumeDevices", &VOLUME_DEVICE).keyed(&[Key::of("devicePath")]),
    object("livenessProbe", &PROBE),
    object("readinessProbe", &PROBE),
    object("startupProbe", &PROBE),
    object("lifecycle", &LIFECYCLE),
    text("terminationMessagePath").or_text("/dev/termination-log"),
    text("terminationMessagePolicy").or_text("File"),
    text("imagePullPolicy"),
    object("securityContext", &SECURITY_CONTEXT),
    flag("stdin"),
    flag("stdinOnce"),
    flag("tty"),
    text("targetContainerName"),
])
.then(after_container);

/// `ContainerPort`.
pub(super) static CONTAINER_PORT: Object = Object::of(&[
    text("name"),
    int32("hostPort"),
    int32("containerPort").always(),
    text("protocol").or_text("TCP"),
    text("hostIP"),
]);

/// `ContainerResizePolicy`.
pub(super) static CONTAINER_RESIZE_POLICY: Object =
    Object::of(&[text("resourceName").always(), text("restartPolicy").always()]);

/// `ContainerRestartRule`.
pub(super) static CONTAINER_RESTART_RULE: Object =
    Object::of(&[text("action"), object("exitCodes", &CONTAINER_RESTART_RULE_ON_EXIT_CODES)]);

/// `ContainerRestartRuleOnExitCodes`.
pub(super) static CONTAINER_RESTART_RULE_ON_EXIT_CODES: Object =
    Object::of(&[text("operator"), int32s("values").set()]);

/// `ResourceRequirements`.
pub(super) static RESOURCE_REQUIREMENTS: Object = Object::of(&[
    quantity_map("limits"),
    quantity_map("requests"),
    objects("claims", &RESOURCE_CLAIM).keyed(BY_NAME).dropped_at_1_33(),
]);

/// `ResourceClaim`.
pub(super) static RESOURCE_CLAIM: Object = Object::of(&[text("name").always(), text("request")]);

/// `VolumeMount`.
pub(super) static VOLUME_MOUNT: Object = Object::of(&[
    text("name").always(),
    flag("readOnly"),
    text("recursiveReadOnly").pointer(),
    text("mountPath").always(),
    text("subPath"),
    text("mountPropagation").pointer(),
    text("subPathExpr"),
]);

/// `VolumeDevice`.
pub(super) static VOLUME_DEVICE: Object = Object::of(&[text("name").always(), text("devicePath").always()]);

/// `EnvFromSource`.
pub(super) static ENV_FROM_SOURCE: Object = Object::of(&[
    text("prefix"),
    object("configMapRef", &CONFIG_MAP_ENV_SOURCE),
    object("secretRef", &SECRET_ENV_SOURCE),
]);

/// `ConfigMapEnvSource`.
pub(super) static CONFIG_MAP_ENV_SOURCE: Object = Object::of(&[text("name"), flag("optional").pointer()]);

/// `SecretEnvSource`.
pub(super) static SECRET_ENV_SOURCE: Object = Object::of(&[text("name"), flag("optional").pointer()]);

/// `EnvVar`.
pub(super) static ENV_VAR: Object =
    Object::of(&[text("name").always(), text("value"), object("valueFrom", &ENV_VAR_SOURCE)]);

/// `EnvVarSource`.
pub(super) static ENV_VAR_SOURCE: Object = Object::of(&[
    object("fieldRef", &OBJECT_FIELD_SELECTOR),
    object("resourceFieldRef", &RESOURCE_FIELD_SELECTOR),
    object("configMapKeyRef", &CONFIG_MAP_KEY_SELECTOR),
    object("secretKeyRef", &SECRET_KEY_SELECTOR),
    object("fileKeyRef", &FILE_KEY_SELECTOR).since_1_36(),
]);

/// `ObjectFieldSelector`.
pub(super) static OBJECT_FIELD_SELECTOR: Object =
    Object::of(&[text("apiVersion").or_text("v1"), text("fieldPath").always()]).whole();

/// `ResourceFieldSelector`.
pub(super) static RESOURCE_FIELD_SELECTOR: Object =
    Object::of(&[text("containerName"), text("resource").always(), quantity("divisor").always()]).whole();

/// `ConfigMapKeySelector`.
pub(super) static CONFIG_MAP_KEY_SELECTOR: Object =
    Object::of(&[text("name"), text("key").always(), flag("optional").pointer()]).whole();

/// `SecretKeySelector`.
pub(super) static SECRET_KEY_SELECTOR: Object =
    Object::of(&[text("name"), text("key").always(), flag("optional").pointer()]).whole();

/// `FileKeySelector`.
pub(super) static FILE_KEY_SELECTOR: Object = Object::of(&[
    text("volumeName").always(),
    text("path").always(),
    text("key").always(),
    flag("optional").pointer().or_false(),
])
.whole();

fn after_container(container: &mut Map<String, Value>, reading: Reading) {
    default_pull_policy(container, "image", "imagePullPolicy");
    if reading.gated {
        drop_stop_signal(container);
    }
}

/// `dropContainerStopSignals`: the gate ContainerStopSignals is closed, and a hook that was nothing else goes whole.
fn drop_stop_signal(container: &mut Map<String, Value>) {
    let Some(Value::Object(lifecycle)) = container.get_mut("lifecycle") else { return };
    if lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty() {
        container.remove("lifecycle");
    }
}

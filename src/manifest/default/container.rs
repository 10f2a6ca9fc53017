//! Describes a container, its ports, mounts, environment and resources.

use serde_json::{Map, Value};

use super::image::default_pull_policy;
use super::probe::{LIFECYCLE, PROBE};
use super::schema::{
    BY_NAME, BY_PORT, Key, Object, Reading, flag, int32, int32s, object, objects, quantity, quantity_map, text, texts,
};
use super::security::SECURITY_CONTEXT;

/// `Container`.
pub(super) static CONTAINER: Object = Object::of(
    "Container",
    &[
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
        text("restartPolicy").go("v1.ContainerRestartPolicy").pointer(),
        objects("restartPolicyRules", &CONTAINER_RESTART_RULE).since_1_36(),
        objects("volumeMounts", &VOLUME_MOUNT).keyed(&[Key::of("mountPath")]),
        objects("volumeDevices", &VOLUME_DEVICE).keyed(&[Key::of("devicePath")]),
        object("livenessProbe", &PROBE),
        object("readinessProbe", &PROBE),
        object("startupProbe", &PROBE),
        object("lifecycle", &LIFECYCLE),
        text("terminationMessagePath").or_text("/dev/termination-log"),
        text("terminationMessagePolicy").go("v1.TerminationMessagePolicy").or_text("File"),
        text("imagePullPolicy").go("v1.PullPolicy"),
        object("securityContext", &SECURITY_CONTEXT),
        flag("stdin"),
        flag("stdinOnce"),
        flag("tty"),
    ],
)
.then(after_container);

/// `EphemeralContainer`.
pub(super) static EPHEMERAL_CONTAINER: Object = Object::of(
    "EphemeralContainer",
    &[
        text("name").inlined("EphemeralContainerCommon").always(),
        text("image").inlined("EphemeralContainerCommon"),
        texts("command").inlined("EphemeralContainerCommon"),
        texts("args").inlined("EphemeralContainerCommon"),
        text("workingDir").inlined("EphemeralContainerCommon"),
        objects("ports", &CONTAINER_PORT).inlined("EphemeralContainerCommon").keyed(BY_PORT),
        objects("envFrom", &ENV_FROM_SOURCE).inlined("EphemeralContainerCommon"),
        objects("env", &ENV_VAR).inlined("EphemeralContainerCommon").keyed(BY_NAME),
        object("resources", &RESOURCE_REQUIREMENTS).inlined("EphemeralContainerCommon").always(),
        objects("resizePolicy", &CONTAINER_RESIZE_POLICY).inlined("EphemeralContainerCommon"),
        text("restartPolicy").inlined("EphemeralContainerCommon").go("v1.ContainerRestartPolicy").pointer(),
        objects("restartPolicyRules", &CONTAINER_RESTART_RULE).inlined("EphemeralContainerCommon").since_1_36(),
        objects("volumeMounts", &VOLUME_MOUNT).inlined("EphemeralContainerCommon").keyed(&[Key::of("mountPath")]),
        objects("volumeDevices", &VOLUME_DEVICE).inlined("EphemeralContainerCommon").keyed(&[Key::of("devicePath")]),
        object("livenessProbe", &PROBE).inlined("EphemeralContainerCommon"),
        object("readinessProbe", &PROBE).inlined("EphemeralContainerCommon"),
        object("startupProbe", &PROBE).inlined("EphemeralContainerCommon"),
        object("lifecycle", &LIFECYCLE).inlined("EphemeralContainerCommon"),
        text("terminationMessagePath").inlined("EphemeralContainerCommon").or_text("/dev/termination-log"),
        text("terminationMessagePolicy")
            .inlined("EphemeralContainerCommon")
            .go("v1.TerminationMessagePolicy")
            .or_text("File"),
        text("imagePullPolicy").inlined("EphemeralContainerCommon").go("v1.PullPolicy"),
        object("securityContext", &SECURITY_CONTEXT).inlined("EphemeralContainerCommon"),
        flag("stdin").inlined("EphemeralContainerCommon"),
        flag("stdinOnce").inlined("EphemeralContainerCommon"),
        flag("tty").inlined("EphemeralContainerCommon"),
        text("targetContainerName"),
    ],
)
.then(after_container);

/// `ContainerPort`.
pub(super) static CONTAINER_PORT: Object = Object::of(
    "ContainerPort",
    &[
        text("name"),
        int32("hostPort"),
        int32("containerPort").always(),
        text("protocol").go("v1.Protocol").or_text("TCP"),
        text("hostIP"),
    ],
);

/// `ContainerResizePolicy`.
pub(super) static CONTAINER_RESIZE_POLICY: Object = Object::of(
    "ContainerResizePolicy",
    &[
        text("resourceName").go("v1.ResourceName").always(),
        text("restartPolicy").go("v1.ResourceResizeRestartPolicy").always(),
    ],
);

/// `ContainerRestartRule`.
pub(super) static CONTAINER_RESTART_RULE: Object = Object::of(
    "ContainerRestartRule",
    &[text("action").go("v1.ContainerRestartRuleAction"), object("exitCodes", &CONTAINER_RESTART_RULE_ON_EXIT_CODES)],
);

/// `ContainerRestartRuleOnExitCodes`.
pub(super) static CONTAINER_RESTART_RULE_ON_EXIT_CODES: Object = Object::of(
    "ContainerRestartRuleOnExitCodes",
    &[text("operator").go("v1.ContainerRestartRuleOnExitCodesOperator"), int32s("values").set()],
);

/// `ResourceRequirements`.
pub(super) static RESOURCE_REQUIREMENTS: Object = Object::of(
    "ResourceRequirements",
    &[
        quantity_map("limits"),
        quantity_map("requests"),
        objects("claims", &RESOURCE_CLAIM).keyed(BY_NAME).dropped_at_1_33(),
    ],
);

/// `ResourceClaim`.
pub(super) static RESOURCE_CLAIM: Object = Object::of("ResourceClaim", &[text("name").always(), text("request")]);

/// `VolumeMount`.
pub(super) static VOLUME_MOUNT: Object = Object::of(
    "VolumeMount",
    &[
        text("name").always(),
        flag("readOnly"),
        text("recursiveReadOnly").go("v1.RecursiveReadOnlyMode").pointer(),
        text("mountPath").always(),
        text("subPath"),
        text("mountPropagation").go("v1.MountPropagationMode").pointer(),
        text("subPathExpr"),
    ],
);

/// `VolumeDevice`.
pub(super) static VOLUME_DEVICE: Object =
    Object::of("VolumeDevice", &[text("name").always(), text("devicePath").always()]);

/// `EnvFromSource`.
pub(super) static ENV_FROM_SOURCE: Object = Object::of(
    "EnvFromSource",
    &[text("prefix"), object("configMapRef", &CONFIG_MAP_ENV_SOURCE), object("secretRef", &SECRET_ENV_SOURCE)],
);

/// `ConfigMapEnvSource`.
pub(super) static CONFIG_MAP_ENV_SOURCE: Object =
    Object::of("ConfigMapEnvSource", &[text("name").inlined("LocalObjectReference"), flag("optional").pointer()]);

/// `SecretEnvSource`.
pub(super) static SECRET_ENV_SOURCE: Object =
    Object::of("SecretEnvSource", &[text("name").inlined("LocalObjectReference"), flag("optional").pointer()]);

/// `EnvVar`.
pub(super) static ENV_VAR: Object =
    Object::of("EnvVar", &[text("name").always(), text("value"), object("valueFrom", &ENV_VAR_SOURCE)]);

/// `EnvVarSource`.
pub(super) static ENV_VAR_SOURCE: Object = Object::of(
    "EnvVarSource",
    &[
        object("fieldRef", &OBJECT_FIELD_SELECTOR),
        object("resourceFieldRef", &RESOURCE_FIELD_SELECTOR),
        object("configMapKeyRef", &CONFIG_MAP_KEY_SELECTOR),
        object("secretKeyRef", &SECRET_KEY_SELECTOR),
        object("fileKeyRef", &FILE_KEY_SELECTOR).since_1_36(),
    ],
);

/// `ObjectFieldSelector`.
pub(super) static OBJECT_FIELD_SELECTOR: Object =
    Object::of("ObjectFieldSelector", &[text("apiVersion").or_text("v1"), text("fieldPath").always()]).whole();

/// `ResourceFieldSelector`.
pub(super) static RESOURCE_FIELD_SELECTOR: Object = Object::of(
    "ResourceFieldSelector",
    &[text("containerName"), text("resource").always(), quantity("divisor").always()],
)
.whole();

/// `ConfigMapKeySelector`.
pub(super) static CONFIG_MAP_KEY_SELECTOR: Object = Object::of(
    "ConfigMapKeySelector",
    &[text("name").inlined("LocalObjectReference"), text("key").always(), flag("optional").pointer()],
)
.whole();

/// `SecretKeySelector`.
pub(super) static SECRET_KEY_SELECTOR: Object = Object::of(
    "SecretKeySelector",
    &[text("name").inlined("LocalObjectReference"), text("key").always(), flag("optional").pointer()],
)
.whole();

/// `FileKeySelector`.
pub(super) static FILE_KEY_SELECTOR: Object = Object::of(
    "FileKeySelector",
    &[text("volumeName").always(), text("path").always(), text("key").always(), flag("optional").pointer().or_false()],
)
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

//! Describes the security context of a container.

use super::schema::{Object, flag, int64, object, text, texts};

/// `SecurityContext`.
pub(super) static SECURITY_CONTEXT: Object = Object::of(
    "SecurityContext",
    &[
        object("capabilities", &CAPABILITIES),
        flag("privileged").pointer(),
        object("seLinuxOptions", &SE_LINUX_OPTIONS),
        object("windowsOptions", &WINDOWS_SECURITY_CONTEXT_OPTIONS),
        int64("runAsUser").pointer(),
        int64("runAsGroup").pointer(),
        flag("runAsNonRoot").pointer(),
        flag("readOnlyRootFilesystem").pointer(),
        flag("allowPrivilegeEscalation").pointer(),
        text("procMount").go("v1.ProcMountType").pointer(),
        object("seccompProfile", &SECCOMP_PROFILE),
        object("appArmorProfile", &APP_ARMOR_PROFILE),
    ],
);

/// `Capabilities`.
pub(super) static CAPABILITIES: Object =
    Object::of("Capabilities", &[texts("add").go("[]v1.Capability"), texts("drop").go("[]v1.Capability")]);

/// `SELinuxOptions`.
pub(super) static SE_LINUX_OPTIONS: Object =
    Object::of("SELinuxOptions", &[text("user"), text("role"), text("type"), text("level")]);

/// `WindowsSecurityContextOptions`.
pub(super) static WINDOWS_SECURITY_CONTEXT_OPTIONS: Object = Object::of(
    "WindowsSecurityContextOptions",
    &[
        text("gmsaCredentialSpecName").pointer(),
        text("gmsaCredentialSpec").pointer(),
        text("runAsUserName").pointer(),
        flag("hostProcess").pointer(),
    ],
);

/// `SeccompProfile`.
pub(super) static SECCOMP_PROFILE: Object = Object::of(
    "SeccompProfile",
    &[text("type").go("v1.SeccompProfileType").always(), text("localhostProfile").pointer()],
);

/// `AppArmorProfile`.
pub(super) static APP_ARMOR_PROFILE: Object = Object::of(
    "AppArmorProfile",
    &[text("type").go("v1.AppArmorProfileType").always(), text("localhostProfile").pointer()],
);

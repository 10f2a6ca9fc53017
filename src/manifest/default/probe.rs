//! Describes probes, lifecycle hooks and their handlers.

use super::schema::{Object, int_or_text, int32, int64, object, objects, text, texts};

/// `Probe`.
pub(super) static PROBE: Object = Object::of(
    "Probe",
    &[
        object("exec", &EXEC_ACTION).inlined("ProbeHandler"),
        object("httpGet", &HTTP_GET_ACTION).inlined("ProbeHandler"),
        object("tcpSocket", &TCP_SOCKET_ACTION).inlined("ProbeHandler"),
        object("grpc", &GRPC_ACTION).inlined("ProbeHandler"),
        int32("initialDelaySeconds"),
        int32("timeoutSeconds").or_int(1),
        int32("periodSeconds").or_int(10),
        int32("successThreshold").or_int(1),
        int32("failureThreshold").or_int(3),
        int64("terminationGracePeriodSeconds").pointer(),
    ],
);

/// `Lifecycle`.
pub(super) static LIFECYCLE: Object = Object::of(
    "Lifecycle",
    &[
        object("postStart", &LIFECYCLE_HANDLER),
        object("preStop", &LIFECYCLE_HANDLER),
        text("stopSignal").go("v1.Signal").pointer(),
    ],
);

/// `LifecycleHandler`.
pub(super) static LIFECYCLE_HANDLER: Object = Object::of(
    "LifecycleHandler",
    &[
        object("exec", &EXEC_ACTION),
        object("httpGet", &HTTP_GET_ACTION),
        object("tcpSocket", &TCP_SOCKET_ACTION),
        object("sleep", &SLEEP_ACTION),
    ],
);

/// `ExecAction`.
pub(super) static EXEC_ACTION: Object = Object::of("ExecAction", &[texts("command")]);

/// `HTTPGetAction`.
pub(super) static HTTP_GET_ACTION: Object = Object::of(
    "HTTPGetAction",
    &[
        text("path").or_text("/"),
        int_or_text("port").always(),
        text("host"),
        text("scheme").go("v1.URIScheme").or_text("HTTP"),
        objects("httpHeaders", &HTTP_HEADER),
    ],
);

/// `HTTPHeader`.
pub(super) static HTTP_HEADER: Object = Object::of("HTTPHeader", &[text("name").always(), text("value").always()]);

/// `TCPSocketAction`.
pub(super) static TCP_SOCKET_ACTION: Object =
    Object::of("TCPSocketAction", &[int_or_text("port").always(), text("host")]);

/// `GRPCAction`.
pub(super) static GRPC_ACTION: Object =
    Object::of("GRPCAction", &[int32("port").always(), text("service").pointer().or_text("")]);

/// `SleepAction`.
pub(super) static SLEEP_ACTION: Object = Object::of("SleepAction", &[int64("seconds").always()]);

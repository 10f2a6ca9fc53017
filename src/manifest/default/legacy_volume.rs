//! Describes the volume sources of storage systems that CSI has replaced.

use super::meta::LOCAL_OBJECT_REFERENCE;
use super::schema::{Object, flag, int32, object, text, text_map, texts};

/// `AWSElasticBlockStoreVolumeSource`.
pub(super) static AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE: Object = Object::of(
    "AWSElasticBlockStoreVolumeSource",
    &[text("volumeID").always(), text("fsType"), int32("partition"), flag("readOnly")],
);

/// `AzureDiskVolumeSource`.
pub(super) static AZURE_DISK_VOLUME_SOURCE: Object = Object::of(
    "AzureDiskVolumeSource",
    &[
        text("diskName").always(),
        text("diskURI").always(),
        text("cachingMode").go("v1.AzureDataDiskCachingMode").pointer().or_text("ReadWrite"),
        text("fsType").pointer().or_text("ext4"),
        flag("readOnly").pointer().or_false(),
        text("kind").go("v1.AzureDataDiskKind").pointer().or_text("Shared"),
    ],
);

/// `AzureFileVolumeSource`.
pub(super) static AZURE_FILE_VOLUME_SOURCE: Object =
    Object::of("AzureFileVolumeSource", &[text("secretName").always(), text("shareName").always(), flag("readOnly")]);

/// `CephFSVolumeSource`.
pub(super) static CEPH_FS_VOLUME_SOURCE: Object = Object::of(
    "CephFSVolumeSource",
    &[
        texts("monitors").always(),
        text("path"),
        text("user"),
        text("secretFile"),
        object("secretRef", &LOCAL_OBJECT_REFERENCE),
        flag("readOnly"),
    ],
);

/// `CinderVolumeSource`.
pub(super) static CINDER_VOLUME_SOURCE: Object = Object::of(
    "CinderVolumeSource",
    &[text("volumeID").always(), text("fsType"), flag("readOnly"), object("secretRef", &LOCAL_OBJECT_REFERENCE)],
);

/// `FlexVolumeSource`.
pub(super) static FLEX_VOLUME_SOURCE: Object = Object::of(
    "FlexVolumeSource",
    &[
        text("driver").always(),
        text("fsType"),
        object("secretRef", &LOCAL_OBJECT_REFERENCE),
        flag("readOnly"),
        text_map("options"),
    ],
);

/// `FlockerVolumeSource`.
pub(super) static FLOCKER_VOLUME_SOURCE: Object =
    Object::of("FlockerVolumeSource", &[text("datasetName"), text("datasetUUID")]);

/// `GCEPersistentDiskVolumeSource`.
pub(super) static GCE_PERSISTENT_DISK_VOLUME_SOURCE: Object = Object::of(
    "GCEPersistentDiskVolumeSource",
    &[text("pdName").always(), text("fsType"), int32("partition"), flag("readOnly")],
);

/// `GitRepoVolumeSource`.
pub(super) static GIT_REPO_VOLUME_SOURCE: Object =
    Object::of("GitRepoVolumeSource", &[text("repository").always(), text("revision"), text("directory")]);

/// `GlusterfsVolumeSource`.
pub(super) static GLUSTERFS_VOLUME_SOURCE: Object =
    Object::of("GlusterfsVolumeSource", &[text("endpoints").always(), text("path").always(), flag("readOnly")]);

/// `PhotonPersistentDiskVolumeSource`.
pub(super) static PHOTON_PERSISTENT_DISK_VOLUME_SOURCE: Object =
    Object::of("PhotonPersistentDiskVolumeSource", &[text("pdID").always(), text("fsType")]);

/// `PortworxVolumeSource`.
pub(super) static PORTWORX_VOLUME_SOURCE: Object =
    Object::of("PortworxVolumeSource", &[text("volumeID").always(), text("fsType"), flag("readOnly")]);

/// `QuobyteVolumeSource`.
pub(super) static QUOBYTE_VOLUME_SOURCE: Object = Object::of(
    "QuobyteVolumeSource",
    &[
        text("registry").always(),
        text("volume").always(),
        flag("readOnly"),
        text("user"),
        text("group"),
        text("tenant"),
    ],
);

/// `RBDVolumeSource`.
pub(super) static RBD_VOLUME_SOURCE: Object = Object::of(
    "RBDVolumeSource",
    &[
        texts("monitors").always(),
        text("image").always(),
        text("fsType"),
        text("pool").or_text("rbd"),
        text("user").or_text("admin"),
        text("keyring").or_text("/etc/ceph/keyring"),
        object("secretRef", &LOCAL_OBJECT_REFERENCE),
        flag("readOnly"),
    ],
);

/// `ScaleIOVolumeSource`.
pub(super) static SCALE_IO_VOLUME_SOURCE: Object = Object::of(
    "ScaleIOVolumeSource",
    &[
        text("gateway").always(),
        text("system").always(),
        object("secretRef", &LOCAL_OBJECT_REFERENCE).or_null(),
        flag("sslEnabled"),
        text("protectionDomain"),
        text("storagePool"),
        text("storageMode").or_text("ThinProvisioned"),
        text("volumeName"),
        text("fsType").or_text("xfs"),
        flag("readOnly"),
    ],
);

/// `StorageOSVolumeSource`.
pub(super) static STORAGE_OS_VOLUME_SOURCE: Object = Object::of(
    "StorageOSVolumeSource",
    &[
        text("volumeName"),
        text("volumeNamespace"),
        text("fsType"),
        flag("readOnly"),
        object("secretRef", &LOCAL_OBJECT_REFERENCE),
    ],
);

/// `VsphereVirtualDiskVolumeSource`.
pub(super) static VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE: Object = Object::of(
    "VsphereVirtualDiskVolumeSource",
    &[text("volumePath").always(), text("fsType"), text("storagePolicyName"), text("storagePolicyID")],
);

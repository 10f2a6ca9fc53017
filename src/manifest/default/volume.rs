//! Describes volumes and the sources in common use.

use serde_json::{Map, Value};

use super::Level;
use super::claim::PERSISTENT_VOLUME_CLAIM_TEMPLATE;
use super::container::{OBJECT_FIELD_SELECTOR, RESOURCE_FIELD_SELECTOR};
use super::image::default_pull_policy;
use super::legacy_volume::{
    AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE, AZURE_DISK_VOLUME_SOURCE, AZURE_FILE_VOLUME_SOURCE, CEPH_FS_VOLUME_SOURCE,
    CINDER_VOLUME_SOURCE, FLEX_VOLUME_SOURCE, FLOCKER_VOLUME_SOURCE, GCE_PERSISTENT_DISK_VOLUME_SOURCE,
    GIT_REPO_VOLUME_SOURCE, GLUSTERFS_VOLUME_SOURCE, PHOTON_PERSISTENT_DISK_VOLUME_SOURCE, PORTWORX_VOLUME_SOURCE,
    QUOBYTE_VOLUME_SOURCE, RBD_VOLUME_SOURCE, SCALE_IO_VOLUME_SOURCE, STORAGE_OS_VOLUME_SOURCE,
    VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE,
};
use super::meta::{LABEL_SELECTOR, LOCAL_OBJECT_REFERENCE};
use super::schema::{Object, Reading, flag, int32, int64, object, objects, quantity, text, text_map, texts};

/// What files of a volume made from API objects may do: 0644.
const DEFAULT_MODE: i64 = 0o644;

/// `Volume`.
pub(super) static VOLUME: Object = Object::of(
    "Volume",
    &[
        text("name").always(),
        object("hostPath", &HOST_PATH_VOLUME_SOURCE).inlined("VolumeSource"),
        object("emptyDir", &EMPTY_DIR_VOLUME_SOURCE).inlined("VolumeSource"),
        object("gcePersistentDisk", &GCE_PERSISTENT_DISK_VOLUME_SOURCE).inlined("VolumeSource"),
        object("awsElasticBlockStore", &AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE).inlined("VolumeSource"),
        object("gitRepo", &GIT_REPO_VOLUME_SOURCE).inlined("VolumeSource"),
        object("secret", &SECRET_VOLUME_SOURCE).inlined("VolumeSource"),
        object("nfs", &NFS_VOLUME_SOURCE).inlined("VolumeSource"),
        object("iscsi", &ISCSI_VOLUME_SOURCE).inlined("VolumeSource"),
        object("glusterfs", &GLUSTERFS_VOLUME_SOURCE).inlined("VolumeSource"),
        object("persistentVolumeClaim", &PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE).inlined("VolumeSource"),
        object("rbd", &RBD_VOLUME_SOURCE).inlined("VolumeSource"),
        object("flexVolume", &FLEX_VOLUME_SOURCE).inlined("VolumeSource"),
        object("cinder", &CINDER_VOLUME_SOURCE).inlined("VolumeSource"),
        object("cephfs", &CEPH_FS_VOLUME_SOURCE).inlined("VolumeSource"),
        object("flocker", &FLOCKER_VOLUME_SOURCE).inlined("VolumeSource"),
        object("downwardAPI", &DOWNWARD_API_VOLUME_SOURCE).inlined("VolumeSource"),
        object("fc", &FC_VOLUME_SOURCE).inlined("VolumeSource"),
        object("azureFile", &AZURE_FILE_VOLUME_SOURCE).inlined("VolumeSource"),
        object("configMap", &CONFIG_MAP_VOLUME_SOURCE).inlined("VolumeSource"),
        object("vsphereVolume", &VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE).inlined("VolumeSource"),
        object("quobyte", &QUOBYTE_VOLUME_SOURCE).inlined("VolumeSource"),
        object("azureDisk", &AZURE_DISK_VOLUME_SOURCE).inlined("VolumeSource"),
        object("photonPersistentDisk", &PHOTON_PERSISTENT_DISK_VOLUME_SOURCE).inlined("VolumeSource"),
        object("projected", &PROJECTED_VOLUME_SOURCE).inlined("VolumeSource"),
        object("portworxVolume", &PORTWORX_VOLUME_SOURCE).inlined("VolumeSource"),
        object("scaleIO", &SCALE_IO_VOLUME_SOURCE).inlined("VolumeSource"),
        object("storageos", &STORAGE_OS_VOLUME_SOURCE).inlined("VolumeSource"),
        object("csi", &CSI_VOLUME_SOURCE).inlined("VolumeSource"),
        object("ephemeral", &EPHEMERAL_VOLUME_SOURCE).inlined("VolumeSource"),
        object("image", &IMAGE_VOLUME_SOURCE).inlined("VolumeSource"),
    ],
)
.then(after_volume);

/// `EmptyDirVolumeSource`.
pub(super) static EMPTY_DIR_VOLUME_SOURCE: Object =
    Object::of("EmptyDirVolumeSource", &[text("medium").go("v1.StorageMedium"), quantity("sizeLimit").pointer()]);

/// `HostPathVolumeSource`.
pub(super) static HOST_PATH_VOLUME_SOURCE: Object = Object::of(
    "HostPathVolumeSource",
    &[text("path").always(), text("type").go("v1.HostPathType").pointer().or_text("")],
);

/// `SecretVolumeSource`.
pub(super) static SECRET_VOLUME_SOURCE: Object = Object::of(
    "SecretVolumeSource",
    &[
        text("secretName"),
        objects("items", &KEY_TO_PATH),
        int32("defaultMode").pointer().or_int(DEFAULT_MODE),
        flag("optional").pointer(),
    ],
);

/// `ConfigMapVolumeSource`.
pub(super) static CONFIG_MAP_VOLUME_SOURCE: Object = Object::of(
    "ConfigMapVolumeSource",
    &[
        text("name").inlined("LocalObjectReference"),
        objects("items", &KEY_TO_PATH),
        int32("defaultMode").pointer().or_int(DEFAULT_MODE),
        flag("optional").pointer(),
    ],
);

/// `KeyToPath`.
pub(super) static KEY_TO_PATH: Object =
    Object::of("KeyToPath", &[text("key").always(), text("path").always(), int32("mode").pointer()]);

/// `DownwardAPIVolumeSource`.
pub(super) static DOWNWARD_API_VOLUME_SOURCE: Object = Object::of(
    "DownwardAPIVolumeSource",
    &[objects("items", &DOWNWARD_API_VOLUME_FILE), int32("defaultMode").pointer().or_int(DEFAULT_MODE)],
);

/// `DownwardAPIVolumeFile`.
pub(super) static DOWNWARD_API_VOLUME_FILE: Object = Object::of(
    "DownwardAPIVolumeFile",
    &[
        text("path").always(),
        object("fieldRef", &OBJECT_FIELD_SELECTOR),
        object("resourceFieldRef", &RESOURCE_FIELD_SELECTOR),
        int32("mode").pointer(),
    ],
);

/// `ProjectedVolumeSource`.
pub(super) static PROJECTED_VOLUME_SOURCE: Object = Object::of(
    "ProjectedVolumeSource",
    &[objects("sources", &VOLUME_PROJECTION).always(), int32("defaultMode").pointer().or_int(DEFAULT_MODE)],
);

/// `VolumeProjection`.
pub(super) static VOLUME_PROJECTION: Object = Object::of(
    "VolumeProjection",
    &[
        object("secret", &SECRET_PROJECTION),
        object("downwardAPI", &DOWNWARD_API_PROJECTION),
        object("configMap", &CONFIG_MAP_PROJECTION),
        object("serviceAccountToken", &SERVICE_ACCOUNT_TOKEN_PROJECTION),
        object("clusterTrustBundle", &CLUSTER_TRUST_BUNDLE_PROJECTION).dropped(),
        object("podCertificate", &POD_CERTIFICATE_PROJECTION).since_1_36().dropped(),
    ],
);

/// `SecretProjection`.
pub(super) static SECRET_PROJECTION: Object = Object::of(
    "SecretProjection",
    &[text("name").inlined("LocalObjectReference"), objects("items", &KEY_TO_PATH), flag("optional").pointer()],
);

/// `ConfigMapProjection`.
pub(super) static CONFIG_MAP_PROJECTION: Object = Object::of(
    "ConfigMapProjection",
    &[text("name").inlined("LocalObjectReference"), objects("items", &KEY_TO_PATH), flag("optional").pointer()],
);

/// `DownwardAPIProjection`.
pub(super) static DOWNWARD_API_PROJECTION: Object =
    Object::of("DownwardAPIProjection", &[objects("items", &DOWNWARD_API_VOLUME_FILE)]);

/// `ServiceAccountTokenProjection`.
pub(super) static SERVICE_ACCOUNT_TOKEN_PROJECTION: Object = Object::of(
    "ServiceAccountTokenProjection",
    &[text("audience"), int64("expirationSeconds").pointer().or_int(3600), text("path").always()],
);

/// `ClusterTrustBundleProjection`.
pub(super) static CLUSTER_TRUST_BUNDLE_PROJECTION: Object = Object::of(
    "ClusterTrustBundleProjection",
    &[
        text("name").pointer(),
        text("signerName").pointer(),
        object("labelSelector", &LABEL_SELECTOR),
        flag("optional").pointer(),
        text("path").always(),
    ],
);

/// `PodCertificateProjection`.
pub(super) static POD_CERTIFICATE_PROJECTION: Object = Object::of(
    "PodCertificateProjection",
    &[
        text("signerName"),
        text("keyType"),
        int32("maxExpirationSeconds").pointer(),
        text("credentialBundlePath"),
        text("keyPath"),
        text("certificateChainPath"),
        text_map("userAnnotations"),
    ],
);

/// `PersistentVolumeClaimVolumeSource`.
pub(super) static PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE: Object =
    Object::of("PersistentVolumeClaimVolumeSource", &[text("claimName").always(), flag("readOnly")]);

/// `EphemeralVolumeSource`.
pub(super) static EPHEMERAL_VOLUME_SOURCE: Object =
    Object::of("EphemeralVolumeSource", &[object("volumeClaimTemplate", &PERSISTENT_VOLUME_CLAIM_TEMPLATE)]);

/// `ImageVolumeSource`.
pub(super) static IMAGE_VOLUME_SOURCE: Object =
    Object::of("ImageVolumeSource", &[text("reference"), text("pullPolicy").go("v1.PullPolicy")])
        .then(after_image_volume);

/// `CSIVolumeSource`.
pub(super) static CSI_VOLUME_SOURCE: Object = Object::of(
    "CSIVolumeSource",
    &[
        text("driver").always(),
        flag("readOnly").pointer(),
        text("fsType").pointer(),
        text_map("volumeAttributes"),
        object("nodePublishSecretRef", &LOCAL_OBJECT_REFERENCE),
    ],
);

/// `NFSVolumeSource`.
pub(super) static NFS_VOLUME_SOURCE: Object =
    Object::of("NFSVolumeSource", &[text("server").always(), text("path").always(), flag("readOnly")]);

/// `ISCSIVolumeSource`.
pub(super) static ISCSI_VOLUME_SOURCE: Object = Object::of(
    "ISCSIVolumeSource",
    &[
        text("targetPortal").always(),
        text("iqn").always(),
        int32("lun").always(),
        text("iscsiInterface").or_text("default"),
        text("fsType"),
        flag("readOnly"),
        texts("portals"),
        flag("chapAuthDiscovery"),
        flag("chapAuthSession"),
        object("secretRef", &LOCAL_OBJECT_REFERENCE),
        text("initiatorName").pointer(),
    ],
);

/// `FCVolumeSource`.
pub(super) static FC_VOLUME_SOURCE: Object = Object::of(
    "FCVolumeSource",
    &[texts("targetWWNs"), int32("lun").pointer(), text("fsType"), flag("readOnly"), texts("wwids")],
);

/// `SetDefaults_Volume`: a volume without a source is an empty directory.
fn after_volume(volume: &mut Map<String, Value>, _: Reading) {
    if volume.keys().all(|field| field == "name") {
        volume.insert("emptyDir".to_owned(), Map::new().into());
    }
}

/// While the gate ImageVolume is closed, nothing is filled in.
fn after_image_volume(source: &mut Map<String, Value>, reading: Reading) {
    if reading.level >= Level::V1_36 {
        default_pull_policy(source, "reference", "pullPolicy");
    }
}

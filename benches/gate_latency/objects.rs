//! The objects as an API server shows them: as large as live ones, managed fields included.

use serde_json::{Map, Value, json};

/// A pod of a set; `@..@` is filled in. Taken from a cluster, names shortened.
const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"@NAME@","generateName":"@SET@-","namespace":"@NAMESPACE@","uid":"@UID@","resourceVersion":"@VERSION@","creationTimestamp":"@CREATED@","labels":{"app.kubernetes.io/name":"@SET@","apps.kubernetes.io/pod-index":"@ORDINAL@","controller-revision-hash":"@REVISION@","statefulset.kubernetes.io/pod-name":"@NAME@"},"annotations":{"prometheus.io/port":"8080","prometheus.io/scrape":"true"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"@SET@","uid":"@OWNER@","controller":true,"blockOwnerDeletion":true}],"managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"@CREATED@","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:apps.kubernetes.io/pod-index":{},"f:controller-revision-hash":{},"f:statefulset.kubernetes.io/pod-name":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"@OWNER@\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"server\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"POD_NAME\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"f:readinessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},"f:resources":{".":{},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:hostname":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:subdomain":{},"f:terminationGracePeriodSeconds":{}}}},{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"@CREATED@","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}},"subresource":"status"}]},"spec":{"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-@NAME@"}},{"name":"kube-api-access","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}}],"defaultMode":420}}],"containers":[{"name":"server","image":"registry.example/server:1","ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],"env":[{"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[{"name":"data","mountPath":"/data"},{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"readinessProbe":{"httpGet":{"path":"/ready","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","nodeName":"node-1","securityContext":{},"hostname":"@NAME@","subdomain":"@SET@","schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"@CREATED@"},{"type":"Ready","status":"@READY@","lastProbeTime":null,"lastTransitionTime":"@CREATED@"},{"type":"ContainersReady","status":"@READY@","lastProbeTime":null,"lastTransitionTime":"@CREATED@"},{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"@CREATED@"}],"hostIP":"10.0.0.1","podIP":"10.1.0.7","startTime":"@CREATED@","containerStatuses":[{"name":"server","state":{"running":{"startedAt":"@CREATED@"}},"lastState":{},"ready":@IS_READY@,"restartCount":0,"image":"registry.example/server:1","imageID":"sha256:2b4e1a7f","containerID":"containerd://8f14e45fceea167a5a36dedd4bea2543","started":true}],"qosClass":"Burstable"}}"#;

/// A pod of a set.
#[derive(Debug, Clone)]
pub(crate) struct Pod {
    /// `metadata.uid`.
    pub(crate) uid: String,
    /// The revision it was made at.
    pub(crate) revision: String,
    /// Whether it is Ready.
    pub(crate) ready: bool,
    /// When it was made, and when it last became Ready, as the server writes times.
    pub(crate) since: String,
    /// `metadata.resourceVersion`.
    pub(crate) version: u64,
}

/// A pod as JSON.
pub(crate) fn pod(namespace: &str, set: &str, owner: &str, ordinal: usize, pod: &Pod) -> String {
    let (version, ordinal) = (pod.version.to_string(), ordinal.to_string());
    let name = format!("{set}-{ordinal}");
    let values = |key: &str| match key {
        "NAME" => name.as_str(),
        "SET" => set,
        "NAMESPACE" => namespace,
        "UID" => &pod.uid,
        "VERSION" => &version,
        "CREATED" => &pod.since,
        "ORDINAL" => &ordinal,
        "REVISION" => &pod.revision,
        "OWNER" => owner,
        "READY" => {
            if pod.ready {
                "True"
            } else {
                "False"
            }
        }
        "IS_READY" => {
            if pod.ready {
                "true"
            } else {
                "false"
            }
        }
        _ => "",
    };
    let mut text = String::with_capacity(POD.len() + 512);
    for (index, piece) in POD.split('@').enumerate() {
        // Every second piece is a key.
        text.push_str(if index % 2 == 0 { piece } else { values(piece) });
    }
    text
}

/// What an apply leaves in `metadata.managedFields`.
pub(crate) fn managed_fields(body: &Value, time: &str) -> Value {
    let mut fields = Map::new();
    for part in ["metadata", "spec"] {
        fields.insert(format!("f:{part}"), fields_of(&body[part]));
    }
    json!([
        {"manager": "phaseline", "operation": "Apply", "apiVersion": "apps/v1", "time": time, "fieldsType": "FieldsV1", "fieldsV1": fields},
        {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "apps/v1", "time": time, "subresource": "status",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:availableReplicas": {}, "f:collisionCount": {}, "f:currentReplicas": {},
            "f:currentRevision": {}, "f:observedGeneration": {}, "f:readyReplicas": {}, "f:replicas": {}, "f:updateRevision": {}, "f:updatedReplicas": {}}}},
    ])
}

fn fields_of(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (format!("f:{key}"), fields_of(value))).collect(),
        _ => json!({}),
    }
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"time"

	restful "github.com/emicklei/go-restful/v3"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	statefulsetstorage "k8s.io/kubernetes/pkg/registry/apps/statefulset/storage"
)

// write is one request that changes a set.
type write struct {
	// create, put, apply, or merge and json for the patches of that name.
	Verb string `json:"verb"`
	// None, status or scale.
	Subresource string `json:"subresource,omitempty"`
	Manager     string `json:"manager"`
	Force       bool   `json:"force,omitempty"`
	// The set as it is stored, if it is.
	Live json.RawMessage `json:"live,omitempty"`
	Body json.RawMessage `json:"body"`
	// The time at which it is written, in seconds; later than any in the set, and before 2020.
	Now metav1.Time `json:"now"`
}

// statusREST is the status of sets, over a store that lets everything pass.
type statusREST struct {
	store *registry.Store
	rest.ResetFieldsStrategy
}

func (statusREST) New() runtime.Object { return &apps.StatefulSet{} }

func (statusREST) Destroy() {}

func (status statusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return status.store.Get(ctx, name, options)
}

func (status statusREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return status.store.Update(ctx, name, info, create, update, false, options)
}

func (status statusREST) ConvertToTable(ctx context.Context, object runtime.Object, options runtime.Object) (*metav1.Table, error) {
	return status.store.ConvertToTable(ctx, object, options)
}

// newDoors is the part of the API under which sets are written, put together as the API server does it; but validation
// lets everything pass.
func newDoors(codec runtime.Codec, converter managedfields.TypeConverter) (http.Handler, error) {
	sets, err := statefulsetstorage.NewStorage(optionsGetter{codec})
	if err != nil {
		return nil, err
	}
	status := *sets.StatefulSet.Store
	status.UpdateStrategy = lenientUpdate{statefulset.StatusStrategy}
	status.ResetFieldsStrategy = statefulset.StatusStrategy
	// The Scale shares the store of the sets.
	store := sets.StatefulSet.Store
	store.CreateStrategy = lenientStrategy{store.CreateStrategy}
	store.UpdateStrategy = lenientUpdate{store.UpdateStrategy}

	scheme := legacyscheme.Scheme
	version := metav1.SchemeGroupVersion
	group := endpoints.APIGroupVersion{
		Storage: map[string]rest.Storage{
			"statefulsets":        sets.StatefulSet,
			"statefulsets/status": statusREST{&status, statefulset.StatusStrategy},
			"statefulsets/scale":  sets.Scale,
		},
		Root:                       "/apis",
		GroupVersion:               appsv1.SchemeGroupVersion,
		MetaGroupVersion:           &version,
		Serializer:                 legacyscheme.Codecs,
		ParameterCodec:             legacyscheme.ParameterCodec,
		Typer:                      scheme,
		Creater:                    scheme,
		Convertor:                  scheme,
		ConvertabilityChecker:      scheme,
		Defaulter:                  scheme,
		Namer:                      meta.NewAccessor(),
		UnsafeConvertor:            runtime.UnsafeObjectConvertor(scheme),
		TypeConverter:              converter,
		EquivalentResourceRegistry: runtime.NewEquivalentResourceRegistry(),
		Authorizer:                 authorizerfactory.NewAlwaysAllowAuthorizer(),
		MaxRequestBodyBytes:        3 << 20,
	}
	container := restful.NewContainer()
	if _, _, err := group.InstallREST(container); err != nil {
		return nil, err
	}
	return container, nil
}

// written is where the storage puts what it is given.
type written struct{ object *apps.StatefulSet }

type writtenKey struct{}

func keep(ctx context.Context, object, out runtime.Object) error {
	into, ok := ctx.Value(writtenKey{}).(*written)
	if !ok {
		return fmt.Errorf("nothing is written but for a write")
	}
	set, ok := object.(*apps.StatefulSet)
	if !ok {
		return fmt.Errorf("no set is written: %T", object)
	}
	into.object = set.DeepCopy()
	set.DeepCopyInto(out.(*apps.StatefulSet))
	return nil
}

func (stored) Create(ctx context.Context, key string, object, out runtime.Object, ttl uint64) error {
	return keep(ctx, object, out)
}

func (store stored) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	existing, err := conversion.EnforcePtr(destination)
	if err != nil {
		return err
	}
	existing.SetZero()
	if err := store.Get(ctx, key, storage.GetOptions{IgnoreNotFound: ignoreNotFound}, destination); err != nil {
		return err
	}
	old := destination.DeepCopyObject()
	if err := preconditions.Check(key, old); err != nil {
		return err
	}
	version, err := storage.APIObjectVersioner{}.ObjectResourceVersion(old)
	if err != nil {
		return err
	}
	updated, _, err := tryUpdate(old, storage.ResponseMeta{ResourceVersion: version})
	if err != nil {
		return err
	}
	return keep(ctx, updated, destination)
}

// write passes one request through the handlers; the answer is what is stored then, or why nothing is.
func (server *server) write(write *write) map[string]any {
	var object struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	name := "web"
	into := &written{}
	ctx := context.WithValue(audit.WithAuditContext(context.Background()), writtenKey{}, into)
	if len(write.Live) > 0 {
		live := &apps.StatefulSet{}
		if err := runtime.DecodeInto(legacyscheme.Codecs.UniversalDecoder(), write.Live, live); err != nil {
			return map[string]any{"accepted": false, "status": metav1.Status{Message: err.Error()}}
		}
		if err := (storage.APIObjectVersioner{}).UpdateObject(live, 1); err != nil {
			return failure(err)
		}
		// The sets of fields as the server spells them, whatever the spelling of the request: an update that changes
		// nothing writes them anew. It makes one of two that have the same name, which stay two in a store.
		respelled, ok := server.manager.UpdateNoErrors(live.DeepCopy(), live.DeepCopy(), "").(*apps.StatefulSet)
		if ok && len(respelled.ManagedFields) == len(live.ManagedFields) {
			live = respelled
		}
		name = live.Name
		ctx = context.WithValue(ctx, storedKey{}, live)
	} else if json.Unmarshal(write.Body, &object) == nil && object.Metadata.Name != "" {
		name = object.Metadata.Name
	}

	method, contentType := http.MethodPatch, runtime.ContentTypeJSON
	switch write.Verb {
	case "create":
		method = http.MethodPost
	case "put":
		method = http.MethodPut
	case "apply":
		contentType = string(types.ApplyPatchType)
	case "merge":
		contentType = string(types.MergePatchType)
	case "json":
		contentType = string(types.JSONPatchType)
	default:
		return failure(fmt.Errorf("no such verb: %q", write.Verb))
	}
	query := url.Values{"fieldManager": {write.Manager}, "fieldValidation": {metav1.FieldValidationIgnore}}
	if write.Verb == "apply" {
		query.Set("force", strconv.FormatBool(write.Force))
	}
	info := &request.RequestInfo{IsResourceRequest: true, APIGroup: "apps", APIVersion: "v1", Resource: "statefulsets", Subresource: write.Subresource, Namespace: metav1.NamespaceDefault}
	path := "/apis/apps/v1/namespaces/" + metav1.NamespaceDefault + "/statefulsets"
	if write.Verb != "create" {
		info.Name = name
		path += "/" + name
	}
	if write.Subresource != "" {
		path += "/" + write.Subresource
	}
	ctx = request.WithRequestInfo(request.WithNamespace(ctx, metav1.NamespaceDefault), info)
	request := httptest.NewRequestWithContext(ctx, method, path+"?"+query.Encode(), bytes.NewReader(write.Body))
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", runtime.ContentTypeJSON)
	response := httptest.NewRecorder()
	server.doors.ServeHTTP(response, request)
	if response.Code >= 300 || into.object == nil {
		return map[string]any{"accepted": false, "status": json.RawMessage(response.Body.Bytes())}
	}

	// What the handlers have written just now was written when the request says.
	for index := range into.object.ManagedFields {
		entry := &into.object.ManagedFields[index]
		if entry.Time != nil && entry.Time.After(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)) {
			entry.Time = &write.Now
		}
	}
	// As it comes back from the storage, which knows no empty lists.
	kept, err := runtime.Encode(server.codec, into.object)
	if err != nil {
		return failure(err)
	}
	read, err := runtime.Decode(server.codec, kept)
	if err != nil {
		return failure(err)
	}
	stored, err := runtime.Encode(legacyscheme.Codecs.LegacyCodec(appsv1.SchemeGroupVersion), read)
	if err != nil {
		return failure(err)
	}
	return map[string]any{"accepted": true, "object": json.RawMessage(bytes.TrimSpace(stored))}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	apiopenapi "k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/builder3"
	openapiutil "k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/capabilities"
	_ "k8s.io/kubernetes/pkg/controller/statefulset"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	statefulsetstorage "k8s.io/kubernetes/pkg/registry/apps/statefulset/storage"
)

// newRevision is what the controller makes of a set: the template's patch, its hash and the name.
//
//go:linkname newRevision k8s.io/kubernetes/pkg/controller/statefulset.newRevision
func newRevision(set *appsv1.StatefulSet, revision int64, collisionCount *int32) (*appsv1.ControllerRevision, error)

// server is the API server's endpoint of StatefulSets: its handlers, its field manager, its registry with strategy and
// storage codec. Only what is behind the codec, etcd, is not there.
type server struct {
	strict, lenient endpoint
	doors           http.Handler
	codec           runtime.Codec
	manager         *managedfields.FieldManager
	openapi         map[string]*spec.Schema
}

type endpoint struct{ apply, create http.HandlerFunc }

// lenientStrategy notes down what validation finds, and lets it pass.
type lenientStrategy struct{ rest.RESTCreateStrategy }

// lenientUpdate lets every change pass.
type lenientUpdate struct{ rest.RESTUpdateStrategy }

func (lenientUpdate) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

type findingsKey struct{}

func (strategy lenientStrategy) Validate(ctx context.Context, object runtime.Object) field.ErrorList {
	found := strategy.RESTCreateStrategy.Validate(ctx, object)
	if findings, ok := ctx.Value(findingsKey{}).(*field.ErrorList); ok {
		*findings = append(*findings, found...)
	}
	return nil
}

// stored is a storage.Interface for dry runs, which read and never write. The object is that of the request.
type stored struct{ storage.Interface }

type storedKey struct{}

func (stored) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

func (stored) Get(ctx context.Context, key string, options storage.GetOptions, into runtime.Object) error {
	if object, ok := ctx.Value(storedKey{}).(*apps.StatefulSet); ok {
		object.DeepCopyInto(into.(*apps.StatefulSet))
		return nil
	}
	if options.IgnoreNotFound {
		value, err := conversion.EnforcePtr(into)
		if err == nil {
			value.SetZero()
		}
		return err
	}
	return storage.NewKeyNotFoundError(key, 0)
}

type optionsGetter struct{ codec runtime.Codec }

func (getter optionsGetter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.Config{Codec: getter.codec}
	return generic.RESTOptions{
		StorageConfig:  config.ForResource(resource),
		ResourcePrefix: resource.Resource,
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object,
			func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return stored{}, func() {}, nil
		},
	}, nil
}

func newServer() (*server, error) {
	// As nearly every cluster is started; without it nothing privileged could be said to be accepted.
	capabilities.Setup(true, 0)
	kind := appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	hub := schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal}

	protobuf, ok := runtime.SerializerInfoForMediaType(legacyscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		return nil, fmt.Errorf("no serializer for protobuf")
	}
	codec := legacyscheme.Codecs.CodecForVersions(protobuf.Serializer, legacyscheme.Codecs.UniversalDeserializer(), appsv1.SchemeGroupVersion, hub)
	strict, _, err := statefulsetstorage.NewREST(optionsGetter{codec})
	if err != nil {
		return nil, err
	}
	lenientStore := *strict.Store
	lenientStore.CreateStrategy = lenientStrategy{strict.CreateStrategy}
	lenientStore.UpdateStrategy = lenientUpdate{strict.UpdateStrategy}

	definitions := apiopenapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	config := genericserver.DefaultOpenAPIV3Config(definitions, openapinamer.NewDefinitionNamer(legacyscheme.Scheme))
	openapi, err := builder3.BuildOpenAPIDefinitionsForResources(config, openapiutil.GetCanonicalTypeName(&appsv1.StatefulSet{}), openapiutil.GetCanonicalTypeName(&autoscalingv1.Scale{}))
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(openapi, false)
	if err != nil {
		return nil, err
	}
	scheme := legacyscheme.Scheme
	unsafe := runtime.UnsafeObjectConvertor(scheme)
	manager, err := managedfields.NewDefaultFieldManager(converter, unsafe, scheme, scheme, kind, hub, "", nil)
	if err != nil {
		return nil, err
	}
	scope := &handlers.RequestScope{
		Namer:                    handlers.ContextBasedNaming{Namer: meta.NewAccessor()},
		Serializer:               legacyscheme.Codecs,
		ParameterCodec:           legacyscheme.ParameterCodec,
		Creater:                  scheme,
		Convertor:                scheme,
		Defaulter:                scheme,
		Typer:                    scheme,
		UnsafeConvertor:          unsafe,
		Authorizer:               authorizerfactory.NewAlwaysAllowAuthorizer(),
		EquivalentResourceMapper: runtime.NewEquivalentResourceRegistry(),
		TableConvertor:           strict,
		FieldManager:             manager,
		Resource:                 appsv1.SchemeGroupVersion.WithResource("statefulsets"),
		Kind:                     kind,
		MetaGroupVersion:         metav1.SchemeGroupVersion,
		HubGroupVersion:          hub,
		MaxRequestBodyBytes:      3 << 20,
	}
	doors, err := newDoors(codec, converter)
	if err != nil {
		return nil, err
	}
	return &server{strict: endpointOf(strict.Store, scope), lenient: endpointOf(&lenientStore, scope), doors: doors, codec: codec, manager: manager, openapi: openapi}, nil
}

func endpointOf(store *registry.Store, scope *handlers.RequestScope) endpoint {
	return endpoint{
		apply:  handlers.PatchResource(store, scope, nil, []string{string(types.ApplyPatchType)}),
		create: handlers.CreateResource(store, scope, nil),
	}
}

// answer sends the manifest, for `update` after those before it, and says what came of it.
func (server *server) answer(mode string, lenient bool, manifest []byte, before []json.RawMessage) map[string]any {
	var old *apps.StatefulSet
	endpoint := server.strict
	if lenient {
		endpoint = server.lenient
	}
	if mode == "update" {
		for index, earlier := range before {
			answer, object := endpoint.send("apply", earlier, old)
			if object == nil {
				answer["before"] = index
				return answer
			}
			old = object
		}
		mode = "apply"
	}
	answer, object := endpoint.send(mode, manifest, old)
	if object != nil {
		revision, err := revisionOf(object)
		if err != nil {
			return failure(err)
		}
		answer["revision"] = revision
	}
	return answer
}

// send passes one request through the handlers; the object is that of the storage, if there is one.
func (endpoint endpoint) send(mode string, manifest []byte, old *apps.StatefulSet) (map[string]any, *apps.StatefulSet) {
	namespace, name := nameOf(manifest)
	method, query, contentType, handler := http.MethodPatch, "?dryRun=All&force=true&fieldManager=phaseline&fieldValidation=Warn", string(types.ApplyPatchType), endpoint.apply
	if mode == "create" {
		method, query, contentType, handler = http.MethodPost, "?dryRun=All&fieldManager=phaseline&fieldValidation=Warn", runtime.ContentTypeJSON, endpoint.create
	}
	warnings := &recorder{}
	findings := &field.ErrorList{}
	ctx := context.WithValue(context.Background(), findingsKey{}, findings)
	ctx = warning.WithWarningRecorder(audit.WithAuditContext(ctx), warnings)
	info := &request.RequestInfo{IsResourceRequest: true, APIGroup: "apps", APIVersion: "v1", Resource: "statefulsets", Namespace: namespace}
	if mode != "create" {
		info.Name = name
	}
	ctx = request.WithRequestInfo(request.WithNamespace(ctx, namespace), info)
	if old != nil {
		ctx = context.WithValue(ctx, storedKey{}, old)
	}
	request := httptest.NewRequestWithContext(ctx, method, "/"+query, bytes.NewReader(manifest))
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", runtime.ContentTypeJSON)
	response := httptest.NewRecorder()
	handler(response, request)

	answer := map[string]any{"accepted": response.Code < 300, "code": response.Code}
	if len(warnings.texts) > 0 {
		answer["warnings"] = warnings.texts
	}
	if response.Code >= 300 {
		refusal(answer, response.Body.Bytes())
		return answer, nil
	}
	var returned struct {
		Spec json.RawMessage `json:"spec"`
	}
	object := &apps.StatefulSet{}
	err := json.Unmarshal(response.Body.Bytes(), &returned)
	if err == nil {
		err = runtime.DecodeInto(legacyscheme.Codecs.UniversalDecoder(), response.Body.Bytes(), object)
	}
	if err == nil {
		err = storage.APIObjectVersioner{}.UpdateObject(object, 1)
	}
	if err != nil {
		return failure(err), nil
	}
	answer["spec"] = returned.Spec
	if len(*findings) > 0 {
		causes := []map[string]any{}
		for _, finding := range *findings {
			causes = append(causes, map[string]any{"type": finding.Type, "field": finding.Field, "message": finding.ErrorBody()})
		}
		answer["causes"] = causes
	}
	return answer, object
}

// refusal takes over what the server's Status says.
func refusal(answer map[string]any, body []byte) {
	status := metav1.Status{}
	if err := json.Unmarshal(body, &status); err != nil {
		answer["message"] = string(body)
		return
	}
	answer["message"] = status.Message
	if status.Reason != "" {
		answer["reason"] = status.Reason
	}
	causes := []map[string]any{}
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			causes = append(causes, map[string]any{"type": cause.Type, "field": cause.Field, "message": cause.Message})
		}
	}
	answer["causes"] = causes
}

// revisionOf is the name of the ControllerRevision of a new set, which the controller reads as protobuf.
func revisionOf(object *apps.StatefulSet) (string, error) {
	versioned := &appsv1.StatefulSet{}
	if err := legacyscheme.Scheme.Convert(object, versioned, nil); err != nil {
		return "", err
	}
	protobuf, err := versioned.Marshal()
	if err != nil {
		return "", err
	}
	watched := &appsv1.StatefulSet{}
	if err := watched.Unmarshal(protobuf); err != nil {
		return "", err
	}
	collisions := int32(0)
	revision, err := newRevision(watched, 1, &collisions)
	if err != nil {
		return "", err
	}
	return revision.Name, nil
}

// nameOf is where kubectl sends the manifest to.
func nameOf(manifest []byte) (namespace, name string) {
	var object struct {
		Metadata struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(manifest, &object) // What is no object is sent all the same.
	if object.Metadata.Namespace == "" {
		object.Metadata.Namespace = metav1.NamespaceDefault
	}
	return object.Metadata.Namespace, object.Metadata.Name
}

// recorder keeps every warning once, as the server's headers do.
type recorder struct{ texts []string }

func (recorder *recorder) AddWarning(_, text string) {
	if !slices.Contains(recorder.texts, text) {
		recorder.texts = append(recorder.texts, text)
	}
}

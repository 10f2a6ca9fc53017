package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/controller/history"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

// syncSet is one sync of one set, adoption and release included.
//
//go:linkname syncSet k8s.io/kubernetes/pkg/controller/statefulset.(*StatefulSetController).sync
func syncSet(controller *statefulset.StatefulSetController, ctx context.Context, key string) error

// world is what a controller's caches and the API hold, and which requests the API refuses.
type world struct {
	Set       *appsv1.StatefulSet             `json:"set"`
	Pods      []*corev1.Pod                   `json:"pods"`
	Revisions []*appsv1.ControllerRevision    `json:"revisions"`
	Claims    []*corev1.PersistentVolumeClaim `json:"claims"`
	// In the API and not in the caches.
	Unseen []*appsv1.ControllerRevision `json:"unseen"`
	// The time at which it happens. 1.33 reads the clock: all times are moved to it.
	Now metav1.Time `json:"now"`
	// The gate MaxUnavailableStatefulSet.
	MaxUnavailable bool     `json:"maxUnavailable"`
	Refusals       []denial `json:"refusals"`
}

// denial is what the API answers to the first requests of that kind.
type denial struct {
	// create, update, delete, patch, status.
	Verb     string `json:"verb"`
	Resource string `json:"resource"`
	Name     string `json:"name"`
	Code     int32  `json:"code"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Times    int    `json:"times"`
}

// scene records what the controller does.
type scene struct {
	sync.Mutex
	effects  []map[string]any
	refusals []denial
	requeue  *time.Duration
}

// note records a request; the answer, if it is to be refused.
func (scene *scene) note(verb, resource, name string, object any) error {
	scene.Lock()
	defer scene.Unlock()
	effect := map[string]any{"do": verb, "what": resource, "name": name}
	if object != nil {
		effect["object"] = object
	}
	scene.effects = append(scene.effects, effect)
	for index := range scene.refusals {
		refusal := &scene.refusals[index]
		if refusal.Times > 0 && refusal.Verb == verb && refusal.Resource == resource && refusal.Name == name {
			refusal.Times--
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: refusal.Code, Reason: metav1.StatusReason(refusal.Reason), Message: refusal.Message,
			}}
		}
	}
	return nil
}

func (scene *scene) react(action clienttesting.Action) (bool, runtime.Object, error) {
	resource, verb := action.GetResource().Resource, action.GetVerb()
	if action.GetSubresource() == "status" {
		verb = "status"
	}
	switch action := action.(type) {
	case clienttesting.UpdateActionImpl:
		accessor := action.Object.(metav1.Object)
		if accessor.GetName() == "" {
			// What the client says to an object without a name: nothing is sent.
			return true, nil, errors.New("resource name may not be empty")
		}
		var sent any = action.Object.DeepCopyObject()
		if set, ok := sent.(*appsv1.StatefulSet); ok {
			sent = set.Status
		}
		if err := scene.note(verb, resource, accessor.GetName(), sent); err != nil {
			return true, nil, err
		}
	case clienttesting.CreateActionImpl:
		accessor := action.Object.(metav1.Object)
		if err := scene.note(verb, resource, accessor.GetName(), action.Object.DeepCopyObject()); err != nil {
			return true, nil, err
		}
	case clienttesting.DeleteActionImpl:
		if err := scene.note(verb, resource, action.GetName(), nil); err != nil {
			return true, nil, err
		}
	case clienttesting.PatchActionImpl:
		if err := scene.note(verb, resource, action.GetName(), json.RawMessage(action.GetPatch())); err != nil {
			return true, nil, err
		}
		if resource == "pods" {
			// What came of it is of no interest, and the fake's merging is slow.
			return true, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: action.GetName(), Namespace: action.GetNamespace()}}, nil
		}
	}
	return false, nil, nil
}

// Event and the like record events among the requests.
func (scene *scene) Event(_ runtime.Object, kind, reason, message string) {
	scene.Lock()
	defer scene.Unlock()
	scene.effects = append(scene.effects, map[string]any{"do": "event", "type": kind, "reason": reason, "message": message})
}

func (scene *scene) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	scene.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (scene *scene) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	scene.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// later records when the controller wants to look again.
type later struct {
	workqueue.TypedRateLimitingInterface[string]
	scene *scene
}

func (later later) AddAfter(_ string, after time.Duration) { later.scene.requeue = &after }

// stopped is a clock at one moment.
type stopped struct{ now time.Time }

func (clock stopped) Now() time.Time                     { return clock.now }
func (clock stopped) Since(then time.Time) time.Duration { return clock.now.Sub(then) }

// hidden gives a field of a controller that is not exported.
func hidden(controller *statefulset.StatefulSetController, name string) (reflect.Value, bool) {
	field := reflect.ValueOf(controller).Elem().FieldByName(name)
	if !field.IsValid() {
		return field, false
	}
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem(), true
}

// call calls a function with as many of the arguments as its version takes.
func call(function any, arguments ...reflect.Value) reflect.Value {
	value := reflect.ValueOf(function)
	return value.Call(arguments[:value.Type().NumIn()])[0]
}

// syncOnce runs the controller of this version once, on a world that stands still around it: its caches do not see what
// it does, the API does.
func syncOnce(manifest json.RawMessage) map[string]any {
	world := world{}
	if err := json.Unmarshal(manifest, &world); err != nil {
		return failure(err)
	}
	gate := func(open bool) error {
		return utilfeature.DefaultMutableFeatureGate.Set(fmt.Sprintf("MaxUnavailableStatefulSet=%t", open))
	}
	if err := gate(world.MaxUnavailable); err != nil {
		return failure(err)
	}
	defer func() { _ = gate(false) }()

	objects := []runtime.Object{world.Set}
	for _, object := range world.Pods {
		objects = append(objects, object)
	}
	for _, object := range world.Revisions {
		objects = append(objects, object)
	}
	for _, object := range world.Claims {
		objects = append(objects, object)
	}
	for _, object := range world.Unseen {
		objects = append(objects, object)
	}
	scene := &scene{refusals: world.Refusals}
	client := fake.NewSimpleClientset(objects...)
	client.PrependReactor("*", "*", scene.react)
	factory := informers.NewSharedInformerFactory(client, 0)
	sets, pods := factory.Apps().V1().StatefulSets(), factory.Core().V1().Pods()
	claims, revisions := factory.Core().V1().PersistentVolumeClaims(), factory.Apps().V1().ControllerRevisions()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	controller := statefulset.NewStatefulSetController(ctx, pods, sets, claims, revisions, client)

	clock, reads := hidden(controller, "clock")
	if reads {
		clock.Set(reflect.ValueOf(stopped{world.Now.Time}))
	} else {
		move(&world, time.Now().Truncate(time.Second).Sub(world.Now.Time))
	}
	store, _ := hidden(controller, "consistencyStore")
	recorder := reflect.ValueOf(scene)
	podControl := call(statefulset.NewStatefulPodControl, reflect.ValueOf(client), reflect.ValueOf(pods.Lister()), reflect.ValueOf(claims.Lister()), recorder, store)
	updater := call(statefulset.NewRealStatefulSetStatusUpdater, reflect.ValueOf(client), reflect.ValueOf(sets.Lister()), store)
	past := call(history.NewHistory, reflect.ValueOf(client), reflect.ValueOf(revisions.Lister()), reflect.ValueOf(revisions.Informer().GetIndexer()))
	control := call(statefulset.NewDefaultStatefulSetControl, podControl, updater, past)
	field, _ := hidden(controller, "control")
	field.Set(control)
	field, _ = hidden(controller, "queue")
	queue := field.Interface().(workqueue.TypedRateLimitingInterface[string])
	defer queue.ShutDown()
	field.Set(reflect.ValueOf(later{queue, scene}))
	field, _ = hidden(controller, "eventBroadcaster")
	defer field.Interface().(record.EventBroadcaster).Shutdown()

	_ = sets.Informer().GetIndexer().Add(world.Set)
	for _, object := range world.Pods {
		_ = pods.Informer().GetIndexer().Add(object)
	}
	for _, object := range world.Claims {
		_ = claims.Informer().GetIndexer().Add(object)
	}
	for _, object := range world.Revisions {
		_ = revisions.Informer().GetIndexer().Add(object)
	}

	err := syncSet(controller, ctx, world.Set.Namespace+"/"+world.Set.Name)
	answer := map[string]any{"effects": scene.effects, "errors": messages(err)}
	if scene.effects == nil {
		answer["effects"] = []any{}
	}
	if scene.requeue != nil {
		answer["requeueMillis"] = scene.requeue.Milliseconds()
	}
	return answer
}

// move moves every time that the controller reads.
func move(world *world, by time.Duration) {
	for _, pod := range world.Pods {
		for index := range pod.Status.Conditions {
			at := &pod.Status.Conditions[index].LastTransitionTime
			if !at.IsZero() {
				*at = metav1.NewTime(at.Add(by))
			}
		}
	}
}

// messages are what is within an error, one by one.
func messages(err error) []string {
	if err == nil {
		return []string{}
	}
	if many, ok := err.(utilerrors.Aggregate); ok {
		found := []string{}
		for _, one := range utilerrors.Flatten(many).Errors() {
			found = append(found, messages(one)...)
		}
		return found
	}
	return []string{strings.TrimSpace(err.Error())}
}

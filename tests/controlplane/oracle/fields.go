package main

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// fields describes every struct within a StatefulSet and its Scale: its Go types, and what the field manager takes from the API's
// description beyond them.
func fields(server *server) map[string]any {
	types := map[string]any{}
	describe(server, reflect.TypeFor[appsv1.StatefulSet](), types)
	describe(server, reflect.TypeFor[autoscalingv1.Scale](), types)
	return map[string]any{"types": types}
}

// fieldOf is a field of a struct, as JSON sees it.
type fieldOf struct {
	Name string `json:"name"`
	// The Go type without pointer, list and map: string, bool, int32, a type with a form of its own (Quantity, Time,
	// IntOrString, FieldsV1), or a struct that is described too.
	Type string `json:"type"`
	// The whole Go type but for a pointer, as the server names it in what it refuses to read.
	Go string `json:"go"`
	// The struct that is inlined and has the field, where it is not the one described itself.
	Inline string `json:"inline,omitempty"`
	// pointer, list or map (of strings to the type); none for a plain value.
	Shape     string `json:"shape,omitempty"`
	OmitEmpty bool   `json:"omitEmpty,omitempty"`
	OmitZero  bool   `json:"omitZero,omitempty"`
	// Of a list: the fields by which server-side apply tells its items apart.
	Keys []string `json:"keys,omitempty"`
	// Of a list: "map", "set" or "atomic".
	List string `json:"list,omitempty"`
	// Whether server-side apply takes an object or a map as one value.
	Atomic bool `json:"atomic,omitempty"`
}

func describe(server *server, of reflect.Type, types map[string]any) {
	if _, done := types[of.Name()]; done {
		return
	}
	found := []fieldOf{}
	types[of.Name()] = &found
	collect(server, of, schemaOf(server, of), &found, types)
}

func collect(server *server, of reflect.Type, schema *spec.Schema, found *[]fieldOf, types map[string]any) {
	for index := range of.NumField() {
		member := of.Field(index)
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" && (member.Anonymous || strings.Contains(options, "inline")) {
			before := len(*found)
			collect(server, member.Type, schema, found, types)
			for index := before; index < len(*found); index++ {
				entry := &(*found)[index]
				entry.Inline = strings.TrimSuffix(member.Type.Name()+"."+entry.Inline, ".")
			}
			continue
		}
		entry := fieldOf{Name: name, OmitEmpty: strings.Contains(options, "omitempty"), OmitZero: strings.Contains(options, "omitzero")}
		inner := member.Type
		entry.Go = strings.TrimPrefix(inner.String(), "*")
		switch {
		case hasOwnForm(inner):
		case inner.Kind() == reflect.Pointer:
			entry.Shape, inner = "pointer", inner.Elem()
		case inner.Kind() == reflect.Slice:
			entry.Shape, inner = "list", inner.Elem()
		case inner.Kind() == reflect.Map:
			entry.Shape, inner = "map", inner.Elem()
		}
		if inner.Kind() == reflect.Struct || hasOwnForm(inner) {
			entry.Type = inner.Name()
		} else {
			entry.Type = inner.Kind().String()
		}
		if schema != nil {
			property := schema.Properties[name]
			entry.List, _ = property.Extensions.GetString("x-kubernetes-list-type")
			entry.Keys, _ = property.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
			mapType, _ := property.Extensions.GetString("x-kubernetes-map-type")
			entry.Atomic = mapType == "atomic"
			if target := schemaOf(server, inner); target != nil {
				mapType, _ := target.Extensions.GetString("x-kubernetes-map-type")
				entry.Atomic = entry.Atomic || mapType == "atomic"
			}
		}
		*found = append(*found, entry)
		if inner.Kind() == reflect.Struct && !hasOwnForm(inner) {
			describe(server, inner, types)
		}
	}
}

// hasOwnForm says whether a type writes itself: as a text, a number or whatever it likes.
func hasOwnForm(of reflect.Type) bool {
	if of.Kind() == reflect.Pointer {
		return false
	}
	pointer := reflect.PointerTo(of)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// schemaOf finds the description of a struct, whatever its version calls it.
func schemaOf(server *server, of reflect.Type) *spec.Schema {
	if of.Kind() != reflect.Struct {
		return nil
	}
	path := strings.ReplaceAll(strings.TrimPrefix(of.PkgPath(), "k8s.io/"), "/", ".")
	return server.openapi["io.k8s."+path+"."+of.Name()]
}

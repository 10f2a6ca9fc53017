package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/resource"
	sigsyaml "sigs.k8s.io/yaml"
)

// readAsKubectl gives every document as JSON, in the spelling that kubectl's decoder leaves it, and every object as
// kubectl sends it. An error ends the reading, as in kubectl; what came before it is there.
func readAsKubectl(file []byte) map[string]any {
	documents, err := documentsOf(file)
	answer := map[string]any{"documents": documents}
	if err != nil {
		answer["error"] = err.Error()
	}
	objects, err := objectsOf(file, "")
	sent := make([]json.RawMessage, 0, len(objects))
	for _, object := range objects {
		sent = append(sent, bytes.TrimSpace(object))
	}
	answer["objects"] = sent
	if err != nil {
		answer["refused"] = err.Error()
	}
	return answer
}

// documentsOf mirrors StreamVisitor.Visit in k8s.io/cli-runtime, which gives no documents away but objects.
func documentsOf(file []byte) ([]json.RawMessage, error) {
	documents := []json.RawMessage{}
	decoder := yaml.NewYAMLOrJSONDecoder(decoded(file), 4096)
	for {
		document := runtime.RawExtension{}
		if err := decoder.Decode(&document); err == io.EOF {
			return documents, nil
		} else if err != nil {
			return documents, err
		}
		// An empty document is skipped, null is one.
		raw := bytes.TrimSpace(document.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		documents = append(documents, raw)
	}
}

// decoded is the file as FileVisitor.Visit opens it.
func decoded(file []byte) io.Reader {
	return transform.NewReader(bytes.NewReader(file), unicode.BOMOverride(unicode.UTF8.NewDecoder()))
}

// objectsOf gives the body of every request that `kubectl apply --server-side -f` would send, lists flattened. An object
// without a namespace gets the one given, if any.
func objectsOf(file []byte, namespace string) ([][]byte, error) {
	var objects [][]byte
	result := resource.NewLocalBuilder().Unstructured().Stream(decoded(file), "FILE").Flatten().Do()
	err := result.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		if namespace != "" {
			// Reports every object as of a namespace: nobody asks about others.
			info.Mapping = &meta.RESTMapping{Scope: meta.RESTScopeNamespace}
			if err := resource.SetNamespace(namespace)(info, nil); err != nil {
				return err
			}
		}
		body, err := runtime.Encode(unstructured.UnstructuredJSONScheme, info.Object)
		objects = append(objects, body)
		return err
	})
	return objects, err
}

// readDocument reads one document, whatever it holds.
func readDocument(document []byte) map[string]any {
	value, err := sigsyaml.YAMLToJSON(document)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	if !json.Valid(value) {
		return failure(fmt.Errorf("not JSON: %q", value))
	}
	return map[string]any{"json": json.RawMessage(value)}
}

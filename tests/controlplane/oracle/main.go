// Answers, request by request, what Kubernetes of one version makes of a manifest: on the code of kubectl, of the API
// server and of the StatefulSet controller, without a network, etcd or a process of theirs.
//
// A request is one line of JSON on stdin, an answer one line on stdout; README.md of the folder above describes both.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

type question struct {
	Mode string `json:"mode"`
	// Given back in the answer.
	ID json.RawMessage `json:"id,omitempty"`
	// The file's bytes in base64, for all modes but `fields`.
	YAML []byte `json:"yaml,omitempty"`
	// The object as JSON instead, which is sent as it stands.
	Manifest json.RawMessage `json:"manifest,omitempty"`
	// Whether validation's findings are listed only, for `apply` and `create`.
	Lenient bool `json:"lenient,omitempty"`
	// What was applied before, one after the other; for `update`.
	Before []json.RawMessage `json:"before,omitempty"`
	// What stands when one sync begins; for `sync`.
	World json.RawMessage `json:"world,omitempty"`
	// One write; for `write`.
	Write *write `json:"write,omitempty"`
}

func main() {
	logs := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(logs)
	_ = logs.Set("logtostderr", "false")
	_ = logs.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	server, err := newServer()
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			print(out, respond(server, line))
			// Whoever asks one by one waits for it; whoever asks in bulk has more lines in the buffer.
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			break
		}
	}
	out.Flush()
}

func respond(server *server, line []byte) (answer map[string]any) {
	var question question
	defer func() {
		if crash := recover(); crash != nil {
			answer = map[string]any{"failure": fmt.Sprint(crash), "stack": string(debug.Stack())}
		}
		if len(question.ID) > 0 {
			answer["id"] = question.ID
		}
	}()
	if err := json.Unmarshal(line, &question); err != nil {
		return failure(err)
	}
	switch question.Mode {
	case "yaml":
		return readAsKubectl(question.YAML)
	case "raw":
		return readDocument(question.YAML)
	case "apply", "create", "update":
		manifest, err := manifestOf(question)
		if err != nil {
			return failure(err)
		}
		return server.answer(question.Mode, question.Lenient, manifest, question.Before)
	case "write":
		if question.Write == nil {
			return failure(fmt.Errorf("no write"))
		}
		return server.write(question.Write)
	case "sync":
		return syncOnce(question.World)
	case "fields":
		return fields(server)
	default:
		return failure(fmt.Errorf("no such mode: %q", question.Mode))
	}
}

// failure is the answer to a request that makes no sense; what Kubernetes refuses has its own forms.
func failure(err error) map[string]any {
	return map[string]any{"failure": err.Error()}
}

func manifestOf(question question) ([]byte, error) {
	if len(question.Manifest) > 0 {
		return question.Manifest, nil
	}
	objects, err := objectsOf(question.YAML, metav1.NamespaceDefault)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("one object is asked for, the file has %d", len(objects))
	}
	return objects[0], nil
}

func print(out io.Writer, answer map[string]any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		_ = encoder.Encode(failure(err))
	}
}

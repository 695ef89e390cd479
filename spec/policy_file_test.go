package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/internal/golden"
)

// TestPolicyFiles reads the files in testdata/policies: what they say, or all
// that is wrong with them, and the warnings.
func TestPolicyFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/policies/*.[yj]*")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			f, err := ParsePolicy(file, data)
			if err == nil {
				text, err := json.MarshalIndent(f.Policy, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				got = string(text) + "\n"
			} else {
				errs, ok := err.(Errors)
				if !ok {
					t.Fatalf("not Errors: %v", err)
				}
				got = errs.Render()
			}
			for _, w := range f.Warnings {
				got += "\nwarning: " + w.Render()
			}
			golden.Compare(t, file+".golden", got)
		})
	}
}

func TestRetrySettingsOfAScheduler(t *testing.T) {
	read := func(name, text string) (string, error) {
		s, err := LoadRetrySettings(name, Options{ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
		if err != nil {
			return "", err
		}
		said, err := json.Marshal(s)
		return string(said), err
	}
	const want = `{"enabled":false,"global_max_retries":20,"default_policy":"default","default_backoff":{"initial":"0s","factor":2,"max":"10m"}}`
	for name, text := range map[string]string{
		"theirs": "scheduling:\n  retryPolicy:\n    enabled: false\n    globalMaxRetries: 20\n    defaultPolicyName: default\n" +
			"    defaultBackoff: {initialDelay: 0s, maxDelay: 10m, multiplier: 2.0}\n",
		"ours": "{enabled: false, global_max_retries: 20, default_policy: default, default_backoff: {initial: 0s, factor: 2, max: 10m}}",
	} {
		if got, err := read(name+".yaml", text); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", name, got, err, want)
		}
	}
	_, err := read("bad.yaml", "retryPolicy: {globalMaxRetries: -1, defaultBackoff: {initialDelay: soon}, enable: true}")
	for _, want := range []string{"bad.yaml:1:33: retryPolicy.globalMaxRetries", "bad.yaml:1:68: retryPolicy.defaultBackoff.initialDelay", "did you mean enabled?"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in: %v", want, err)
		}
	}
}

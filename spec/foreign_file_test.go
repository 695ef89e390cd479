package spec

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestForeignFiles: of a file that is no specification nothing is shown; of one
// that is, the place of what is wrong.
func TestForeignFiles(t *testing.T) {
	files := map[string]string{
		"passwd":       "root:x:0:0:root:/root:/bin/bash\nalice:x:1:1::/home/alice:/bin/sh\n",
		"secrets.yaml": "token: s3cr3t\nname: x\n",
		"broken.yaml":  "name: x\njobs: [{name: a, comand: s3cr3t}]\n",
		"broken.json":  `{"name": "x", "jobs": [{"name": "a", "comand": "s3cr3t"}]}`,
		"broken.kdl":   "name \"x\"\njob \"a\" {\n  comand \"s3cr3t\"\n}\n",
	}
	opts := Options{ReadFile: func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}
	for name, shown := range map[string]bool{"passwd": false, "secrets.yaml": false, "broken.yaml": true, "broken.json": true, "broken.kdl": true} {
		for what, text := range map[string]string{
			"a sub-workflow": "name: w\njobs: [{name: a, workflow: %s}]\n",
			"a compensation": "name: w\non_failure: {workflow: %s}\njobs: [{name: a, command: b}]\n",
		} {
			_, err := Parse("w.yaml", fmt.Appendf(nil, text, name), opts)
			errs, ok := err.(Errors)
			if !ok || workflow.CodeOf(err) != workflow.CodeInvalid {
				t.Errorf("%s as %s: %v", name, what, err)
				continue
			}
			said := errs.Render()
			if shown != strings.Contains(said, "s3cr3t") || strings.Contains(said, "root") || shown == strings.Contains(said, name+" is not a specification") {
				t.Errorf("%s as %s:\n%s", name, what, said)
			}
		}
	}
}

package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/internal/golden"
)

// TestWire plays the conversations in testdata/*.wire: a line that begins with a method
// is a request, and the line that begins with "<" after it is the answer. Clock and ids
// are the same each time. With -update the answers are written.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/*.wire")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations, error %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".wire"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := newAPI(t)
			a.workflow() // 1
			a.workflow() // 2
			got := converse(a, string(text))
			golden.Compare(t, file, got)
		})
	}
}

// converse sends the requests of a conversation and writes it with the actual answers.
func converse(a *testAPI, text string) string {
	a.t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "<"):
			continue
		case line == "\n" || strings.HasPrefix(line, "#"):
			out.WriteString(line)
			continue
		}
		out.WriteString(line)
		method, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, body, _ := strings.Cut(strings.TrimSpace(rest), " ")
		answer := a.send(method, path, strings.TrimSpace(body))
		fmt.Fprintf(&out, "< %d %s\n", answer.status, answer.text)
	}
	return out.String()
}

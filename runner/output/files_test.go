package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestStdioConfig(t *testing.T) {
	job := &workflow.StdioConfig{Mode: workflow.StdioNone}
	all := &workflow.StdioConfig{Mode: workflow.StdioCombined}
	config := &workflow.ExecutionConfig{
		Stdio:             all,
		JobStdioOverrides: map[string]workflow.StdioConfig{"quiet": {Mode: workflow.StdioNoStdout}},
	}
	for _, c := range []struct {
		name   string
		grant  lease.Grant
		config *workflow.ExecutionConfig
		want   *workflow.StdioConfig
	}{
		{"default", lease.Grant{}, nil, nil},
		{"job", lease.Grant{Name: "quiet", Stdio: job}, config, job},
		{"override", lease.Grant{Name: "quiet"}, config, &workflow.StdioConfig{Mode: workflow.StdioNoStdout}},
		{"workflow", lease.Grant{Name: "other"}, config, all},
	} {
		if diff := cmp.Diff(c.want, StdioConfig(&c.grant, c.config)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		name, text, want string
		size             int64
	}{
		{"short", "abc", "abc", 10},
		{"long", strings.Repeat("x", 100) + "end", "xend", 4},
		{"truncated rune", "aéb", "b", 2},
		{"empty", "", "", 10},
		{"invalid", "a\xffb", "a\uFFFDb", 10},
		{"invalid grows", "\xff\xff\xff", "\uFFFD", 3},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Tail(path, c.size); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// Of a file of 1 GB only the end is read.
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	if got := Tail(path, 3); got != "\x00\x00\x00" {
		t.Errorf("large file: %q", got)
	}
	if got := Tail(path+".no", 10); got != "" {
		t.Errorf("missing file: %q", got)
	}
	if got := Tail(t.TempDir(), 10); got != "" {
		t.Errorf("directory: %q", got)
	}
}

package workflow_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestError(t *testing.T) {
	plain := Errorf(CodeNotFound, "Job not found with ID: %d", 7)
	if plain.Error() != "Job not found with ID: 7" || CodeOf(plain) != CodeNotFound {
		t.Errorf("%q, %s", plain, CodeOf(plain))
	}
	hinted := plain.WithHint("see %s", "jobs list")
	if hinted.Error() != "Job not found with ID: 7 (see jobs list)" || plain.Hint != "" {
		t.Errorf("%q, original hint %q", hinted, plain.Hint)
	}
	wrapped := fmt.Errorf("claim jobs for runner 12: %w", hinted)
	if CodeOf(wrapped) != CodeNotFound {
		t.Errorf("wrapped: %s", CodeOf(wrapped))
	}
	if CodeOf(nil) != "" || CodeOf(io.EOF) != CodeInternal {
		t.Errorf("nil: %q, EOF: %q", CodeOf(nil), CodeOf(io.EOF))
	}
	if cause := (&Error{Err: io.EOF}); !errors.Is(cause, io.EOF) {
		t.Error("the cause is hidden")
	}
}

func TestStdioModes(t *testing.T) {
	for _, m := range []StdioMode{StdioSeparate, StdioCombined, StdioNoStdout, StdioNoStderr, StdioNone} {
		if !m.Valid() {
			t.Errorf("%s is not valid", m)
		}
	}
	if StdioMode("both").Valid() || StdioMode("").Valid() {
		t.Error("a mode that does not exist is valid")
	}
}

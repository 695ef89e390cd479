package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a":             "want name=kill",
		"=kill":         "want name=kill",
		"a=explode":     "there is only kill",
		"a=killer":      "there is only kill",
		"a=kill@0":      "not a positive number",
		"a=kill@x":      "not a positive number",
		"a=kill%0":      "not in (0, 1]",
		"a=kill%NaN":    "not in (0, 1]",
		"a=kill%0.5/x":  "is not a number",
		"a=kill,a=kill": "duplicate failpoint",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", text, err, want)
		}
	}
}

func TestNilSetIsInert(t *testing.T) {
	s, err := Parse(" ; ")
	if err != nil || s != nil {
		t.Fatalf("Parse of nothing = %v, %v", s, err)
	}
	s.Hit("anything")
}

// fired hits a place n times and returns the numbers of the hits that killed.
func fired(t *testing.T, text, name string, n int) (hits []int) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	hit := 0
	s.kill = func() { hits = append(hits, hit) }
	for hit = 1; hit <= n; hit++ {
		s.Hit(name)
	}
	return hits
}

func TestFiresAtTheNthHitOnce(t *testing.T) {
	for _, tc := range []struct {
		text, name string
		want       []int
	}{
		{"a=kill@3;b=kill", "a", []int{3}},
		{"a=kill@3, b=kill", "b", []int{1}},
		{"a=kill@3", "other", nil},
	} {
		if got := fired(t, tc.text, tc.name, 6); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %s fired at %v, want %v", tc.text, tc.name, got, tc.want)
		}
	}
}

func TestChanceIsRepeatable(t *testing.T) {
	first := fired(t, "a=kill%0.25/7", "a", 1000)
	if again := fired(t, "a=kill%0.25/7", "a", 1000); !slices.Equal(first, again) {
		t.Error("the same seed fired at different hits")
	}
	if other := fired(t, "a=kill%0.25/8", "a", 1000); slices.Equal(first, other) {
		t.Error("another seed fired at the same hits")
	}
	if n := len(first); n < 180 || n > 320 {
		t.Errorf("fired %d of 1000 times at probability 0.25", n)
	}
}

// TestKill lets a copy of the test binary kill itself.
func TestKill(t *testing.T) {
	if text := os.Getenv("FAILPOINT_TEST"); text != "" {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Hit("a")
		s.Hit("a")
		os.Exit(3) // not reached
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), "FAILPOINT_TEST=a=kill@2")
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("got %v, want an exit error", err)
	}
	if ws := exit.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGKILL {
		t.Errorf("ended by %v, want SIGKILL", exit)
	}
}

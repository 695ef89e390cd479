package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a":             "want name=action",
		"=kill":         "want name=action",
		"a=explode":     "neither kill nor error",
		"a=kill@0":      "not a positive number",
		"a=kill@x":      "not a positive number",
		"a=kill%0":      "not in (0, 1]",
		"a=kill%NaN":    "not in (0, 1]",
		"a=kill%0.5/x":  "is not a number",
		"a=kill,a=kill": "given twice",
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
	if err := s.Hit("anything"); err != nil {
		t.Fatal(err)
	}
}

func TestFiresAtTheNthHitOnce(t *testing.T) {
	s, err := Parse("a=error@3;b=error")
	if err != nil {
		t.Fatal(err)
	}
	var fired []int
	for i := 1; i <= 6; i++ {
		if err := s.Hit("a"); errors.Is(err, ErrInjected) {
			fired = append(fired, i)
		}
	}
	if len(fired) != 1 || fired[0] != 3 {
		t.Errorf("fired at %v, want at 3 only", fired)
	}
	if s.Hit("b") == nil {
		t.Error("b did not fire at its first hit")
	}
	if s.Hit("unknown") != nil {
		t.Error("a place that is not armed fired")
	}
}

func TestChanceIsRepeatable(t *testing.T) {
	run := func(seed string) (fired string) {
		s, err := Parse("a=error%0.25/" + seed)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if s.Hit("a") != nil {
				fired += "x"
			} else {
				fired += "."
			}
		}
		return fired
	}
	first, again, other := run("7"), run("7"), run("8")
	if first != again {
		t.Error("the same seed fired at other places")
	}
	if first == other {
		t.Error("another seed fired at the same places")
	}
	if n := strings.Count(first, "x"); n < 180 || n > 320 {
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
		_ = s.Hit("a")
		_ = s.Hit("a")
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

package allocation

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestDocumentedIntervals: the page about calls of Slurm has the numbers of the code.
func TestDocumentedIntervals(t *testing.T) {
	text, err := os.ReadFile("../docs/slurm-calls.md")
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{}.withDefaults()
	seconds := func(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }
	minutes := func(d time.Duration) string { return fmt.Sprintf("%d min", int(d.Minutes())) }
	for _, want := range []string{
		"1 `squeue` every " + seconds(s.Poll) + " for all of them",
		"1 `squeue` every " + seconds(s.Hurry),
		"no sooner than " + seconds(s.Least) + " after the last poll",
		"1 `scontrol update` every " + minutes(s.CommentEvery),
		"again after " + seconds(s.CancelAgain) + ", " + seconds(2*s.CancelAgain) + ", … up to " + minutes(s.cancelAgain(100)),
		"`sacct` silent for " + minutes(s.AccountingPatience),
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/slurm-calls.md does not say %q", want)
		}
	}
}

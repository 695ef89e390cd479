package slurm

import "strings"

// SrunErrorCode is the exit code that srun is told to use for its own errors, by
// SrunErrorVariable. Without it srun ends with 1, as many commands do, and
// it would be unknown whether the command had been started.
const (
	SrunErrorCode     = 213
	SrunErrorVariable = "SLURM_EXIT_ERROR"
)

// StepRefusal is why srun could not start a step. No task of it has run.
type StepRefusal struct {
	Text  string // srun's message, one line
	Class Class
}

// Passes reports whether the same step may start later in the same
// allocation, because the reason is temporary.
func (r StepRefusal) Passes() bool {
	return r.Class == Temporary || r.Class == NotFound || r.Class == Shortage
}

// stepErrors recognizes why srun could not confirm the allocation or create the step;
// both happen before any task is launched. Seen says that srun 22.05 of a real cluster
// has printed it; the others are the texts of slurm_errno.c for what can happen in the
// same calls.
var stepErrors = []struct {
	text  string // lower case
	class Class
	seen  bool
}{
	// The controller is down, starting, or overloaded.
	{"unable to contact slurm controller", Temporary, true}, // after 9 s, with slurmctld stopped
	{"socket timed out on send/recv operation", Temporary, true},
	{"job is pending execution", Temporary, true},           // a controller that came back with an old state
	{"requested nodes are busy", Temporary, true},           // with --immediate; else srun waits
	{"step creation temporarily disabled", Temporary, true}, // srun keeps waiting after it
	{"step creation still disabled", Temporary, true},
	{"zero bytes were transmitted or received", Temporary, false},
	{"connection refused", Temporary, false},
	{"connection reset by peer", Temporary, false},
	{"connection timed out", Temporary, false},
	{"broken pipe", Temporary, false},
	{"receive failure", Temporary, false},
	{"send failure", Temporary, false},
	{"communication connection failure", Temporary, false},
	{"unable to establish connection", Temporary, false},
	{"unexpected message received", Temporary, false},
	{"insane message length", Temporary, false},
	{"slurm backup controller in standby mode", Temporary, false},
	{"protocol authentication error", Temporary, false},
	{"munge encode failed", Temporary, false},
	{"resource temporarily unavailable", Temporary, false},
	{"required node not available", Temporary, false},
	{"job/step creation", Temporary, false},
	// According to the controller, the step is too large for the rest of the allocation.
	// This was seen within a second of the controller's restart, for steps that fitted
	// before it and again five seconds later.
	{"memory required by task is not available", Shortage, true},
	{"requested node configuration is not available", Shortage, true},
	{"more processors requested than permitted", Shortage, true},
	// The controller does not, or no longer, know the allocation, or srun was told to end
	// while it waited. No step of the allocation can be started.
	{"invalid job id specified", NotFound, true},
	{"job/step already completing or completed", NotFound, true},
	{"job has expired", NotFound, false},
}

// stepFailures are the prefixes of srun's messages about a step that it could not start.
var stepFailures = []string{"unable to create step", "unable to confirm allocation", "job/step creation", "step creation"}

// RefusedStep returns why srun, which ended with SrunErrorCode, started nothing, from the
// end of its error output; false if it does not say so, and the step may have been
// launched. An unknown reason is Permanent.
func RefusedStep(stderr string) (StepRefusal, bool) {
	var refusal StepRefusal
	found := false
	for line := range strings.Lines(stderr) {
		text, ok := srunError(strings.TrimSpace(line))
		if !ok {
			continue
		}
		lower := strings.ToLower(text)
		switch {
		case hasAnyPrefix(lower, stepFailures):
			refusal, found = StepRefusal{Text: text, Class: classOfStep(lower)}, true
		case strings.HasPrefix(lower, "step created"):
			found = false // earlier errors were temporary
		}
	}
	return refusal, found
}

// srunError returns the message in a line of srun's output; false if there is none.
func srunError(line string) (string, bool) {
	text, ok := strings.CutPrefix(line, "srun: ")
	if !ok {
		return "", false
	}
	for _, level := range []string{"error: ", "fatal: "} {
		text = strings.TrimPrefix(text, level)
	}
	return text, true
}

func classOfStep(lower string) Class {
	for _, row := range stepErrors {
		if strings.Contains(lower, row.text) {
			return row.class
		}
	}
	return Permanent
}

func hasAnyPrefix(text string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow/criterion"
)

// EndPolicy configures the end of a run.
type EndPolicy struct {
	// SuccessIf is the condition under which a run is successful, for example
	// completed >= 0.95 * total; docs/end.md describes the language. Without it a run is
	// successful if no job failed, was terminated or was canceled.
	SuccessIf string `json:"success_if,omitempty"`
	// Job runs when all other jobs are complete. If it fails, the run fails.
	Job *EndJob `json:"job,omitempty"`
}

// Criterion returns the condition under which a run is successful; nil for the default. It
// returns a *criterion.Error if the condition is not valid.
func (p *RunPolicy) Criterion() (*criterion.Expr, error) {
	if p == nil || p.End == nil || p.End.SuccessIf == "" {
		return nil, nil
	}
	return criterion.Compile(p.End.SuccessIf)
}

// end checks the configuration of a run's end.
func (p *problems) end(e *EndPolicy) {
	if e != nil && e.Job != nil {
		p.endJob(e.Job)
	}
	if e == nil || e.SuccessIf == "" {
		return
	}
	const at = "end.success_if"
	success, err := criterion.Compile(e.SuccessIf)
	if wrong, ok := errors.AsType[*criterion.Error](err); ok {
		p.add(at, wrong.Hint, "%s", wrong.Error())
		return
	}
	for _, c := range success.Calls() {
		if c.Function == criterion.AttemptsBy && !slices.Contains(CauseKinds(), CauseKind(c.Argument)) {
			p.add(at, CauseHint(), "unknown cause %q", c.Argument)
		}
	}
	if _, never := success.Decide(0); never {
		p.add(at, "completed, failed, canceled and disabled jobs add up to total", "this can never be true")
	}
}

// UnknownJobs returns a problem for each job that the condition names and that does not
// exist. It ignores patterns, which may match jobs that are added later.
func (p *RunPolicy) UnknownJobs(names []string) (found []Problem) {
	success, err := p.Criterion()
	if err != nil || success == nil {
		return nil
	}
	for _, c := range success.Calls() {
		if !c.IsPattern() || strings.ContainsAny(c.Argument, "*?") || slices.ContainsFunc(names, func(name string) bool { return criterion.Match(c.Argument, name) }) {
			continue
		}
		one := Problem{Path: "end.success_if", Message: fmt.Sprintf("no job is named %q", c.Argument)}
		if near := Nearest(c.Argument, names); near != "" {
			one.Hint = fmt.Sprintf("did you mean %s?", near)
		}
		found = append(found, one)
	}
	return found
}

// CauseHint returns a hint that lists all causes.
func CauseHint() string {
	words := make([]string, 0, len(CauseKinds()))
	for _, k := range CauseKinds() {
		words = append(words, string(k))
	}
	return "the causes are " + strings.Join(words, ", ")
}

package spec

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/criterion"
)

// checkSuccess checks a success condition against the names of jobs, and reports the places
// of its parts.
func checkSuccess(r *report, doc *Document, jobs []string) {
	if doc.End == nil || doc.End.SuccessIf == "" {
		return
	}
	at := doc.at.get("end").get("success_if")
	success, err := criterion.Compile(doc.End.SuccessIf)
	if wrong, ok := errors.AsType[*criterion.Error](err); ok {
		r.failWithin(at, wrong.Offset, wrong.Length, wrong.Hint, "%s", wrong.Message)
		return
	}
	for _, c := range success.Calls() {
		checkCall(r, at, c, jobs, doc.DynamicJobs != nil)
	}
	switch always, never := success.Decide(int64(len(jobs))); {
	case never:
		r.fail(at, "the jobs that completed, failed, were canceled and are disabled add up to total", "this can never become true")
	case always:
		r.warn(at, "remove it, or compare with a value that can differ", "this is always true: the workflow is successful whatever happens")
	}
}

// checkCall checks the argument of a function in the condition. With dynamic jobs, a job
// may not exist yet.
func checkCall(r *report, at *node, c criterion.Call, jobs []string, dynamic bool) {
	if !c.IsPattern() {
		if !slices.Contains(workflow.CauseKinds(), workflow.CauseKind(c.Argument)) {
			r.failWithin(at, c.Offset, c.Length, workflow.CauseHint(), "there is no cause %s", clip(c.Argument))
		}
		return
	}
	matches := func(name string) bool { return criterion.Match(c.Argument, name) }
	if dynamic || slices.ContainsFunc(jobs, matches) {
		return
	}
	hint := existing(jobs)
	if near := workflow.Nearest(c.Argument, jobs); near != "" {
		hint = "did you mean " + near + "?"
	}
	if strings.ContainsAny(c.Argument, "*?") {
		r.failWithin(at, c.Offset, c.Length, hint, "no job matches %s", clip(c.Argument))
		return
	}
	r.failWithin(at, c.Offset, c.Length, hint, "there is no job named %s", clip(c.Argument))
}

// failWithin reports an error about some bytes of the text n. If the text is written with
// escapes, it uses the place of a similar part, or of n.
func (r *report) failWithin(n *node, offset, length int, hint, format string, args ...any) {
	offset = min(offset, len(n.text))
	part := n.text[offset:min(offset+length, len(n.text))]
	s := r.source.find(n, n.text)
	line := []rune(r.source.line(int(s.at.line)))
	if from := int(s.at.col) - 1; from >= 0 && from <= len(line) && strings.HasPrefix(string(line[from:]), n.text) {
		s.at.col += int32(utf8.RuneCountInString(n.text[:offset]))
		s.width = max(1, utf8.RuneCountInString(part))
	} else if part != "" {
		s = r.source.find(n, part)
	}
	r.failAt(n, s, hint, format, args...)
}

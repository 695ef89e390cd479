package spec

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/criterion"
)

// checkSuccess checks the condition of success, with the places of its parts.
func (b *builder) checkSuccess() {
	if b.doc.End == nil || b.doc.End.SuccessIf == "" {
		return
	}
	at := b.doc.at.get("end").get("success_if")
	success, err := criterion.Compile(b.doc.End.SuccessIf)
	if wrong, ok := errors.AsType[*criterion.Error](err); ok {
		b.failWithin(at, wrong.Offset, wrong.Length, wrong.Hint, "%s", wrong.Message)
		return
	}
	for _, c := range success.Calls() {
		b.checkCall(at, c)
	}
	switch always, never := success.Decide(int64(len(b.def.Jobs))); {
	case never:
		b.fail(at, "the jobs that completed, failed, were canceled and are disabled add up to total", "this can never become true")
	case always:
		b.warn(at, "remove it, or compare with something that may be otherwise", "this is always true: the workflow is successful whatever happens")
	}
}

// checkCall checks what a function of the condition is about.
func (b *builder) checkCall(at *node, c criterion.Call) {
	if !c.IsPattern() {
		if !slices.Contains(workflow.CauseKinds(), workflow.CauseKind(c.Argument)) {
			b.failWithin(at, c.Offset, c.Length, workflow.CauseHint(), "there is no cause %s", clip(c.Argument))
		}
		return
	}
	matches := func(name string) bool { return criterion.Match(c.Argument, name) }
	if b.doc.DynamicJobs != nil || slices.ContainsFunc(b.jobs.names, matches) {
		return
	}
	hint := existing(b.jobs.names)
	if near := workflow.Nearest(c.Argument, b.jobs.names); near != "" {
		hint = "did you mean " + near + "?"
	}
	if strings.ContainsAny(c.Argument, "*?") {
		b.failWithin(at, c.Offset, c.Length, hint, "no job matches %s", clip(c.Argument))
		return
	}
	b.failWithin(at, c.Offset, c.Length, hint, "there is no job named %s", clip(c.Argument))
}

// failWithin reports an error about some bytes of the text n. Where the text is
// not written as it is, the place is that of such a part, or of n.
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

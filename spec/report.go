package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxErrors limits the errors of a file, its warnings, and its warnings that need
// confirmation.
const maxErrors = 200

// report collects the errors and warnings of a file.
type report struct {
	source   source
	kdl      bool // elements of lists have their own node names
	errors   Errors
	warnings []*Warning
	kept     struct{ warnings, doubts int } // doubts need confirmation
	dropped  int                            // number of errors beyond the limit
	unsaid   int                            // number of warnings beyond the limit
	seen     map[reportKey]*Error
	family   bool // the message concerns one of many instances
}

// reportKey identifies repeated messages about the same place: one wrong line with a
// million instances is one error.
type reportKey struct {
	n    *node
	text string
}

func newReport(s source) *report {
	return &report{source: s, seen: map[reportKey]*Error{}}
}

// fail reports an error about the value n.
func (r *report) fail(n *node, hint, format string, args ...any) {
	r.failAt(n, n.spot(), hint, format, args...)
}

// failKey reports an error about the key of n.
func (r *report) failKey(n *node, hint, format string, args ...any) {
	r.failAt(n, n.keySpot(), hint, format, args...)
}

// repeated reports, and counts, whether the same message about n exists.
func (r *report) repeated(n *node, format string, args ...any) bool {
	e := r.seen[r.key(n, format, args)]
	if e != nil {
		e.more++
	}
	return e != nil
}

func (r *report) key(n *node, format string, args []any) reportKey {
	if r.family {
		return reportKey{n, format}
	}
	return reportKey{n, fmt.Sprintf(format, args...)}
}

// failIn reports an error about a part of the text n.
func (r *report) failIn(n *node, part, hint, format string, args ...any) {
	r.failAt(n, r.source.find(n, part), hint, format, args...)
}

func (r *report) failAt(n *node, s spot, hint, format string, args ...any) {
	if n != nil && r.repeated(n, format, args...) {
		return
	}
	e := r.make(n, s, hint, fmt.Sprintf(format, args...))
	r.seen[r.key(n, format, args)] = e
	if len(r.errors) == maxErrors {
		r.dropped++
		return
	}
	r.errors = append(r.errors, e)
}

// warn reports a warning about the value n.
func (r *report) warn(n *node, hint, format string, args ...any) {
	r.addWarning(n, n.spot(), false, hint, format, args...)
}

// warnKey reports a warning about the key of n.
func (r *report) warnKey(n *node, hint, format string, args ...any) {
	r.addWarning(n, n.keySpot(), false, hint, format, args...)
}

// doubt reports a warning that a person must confirm.
func (r *report) doubt(n *node, hint, format string, args ...any) {
	r.addWarning(n, n.spot(), true, hint, format, args...)
}

func (r *report) addWarning(n *node, s spot, confirm bool, hint, format string, args ...any) {
	if n != nil && r.repeated(n, format, args...) {
		return
	}
	w := &Warning{NeedsConfirmation: confirm}
	kept := &r.kept.warnings
	if confirm {
		kept = &r.kept.doubts
	}
	if *kept < maxErrors {
		*kept++
		w.Error = *r.make(n, s, hint, fmt.Sprintf(format, args...))
		r.warnings = append(r.warnings, w)
	} else {
		r.unsaid++
	}
	r.seen[r.key(n, format, args)] = &w.Error
}

// failDomain reports an error of package workflow, if it is not nil.
func (r *report) failDomain(n *node, err error) {
	var e *workflow.Error
	switch {
	case errors.As(err, &e):
		r.fail(n, e.Hint, "%s", e.Message)
	case err != nil:
		r.fail(n, "", "%v", err)
	}
}

func (r *report) make(n *node, s spot, hint, message string) *Error {
	e := &Error{File: r.source.name, Path: n.path(), Message: message, Hint: hint, width: s.width}
	if s.at.line > 0 {
		e.Line, e.Column, e.Excerpt = r.source.place(s.at)
	}
	return e
}

// err returns the errors in order; nil if there are none.
func (r *report) err() error {
	if len(r.errors) == 0 {
		return nil
	}
	byPlace(r.errors)
	if r.dropped > 0 {
		r.errors = append(r.errors, &Error{File: r.source.name, Message: fmt.Sprintf("%d more errors are not shown", r.dropped)})
		r.dropped = 0
	}
	return r.errors
}

// takeFrom adds the errors of another file that this one refers to.
func (r *report) takeFrom(o *report, warnings bool) {
	r.errors = append(r.errors, o.errors...)
	r.dropped += o.dropped
	if warnings {
		r.warnings = append(r.warnings, o.warnings...)
		r.unsaid += o.unsaid
	}
}

// byPlace sorts errors by place, grouped by file.
func byPlace(errs []*Error) {
	files := filesOf(errs, func(e *Error) *Error { return e })
	slices.SortStableFunc(errs, func(a, b *Error) int { return comparePlaces(files, a, b) })
}

// filesOf numbers the files of errors in order of appearance.
func filesOf[T any](items []T, of func(T) *Error) map[string]int {
	files := map[string]int{}
	for _, item := range items {
		if name := of(item).File; files[name] == 0 {
			files[name] = len(files) + 1
		}
	}
	return files
}

func comparePlaces(files map[string]int, a, b *Error) int {
	return cmp.Or(cmp.Compare(files[a.File], files[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// sortedWarnings returns the warnings by place.
func (r *report) sortedWarnings() []*Warning {
	files := filesOf(r.warnings, func(w *Warning) *Error { return &w.Error })
	slices.SortStableFunc(r.warnings, func(a, b *Warning) int { return comparePlaces(files, &a.Error, &b.Error) })
	if r.unsaid > 0 {
		r.warnings = append(r.warnings, &Warning{Error: Error{File: r.source.name, Message: fmt.Sprintf("%d more warnings are not shown", r.unsaid)}})
		r.unsaid = 0
	}
	return r.warnings
}

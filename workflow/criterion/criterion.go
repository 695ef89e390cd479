// Package criterion is the language of success_if: a condition on the numbers of jobs of a
// run, such as
//
//	completed >= 0.95 * total && failed_in("critical_*") == 0
//
// It has numbers, the names and functions below, + - * /, comparisons, && || ! and
// parentheses. Evaluation has no side effects and takes time proportional to the length.
package criterion

import (
	"fmt"
	"math"
	"strings"
)

// The names that stand for numbers of jobs. Completed, failed, canceled,
// disabled and not_run add up to total.
const (
	Total      = "total"
	Completed  = "completed"
	Failed     = "failed" // includes terminated jobs
	Terminated = "terminated"
	Canceled   = "canceled"
	Disabled   = "disabled"
	NotRun     = "not_run"
	Retried    = "retried" // attempts that were followed by another one
)

// The functions. All except AttemptsBy take the name of a job, or a pattern with * and ?,
// and count the jobs that it matches.
const (
	TotalIn     = "total_in"
	CompletedIn = "completed_in"
	FailedIn    = "failed_in"
	CanceledIn  = "canceled_in"
	AttemptsBy  = "attempts_by" // takes a cause, and counts the attempts that ended for it
)

var (
	names     = []string{Total, Completed, Failed, Terminated, Canceled, Disabled, NotRun, Retried}
	functions = []string{TotalIn, CompletedIn, FailedIn, CanceledIn, AttemptsBy}
)

// MaxLength is the maximum length of a condition in bytes.
const MaxLength = 2000

// Call is a use of a function.
type Call struct {
	Function string
	Argument string
	Offset   int // of the argument in the text, in bytes, including its quotes
	Length   int
}

// IsPattern reports whether the argument is a name or a pattern of jobs.
func (c Call) IsPattern() bool { return c.Function != AttemptsBy }

// Expr is a compiled condition.
type Expr struct {
	text  string
	root  *node
	calls []Call
}

// Text returns the text of the condition.
func (e *Expr) Text() string { return e.text }

// Calls returns all uses of functions in the order of the text.
func (e *Expr) Calls() []Call { return e.calls }

// Error says what is wrong with a condition, and where.
type Error struct {
	Offset, Length int // in bytes
	Message, Hint  string
}

// Error returns the message with the number of the character where the error is.
func (e *Error) Error() string { return fmt.Sprintf("%s (character %d)", e.Message, e.Offset+1) }

// Values provides the numbers of a run.
type Values interface {
	// Number returns the number for a name.
	Number(name string) float64
	// Call returns the result of a function.
	Call(function, argument string) float64
}

// Eval reports whether the condition is true. A division by 0 gives NaN: every comparison
// with it except != is false.
func (e *Expr) Eval(v Values) bool { return e.root.truth(v) }

func (n *node) truth(v Values) bool {
	switch n.op {
	case opTrue, opFalse:
		return n.op == opTrue
	case opNot:
		return !n.left.truth(v)
	case opAnd:
		return n.left.truth(v) && n.right.truth(v)
	case opOr:
		return n.left.truth(v) || n.right.truth(v)
	}
	a, b := n.left.value(v), n.right.value(v)
	switch n.op {
	case opEqual:
		return a == b
	case opUnequal:
		return a != b
	case opLess:
		return a < b
	case opAtMost:
		return a <= b
	case opMore:
		return a > b
	default: // opAtLeast
		return a >= b
	}
}

func (n *node) value(v Values) float64 {
	switch n.op {
	case opNumber:
		return n.number
	case opName:
		return v.Number(n.name)
	case opCall:
		return v.Call(n.name, n.argument)
	case opNegate:
		return -n.left.value(v)
	}
	a, b := n.left.value(v), n.right.value(v)
	switch n.op {
	case opPlus:
		return a + b
	case opMinus:
		return a - b
	case opTimes:
		return a * b
	default: // opDivide
		if b == 0 {
			return math.NaN()
		}
		return a / b
	}
}

// Match reports whether a pattern matches the name of a job. In the pattern, * matches any
// text and ? any character.
func Match(pattern, name string) bool {
	p, s := []rune(pattern), []rune(name)
	star, from := -1, 0 // the last *, and where its text ends at the next try
	i, k := 0, 0
	for k < len(s) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, k
			i++
		case i < len(p) && (p[i] == '?' || p[i] == s[k]):
			i++
			k++
		case star >= 0:
			from++
			i, k = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(string(p[i:]), "*") == ""
}

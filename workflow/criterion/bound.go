package criterion

import "math"

// Decide returns whether the condition is always or never true, however the jobs of a
// workflow end that has at least this number of jobs and is not canceled. It uses only that
// the numbers of jobs add up to the total and are not negative. If that does not decide the
// condition, both results are false.
func (e *Expr) Decide(jobs int64) (always, never bool) {
	may := e.root.outcomes(float64(jobs))
	return !may.beFalse, !may.beTrue
}

// outcomes says which values a condition may have.
type outcomes struct{ beTrue, beFalse bool }

func (n *node) outcomes(jobs float64) outcomes {
	switch n.op {
	case opTrue:
		return outcomes{beTrue: true}
	case opFalse:
		return outcomes{beFalse: true}
	case opNot:
		o := n.left.outcomes(jobs)
		return outcomes{beTrue: o.beFalse, beFalse: o.beTrue}
	case opAnd:
		l, r := n.left.outcomes(jobs), n.right.outcomes(jobs)
		return outcomes{beTrue: l.beTrue && r.beTrue, beFalse: l.beFalse || r.beFalse}
	case opOr:
		l, r := n.left.outcomes(jobs), n.right.outcomes(jobs)
		return outcomes{beTrue: l.beTrue || r.beTrue, beFalse: l.beFalse && r.beFalse}
	}
	left, right := n.left.linear(), n.right.linear()
	if left == nil || right == nil {
		return outcomes{true, true}
	}
	low, high := left.plus(right, -1).bounds(jobs)
	switch n.op {
	case opEqual:
		return outcomes{beTrue: low <= 0 && high >= 0, beFalse: low < 0 || high > 0}
	case opUnequal:
		return outcomes{beTrue: low < 0 || high > 0, beFalse: low <= 0 && high >= 0}
	case opLess:
		return outcomes{beTrue: low < 0, beFalse: high >= 0}
	case opAtMost:
		return outcomes{beTrue: low <= 0, beFalse: high > 0}
	case opMore:
		return outcomes{beTrue: high > 0, beFalse: low <= 0}
	default: // opAtLeast
		return outcomes{beTrue: high >= 0, beFalse: low < 0}
	}
}

// linear is a number as a linear sum: a constant plus unknowns with their factors. The
// unknowns in parts add up to the total; of others it is only known that they are not
// negative.
type linear struct {
	constant float64
	parts    [5]float64
	others   map[string]float64
}

// The parts of the total. A run that is not canceled has no jobs that did not run.
const (
	partCompleted = iota
	partFailed    // but not terminated
	partTerminated
	partCanceled
	partDisabled
)

// linear returns a number as a linear sum; nil if it is not linear.
func (n *node) linear() *linear {
	switch n.op {
	case opNumber:
		return &linear{constant: n.number}
	case opName:
		return named(n.name)
	case opCall:
		return &linear{others: map[string]float64{n.name + " " + n.argument: 1}}
	case opNegate:
		if l := n.left.linear(); l != nil {
			return (&linear{}).plus(l, -1)
		}
		return nil
	}
	left, right := n.left.linear(), n.right.linear()
	if left == nil || right == nil {
		return nil
	}
	switch {
	case n.op == opPlus:
		return left.plus(right, 1)
	case n.op == opMinus:
		return left.plus(right, -1)
	case n.op == opTimes && right.isConstant():
		return (&linear{}).plus(left, right.constant)
	case n.op == opTimes && left.isConstant():
		return (&linear{}).plus(right, left.constant)
	case n.op == opDivide && right.isConstant() && right.constant != 0:
		return (&linear{}).plus(left, 1/right.constant)
	}
	return nil
}

func named(name string) *linear {
	l := &linear{}
	switch name {
	case Total:
		l.parts = [5]float64{1, 1, 1, 1, 1}
	case Completed:
		l.parts[partCompleted] = 1
	case Failed:
		l.parts[partFailed], l.parts[partTerminated] = 1, 1
	case Terminated:
		l.parts[partTerminated] = 1
	case Canceled:
		l.parts[partCanceled] = 1
	case Disabled:
		l.parts[partDisabled] = 1
	case Retried:
		l.others = map[string]float64{Retried: 1}
	}
	return l // NotRun is 0
}

func (l *linear) isConstant() bool {
	for _, times := range l.others {
		if times != 0 {
			return false
		}
	}
	return l.parts == [5]float64{}
}

// plus returns l + times * other.
func (l *linear) plus(other *linear, times float64) *linear {
	sum := &linear{constant: l.constant + times*other.constant, parts: l.parts, others: map[string]float64{}}
	for i, n := range other.parts {
		sum.parts[i] += times * n
	}
	for name, n := range l.others {
		sum.others[name] = n
	}
	for name, n := range other.others {
		sum.others[name] += times * n
	}
	return sum
}

// bounds returns the smallest and the largest value. As the parts add up to the total, the
// sum is smallest and largest where a single part is the whole total.
func (l *linear) bounds(jobs float64) (low, high float64) {
	least, most := l.parts[0], l.parts[0]
	for _, n := range l.parts {
		least, most = min(least, n), max(most, n)
	}
	low, high = l.constant+jobs*least, l.constant+jobs*most
	if least < 0 { // more jobs may be added
		low = math.Inf(-1)
	}
	if most > 0 {
		high = math.Inf(1)
	}
	for _, n := range l.others {
		if n < 0 {
			low = math.Inf(-1)
		}
		if n > 0 {
			high = math.Inf(1)
		}
	}
	return low, high
}

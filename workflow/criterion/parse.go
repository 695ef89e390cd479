package criterion

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type op int

const (
	opNumber op = iota
	opName
	opCall
	opNegate
	opPlus
	opMinus
	opTimes
	opDivide
	opTrue // this and the following are conditions
	opFalse
	opNot
	opAnd
	opOr
	opEqual
	opUnequal
	opLess
	opAtMost
	opMore
	opAtLeast
)

// node is a part of a condition.
type node struct {
	op             op
	left, right    *node // right is nil for opNot and opNegate
	number         float64
	name, argument string
}

func (n *node) isCondition() bool { return n.op >= opTrue }

// parser reads a condition by recursive descent, one method per precedence.
type parser struct {
	tokens []token
	calls  []Call
}

// maxDepth limits the nesting of parentheses and signs.
const maxDepth = 100

// Compile returns the compiled condition, or an *Error if it is not valid.
func Compile(text string) (*Expr, error) {
	if len(text) > MaxLength {
		return nil, &Error{Offset: MaxLength, Length: len(text) - MaxLength, Message: fmt.Sprintf("the condition is longer than %d bytes", MaxLength)}
	}
	all, wrong := tokens(text)
	if wrong != nil {
		return nil, wrong
	}
	p := &parser{tokens: all}
	first := p.next()
	n, wrong := p.or(0)
	if wrong != nil {
		return nil, wrong
	}
	switch t := p.next(); {
	case t.kind != 0:
		return nil, t.unexpected()
	case !n.isCondition():
		return nil, first.fail("this is a number, not a condition", "compare it, for example completed >= 0.95 * total")
	}
	return &Expr{text: text, root: n, calls: p.calls}, nil
}

func (p *parser) next() token { return p.tokens[0] }

func (p *parser) take() token {
	t := p.tokens[0]
	if t.kind != 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) or(depth int) (*node, *Error) { return p.chain(depth, "||", opOr, p.and) }

func (p *parser) and(depth int) (*node, *Error) { return p.chain(depth, "&&", opAnd, p.comparison) }

// chain reads conditions that are joined by one operator.
func (p *parser) chain(depth int, operator string, op op, part func(int) (*node, *Error)) (*node, *Error) {
	start := p.next()
	left, wrong := part(depth)
	for wrong == nil && p.next().is(operator) {
		if !left.isCondition() {
			return nil, start.fail("this is a number, but "+operator+" joins conditions", "compare it with a number")
		}
		p.take()
		start = p.next()
		var right *node
		if right, wrong = part(depth); wrong == nil && !right.isCondition() {
			return nil, start.fail("this is a number, but "+operator+" joins conditions", "compare it with a number")
		}
		left = &node{op: op, left: left, right: right}
	}
	return left, wrong
}

var comparisons = map[string]op{"==": opEqual, "!=": opUnequal, "<": opLess, "<=": opAtMost, ">": opMore, ">=": opAtLeast}

func (p *parser) comparison(depth int) (*node, *Error) {
	left, start, wrong := p.operand(depth)
	t := p.next()
	op, compares := comparisons[t.text]
	if wrong != nil || t.kind != 'o' || !compares {
		return left, wrong
	}
	if left.isCondition() {
		return nil, start.fail("this is a condition, but "+t.text+" compares numbers", "")
	}
	p.take()
	right, start, wrong := p.operand(depth)
	switch again := p.next(); {
	case wrong != nil:
		return nil, wrong
	case right.isCondition():
		return nil, start.fail("this is a condition, but "+t.text+" compares numbers", "")
	case again.kind == 'o' && comparisons[again.text] != 0:
		return nil, again.fail("comparisons cannot be chained", "join them with &&")
	}
	return &node{op: op, left: left, right: right}, nil
}

// operand reads a sum, and returns its first token too.
func (p *parser) operand(depth int) (*node, token, *Error) {
	start := p.next()
	n, wrong := p.arithmetic(depth, map[string]op{"+": opPlus, "-": opMinus}, p.product)
	return n, start, wrong
}

func (p *parser) product(depth int) (*node, *Error) {
	return p.arithmetic(depth, map[string]op{"*": opTimes, "/": opDivide}, p.factor)
}

// arithmetic reads numbers that are joined by operators of one precedence.
func (p *parser) arithmetic(depth int, ops map[string]op, part func(int) (*node, *Error)) (*node, *Error) {
	start := p.next()
	left, wrong := part(depth)
	for wrong == nil {
		t := p.next()
		op, joins := ops[t.text]
		if t.kind != 'o' || !joins {
			break
		}
		if left.isCondition() {
			return nil, start.fail("this is a condition, but "+t.text+" joins numbers", "")
		}
		p.take()
		start = p.next()
		right, err := part(depth)
		switch {
		case err != nil:
			return nil, err
		case right.isCondition():
			return nil, start.fail("this is a condition, but "+t.text+" joins numbers", "")
		case op == opDivide && right.op == opNumber && right.number == 0:
			return nil, start.fail("this divides by 0", "")
		}
		left = &node{op: op, left: left, right: right}
	}
	return left, wrong
}

// factor reads a number, a name, a call, a sign with one of these, or an expression in
// parentheses.
func (p *parser) factor(depth int) (*node, *Error) {
	t := p.take()
	switch {
	case depth > maxDepth:
		return nil, t.fail("this is nested too deeply", "")
	case t.kind == 'n':
		return number(t)
	case t.kind == 'w':
		return p.word(t)
	case t.is("-") || t.is("!"):
		n, wrong := p.factor(depth + 1)
		switch {
		case wrong != nil:
			return nil, wrong
		case t.text == "-" && n.isCondition():
			return nil, t.fail("- applies to numbers, but this is a condition", "write !")
		case t.text == "!" && !n.isCondition():
			return nil, t.fail("! applies to conditions, but this is a number", "put the comparison into parentheses")
		case t.text == "-":
			return &node{op: opNegate, left: n}, nil
		}
		return &node{op: opNot, left: n}, nil
	case t.is("("):
		n, wrong := p.or(depth + 1)
		if wrong != nil {
			return nil, wrong
		}
		if end := p.take(); !end.is(")") {
			return nil, end.fail("a ) is missing", "")
		}
		return n, nil
	case t.kind == 0:
		return nil, t.fail("the condition is incomplete", "write for example completed >= 0.95 * total")
	}
	return nil, t.unexpected()
}

func number(t token) (*node, *Error) {
	value, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		return nil, t.fail(t.text+" is not a number", "")
	}
	return &node{op: opNumber, number: value}, nil
}

// word reads a name or a call.
func (p *parser) word(t token) (*node, *Error) {
	switch {
	case t.text == "true":
		return &node{op: opTrue}, nil
	case t.text == "false":
		return &node{op: opFalse}, nil
	case p.next().is("("):
		return p.call(t)
	case slices.Contains(functions, t.text):
		return nil, t.fail(t.text+" is a function", "write "+example(t.text))
	case !slices.Contains(names, t.text):
		return nil, t.fail(fmt.Sprintf("unknown name %q", t.text), "the names are "+strings.Join(names, ", ")+"; "+
			"use a function for single jobs, for example "+example(FailedIn))
	}
	return &node{op: opName, name: t.text}, nil
}

func example(function string) string {
	if function == AttemptsBy {
		return AttemptsBy + `("oom")`
	}
	return function + `("train_*")`
}

func (p *parser) call(t token) (*node, *Error) {
	if !slices.Contains(functions, t.text) {
		return nil, t.fail(fmt.Sprintf("unknown function %q", t.text), "the functions are "+strings.Join(functions, ", "))
	}
	p.take()
	argument := p.take()
	if argument.kind != 's' {
		return nil, argument.fail(t.text+" takes one text in double quotes", "write "+example(t.text))
	}
	if end := p.take(); !end.is(")") {
		return nil, end.fail("a ) is missing", t.text+" takes one text")
	}
	c := Call{Function: t.text, Argument: strings.Trim(argument.text, `"`), Offset: argument.offset, Length: len(argument.text)}
	p.calls = append(p.calls, c)
	return &node{op: opCall, name: c.Function, argument: c.Argument}, nil
}

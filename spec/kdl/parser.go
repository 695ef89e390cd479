package kdl

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth limits the nesting of nodes and of comments.
const maxDepth = 200

// parser reads a text. It panics with an *Error, which Parse recovers.
type parser struct {
	text  string
	off   int
	pos   Pos // of off
	depth int
}

// Parse returns the nodes of a document, or an *Error.
func Parse(data []byte) (nodes []*Node, err error) {
	p := &parser{text: strings.TrimPrefix(string(data), "\uFEFF"), pos: Pos{1, 1}}
	defer func() {
		if thrown := recover(); thrown != nil {
			e, ok := thrown.(*Error)
			if !ok {
				panic(thrown)
			}
			nodes, err = nil, e
		}
	}()
	nodes = p.nodes()
	if p.peek() == '}' {
		p.fail("", "there is no { for this }")
	}
	return nodes, nil
}

func (p *parser) fail(hint, format string, args ...any) {
	p.failAt(p.pos, hint, format, args...)
}

func (p *parser) failAt(at Pos, hint, format string, args ...any) {
	panic(&Error{Pos: at, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// end is what peek and next return at the end of the text.
const end = rune(-1)

func (p *parser) peek() rune {
	if p.off >= len(p.text) {
		return end
	}
	c, _ := utf8.DecodeRuneInString(p.text[p.off:])
	return c
}

func (p *parser) next() rune {
	if p.off >= len(p.text) {
		return end
	}
	c, size := utf8.DecodeRuneInString(p.text[p.off:])
	p.off += size
	p.pos.Col++
	if c == '\r' && p.peek() == '\n' {
		p.off++
		c = '\n'
	}
	if isNewline(c) {
		p.pos = Pos{p.pos.Line + 1, 1}
	}
	return c
}

func (p *parser) has(prefix string) bool { return strings.HasPrefix(p.text[p.off:], prefix) }

// skip consumes n characters.
func (p *parser) skip(n int) {
	for range n {
		p.next()
	}
}

// here returns the next character for a message.
func (p *parser) here() string {
	switch c := p.peek(); {
	case c == end:
		return "end of file"
	case isNewline(c):
		return "end of line"
	default:
		return fmt.Sprintf("%q", c)
	}
}

func isNewline(c rune) bool {
	switch c {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

func isBlank(c rune) bool {
	switch c {
	case ' ', '\t', '\u00a0', '\u1680', '\u202f', '\u205f', '\u3000', '\uFEFF':
		return true
	}
	return c >= '\u2000' && c <= '\u200a'
}

// isWordPart reports whether c is allowed in a string without quotes.
func isWordPart(c rune) bool {
	return c > ' ' && c != 0x7f && !isBlank(c) && !isNewline(c) && !strings.ContainsRune(`\/(){};[]"#=`, c)
}

// blanks skips blanks, comments within a line, and line continuations. It reports whether there
// were any.
func (p *parser) blanks() bool {
	start := p.off
	for {
		switch {
		case isBlank(p.peek()):
			p.next()
		case p.has("/*"):
			p.blockComment()
		case p.peek() == '\\':
			p.continuation()
		default:
			return p.off > start
		}
	}
}

// lines skips blanks, comments and line ends.
func (p *parser) lines() {
	for {
		p.blanks()
		switch {
		case isNewline(p.peek()):
			p.next()
		case p.has("//"):
			p.lineComment()
		default:
			return
		}
	}
}

// continuation skips a backslash and the end of its line.
func (p *parser) continuation() {
	at := p.pos
	p.next()
	for isBlank(p.peek()) || p.has("/*") {
		if p.has("/*") {
			p.blockComment()
			continue
		}
		p.next()
	}
	if p.has("//") {
		p.lineComment()
	}
	if !isNewline(p.peek()) && p.peek() != end {
		p.failAt(at, "put a text with a backslash in quotes", "a backslash without quotes must be at the end of a line")
	}
	p.next()
}

func (p *parser) lineComment() {
	for c := p.peek(); c != end && !isNewline(c); c = p.peek() {
		p.next()
	}
}

// blockComment skips a comment, which may contain comments.
func (p *parser) blockComment() {
	at, open := p.pos, 0
	for {
		switch {
		case p.has("/*"):
			open++
			p.skip(2)
		case p.has("*/"):
			open--
			p.skip(2)
		case p.next() == end:
			p.failAt(at, "close it with */", "a comment is not closed")
		}
		if open == 0 {
			return
		}
	}
}

// nodes reads nodes up to a closing brace or the end.
func (p *parser) nodes() []*Node {
	if p.depth++; p.depth > maxDepth {
		p.fail("", "nodes are nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	var nodes []*Node
	for {
		p.lines()
		switch {
		case p.peek() == ';':
			p.next()
		case p.peek() == end || p.peek() == '}':
			return nodes
		case p.has("/-"):
			p.skip(2)
			p.lines()
			p.node()
		default:
			nodes = append(nodes, p.node())
		}
	}
}

// node reads a node with its arguments, properties and children.
func (p *parser) node() *Node {
	p.annotation()
	n := &Node{Pos: p.pos}
	name := p.value()
	if name.Kind != String {
		p.failAt(n.Pos, "a name starts with a letter; other names need quotes", "%s is not the name of a node", name.Text)
	}
	n.Name = name.Text
	closed := false // after a block of children only blocks may follow
	for {
		spaced := p.blanks()
		c := p.peek()
		switch {
		case c == end || c == '}':
			return n
		case c == ';' || isNewline(c):
			p.next()
			return n
		case p.has("//"):
			p.lineComment()
		case c == '{':
			if n.Block {
				p.fail("", "a node can have only one block of children")
			}
			n.Children, n.Block, closed = p.block(), true, true
		case p.has("/-"):
			p.skip(2)
			p.lines()
			if p.peek() == '{' {
				p.block()
				closed = true
			} else {
				p.entry(&Node{})
			}
		case closed:
			p.fail("start a new line", "unexpected %s after the children", p.here())
		case !spaced:
			p.fail("put a space before it", "unexpected %s", p.here())
		default:
			p.entry(n)
		}
	}
}

// block reads children in braces.
func (p *parser) block() []*Node {
	at := p.pos
	p.next()
	children := p.nodes()
	if p.peek() != '}' {
		p.failAt(at, "close it with }", "a block is not closed")
	}
	p.next()
	return children
}

// annotation skips a type in parentheses.
func (p *parser) annotation() {
	if p.peek() != '(' {
		return
	}
	p.next()
	p.blanks()
	p.value()
	p.blanks()
	if p.peek() != ')' {
		p.fail("", "expected ) after a type, found %s", p.here())
	}
	p.next()
	p.blanks()
}

// entry reads an argument or a property.
func (p *parser) entry(n *Node) {
	p.annotation()
	v := p.value()
	before, at := p.off, p.pos
	p.blanks()
	if p.peek() != '=' {
		p.off, p.pos = before, at
		n.Args = append(n.Args, v)
		return
	}
	if v.Kind != String {
		p.failAt(v.Pos, "put the key in quotes", "%s is not the key of a property", v.Text)
	}
	p.next()
	p.blanks()
	p.annotation()
	n.Props = append(n.Props, Prop{Name: v.Text, Pos: v.Pos, Value: p.value()})
}

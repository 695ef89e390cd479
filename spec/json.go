package spec

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads JSON, and JSON5 unless strict. encoding/json and the JSON5
// library know no places of keys and values, and stop at the first error.
type jsonReader struct {
	text   string
	off    int
	at     pos // of off
	strict bool
	depth  int
}

// syntaxError is an error of a parser: it ends the reading of a file.
type syntaxError struct {
	at            pos
	message, hint string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.at.line, e.at.col, e.message)
}

// readJSON reads a JSON text, or a JSON5 text if strict is false.
func readJSON(data []byte, strict bool) (n *node, err error) {
	r := &jsonReader{text: strings.TrimPrefix(string(data), "\uFEFF"), at: pos{1, 1}, strict: strict}
	defer func() {
		if thrown := recover(); thrown != nil {
			syntax, ok := thrown.(*syntaxError)
			if !ok {
				panic(thrown)
			}
			n, err = nil, syntax
		}
	}()
	r.space()
	n = r.value()
	r.space()
	if r.off < len(r.text) {
		r.fail("", "unexpected %s after the end of the document", r.here())
	}
	return n, nil
}

// fail ends the reading; readJSON recovers.
func (r *jsonReader) fail(hint, format string, args ...any) {
	r.failAt(r.at, hint, format, args...)
}

func (r *jsonReader) failAt(at pos, hint, format string, args ...any) {
	panic(&syntaxError{at, fmt.Sprintf(format, args...), hint})
}

// five ends the reading if only JSON5 has the thing that is about to be read.
func (r *jsonReader) five(what string) {
	if r.strict {
		r.fail("JSON5 has it: give the file the extension .json5", "JSON has no %s", what)
	}
}

// peek returns the next character, -1 at the end.
func (r *jsonReader) peek() rune {
	if r.off >= len(r.text) {
		return -1
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.off:])
	return c
}

// next takes a character.
func (r *jsonReader) next() rune {
	if r.off >= len(r.text) {
		return -1
	}
	c, size := utf8.DecodeRuneInString(r.text[r.off:])
	r.off += size
	r.at.col++
	if c == '\n' {
		r.at.line, r.at.col = r.at.line+1, 1
	}
	return c
}

// here describes the next character for a message.
func (r *jsonReader) here() string {
	if c := r.peek(); c >= 0 {
		return strconv.QuoteRune(c)
	}
	return "end of file"
}

// space skips blanks and comments.
func (r *jsonReader) space() {
	for {
		c := r.peek()
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.next()
		case c == '/':
			r.five("comments")
			r.comment()
		case c == '\v' || c == '\f' || c == '\uFEFF' || c == '\u2028' || c == '\u2029' || c > 0x7f && unicode.Is(unicode.Zs, c):
			r.five("such blanks")
			r.next()
		default:
			return
		}
	}
}

func (r *jsonReader) comment() {
	start := r.at
	rest := r.text[r.off:]
	switch {
	case strings.HasPrefix(rest, "//"):
		for c := r.peek(); c != '\n' && c >= 0; c = r.peek() {
			r.next()
		}
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			r.failAt(start, "close it with */", "a comment is not closed")
		}
		for stop := r.off + end + 4; r.off < stop; {
			r.next()
		}
	default:
		r.fail("comments start with // or /*", "unexpected '/'")
	}
}

func (r *jsonReader) value() *node {
	at := r.at
	switch c := r.peek(); {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"':
		return &node{kind: kindString, at: at, text: r.quoted()}
	case c == '\'':
		r.five("strings in single quotes")
		return &node{kind: kindString, at: at, text: r.quoted()}
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return r.number()
	case isIdentStart(c):
		return r.word()
	}
	r.fail("", "expected a value, found %s", r.here())
	return nil
}

// deeper enters a list or map.
func (r *jsonReader) deeper() {
	if r.depth++; r.depth > maxDepth {
		r.fail("", "lists and maps are nested more than %d deep", maxDepth)
	}
}

func (r *jsonReader) object() *node {
	r.deeper()
	n := &node{kind: kindMap, at: r.at}
	r.next()
	for {
		r.space()
		if r.peek() == '}' {
			if len(n.items) > 0 {
				r.five("comma before a closing brace")
			}
			break
		}
		keyAt := r.at
		key := r.key()
		if first := n.child(key); first != nil {
			r.failAt(keyAt, "", "the key %q is already there in line %d", key, first.keyAt.line)
		}
		r.space()
		if r.peek() != ':' {
			r.fail("", "expected ':' after the key %q, found %s", key, r.here())
		}
		r.next()
		r.space()
		v := r.value()
		v.key, v.keyAt = key, keyAt
		n.add(v)
		if r.separator('}') {
			break
		}
	}
	r.next()
	r.depth--
	return n
}

func (r *jsonReader) array() *node {
	r.deeper()
	n := &node{kind: kindList, at: r.at}
	r.next()
	for {
		r.space()
		if r.peek() == ']' {
			if len(n.items) > 0 {
				r.five("comma before a closing bracket")
			}
			break
		}
		n.add(r.value())
		if r.separator(']') {
			break
		}
	}
	r.next()
	r.depth--
	return n
}

// separator takes a comma; it reports whether the closing character follows
// instead, which it leaves.
func (r *jsonReader) separator(closing rune) bool {
	r.space()
	switch r.peek() {
	case ',':
		r.next()
		return false
	case closing:
		return true
	}
	r.fail("", "expected ',' or %q, found %s", closing, r.here())
	return false
}

func (r *jsonReader) key() string {
	switch c := r.peek(); {
	case c == '"':
		return r.quoted()
	case c == '\'':
		r.five("keys in single quotes")
		return r.quoted()
	case isIdentStart(c) || c == '\\':
		r.five("keys without quotes")
		return r.identifier()
	}
	r.fail(`a key is a string, for example "name"`, "expected a key, found %s", r.here())
	return ""
}

func isIdentStart(c rune) bool {
	return c == '_' || c == '$' || unicode.IsLetter(c) || unicode.Is(unicode.Nl, c)
}

func isIdentPart(c rune) bool {
	return isIdentStart(c) || unicode.In(c, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc) || c == '\u200c' || c == '\u200d'
}

func (r *jsonReader) identifier() string {
	var b strings.Builder
	for {
		c := r.peek()
		switch {
		case c == '\\':
			r.next()
			if r.peek() != 'u' {
				r.fail("", "unexpected escape in a key")
			}
			r.next()
			c = r.hex(4)
			if !isIdentStart(c) && (b.Len() == 0 || !isIdentPart(c)) {
				r.fail("put the key in quotes", "%q cannot stand in a key without quotes", c)
			}
			b.WriteRune(c)
		case isIdentPart(c):
			b.WriteRune(r.next())
		default:
			return b.String()
		}
	}
}

// word reads true, false, null, or complains.
func (r *jsonReader) word() *node {
	n := &node{at: r.at}
	switch word := r.identifier(); word {
	case "null":
		n.text = word
	case "true", "false":
		n.kind, n.text = kindBool, word
	case "NaN", "Infinity":
		r.failAt(n.at, "", "%s is not a usable number", word)
	default:
		r.failAt(n.at, fmt.Sprintf("put a string in quotes: %q", word), "expected a value, found %s", word)
	}
	return n
}

func (r *jsonReader) number() *node {
	n := &node{kind: kindInt, at: r.at}
	start := r.off
	for c := r.peek(); c >= '0' && c <= '9' || isIdentPart(c) || c == '.' || c == '+' || c == '-'; c = r.peek() {
		r.next()
	}
	literal := r.text[start:r.off]
	bad := func() {
		r.failAt(n.at, "", "%q is not a number", literal)
	}
	digits := strings.TrimPrefix(literal, "-")
	if strings.HasPrefix(literal, "+") {
		digits = literal[1:]
	}
	sign := ""
	if literal[0] == '-' {
		sign = "-"
	}
	if hex := strings.TrimPrefix(strings.ToLower(digits), "0x"); len(hex) < len(digits) {
		v, ok := new(big.Int).SetString(hex, 16)
		if !ok || len(hex) > 64 || hex[0] == '+' || hex[0] == '-' {
			bad()
		}
		r.strictly(n.at, "hexadecimal numbers")
		n.text = sign + v.String()
		return n
	}
	whole, rest := splitDigits(digits)
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		n.kind = kindFloat
		fraction, rest = splitDigits(rest[1:])
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		n.kind = kindFloat
		if exponent, tail := splitDigits(strings.TrimLeft(rest[1:], "+-")); exponent == "" || tail != "" || len(rest)-1-len(exponent) > 1 {
			bad()
		}
	} else if rest != "" {
		bad()
	}
	switch {
	case whole == "" && fraction == "", len(whole) > 1 && whole[0] == '0':
		bad()
	case literal[0] == '+', whole == "", fraction == "" && strings.Contains(literal, "."):
		r.strictly(n.at, "such numbers")
	}
	if n.kind == kindInt {
		n.text = sign + whole
		return n
	}
	v, err := strconv.ParseFloat(sign+digits, 64)
	if err != nil {
		r.failAt(n.at, "", "the number %s is too large", literal)
	}
	n.text = jsonFloat(v)
	return n
}

func (r *jsonReader) strictly(at pos, what string) {
	if r.strict {
		r.failAt(at, "JSON5 has them: give the file the extension .json5", "JSON has no %s", what)
	}
}

func splitDigits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// jsonFloat writes a float so that it stays one when it is read again.
func jsonFloat(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// quoted reads a string with its quotes.
func (r *jsonReader) quoted() string {
	start := r.at
	quote := r.next()
	from := r.off
	for r.plainCharacter(quote) {
		r.next()
	}
	text := r.text[from:r.off]
	if r.peek() == quote { // nearly always: nothing to replace
		r.next()
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	for {
		c := r.next()
		switch {
		case c == quote:
			return b.String()
		case c < 0:
			r.failAt(start, "", "a string is not closed")
		case c == '\n' || c == '\r':
			r.failAt(start, `write a line break as \n`, "a string is not closed in its line")
		case c < ' ' && r.strict:
			r.failAt(start, fmt.Sprintf(`write it as \u%04x`, c), "a string contains a control character")
		case c == '\\':
			r.escape(&b)
		default:
			b.WriteRune(c)
		}
	}
}

// plainCharacter reports whether the next character of a string stands for
// itself whatever the rules.
func (r *jsonReader) plainCharacter(quote rune) bool {
	c := r.peek()
	return c >= ' ' && c != quote && c != '\\'
}

// escape reads what follows a backslash in a string.
func (r *jsonReader) escape(b *strings.Builder) {
	simple := map[rune]string{'"': `"`, '\\': `\`, '/': "/", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t"}
	at := r.at
	at.col--
	c := r.next()
	if text, ok := simple[c]; ok {
		b.WriteString(text)
		return
	}
	if c == 'u' {
		u := r.hex(4)
		if utf16.IsSurrogate(u) {
			u = utf16.DecodeRune(u, r.lowSurrogate(u))
		}
		b.WriteRune(u)
		return
	}
	if r.strict || c < 0 || c >= '1' && c <= '9' {
		r.failAt(at, `a backslash itself is written \\`, "unknown escape in a string")
	}
	switch c {
	case 'v':
		b.WriteByte('\v')
	case 'x':
		b.WriteRune(r.hex(2))
	case '0':
		if d := r.peek(); d >= '0' && d <= '9' {
			r.failAt(at, "", "octal escapes are not allowed")
		}
		b.WriteByte(0)
	case '\n', '\u2028', '\u2029': // the string goes on in the next line
	case '\r':
		if r.peek() == '\n' {
			r.next()
		}
	default:
		b.WriteRune(c)
	}
}

// lowSurrogate takes the second half of a character that is written as two
// escapes; -1 if there is none.
func (r *jsonReader) lowSurrogate(high rune) rune {
	if high >= 0xDC00 || !strings.HasPrefix(r.text[r.off:], `\u`) {
		return -1
	}
	saved, at := r.off, r.at
	r.next()
	r.next()
	if u := r.hex(4); u >= 0xDC00 && u <= 0xDFFF {
		return u
	}
	r.off, r.at = saved, at
	return -1
}

// hex reads so many hexadecimal digits.
func (r *jsonReader) hex(digits int) rune {
	var v rune
	for range digits {
		c := unicode.ToLower(r.peek())
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | (c - '0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | (c - 'a' + 10)
		default:
			r.fail("", "expected %d hexadecimal digits", digits)
		}
		r.next()
	}
	return v
}

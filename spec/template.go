package spec

import (
	"slices"
	"strconv"
	"strings"
)

// template is a text with placeholders {name} and {name:format} for the columns of a sweep. It is
// parsed once and filled in for each instance.
type template struct {
	text     string // the whole, if there are no placeholders
	segments []segment
	quoted   bool // the text is JSON, with placeholders inside its strings
}

// segment is a literal text followed by a placeholder; a column of -1 is none.
type segment struct {
	literal string
	column  int
	format  format
}

// format is what follows the colon of a placeholder.
type format struct {
	verb  byte // 'd' for 0Nd, 'f' for .Nf, 0 for plain
	width int  // digits
}

// maxFormat limits widths and digits; more is a typing error.
const maxFormat = 100

// parseFormat parses 0Nd and .Nf; everything else means the plain value.
func parseFormat(text string) format {
	if len(text) < 3 {
		return format{}
	}
	width, err := strconv.ParseUint(text[1:len(text)-1], 10, 8)
	if err != nil || width > maxFormat {
		return format{}
	}
	switch {
	case text[0] == '0' && text[len(text)-1] == 'd':
		return format{'d', int(width)}
	case text[0] == '.' && text[len(text)-1] == 'f':
		return format{'f', int(width)}
	}
	return format{}
}

// parseTemplate splits a text at the placeholders of the given columns. Braces around anything
// else are text.
func parseTemplate(text string, columns []string) template {
	t := template{text: text}
	start := 0
	for rest := text; ; {
		// A placeholder is the innermost pair of braces.
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			break
		}
		closing := len(text) - len(rest) + end
		rest = text[closing+1:]
		open := strings.LastIndexByte(text[start:closing], '{')
		if open < 0 {
			continue
		}
		name, suffix, _ := strings.Cut(text[start+open+1:closing], ":")
		if column := slices.Index(columns, name); column >= 0 {
			t.segments = append(t.segments, segment{text[start : start+open], column, parseFormat(suffix)})
			start = closing + 1
		}
	}
	if t.segments != nil && start < len(text) {
		t.segments = append(t.segments, segment{text[start:], -1, format{}})
	}
	return t
}

// parseJSONTemplate returns a template for a JSON value, with placeholders in its strings but
// not in keys.
func parseJSONTemplate(n *node, columns []string) template {
	t := template{quoted: true}
	var literal []byte
	var walk func(n *node)
	walk = func(n *node) {
		switch n.kind {
		case kindString:
			inner := parseTemplate(n.text, columns)
			literal = append(literal, '"')
			for _, s := range inner.segments {
				quoted := jsonString(s.literal)
				literal = append(literal, quoted[1:len(quoted)-1]...)
				if s.column >= 0 {
					s.literal = string(literal)
					t.segments = append(t.segments, s)
					literal = literal[:0]
				}
			}
			if inner.constant() {
				quoted := jsonString(n.text)
				literal = append(literal, quoted[1:len(quoted)-1]...)
			}
			literal = append(literal, '"')
		case kindList, kindMap:
			brackets := map[kind]string{kindList: "[]", kindMap: "{}"}[n.kind]
			literal = append(literal, brackets[0])
			for i, c := range n.items {
				if i > 0 {
					literal = append(literal, ',')
				}
				if n.kind == kindMap {
					literal = append(append(literal, jsonString(c.key)...), ':')
				}
				walk(c)
			}
			literal = append(literal, brackets[1])
		default:
			literal = n.appendJSON(literal)
		}
	}
	walk(n)
	if t.segments == nil {
		t.text = string(literal)
	} else {
		t.segments = append(t.segments, segment{string(literal), -1, format{}})
	}
	return t
}

// constant reports whether all instances are the same.
func (t *template) constant() bool { return t.segments == nil }

// fill appends the text with the values of a row to b.
func (t *template) fill(b []byte, row []Value) []byte {
	if t.constant() {
		return append(b, t.text...)
	}
	for _, s := range t.segments {
		b = append(b, s.literal...)
		if s.column < 0 {
			continue
		}
		v := row[s.column]
		switch {
		case s.format.verb == 'd' && v.kind == intValue:
			b = appendPadded(b, v.i, s.format.width)
		case s.format.verb == 'f' && v.kind == floatValue:
			b = strconv.AppendFloat(b, v.f, 'f', s.format.width, 64)
		case t.quoted && v.kind == stringValue:
			quoted := jsonString(v.s)
			b = append(b, quoted[1:len(quoted)-1]...)
		default:
			b = v.append(b)
		}
	}
	return b
}

// appendPadded appends i with leading zeros; a sign counts as part of the width.
func appendPadded(b []byte, i int64, width int) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], i, 10)
	if text[0] == '-' {
		b = append(b, '-')
		text, width = text[1:], width-1
	}
	for range width - len(text) {
		b = append(b, '0')
	}
	return append(b, text...)
}

// textArena stores many small strings in few allocations: they share blocks.
type textArena struct {
	block   strings.Builder
	scratch []byte
	size    int // bytes kept so far
}

const arenaBlock = 64 << 10

// fill returns the text of a template for a row; a constant is shared.
func (a *textArena) fill(t *template, row []Value) string {
	if t.constant() {
		return t.text
	}
	a.scratch = t.fill(a.scratch[:0], row)
	return a.keep(a.scratch)
}

// keep returns b as a string.
func (a *textArena) keep(b []byte) string {
	a.size += len(b)
	if a.block.Cap()-a.block.Len() < len(b) {
		if len(b) > arenaBlock/8 {
			return string(b)
		}
		a.block = strings.Builder{}
		a.block.Grow(arenaBlock)
	}
	from := a.block.Len()
	a.block.Write(b)
	return a.block.String()[from:]
}

package spec

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// spot is a place with the number of characters to underline.
type spot struct {
	at    pos
	width int
}

func (n *node) spot() spot {
	if n == nil {
		return spot{}
	}
	if n.at.line == 0 {
		return n.keySpot()
	}
	width := 1
	if n.kind <= kindString {
		width = utf8.RuneCountInString(n.text)
	}
	return spot{n.at, width}
}

func (n *node) keySpot() spot {
	switch {
	case n == nil:
		return spot{}
	case n.keyAt.line > 0:
		return spot{n.keyAt, utf8.RuneCountInString(n.key)}
	case n.at.line > 0:
		return spot{n.at, 1}
	}
	return n.parent.spot()
}

// find returns the place of a part of the text n; the place of n if the part is spelled
// differently there.
func (s source) find(n *node, part string) spot {
	const lines = 50
	whole := n.spot()
	if whole.at.line == 0 || part == "" {
		return whole
	}
	for i := range lines {
		line := s.line(int(whole.at.line) + i)
		from := 0
		if i == 0 {
			from = min(len(line), len(string([]rune(line)[:min(utf8.RuneCountInString(line), int(whole.at.col)-1)])))
		}
		if at := strings.Index(line[from:], part); at >= 0 {
			column := utf8.RuneCountInString(line[:from+at]) + 1
			return spot{pos{whole.at.line + int32(i), int32(column)}, utf8.RuneCountInString(part)}
		}
	}
	return whole
}

// source is the text of a file.
type source struct {
	name string
	text []byte
}

// place returns a place with its line. A library may count line ends that are not counted
// here; such a place is moved to the nearest line.
func (s source) place(at pos) (line, column int, text string) {
	line = min(int(at.line), bytes.Count(s.text, []byte("\n"))+1)
	text = s.line(line)
	return line, min(int(at.col), utf8.RuneCountInString(text)+1), text
}

// line returns a line without its end; lines count from 1.
func (s source) line(number int) string {
	rest := s.text
	for ; number > 1; number-- {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return ""
		}
		rest = rest[end+1:]
	}
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	return strings.ToValidUTF8(string(bytes.TrimSuffix(text, []byte("\r"))), "\uFFFD")
}

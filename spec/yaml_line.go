package spec

import "bytes"

// yamlLines has the starts of the lines as the YAML library counts them. YAML also ends lines at
// U+0085, U+2028, U+2029 and at a single carriage return, which editors and our messages count as
// characters of the line. Nil stands for a text without them.
type yamlLines []pos

func newYAMLLines(data []byte) yamlLines {
	if !bytes.ContainsAny(data, "\r\u0085\u2028\u2029") {
		return nil
	}
	at := pos{1, 1}
	lines := yamlLines{at}
	text := []rune(string(data))
	for i, c := range text {
		if at.col++; c == '\n' {
			at = pos{at.line + 1, 1}
		}
		switch {
		case c == '\r' && i+1 < len(text) && text[i+1] == '\n':
		case c == '\n', c == '\r', c == '\u0085', c == '\u2028', c == '\u2029':
			lines = append(lines, at)
		}
	}
	return lines
}

// place converts a place of the library to ours.
func (l yamlLines) place(line, column int) pos {
	line, column = max(1, line), max(1, column)
	if line > len(l) {
		return pos{int32(line), int32(column)}
	}
	start := l[line-1]
	return pos{start.line, start.col + int32(column) - 1}
}

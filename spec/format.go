package spec

import (
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Format is a file format of specifications.
type Format string

// The formats.
const (
	JSON  Format = "json"
	JSON5 Format = "json5"
	YAML  Format = "yaml"
	KDL   Format = "kdl"
)

// formatOf returns the format of a file by its extension; empty if only the text can tell.
func formatOf(path string) Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json":
		return JSON
	case ".json5":
		return JSON5
	case ".yaml", ".yml":
		return YAML
	case ".kdl":
		return KDL
	}
	return ""
}

// readFormat reads a text in a known format.
func readFormat(f Format, data []byte) (*node, error) {
	switch f {
	case JSON:
		return readJSON(data, true)
	case JSON5:
		return readJSON(data, false)
	case YAML:
		return readYAML(data)
	}
	return readKDL(data)
}

// detect reads a text in an unknown format: the first in which it is a map, preferably one
// with the keys of a specification (KDL with a colon can look like YAML).
func detect(data []byte) (Format, *node, error) {
	var other *node
	var otherFormat Format
	for _, f := range []Format{JSON, JSON5, YAML, KDL} {
		n, err := readFormat(f, data)
		switch {
		case err != nil || n.kind != kindMap:
		case n.child("name") != nil || n.child("jobs") != nil:
			return f, n, nil
		case other == nil:
			other, otherFormat = n, f
		}
	}
	if other != nil {
		return otherFormat, other, nil
	}
	guess := guessFormat(data)
	n, err := readFormat(guess, data)
	return guess, n, err
}

// guessFormat returns the format whose error messages are likely to help most.
func guessFormat(data []byte) Format {
	text := strings.TrimSpace(string(data[:min(len(data), 4096)]))
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return JSON5
	case !strings.Contains(first, ":") && (strings.HasPrefix(text, "name ") || strings.HasPrefix(text, "job ")):
		return KDL
	}
	return YAML
}

// checkText rejects what is not text.
func checkText(data []byte) *syntaxError {
	if len(strings.TrimSpace(string(data[:min(len(data), 1<<16)]))) == 0 && len(data) < 1<<16 {
		return &syntaxError{pos{}, "the file is empty", ""}
	}
	if !utf8.Valid(data) {
		line, col := int32(1), int32(1)
		for rest := data; ; {
			r, size := utf8.DecodeRune(rest)
			if r == utf8.RuneError && size <= 1 {
				return &syntaxError{pos{line, col}, "the file is not UTF-8 text", "convert it, for example with iconv -t UTF-8"}
			}
			if col++; r == '\n' {
				line, col = line+1, 1
			}
			rest = rest[size:]
		}
	}
	return nil
}

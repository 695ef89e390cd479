// Package argument has the inputs of commands and the replacement strings for them, as people
// know them from GNU parallel: ./sim {} {.} ::: a.txt b.txt.
package argument

import (
	"fmt"
	"slices"
	"strings"
)

// Source is a list of values, from the words after ::: or the lines of a file after ::::.
type Source struct {
	Values []string
	// Linked: its values go with those of the source before, one each, instead of being combined
	// with all of them (:::+ and ::::+).
	Linked bool
}

// Row has the values of one job, one of each source.
type Row []string

// Rows combines the values of the sources. The first source varies slowest. Of a linked source
// that is shorter than the one before, the values repeat.
func Rows(sources []Source) []Row {
	rows := []Row{{}}
	for i := 0; i < len(sources); {
		group := 1
		for i+group < len(sources) && sources[i+group].Linked {
			group++
		}
		rows = combine(rows, linked(sources[i:i+group]))
		i += group
	}
	return rows
}

// linked returns the rows of sources that go together.
func linked(sources []Source) []Row {
	n := 0
	for _, s := range sources {
		if len(s.Values) == 0 {
			return nil
		}
		n = max(n, len(s.Values))
	}
	rows := make([]Row, n)
	for i := range rows {
		for _, s := range sources {
			rows[i] = append(rows[i], s.Values[i%len(s.Values)])
		}
	}
	return rows
}

func combine(first, second []Row) []Row {
	rows := make([]Row, 0, len(first)*len(second))
	for _, a := range first {
		for _, b := range second {
			rows = append(rows, slices.Concat(a, b))
		}
	}
	return rows
}

// Reader returns the values of a file; - is the standard input.
type Reader func(name string) ([]string, error)

// Split returns the words of a command, and the sources after them: each ::: begins a source of
// values, each word after :::: is a file that is one.
func Split(words []string, read Reader) (command []string, sources []Source, err error) {
	at := slices.IndexFunc(words, isSeparator)
	if at < 0 {
		return words, nil, nil
	}
	command = words[:at]
	for at < len(words) {
		separator := words[at]
		end := at + 1
		for end < len(words) && !isSeparator(words[end]) {
			end++
		}
		values := words[at+1 : end]
		if len(values) == 0 {
			return nil, nil, fmt.Errorf("there is nothing after %s", separator)
		}
		s := Source{Linked: strings.HasSuffix(separator, "+")}
		if s.Linked && len(sources) == 0 {
			return nil, nil, fmt.Errorf("there is no source before %s that it could go with", separator)
		}
		if strings.HasPrefix(separator, "::::") {
			for _, name := range values {
				if s.Values, err = read(name); err != nil {
					return nil, nil, err
				}
				sources = append(sources, s)
			}
		} else {
			s.Values = values
			sources = append(sources, s)
		}
		at = end
	}
	return command, sources, nil
}

func isSeparator(word string) bool {
	return slices.Contains([]string{":::", "::::", ":::+", "::::+"}, word)
}

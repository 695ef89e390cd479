package argument

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Template is a command with replacement strings:
//
//	{}    the value, or all values, of a job
//	{.}   without its extension
//	{/}   without its folder
//	{//}  its folder
//	{/.}  without folder and extension
//	{2}   the value of the second source; {2.}, {2/}, {2//}, {2/.} likewise
//	{#}   the number of the job, from 1
type Template struct {
	words []string
	shell bool // there is one word, a line for the shell
}

var replacement = regexp.MustCompile(`\{(#|[0-9]*(?:\.|/\.|//|/)?)\}`)

// NewTemplate returns the template of a command. One word is a line for the shell; several are
// words of a command, which get to it as they are. A command without replacement strings gets
// the values after its words. The error names a replacement string for which there is no source.
func NewTemplate(words []string, sources int) (*Template, error) {
	t := &Template{words: words, shell: len(words) == 1}
	found := false
	for _, word := range words {
		for _, m := range replacement.FindAllStringSubmatch(word, -1) {
			found = true
			number := strings.TrimRight(m[1], "./")
			if number == "" || number == "#" {
				continue
			}
			if n, err := strconv.Atoi(number); err != nil || n < 1 || n > sources {
				return nil, fmt.Errorf("%s: there is no source %s, only %d", m[0], number, sources)
			}
		}
	}
	switch {
	case found:
	case t.shell:
		t.words = []string{words[0] + " {}"}
	default:
		for i := range sources {
			t.words = append(t.words[:len(t.words):len(t.words)], fmt.Sprintf("{%d}", i+1))
		}
	}
	return t, nil
}

// Command returns the command of job number seq, for bash. The error is of a value that no shell
// can pass on.
func (t *Template) Command(seq int, row Row) (string, error) {
	var out []string
	for _, word := range t.words {
		var failed error
		text := replacement.ReplaceAllStringFunc(word, func(token string) string {
			values := valuesOf(token[1:len(token)-1], seq, row)
			if t.shell {
				for i, v := range values {
					quoted, err := Quote(v)
					if err != nil {
						failed = err
					}
					values[i] = quoted
				}
			}
			return strings.Join(values, " ")
		})
		if failed != nil {
			return "", failed
		}
		if !t.shell {
			var err error
			if text, err = Quote(text); err != nil {
				return "", err
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " "), nil
}

// valuesOf returns what a replacement string stands for.
func valuesOf(name string, seq int, row Row) []string {
	if name == "#" {
		return []string{strconv.Itoa(seq)}
	}
	number := strings.TrimRight(name, "./")
	how := name[len(number):]
	values := append(Row{}, row...)
	if n, err := strconv.Atoi(number); err == nil {
		values = Row{row[n-1]}
	}
	for i, v := range values {
		values[i] = part(how, v)
	}
	return values
}

// part returns a part of a value, which is a path.
func part(how, value string) string {
	switch how {
	case ".":
		return withoutExtension(value)
	case "/":
		return path.Base(value)
	case "//":
		return path.Dir(value)
	case "/.":
		return withoutExtension(path.Base(value))
	}
	return value
}

// withoutExtension returns a path without what follows the last dot of its last part.
func withoutExtension(value string) string {
	name := value[strings.LastIndex(value, "/")+1:]
	if dot := strings.LastIndex(name, "."); dot > 0 {
		return value[:len(value)-len(name)+dot]
	}
	return value
}

// Quote returns a word for bash, quoted if needed.
func Quote(word string) (string, error) {
	quoted, err := syntax.Quote(word, syntax.LangBash)
	if err != nil {
		return "", fmt.Errorf("the word %q cannot be quoted for a shell: %w", word, err)
	}
	return quoted, nil
}

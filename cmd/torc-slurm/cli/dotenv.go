package cli

import (
	"regexp"
	"strings"
)

// dotEnvLine is a line of a .env file: a name, and a value that may be quoted.
var dotEnvLine = regexp.MustCompile(`^(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|([^'"\s#](?:\S|\s+[^\s#])*)?)\s*(?:\s#.*)?$`)

// ParseDotEnv parses NAME=value lines. Values in single quotes are literal. In others $NAME
// is replaced by a variable of a line above or of getenv, and in double quotes a backslash
// escapes the next character. It also returns the numbers of lines that are not valid.
func ParseDotEnv(text string, getenv func(string) string) (variables []string, bad []int) {
	known := map[string]string{}
	lookup := func(name string) string { return FirstOf(getenv(name), known[name]) }
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		m := dotEnvLine.FindStringSubmatch(line)
		if m == nil {
			bad = append(bad, number+1)
			continue
		}
		value := m[2]
		if rest := FirstOf(m[3], m[4]); rest != "" {
			value = resolve(rest, m[3] != "", lookup)
		}
		known[m[1]] = value
		variables = append(variables, m[1]+"="+value)
	}
	return variables, bad
}

// replaced matches what resolve replaces.
var replaced = regexp.MustCompile(`\\.|\$\w+|\$\{\w+\}`)

// resolve replaces references to variables, and, in double quotes, backslashes.
func resolve(text string, quoted bool, lookup func(string) string) string {
	return replaced.ReplaceAllStringFunc(text, func(found string) string {
		switch {
		case found[0] == '$':
			return lookup(strings.Trim(found, "${}"))
		case !quoted:
			return found
		case found == `\n`:
			return "\n"
		}
		return found[1:]
	})
}

package sbatchtemplates

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Option is one sbatch option: its long name without dashes, and its value.
type Option struct {
	Name  string
	Value string
	Bare  bool // the option takes no value, as in --exclusive
}

// maxValue limits the value of a directive, in bytes. Some versions of sbatch have a
// buffer of 8192 bytes for an argument.
const maxValue = 4096

// text returns the option as written after #SBATCH.
func (o Option) text() string {
	if o.Bare {
		return "--" + o.Name
	}
	return "--" + o.Name + "=" + quote(o.Value)
}

// check returns an error if the option is not possible in a script.
func (o Option) check() error {
	if !isOptionName(o.Name) {
		return workflow.Errorf(workflow.CodeInvalid, "%q is not the name of an sbatch option", o.Name).
			WithHint("write a long option without dashes, for example qos")
	}
	return checkText("--"+o.Name, o.Value)
}

// isOptionName reports whether a text has the form of a long option: letters, digits and
// inner dashes.
func isOptionName(text string) bool {
	for _, r := range text {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-') {
			return false
		}
	}
	return text != "" && text[0] != '-'
}

// checkText returns an error for values that are not possible in one line of a script.
func checkText(what, value string) error {
	switch {
	case len(value) > maxValue:
		return workflow.Errorf(workflow.CodeInvalid, "the value of %s has more than %d bytes", what, maxValue)
	case !utf8.ValidString(value):
		return workflow.Errorf(workflow.CodeInvalid, "the value of %s is not UTF-8", what)
	case strings.ContainsFunc(value, unicode.IsControl):
		return workflow.Errorf(workflow.CodeInvalid, "the value %q of %s has a line break or another control character", value, what)
	}
	return nil
}

// quote quotes a value so that sbatch takes it as one argument. Without quotes sbatch
// splits at blanks and cuts at a number sign. A backslash escapes the next character, in
// quotes, too.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// split splits the text after #SBATCH into arguments as sbatch does. It returns false if a
// quote is not closed.
func split(line string) (args []string, ok bool) {
	var arg strings.Builder
	var quoted rune
	inside, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			arg.WriteRune(r)
			escaped = false
		case r == '\\':
			inside, escaped = true, true
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted == 0 && (r == '"' || r == '\''):
			inside, quoted = true, r
		case quoted == 0 && r == '#':
			if inside {
				args = append(args, arg.String())
			}
			return args, true
		case quoted == 0 && unicode.IsSpace(r):
			if inside {
				args = append(args, arg.String())
			}
			arg.Reset()
			inside = false
		default:
			inside = true
			arg.WriteRune(r)
		}
	}
	if inside {
		args = append(args, arg.String())
	}
	return args, quoted == 0
}

// forbiddenOption is an option that would change the request for one allocation into
// something else.
type forbiddenOption struct {
	name   string
	letter byte // its short form; 0 if it has none
	hint   string
}

const (
	oneAllocation = "each request is for one allocation"
	thisCluster   = "allocations are only requested on this cluster: submit the workflow on a login node of the other one"
)

// forbidden options. The name is not among them, since ours comes last.
var forbidden = []forbiddenOption{
	{"array", 'a', oneAllocation},
	{"clusters", 'M', thisCluster},
	{"parsable", 0, oneAllocation},
	{"test-only", 0, oneAllocation},
	{"wait", 'W', oneAllocation},
	{"wrap", 0, oneAllocation},
}

// withValue are the short options of sbatch whose value may follow in the same word.
const withValue = "ABCDFGJLNSbcdeikmnopqtwx"

// forbiddenLong returns the forbidden option of a long name, or of its beginning, because
// sbatch accepts unambiguous beginnings.
func forbiddenLong(name string) *forbiddenOption {
	for i := range forbidden {
		if name != "" && strings.HasPrefix(forbidden[i].name, name) {
			return &forbidden[i]
		}
	}
	return nil
}

// forbiddenShort returns the first forbidden option in a word of short options, such as Ha
// for -H -a.
func forbiddenShort(word string) *forbiddenOption {
	for i := range len(word) {
		for j := range forbidden {
			if word[i] == forbidden[j].letter {
				return &forbidden[j]
			}
		}
		if strings.IndexByte(withValue, word[i]) >= 0 {
			return nil
		}
	}
	return nil
}

// refusedOption returns the forbidden option of an argument, nil if it is allowed.
func refusedOption(arg string) *forbiddenOption {
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		name, _, _ := strings.Cut(long, "=")
		return forbiddenLong(name)
	}
	if letters, ok := strings.CutPrefix(arg, "-"); ok {
		return forbiddenShort(letters)
	}
	return nil
}

// checkExtra returns an error if the user's text for one #SBATCH line is not allowed.
func checkExtra(line string) error {
	if err := checkText("extra", line); err != nil {
		return err
	}
	args, ok := split(line)
	if !ok {
		return workflow.Errorf(workflow.CodeInvalid, "unclosed quote in extra: %s", line)
	}
	for _, arg := range args {
		if no := refusedOption(arg); no != nil {
			return workflow.Errorf(workflow.CodeInvalid, "--%s is not allowed in extra: %s", no.name, line).WithHint("%s", no.hint)
		}
	}
	return nil
}

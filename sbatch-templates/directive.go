package sbatchtemplates

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Option is one option of sbatch: its long name without dashes, and its value.
type Option struct {
	Name  string
	Value string
	Bare  bool // the option takes no value, as in --exclusive
}

// maxValue bounds the value of a directive, in bytes: sbatch of some versions
// keeps an argument in a buffer of 8192.
const maxValue = 4096

// text writes the option as it stands behind #SBATCH.
func (o Option) text() string {
	if o.Bare {
		return "--" + o.Name
	}
	return "--" + o.Name + "=" + quote(o.Value)
}

// check says what keeps the option from standing in a script.
func (o Option) check() error {
	if !isOptionName(o.Name) {
		return workflow.Errorf(workflow.CodeInvalid, "%q is not the name of an sbatch option", o.Name).
			WithHint("write a long option without dashes, for example qos")
	}
	return checkText("--"+o.Name, o.Value)
}

// isOptionName reports whether a text is a long option: letters, digits and
// inner dashes.
func isOptionName(text string) bool {
	for _, r := range text {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-') {
			return false
		}
	}
	return text != "" && text[0] != '-'
}

// checkText rejects what cannot stand in one line of a script.
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

// quote writes a value so that sbatch takes all of it as one argument. In a
// script it splits at blanks and cuts at a number sign unless they are in
// quotes, and takes the character behind a backslash as it is, in quotes too.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// split takes the text behind #SBATCH apart as sbatch does. It is false if a
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

// refusal is an option that would make something else of the one allocation
// that was asked for.
type refusal struct {
	name   string
	letter byte // its short form; 0 if it has none
	hint   string
}

const (
	oneAllocation = "each request is for one allocation"
	thisCluster   = "allocations are looked for on this cluster alone: submit the workflow on a login node of the other one"
)

// refused options. A name is none of them, as ours comes last.
var refused = []refusal{
	{"array", 'a', oneAllocation},
	{"clusters", 'M', thisCluster},
	{"parsable", 0, oneAllocation},
	{"test-only", 0, oneAllocation},
	{"wait", 'W', oneAllocation},
	{"wrap", 0, oneAllocation},
}

// withValue are the letters of sbatch whose value may follow in the same word.
const withValue = "ABCDFGJLNSbcdeikmnopqtwx"

// refusedLong finds the refused option that a long name means. Beginnings are
// refused, too: sbatch takes one that fits no other option for the whole name.
func refusedLong(name string) *refusal {
	for i := range refused {
		if name != "" && strings.HasPrefix(refused[i].name, name) {
			return &refused[i]
		}
	}
	return nil
}

// refusedShort finds the first refused option in a word of letters, such as Ha
// for -H -a.
func refusedShort(word string) *refusal {
	for i := range len(word) {
		for j := range refused {
			if word[i] == refused[j].letter {
				return &refused[j]
			}
		}
		if strings.IndexByte(withValue, word[i]) >= 0 {
			return nil
		}
	}
	return nil
}

// refusedOption finds which refused option an argument is, if any.
func refusedOption(arg string) *refusal {
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		name, _, _ := strings.Cut(long, "=")
		return refusedLong(name)
	}
	if letters, ok := strings.CutPrefix(arg, "-"); ok {
		return refusedShort(letters)
	}
	return nil
}

// checkExtra checks the user's literal text for one #SBATCH line.
func checkExtra(line string) error {
	if err := checkText("extra", line); err != nil {
		return err
	}
	args, ok := split(line)
	if !ok {
		return workflow.Errorf(workflow.CodeInvalid, "a quote in extra is not closed: %s", line)
	}
	for _, arg := range args {
		if no := refusedOption(arg); no != nil {
			return workflow.Errorf(workflow.CodeInvalid, "--%s cannot stand in extra: %s", no.name, line).WithHint("%s", no.hint)
		}
	}
	return nil
}

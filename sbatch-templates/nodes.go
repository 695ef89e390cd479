package sbatchtemplates

import (
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Nodes is what the user's options say about the nodes of an allocation.
type Nodes struct {
	Required []string // it contains all of them
	Excluded []string // it contains none of them
	// Features must all be on each of its nodes (--constraint).
	Features    []string
	Reservation string // it starts in this one
	// Unclear says that an option was not understood, such as a constraint with alternatives: only
	// Slurm knows which nodes it may get.
	Unclear bool
	// Restricted says that other options narrow the choice, so that only Slurm knows the
	// remaining nodes.
	Restricted bool
}

// nodeOptions are the options that choose nodes, by all spellings.
var nodeOptions = map[string]string{
	"nodelist": "nodelist", "w": "nodelist", "exclude": "exclude", "x": "exclude",
	"constraint": "constraint", "C": "constraint", "reservation": "reservation", "nodefile": "nodefile", "F": "nodefile",
}

// NodesOf returns the nodes of slurm_defaults and extra, which takes precedence. A list in
// a file, or an invalid one, sets Restricted and Unclear.
func NodesOf(defaults []Option, extra string) (n Nodes) {
	values := map[string]string{}
	for _, o := range defaults {
		if name := nodeOptions[o.Name]; name != "" {
			values[name] = o.Value
		}
	}
	for line := range strings.Lines(extra) {
		if args, ok := split(strings.TrimSpace(line)); ok {
			readNodeOptions(args, values)
		}
	}
	for name, value := range values {
		hosts, err := slurm.ExpandNodes(value)
		switch {
		case value == "":
		case name == "constraint" && !strings.ContainsAny(value, "|[]()*!"):
			n.Restricted = true
			n.Features = sorted(strings.FieldsFunc(value, func(r rune) bool { return r == '&' || r == ',' }))
		case name == "reservation" && !strings.Contains(value, ","):
			n.Restricted, n.Reservation = true, value
		case name != "nodelist" && name != "exclude", err != nil, strings.Contains(value, "/"):
			n.Restricted, n.Unclear = true, true
		case name == "nodelist":
			n.Required = sorted(hosts)
		default:
			n.Excluded = sorted(hosts)
		}
	}
	return n
}

// readNodeOptions collects --name=value, --name value, -xvalue and -x value. The last
// value of a repeated option counts.
func readNodeOptions(args []string, values map[string]string) {
	for i := 0; i < len(args); i++ {
		name, value, given := "", "", false
		switch long, isLong := strings.CutPrefix(args[i], "--"); {
		case isLong:
			name, value, given = strings.Cut(long, "=")
		case len(args[i]) > 1 && args[i][0] == '-':
			name, value = args[i][1:2], args[i][2:]
			given = value != ""
		}
		if name = nodeOptions[name]; name == "" {
			continue
		}
		if !given && i+1 < len(args) {
			i++
			value = args[i]
		}
		values[name] = value
	}
}

func sorted(hosts []string) []string {
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// withExcluded returns the request with the user's excluded nodes added to its own,
// because Slurm would use only the last of two lists.
func (r Request) withExcluded() Request {
	if n := NodesOf(r.Defaults, r.Extra); len(r.Exclude) > 0 && len(n.Excluded) > 0 {
		r.Exclude = sorted(slices.Concat(r.Exclude, n.Excluded))
		r.Extra = strings.TrimRight(r.Extra, "\n") + "\n" + Option{Name: "exclude", Value: strings.Join(r.Exclude, ",")}.text()
	}
	return r
}

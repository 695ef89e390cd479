package spec

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// untemplated are the keys of jobs, files and user data in which braces have no meaning.
var untemplated = map[string]bool{
	"parameters": true, "use_parameters": true, "parameters_file": true, "failure_handler": true, "retry_policies": true, "timeouts": true, "stdio": true,
}

// checkPlaceholders reports {word} that is almost the name of a parameter of an item. Other
// braces belong to shells and programs.
func checkPlaceholders(r *report, item *node, columns []string) {
	if len(columns) == 0 {
		return
	}
	for _, c := range item.items {
		if !untemplated[c.key] {
			checkWords(r, c, columns)
		}
	}
}

// checkWords does this in all strings of a value.
func checkWords(r *report, n *node, columns []string) {
	for _, c := range n.items {
		checkWords(r, c, columns)
	}
	if n.kind != kindString {
		return
	}
	for _, m := range dollarTemplate.FindAllStringSubmatch(n.text, -1) {
		if m[1] != "" || slices.Contains(columns, m[2]) { // ${name} is a shell variable
			continue
		}
		if near := workflow.Misspelled(m[2], columns); near != "" {
			r.failIn(n, m[0], "did you mean {"+near+"}? To keep the braces, write { "+m[2]+" } or read the text from a file",
				"there is no parameter %s here", m[0])
		}
	}
}

package spec

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// variables replaces the constants of a document in all its strings, before anything else reads
// them.
type variables struct {
	*report
	values map[string]string
	others map[string]bool // parameters and table columns
	known  []string
	read   func(string) ([]byte, error)
}

// dollarTemplate also finds ${name}, which belongs to the shell.
var dollarTemplate = regexp.MustCompile(`(\$?)\{([A-Za-z_][A-Za-z0-9_]*)(:[^{}]*)?\}`)

// substituteVariables replaces the variables of a document in its tree. The given values
// override those of the document.
func substituteVariables(r *report, root *node, read func(string) ([]byte, error), given map[string]string) {
	block := root.child("variables")
	if block == nil || block.kind == kindNull {
		return
	}
	v := &variables{report: r, values: map[string]string{}, others: map[string]bool{}, read: read}
	if block.kind != kindMap {
		return // the decoder reports it
	}
	for _, c := range block.items {
		v.add(c)
		if value, ok := given[c.key]; ok && c.kind == kindString {
			v.values[c.key] = value
		}
	}
	if len(block.items) == 0 {
		return
	}
	v.paths(root)
	v.collect(root)
	for _, c := range block.items {
		if v.others[c.key] {
			v.failKey(c, "rename one of them", "the variable %s is also a parameter or a column of a table", c.key)
		}
	}
	v.known = slices.Concat(slices.Sorted(maps.Keys(v.values)), slices.Sorted(maps.Keys(v.others)))
	for _, c := range root.items {
		if c != block {
			v.walk(c)
		}
	}
}

// add checks and records a variable.
func (v *variables) add(c *node) {
	if c.kind != kindString {
		return // the decoder reports it
	}
	if !isIdentifier(c.key) {
		v.failKey(c, "use letters, digits and _, not starting with a digit", "%s is not a name for a variable", clip(c.key))
	}
	for _, m := range dollarTemplate.FindAllStringSubmatch(c.text, -1) {
		if m[1] == "" {
			v.failIn(c, m[0], "write the text out: variables are not replaced in variables", "the value contains %s", m[0])
		}
	}
	v.values[c.key] = c.text
}

// items returns the maps that may have parameters: the document, its jobs, files and user data.
func (v *variables) items(root *node) []*node {
	items := []*node{root}
	for _, key := range []string{"jobs", "files", "user_data"} {
		if list := root.child(key); list != nil && list.kind == kindList {
			items = append(items, list.items...)
		}
	}
	return items
}

// paths replaces variables in the paths of tables. The columns of the tables are needed before
// the other strings are replaced.
func (v *variables) paths(root *node) {
	for _, item := range v.items(root) {
		if c := item.child("parameters_file"); c != nil && c.kind == kindString {
			c.text = v.replace(c.text)
		}
	}
}

// collect records the names of all parameters and table columns. A table that cannot be read is
// reported when it is used.
func (v *variables) collect(root *node) {
	tables := map[string]bool{}
	for _, item := range v.items(root) {
		if ps := item.child("parameters"); ps != nil && ps.kind == kindMap {
			for _, p := range ps.items {
				v.others[p.key] = true
			}
		}
		c := item.child("parameters_file")
		if c == nil || c.kind != kindString || tables[c.text] {
			continue
		}
		tables[c.text] = true
		if t, err := readTable(c.text, v.read); err == nil {
			for _, column := range t.columns {
				v.others[column] = true
			}
		}
	}
}

// walk replaces variables in all strings below n and reports undefined names.
func (v *variables) walk(n *node) {
	if n.key == "use_parameters" && n.parent.kind == kindMap {
		return
	}
	for _, c := range n.items {
		v.walk(c)
	}
	if n.kind != kindString || !strings.Contains(n.text, "{") {
		return
	}
	for _, m := range dollarTemplate.FindAllStringSubmatch(n.text, -1) {
		name := m[2]
		if _, ok := v.values[name]; ok || m[1] != "" || v.others[name] {
			continue
		}
		hint := "in a file with variables, each {name} must be a variable, a parameter or a column of a table"
		if near := workflow.Nearest(name, v.known); near != "" {
			hint = "did you mean {" + near + "}?"
		}
		v.failIn(n, m[0], hint, "undefined template name %s", m[0])
	}
	n.text = v.replace(n.text)
}

// replace returns a text with the values of variables. ${name} is left to the shell.
func (v *variables) replace(text string) string {
	return dollarTemplate.ReplaceAllStringFunc(text, func(m string) string {
		name, _, _ := strings.Cut(strings.Trim(m, "{}"), ":")
		if value, ok := v.values[name]; ok && m[0] != '$' {
			return value
		}
		return m
	})
}

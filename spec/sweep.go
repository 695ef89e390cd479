package spec

import (
	"errors"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// sweep is the expansion of an item: count rows of values for its columns.
type sweep struct {
	columns []string
	axes    []*axis
	zip     bool
	table   *table
	count   int
}

// one is the sweep of an item without parameters.
var one = &sweep{count: 1}

// row sets row to the values of the i-th instance. In a product the last axis varies
// fastest.
func (s *sweep) row(i int, row []Value) {
	switch {
	case s.table != nil:
		copy(row, s.table.rows[i])
	case s.zip:
		for k, a := range s.axes {
			row[k] = a.value(i)
		}
	default:
		for k := len(s.axes) - 1; k >= 0; k-- {
			n := s.axes[k].len()
			row[k] = s.axes[k].value(i % n)
			i /= n
		}
	}
}

// combine returns the sweep of several axes.
func combine(columns []string, axes []*axis, zip bool) (*sweep, error) {
	s := &sweep{columns: columns, axes: axes, zip: zip, count: 1}
	if len(axes) == 0 {
		return one, nil
	}
	if zip {
		s.count = axes[0].len()
		for k, a := range axes {
			if a.len() != s.count {
				return nil, bad("zip needs the same number of values for each parameter; product combines all values",
					"zip of %s (%d values) and %s (%d values)", columns[0], s.count, columns[k], a.len())
			}
		}
		return s, nil
	}
	for _, a := range axes {
		if a.len() == 0 {
			s.count = 0
			return s, nil
		}
		if s.count > maxInstances/a.len() {
			return nil, bad("split the sweep into several workflows", "the parameters have more than %d combinations", maxInstances)
		}
		s.count *= a.len()
	}
	return s, nil
}

// parameters reads the parameters of an item.
func (d *decoder) parameters(n *node) Parameters {
	if !d.wants(n, n.kind == kindMap, "a map") {
		return nil
	}
	ps := make(Parameters, 0, len(n.items))
	for _, c := range n.items {
		p := Parameter{Name: c.key, at: c}
		switch c.kind {
		case kindString, kindInt, kindFloat, kindBool:
			p.Value = c.text
		case kindList:
			p.Items = d.listItems(c)
		default:
			d.fail(c, rangeHint, "a parameter is a string, number or list, not %s", c.kind.article())
			continue
		}
		ps = append(ps, p)
	}
	return ps
}

// listItems reads a list. Strings are split at commas, since existing workflows rely on
// that.
func (d *decoder) listItems(n *node) []Value {
	items := make([]Value, 0, len(n.items))
	for _, c := range n.items {
		switch c.kind {
		case kindString:
			pieces := parseList(c.text).values
			if len(pieces) < 2 {
				items = append(items, StringValue(c.text))
				continue
			}
			d.warn(c, "write the parts as separate elements, or use a table", "%s becomes %d values: lists are split at commas", clip(c.text), len(pieces))
			for _, p := range pieces {
				items = append(items, StringValue(p.String()))
			}
		case kindInt, kindFloat:
			items = append(items, c.value())
		case kindBool:
			items = append(items, StringValue(c.text))
		default:
			d.fail(c, "", "a value of a parameter is a string or number, not %s", c.kind.article())
		}
	}
	return items
}

// definition returns the parameter as it was written.
func (p *Parameter) definition() string {
	if p.Items == nil {
		return p.Value
	}
	var b []byte
	for i, v := range p.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v.json()...)
	}
	return "[" + string(b) + "]"
}

// axis parses a parameter.
func (p *Parameter) axis(read func(string) ([]byte, error)) (*axis, error) {
	if p.Items != nil {
		return &axis{values: p.Items}, nil
	}
	return parseAxis(p.Value, read)
}

// sweeper determines the sweeps of a document's items.
type sweeper struct {
	*expansion
	read func(path string) ([]byte, error)

	at             *node      // of the document
	parameters     Parameters // shared by items
	parametersFile string     // shared by items

	axes   map[*node]*axis
	tables map[string]*table
}

func newSweeper(e *expansion, doc *Document, read func(path string) ([]byte, error)) *sweeper {
	return &sweeper{
		expansion: e, read: read, at: doc.at, parameters: doc.Parameters, parametersFile: doc.ParametersFile,
		axes: map[*node]*axis{}, tables: map[string]*table{},
	}
}

// checkShared checks the parameters that items share.
func (w *sweeper) checkShared() {
	if ps := w.at.child("parameters"); w.parametersFile != "" && ps != nil && ps.kind != kindNull {
		w.failKey(w.at.get("parameters_file"), "remove one of the two", "parameters_file and parameters exclude each other")
	}
	for i := range w.parameters {
		w.axis(&w.parameters[i])
	}
}

// measure returns the sweep of each item. It returns false if they exceed the limits.
func (w *sweeper) measure(doc *Document) (map[*Sweep]*sweep, bool) {
	sweeps := make(map[*Sweep]*sweep, len(doc.Files)+len(doc.UserData)+len(doc.Jobs))
	for _, f := range doc.Files {
		sweeps[&f.Sweep] = w.sweepOf(f.at, &f.Sweep)
	}
	for _, u := range doc.UserData {
		sweeps[&u.Sweep] = w.sweepOf(u.at, &u.Sweep)
	}
	for _, j := range doc.Jobs {
		sweeps[&j.Sweep] = w.sweepOf(j.at, &j.Sweep)
	}
	return sweeps, w.instances <= maxInstances
}

// sweepOf returns the sweep of an item at a node; nil if it has errors.
func (w *sweeper) sweepOf(at *node, s *Sweep) *sweep {
	useTable := s.UseParametersFile != nil && *s.UseParametersFile
	result := one
	switch {
	case s.ParametersFile != "" || useTable:
		result = w.tableSweep(at, s, useTable)
	case len(s.Parameters) > 0:
		if len(s.UseParameters) > 0 {
			w.warn(at.get("use_parameters"), "remove one of the two", "use_parameters has no effect beside parameters")
		}
		result = w.axisSweep(at, s, s.Parameters)
	case len(s.UseParameters) > 0:
		result = w.axisSweep(at, s, w.sharedParameters(at, s.UseParameters))
	}
	if result == nil {
		return nil
	}
	if result.count == 0 {
		w.warn(at.get("parameters"), "give each parameter a value, or remove the item", "this has no instances: a parameter has no values")
	}
	w.count(at, result.count)
	return result
}

func (w *sweeper) axisSweep(at *node, s *Sweep, ps Parameters) *sweep {
	if s.ParameterMode != "" && s.ParameterMode != "product" && s.ParameterMode != "zip" {
		hint := "use product or zip"
		if near := workflow.Nearest(s.ParameterMode, []string{"product", "zip"}); near != "" {
			hint = "did you mean " + near + "?"
		}
		w.warn(at.get("parameter_mode"), hint, "%s is treated as product", clip(s.ParameterMode))
	}
	var columns []string
	var axes []*axis
	ok := true
	for i := range ps {
		a := w.axis(&ps[i])
		ok = ok && a != nil
		columns, axes = append(columns, ps[i].Name), append(axes, a)
	}
	if !ok {
		return nil
	}
	sw, err := combine(columns, axes, s.ParameterMode == "zip")
	if err != nil {
		where := at.get("parameters")
		if where == at {
			where = at.get("use_parameters")
		}
		w.failValue(where, err)
		return nil
	}
	return sw
}

// axis parses a parameter once; nil if it has errors.
func (w *sweeper) axis(p *Parameter) *axis {
	if a, ok := w.axes[p.at]; ok && p.at != nil {
		return a
	}
	a, err := p.axis(w.read)
	if err != nil {
		w.failValue(p.at, err)
	}
	w.axes[p.at] = a
	return a
}

// failValue reports an error of a parameter or table.
func (r *report) failValue(n *node, err error) {
	var why *badValue
	hint := ""
	if errors.As(err, &why) {
		hint = why.hint
	}
	r.fail(n, hint, "%v", err)
}

// sharedParameters returns parameters of the workflow by name.
func (w *sweeper) sharedParameters(at *node, names []string) Parameters {
	var picked Parameters
	known := make([]string, len(w.parameters))
	for i, p := range w.parameters {
		known[i] = p.Name
	}
	for i, name := range names {
		k := slices.Index(known, name)
		switch {
		case k < 0:
			hint := "the workflow's parameters have no such key"
			if near := workflow.Nearest(name, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			w.warn(at.get("use_parameters").item(i), hint, "unknown parameter %s is ignored", clip(name))
		case !slices.Contains(names[:i], name):
			picked = append(picked, w.parameters[k])
		}
	}
	return picked
}

// tableSweep returns the sweep over a table, the item's own or the workflow's.
func (w *sweeper) tableSweep(at *node, s *Sweep, useTable bool) *sweep {
	key := "parameters_file"
	if s.ParametersFile == "" {
		key = "use_parameters_file"
	}
	ok := true
	for _, other := range []string{"parameters", "parameter_mode", "use_parameters"} {
		if at.child(other) != nil && at.child(other).kind != kindNull {
			w.failKey(at.child(other), "remove one of the two", "%s and %s exclude each other", other, key)
			ok = false
		}
	}
	where, path := at.get(key), s.ParametersFile
	switch {
	case s.ParametersFile != "" && useTable:
		w.failKey(at.get("use_parameters_file"), "remove one of the two", "parameters_file and use_parameters_file exclude each other")
		ok = false
	case useTable && w.parametersFile == "":
		w.fail(where, "give the workflow a parameters_file", "the workflow has no parameters_file")
		ok = false
	case useTable:
		where, path = w.at.get("parameters_file"), w.parametersFile
	}
	if !ok {
		return nil
	}
	t := w.tableAt(where, path)
	if t == nil {
		return nil
	}
	return &sweep{columns: t.columns, table: t, count: len(t.rows)}
}

// tableAt reads a table once; nil if it has errors.
func (w *sweeper) tableAt(where *node, path string) *table {
	if t, ok := w.tables[path]; ok {
		return t
	}
	t, err := readTable(path, w.read)
	if err != nil {
		w.failValue(where, err)
	}
	w.tables[path] = t
	return t
}

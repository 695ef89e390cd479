package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/spec/kdl"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// kdlReader converts KDL nodes to the tree into which all formats are read. The types of the
// document determine which node becomes a list, a map or a value, so every key can be written
// in KDL.
type kdlReader struct{ errors syntaxErrors }

// readKDL reads a KDL document. For a well-formed one it returns a tree even if some of its
// nodes are invalid, with the errors.
func readKDL(data []byte) (*node, error) {
	nodes, err := kdl.Parse(data)
	if err != nil {
		if e, ok := err.(*kdl.Error); ok {
			return nil, &syntaxError{kdlPos(e.Pos), "KDL: " + e.Message, e.Hint}
		}
		return nil, err
	}
	r := &kdlReader{}
	root := &node{kind: kindMap, at: pos{1, 1}}
	r.fill(root, reflect.TypeFor[Document](), nodes)
	if len(r.errors) > 0 {
		return root, r.errors
	}
	return root, nil
}

func kdlPos(p kdl.Pos) pos { return pos{int32(p.Line), int32(p.Col)} }

func (r *kdlReader) fail(at kdl.Pos, hint, format string, args ...any) {
	r.errors = append(r.errors, &syntaxError{kdlPos(at), fmt.Sprintf(format, args...), hint})
}

// kdlAliases are names of nodes that existing specifications use for a key.
var kdlAliases = map[reflect.Type]map[string]string{
	reflect.TypeFor[Job](): {"depends_on_job": "depends_on"},
}

// fill adds nodes as the keys of a map that is later decoded into a struct.
func (r *kdlReader) fill(into *node, t reflect.Type, nodes []*kdl.Node) {
	s := schemaOf(t)
	for _, c := range nodes {
		key, alias := c.Name, ""
		if k := kdlAliases[t][key]; k != "" {
			key, alias = k, c.Name
		}
		f := s.byKey[key]
		for _, plural := range []string{key + "s", strings.TrimSuffix(key, "y") + "ies"} {
			if f == nil && s.byKey[plural] != nil {
				key, f = plural, s.byKey[plural] // job for an element of jobs
			}
		}
		if f == nil { // the decoder reports the key
			r.set(into, key, c, &node{kind: kindNull, at: kdlPos(c.Pos)})
			continue
		}
		r.field(into, key, c, t.FieldByIndex(f.index).Type)
		if alias != "" {
			into.child(key).alias = alias
		}
	}
}

// kdlKeys returns the names of the nodes for the fields of a struct. An element of jobs is a
// job; one of resource_requirements keeps the name that it has in torc.
func kdlKeys(t reflect.Type) []string {
	s := schemaOf(t)
	keys := make([]string, len(s.fields))
	for i, f := range s.fields {
		keys[i] = f.key
		single := strings.TrimSuffix(f.key, "s")
		if stem, ok := strings.CutSuffix(f.key, "ies"); ok {
			single = stem + "y"
		}
		if v := t.FieldByIndex(f.index).Type; v.Kind() == reflect.Slice && v.Elem().Kind() == reflect.Pointer && f.key != "resource_requirements" {
			keys[i] = single
		}
	}
	return keys
}

// set adds an entry that is allowed only once.
func (r *kdlReader) set(into *node, key string, c *kdl.Node, v *node) {
	if first := into.child(key); first != nil {
		r.fail(c.Pos, "", "duplicate %s; the first one is in line %d", c.Name, first.keyAt.line)
		return
	}
	v.key, v.keyAt = key, kdlPos(c.Pos)
	into.add(v)
}

// list returns the list under a key to which nodes are appended.
func (r *kdlReader) list(into *node, key string, c *kdl.Node) *node {
	if l := into.child(key); l != nil && l.kind == kindList {
		return l
	}
	l := &node{kind: kindList, at: kdlPos(c.Pos)}
	r.set(into, key, c, l)
	return l
}

// field adds a node as a field of the given type.
func (r *kdlReader) field(into *node, key string, c *kdl.Node, t reflect.Type) {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}
	switch {
	case t == parametersType:
		r.set(into, key, c, r.entries(c, r.axis))
	case t == rawMessageType && key == "data":
		r.set(into, key, c, r.jsonText(c))
	case t == rawMessageType:
		r.set(into, key, c, r.free(c))
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Pointer:
		r.set(into, key, c, r.entries(c, func(c *kdl.Node) *node { return r.object(c, t.Elem().Elem()) }))
	case t.Kind() == reflect.Map:
		r.set(into, key, c, r.entries(c, r.single))
	case t.Kind() == reflect.Struct:
		r.set(into, key, c, r.object(c, t))
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Pointer:
		r.list(into, key, c).add(r.object(c, t.Elem().Elem()))
	case t.Kind() == reflect.Slice && t.Elem() == policyRefType && (c.Block || len(c.Props) > 0):
		r.list(into, key, c).add(r.object(c, reflect.TypeFor[workflow.RetryPolicy]()))
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem() != policyRefType:
		r.list(into, key, c).add(r.object(c, t.Elem()))
	case t.Kind() == reflect.Slice:
		l := r.list(into, key, c)
		r.plain(c)
		for _, v := range c.Args {
			l.add(scalarNode(v))
		}
	default:
		r.set(into, key, c, r.single(c))
	}
}

// object reads a node as a map: its argument is the name, its properties and children are the
// keys.
func (r *kdlReader) object(c *kdl.Node, t reflect.Type) *node {
	n := &node{kind: kindMap, at: kdlPos(c.Pos)}
	for i, v := range c.Args {
		if i > 0 || schemaOf(t).byKey["name"] == nil {
			r.fail(v.Pos, "write keys as children: "+c.Name+" { key value }", "unexpected value after %s", c.Name)
			continue
		}
		name := scalarNode(v)
		name.key, name.keyAt = "name", name.at
		n.add(name)
	}
	children := c.Children
	for _, p := range c.Props {
		children = append(slices.Clip(children), &kdl.Node{Name: p.Name, Pos: p.Pos, Args: []kdl.Value{p.Value}})
	}
	r.fill(n, t, children)
	return n
}

// entries reads the children of a node as a map.
func (r *kdlReader) entries(c *kdl.Node, value func(*kdl.Node) *node) *node {
	n := &node{kind: kindMap, at: kdlPos(c.Pos)}
	for _, v := range c.Args {
		r.fail(v.Pos, "write "+c.Name+" { key value }", "unexpected value after %s", c.Name)
	}
	for _, child := range c.Children {
		r.set(n, child.Name, child, value(child))
	}
	for _, p := range c.Props {
		r.set(n, p.Name, &kdl.Node{Name: p.Name, Pos: p.Pos}, scalarNode(p.Value))
	}
	return n
}

// plain reports properties and children of a node that can have only values.
func (r *kdlReader) plain(c *kdl.Node) {
	if len(c.Props) > 0 {
		r.fail(c.Props[0].Pos, "", "%s cannot have properties", c.Name)
	}
	if c.Block {
		r.fail(c.Pos, "", "%s cannot have children", c.Name)
	}
}

// single reads a node with one value.
func (r *kdlReader) single(c *kdl.Node) *node {
	r.plain(c)
	switch len(c.Args) {
	case 1:
		return scalarNode(c.Args[0])
	case 0:
		r.fail(c.Pos, "", "%s needs a value", c.Name)
		return &node{at: kdlPos(c.Pos)}
	}
	r.fail(c.Args[1].Pos, "put a text with blanks in quotes", "%s can have only one value", c.Name)
	return scalarNode(c.Args[0])
}

// axis reads a parameter: one value, or several as a list.
func (r *kdlReader) axis(c *kdl.Node) *node {
	if len(c.Args) < 2 {
		return r.single(c)
	}
	r.plain(c)
	return r.argList(c)
}

func (r *kdlReader) argList(c *kdl.Node) *node {
	n := &node{kind: kindList, at: kdlPos(c.Args[0].Pos)}
	for _, v := range c.Args {
		n.add(scalarNode(v))
	}
	return n
}

// jsonText reads a value that is JSON in a string.
func (r *kdlReader) jsonText(c *kdl.Node) *node {
	v := r.single(c)
	if v.kind != kindString {
		return v
	}
	n, err := readJSON([]byte(v.text), true)
	if err != nil {
		message := err.Error()
		if e, ok := err.(*syntaxError); ok {
			message = e.message
		}
		r.fail(c.Args[0].Pos, `write JSON in a string, for example data #"{"x": 1}"#`, "the data is not JSON: %s", message)
		return v
	}
	n.place(v.at)
	return n
}

// place sets the place of all nodes of a tree to that of the string from which it was read.
func (n *node) place(at pos) {
	n.at, n.keyAt = at, at
	for _, c := range n.items {
		c.place(at)
	}
}

// free reads a node of unknown type.
func (r *kdlReader) free(c *kdl.Node) *node {
	switch {
	case len(c.Args) == 1 && !c.Block && len(c.Props) == 0:
		return scalarNode(c.Args[0])
	case len(c.Args) > 1 && !c.Block && len(c.Props) == 0:
		return r.argList(c)
	}
	return r.entries(c, r.free)
}

// scalarNode returns a value of KDL as a node of the tree.
func scalarNode(v kdl.Value) *node {
	kinds := map[kdl.Kind]kind{kdl.Bool: kindBool, kdl.Int: kindInt, kdl.Float: kindFloat, kdl.String: kindString}
	return &node{kind: kinds[v.Kind], at: kdlPos(v.Pos), text: v.Text, plain: v.Bare}
}

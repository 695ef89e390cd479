package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxAliased limits the number of nodes to which the aliases of a YAML file may expand, so that
// a few lines cannot become gigabytes.
const maxAliased = 1_000_000

// yamlReader converts the nodes of the YAML library to ours. That library is fast and has the
// grammar of libyaml, like the readers of existing specifications. For syntax errors, another
// library has better messages.
type yamlReader struct {
	lines   yamlLines
	open    []*yaml.Node // anchored values that are being read
	aliased int          // nodes made inside aliases
	inAlias int
	depth   int
}

// readYAML reads the only document of a YAML file.
func readYAML(data []byte) (n *node, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			syntax, ok := thrown.(*syntaxError)
			if !ok {
				panic(thrown)
			}
			n, err = nil, syntax
		}
	}()
	r := &yamlReader{lines: newYAMLLines(data)}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	switch err := decoder.Decode(&first); {
	case errors.Is(err, io.EOF): // nothing but comments
		return &node{at: pos{1, 1}}, nil
	case err != nil:
		return nil, explainYAML(data, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil && second.Line > 0:
		return nil, &syntaxError{r.place(second.Content[0]), "only one document per file is allowed", "remove the line --- and what follows"}
	case err != nil && !errors.Is(err, io.EOF):
		return nil, explainYAML(data, err)
	}
	return r.value(first.Content[0]), nil
}

// place returns where a node starts.
func (r *yamlReader) place(v *yaml.Node) pos {
	return r.lines.place(v.Line, v.Column)
}

func (r *yamlReader) fail(v *yaml.Node, hint, format string, args ...any) {
	panic(&syntaxError{r.place(v), fmt.Sprintf(format, args...), hint})
}

func (r *yamlReader) value(v *yaml.Node) *node {
	if r.depth++; r.depth > maxDepth {
		r.fail(v, "", "lists and maps are nested more than %d deep", maxDepth)
	}
	defer func() { r.depth-- }()
	if r.inAlias > 0 {
		if r.aliased++; r.aliased > maxAliased {
			r.fail(v, "", "the aliases of this file expand to more than %d values", maxAliased)
		}
	}
	if v.Anchor != "" {
		r.open = append(r.open, v)
		defer func() { r.open = r.open[:len(r.open)-1] }()
	}
	n := &node{at: r.place(v)}
	switch v.Kind {
	case yaml.MappingNode:
		n.kind = kindMap
		r.entries(n, v.Content)
	case yaml.SequenceNode:
		n.kind = kindList
		for _, item := range v.Content {
			n.add(r.value(item))
		}
	case yaml.AliasNode:
		return r.alias(v)
	default:
		scalar(n, v)
	}
	r.checkTag(n, v)
	return n
}

func (r *yamlReader) alias(v *yaml.Node) *node {
	if slices.Contains(r.open, v.Alias) {
		r.fail(v, "", "the alias *%s is inside its own value", v.Value)
	}
	r.inAlias++
	defer func() { r.inAlias-- }()
	return r.value(v.Alias)
}

// checkTag applies an explicit tag, such as !!str.
func (r *yamlReader) checkTag(n *node, v *yaml.Node) {
	if v.Style&yaml.TaggedStyle == 0 {
		return
	}
	kinds := map[string]kind{"!!map": kindMap, "!!seq": kindList, "!!int": kindInt, "!!float": kindFloat, "!!bool": kindBool, "!!null": kindNull, "!!str": kindString}
	wanted, ok := kinds[v.Tag]
	switch {
	case ok && wanted == kindString && n.kind <= kindString:
		n.kind, n.text = kindString, v.Value
	case ok && wanted == n.kind:
	default:
		r.fail(v, "remove the tag", "the tag %s does not fit here", v.Tag)
	}
}

// entries reads the keys and values of a map.
func (r *yamlReader) entries(n *node, content []*yaml.Node) {
	var merged []*node
	for i := 0; i < len(content); i += 2 {
		k, v := content[i], content[i+1]
		if isPlain(k) && k.Value == "<<" {
			merged = append(merged, r.merged(v)...)
			continue
		}
		key, keyAt := r.key(k), r.place(k)
		if first := n.child(key); first != nil {
			panic(&syntaxError{keyAt, fmt.Sprintf("duplicate key %q; the first one is in line %d", key, first.keyAt.line), ""})
		}
		c := r.value(v)
		c.key, c.keyAt = key, keyAt
		n.add(c)
	}
	for _, c := range merged { // explicit keys take precedence over merged ones
		if n.child(c.key) == nil {
			n.add(c)
		}
	}
}

// merged returns the entries that the merge key << adds.
func (r *yamlReader) merged(v *yaml.Node) []*node {
	n := r.value(v)
	maps := []*node{n}
	if n.kind == kindList {
		maps = n.items
	}
	var all []*node
	for _, m := range maps {
		if m.kind != kindMap {
			r.fail(v, "", "<< needs a map or a list of maps")
		}
		all = append(all, m.items...)
	}
	return all
}

func (r *yamlReader) key(k *yaml.Node) string {
	n := r.value(k)
	switch {
	case n.kind == kindString:
		return n.text
	case n.kind < kindString && k.Kind == yaml.ScalarNode:
		return k.Value // 1 and true are keys as they are written
	case n.kind < kindString:
		return n.text
	}
	r.fail(k, "", "a key must be a string, not %s", n.kind.article())
	return ""
}

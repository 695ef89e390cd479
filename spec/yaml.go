package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxAliased bounds how many nodes the aliases of a YAML file may stand for,
// so that a few lines cannot unfold to gigabytes.
const maxAliased = 1_000_000

// yamlReader turns the syntax tree of the YAML library into ours.
type yamlReader struct {
	anchors map[string]ast.Node
	open    map[string]bool // anchors whose value is being read
	aliased int             // nodes made inside aliases
	inAlias int
	depth   int
}

// readYAML reads the one document of a YAML file.
func readYAML(data []byte) (n *node, err error) {
	tokens := lexer.Tokenize(string(data))
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parseTokens(tokens)
	if err != nil {
		return nil, err
	}
	r := &yamlReader{anchors: map[string]ast.Node{}, open: map[string]bool{}}
	defer func() {
		if thrown := recover(); thrown != nil {
			syntax, ok := thrown.(*syntaxError)
			if !ok {
				panic(thrown)
			}
			n, err = nil, syntax
		}
	}()
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if n != nil {
			return nil, &syntaxError{place(doc.Body), "a file has one document only", "remove the line --- and what follows"}
		}
		n = r.value(doc.Body)
	}
	if n == nil {
		n = &node{at: pos{1, 1}}
	}
	return n, nil
}

// parseTokens calls the library. Files come from anywhere, so a mistake of the
// library must not end the process.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = &syntaxError{pos{1, 1}, fmt.Sprintf("YAML: the text cannot be read: %v", thrown), "write it as JSON5"}
		}
	}()
	if file, err = parser.Parse(tokens, 0); err != nil {
		return nil, yamlError(err)
	}
	return file, nil
}

// checkTokens refuses nesting that would exhaust the stack of the library's
// parser, which has no bound of its own.
func checkTokens(tokens token.Tokens) error {
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.TagType, token.AnchorType:
			dashes++
		case token.InvalidType:
			return yamlSyntax(t, t.Error)
		}
		if flow+dashes > maxDepth || t.Position.IndentLevel > maxDepth {
			return &syntaxError{tokenPlace(t), fmt.Sprintf("lists and maps are nested more than %d deep", maxDepth), ""}
		}
	}
	return nil
}

// yamlError turns an error of the library into ours.
func yamlError(err error) error {
	var withToken yaml.Error
	if !errors.As(err, &withToken) || withToken.GetToken() == nil {
		return &syntaxError{pos{1, 1}, yamlMessage(err.Error()), ""}
	}
	return yamlSyntax(withToken.GetToken(), withToken.GetMessage())
}

// yamlSyntax adds a hint to the commonest mistakes.
func yamlSyntax(t *token.Token, message string) *syntaxError {
	e := &syntaxError{tokenPlace(t), yamlMessage(message), ""}
	switch {
	case strings.Contains(message, "mapping value is not allowed"):
		e.hint = "a text that contains ': ' needs quotes; otherwise look at the indentation"
	case strings.Contains(message, "\t"):
		e.hint = "YAML is indented by blanks, not by tabs"
	case strings.Contains(message, "not allowed in this context"):
		e.hint = "look at the indentation of this line and the one before"
	}
	return e
}

func yamlMessage(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return "YAML: " + strings.ReplaceAll(first, "\t", `\t`)
}

func tokenPlace(t *token.Token) pos {
	if t == nil || t.Position == nil {
		return pos{1, 1}
	}
	return pos{int32(max(1, t.Position.Line)), int32(max(1, t.Position.Column))}
}

// place is where a node starts. The library gives a block map the place of its
// first colon.
func place(n ast.Node) pos {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return place(v.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return place(v.Key)
	case *ast.LiteralNode:
		return tokenPlace(v.Start)
	}
	return tokenPlace(n.GetToken())
}

func (r *yamlReader) fail(n ast.Node, hint, format string, args ...any) {
	panic(&syntaxError{place(n), fmt.Sprintf(format, args...), hint})
}

func (r *yamlReader) value(v ast.Node) *node {
	if r.depth++; r.depth > maxDepth {
		r.fail(v, "", "lists and maps are nested more than %d deep", maxDepth)
	}
	defer func() { r.depth-- }()
	if r.inAlias > 0 {
		if r.aliased++; r.aliased > maxAliased {
			r.fail(v, "", "the aliases of this file stand for more than %d values", maxAliased)
		}
	}
	n := &node{at: place(v)}
	switch v := v.(type) {
	case *ast.MappingNode:
		n.kind = kindMap
		r.entries(n, v.Values)
	case *ast.MappingValueNode:
		n.kind = kindMap
		r.entries(n, []*ast.MappingValueNode{v})
	case *ast.SequenceNode:
		n.kind = kindList
		for _, item := range v.Values {
			n.add(r.value(item))
		}
	case *ast.AnchorNode:
		return r.anchor(v)
	case *ast.AliasNode:
		return r.alias(v)
	case *ast.TagNode:
		return r.tagged(v)
	case *ast.LiteralNode:
		n.kind, n.text = kindString, v.Value.Value
	case ast.ScalarNode:
		r.scalar(n, v)
	default:
		r.fail(v, "", "unexpected %s", v.Type())
	}
	return n
}

func (r *yamlReader) anchor(v *ast.AnchorNode) *node {
	name := v.Name.GetToken().Value
	if v.Value == nil {
		r.fail(v, "", "the anchor &%s has no value", name)
	}
	r.anchors[name] = v.Value
	r.open[name] = true
	defer delete(r.open, name)
	return r.value(v.Value)
}

func (r *yamlReader) alias(v *ast.AliasNode) *node {
	name := v.Value.GetToken().Value
	target, ok := r.anchors[name]
	switch {
	case !ok:
		r.fail(v, fmt.Sprintf("mark the value with &%s before its first use", name), "unknown alias *%s", name)
	case r.open[name]:
		r.fail(v, "", "the alias *%s stands inside its own value", name)
	}
	r.inAlias++
	defer func() { r.inAlias-- }()
	return r.value(target)
}

func (r *yamlReader) tagged(v *ast.TagNode) *node {
	tag := v.Start.Value
	if v.Value == nil {
		return &node{at: place(v)}
	}
	n := r.value(v.Value)
	switch {
	case tag == "!!str" && n.kind <= kindString:
		n.kind, n.text = kindString, v.Value.GetToken().Value
	case tag == "!!map" && n.kind == kindMap, tag == "!!seq" && n.kind == kindList,
		tag == "!!int" && n.kind == kindInt, tag == "!!float" && n.kind == kindFloat,
		tag == "!!bool" && n.kind == kindBool, tag == "!!null" && n.kind == kindNull:
	default:
		r.fail(v, "remove the tag", "the tag %s does not fit here", tag)
	}
	return n
}

// entries reads the keys and values of a map.
func (r *yamlReader) entries(n *node, values []*ast.MappingValueNode) {
	var merged []*node
	for _, v := range values {
		if v.Key.Type() == ast.MergeKeyType {
			merged = append(merged, r.merged(v.Value)...)
			continue
		}
		key, keyAt := r.key(v.Key), place(v.Key)
		if first := n.child(key); first != nil {
			panic(&syntaxError{keyAt, fmt.Sprintf("the key %q is already there in line %d", key, first.keyAt.line), ""})
		}
		c := r.value(v.Value)
		c.key, c.keyAt = key, keyAt
		n.add(c)
	}
	for _, c := range merged { // what is written wins over what is merged
		if n.child(c.key) == nil {
			n.add(c)
		}
	}
}

// merged returns the entries that the merge key << brings.
func (r *yamlReader) merged(v ast.Node) []*node {
	n := r.value(v)
	switch n.kind {
	case kindMap:
		return n.items
	case kindList:
		var all []*node
		for _, m := range n.items {
			if m.kind != kindMap {
				r.fail(v, "", "<< takes a map or a list of maps")
			}
			all = append(all, m.items...)
		}
		return all
	}
	r.fail(v, "", "<< takes a map or a list of maps")
	return nil
}

func (r *yamlReader) key(k ast.MapKeyNode) string {
	v := ast.Node(k)
	if marked, ok := k.(*ast.MappingKeyNode); ok {
		v = marked.Value
	}
	n := r.value(v)
	if n.kind > kindString {
		r.fail(k, "", "a key is a string, not %s", n.kind.article())
	}
	if n.kind == kindString {
		return n.text
	}
	return v.GetToken().Value
}

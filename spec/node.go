package spec

import (
	"strconv"
	"strings"
)

// kind is the type of a node.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindList
	kindMap
)

// article returns a kind with its article, for messages.
func (k kind) article() string {
	switch k {
	case kindBool:
		return "true or false"
	case kindInt:
		return "a whole number"
	case kindFloat:
		return "a number with a fraction"
	case kindString:
		return "a string"
	case kindList:
		return "a list"
	case kindMap:
		return "a map"
	}
	return "null"
}

// pos is a place in a file: line and column (in characters) from 1. The zero pos is
// unknown, as in a document built by a program.
type pos struct{ line, col int32 }

// node is a value of a user's file with its place. All formats are read into this tree.
type node struct {
	kind   kind
	plain  bool // a string that was written without quotes
	at     pos
	key    string // in a map
	alias  string // the spelling in the file, if it differs from the key
	keyAt  pos
	parent *node
	text   string           // of a string; of a number: as JSON writes it
	items  []*node          // of a list or a map, in the order as written
	index  map[string]*node // of a large map
}

// largeMap is the size at which a map gets an index.
const largeMap = 16

// child returns the entry of a map with a key; nil if there is none.
func (n *node) child(key string) *node {
	if n == nil || n.kind != kindMap {
		return nil
	}
	if n.index != nil {
		return n.index[key]
	}
	for _, c := range n.items {
		if c.key == key {
			return c
		}
	}
	return nil
}

// get returns the entry of a map with a key, or the map itself, as the place for a message
// about that key.
func (n *node) get(key string) *node {
	if c := n.child(key); c != nil {
		return c
	}
	return n
}

// item returns the i-th element of a list, or the node itself.
func (n *node) item(i int) *node {
	if n == nil || i >= len(n.items) {
		return n
	}
	return n.items[i]
}

// add appends a child to a list or map.
func (n *node) add(c *node) {
	c.parent = n
	n.items = append(n.items, c)
	if n.kind != kindMap || len(n.items) < largeMap {
		return
	}
	if n.index == nil {
		n.index = make(map[string]*node, 2*largeMap)
		for _, i := range n.items {
			n.index[i.key] = i
		}
	}
	n.index[c.key] = c
}

// path returns where in the document n is, for example jobs[3].env.HOME.
func (n *node) path() string {
	var parts []string
	for ; n != nil && n.parent != nil; n = n.parent {
		if n.parent.kind == kindMap {
			parts = append(parts, pathKey(n.key))
			continue
		}
		for i, c := range n.parent.items {
			if c == n {
				parts = append(parts, "["+strconv.Itoa(i)+"]")
				break
			}
		}
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		if b.Len() > 0 && parts[i][0] != '[' {
			b.WriteByte('.')
		}
		b.WriteString(parts[i])
	}
	return b.String()
}

// pathKey returns a map key as part of a path.
func pathKey(key string) string {
	for _, r := range key {
		if r != '_' && r != '-' && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') {
			return strconv.Quote(key)
		}
	}
	if key == "" {
		return `""`
	}
	return key
}

// maxDepth limits the nesting of a file, so that hostile input cannot exhaust the stack.
const maxDepth = 200

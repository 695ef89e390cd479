package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Scheduling is added to a specification so that Slurm runs its jobs.
type Scheduling struct {
	Schedulers []*SlurmScheduler // replace the existing ones
	Actions    []*Action         // replace the existing schedule_nodes actions
	// Jobs has the scheduler of each job of the document, in order; empty for none.
	Jobs []string
}

// OutputFormat returns the format for writing a specification to a path: by its extension,
// or else the format of the input; JSON if that is unknown or a superset of JSON.
func OutputFormat(path string, input Format) Format {
	f := formatOf(path)
	if path == "" {
		f = input
	}
	if f == JSON5 || f == "" {
		return JSON
	}
	return f
}

// Schedule returns a specification with its scheduling. YAML keeps its comments.
func Schedule(name string, data []byte, to Format, s Scheduling) ([]byte, error) {
	if to == KDL {
		return nil, workflow.Errorf(workflow.CodeInvalid, "a specification cannot be written as KDL").WithHint("write it to a file with the extension .yaml or .json")
	}
	root, err := yamlTree(name, data)
	if err != nil {
		return nil, err
	}
	if err := s.apply(root); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("write the specification: %w", err)
	}
	if to == YAML {
		return b.Bytes(), nil
	}
	n, err := readYAML(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("write the specification: %w", err)
	}
	var text strings.Builder
	writeJSON(&text, n, "")
	return []byte(text.String() + "\n"), nil
}

// yamlTree reads a specification of any format into a map of the YAML library.
func yamlTree(name string, data []byte) (*yaml.Node, error) {
	r := newReport(source{name, data})
	format, n := r.tree(name, data, "")
	switch {
	case n == nil || n.kind != kindMap:
		return nil, workflow.Errorf(workflow.CodeInvalid, "%s is not a specification", name)
	case format != YAML:
		return n.yaml(), nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return doc.Content[0], nil
}

// yaml returns the value as a node of the YAML library.
func (n *node) yaml() *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode, Value: n.text}
	switch n.kind {
	case kindNull:
		y.Tag, y.Value = "!!null", "null"
	case kindBool:
		y.Tag = "!!bool"
	case kindInt:
		y.Tag = "!!int"
	case kindFloat:
		y.Tag = "!!float"
	case kindString:
		y.Tag = "!!str"
	case kindList:
		y.Kind, y.Tag = yaml.SequenceNode, "!!seq"
		for _, c := range n.items {
			y.Content = append(y.Content, c.yaml())
		}
	case kindMap:
		y.Kind, y.Tag = yaml.MappingNode, "!!map"
		for _, c := range n.items {
			y.Content = append(y.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: c.key}, c.yaml())
		}
	}
	return y
}

// apply changes the tree of a specification.
func (s *Scheduling) apply(root *yaml.Node) error {
	schedulers, err := yamlOf(s.Schedulers)
	if err != nil {
		return err
	}
	actions, err := yamlOf(s.Actions)
	if err != nil {
		return err
	}
	if old := yamlEntry(root, "actions"); old != nil {
		kept := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, a := range resolved(old).Content {
			if !schedulesNodes(a) {
				kept.Content = append(kept.Content, a)
			}
		}
		kept.Content = append(kept.Content, actions.Content...)
		actions = kept
	}
	setYAML(root, "slurm_schedulers", orNothing(schedulers))
	setYAML(root, "actions", orNothing(actions))
	for i, name := range s.Jobs {
		job := resolved(resolved(yamlEntry(root, "jobs")).Content[i])
		if name == "" {
			setYAML(job, "scheduler", nil)
		} else {
			setYAML(job, "scheduler", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name})
		}
	}
	return nil
}

// schedulesNodes is Action.SchedulesNodes for a YAML node.
func schedulesNodes(action *yaml.Node) bool {
	var a Action
	for key, value := range map[string]*string{"trigger_type": &a.TriggerType, "action_type": &a.ActionType} {
		if n := yamlEntry(action, key); n != nil {
			*value = n.Value
		}
	}
	return a.SchedulesNodes()
}

// yamlOf returns a list of the document as a YAML node.
func yamlOf(list any) (*yaml.Node, error) {
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write the specification: %w", err)
	}
	n, err := readJSON(text, true)
	if err != nil {
		return nil, fmt.Errorf("write the specification: %w", err)
	}
	if n.kind == kindNull {
		return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}, nil
	}
	return n.yaml(), nil
}

// orNothing returns nil for an empty list.
func orNothing(list *yaml.Node) *yaml.Node {
	if len(list.Content) == 0 {
		return nil
	}
	return list
}

// resolved returns the target of an alias.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// yamlEntry returns the value of a key; nil if there is none.
func yamlEntry(n *yaml.Node, key string) *yaml.Node {
	n = resolved(n)
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// setYAML sets the value of a key; nil removes the key.
func setYAML(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch {
		case n.Content[i].Value != key:
			continue
		case value == nil:
			n.Content = slices.Delete(n.Content, i, i+2)
		default:
			n.Content[i+1] = value
		}
		return
	}
	if value != nil {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
	}
}

// writeJSON writes a value with an indentation of two blanks per level.
func writeJSON(b *strings.Builder, n *node, indent string) {
	open, shut := "{", "}"
	switch n.kind {
	case kindString:
		b.Write(jsonString(n.text))
		return
	case kindList:
		open, shut = "[", "]"
	case kindMap:
	default:
		b.WriteString(n.text)
		return
	}
	b.WriteString(open)
	for i, c := range n.items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + "  ")
		if n.kind == kindMap {
			b.Write(jsonString(c.key))
			b.WriteString(": ")
		}
		writeJSON(b, c, indent+"  ")
	}
	if len(n.items) > 0 {
		b.WriteString("\n" + indent)
	}
	b.WriteString(shut)
}

// JobFamily is the jobs that come from one item of the document.
type JobFamily struct {
	Item  int // index in the document's jobs
	First int // index in the definition; the family ends where the next begins
}

// families returns the job families in the order of the definition.
func (x *nameIndex) families() []JobFamily {
	if len(x.spans) == 0 {
		return nil
	}
	place := make(map[*node]int)
	for i, c := range x.spans[0].at.parent.items {
		place[c] = i
	}
	families := make([]JobFamily, len(x.spans))
	for i, s := range x.spans {
		families[i] = JobFamily{Item: place[s.at], First: int(s.start)}
	}
	return families
}

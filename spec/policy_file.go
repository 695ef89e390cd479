package spec

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// PolicyFile is the content of a file with a retry policy.
type PolicyFile struct {
	Policy   *workflow.RetryPolicy
	Warnings []*Warning
	// Converted says that the file was a cluster scheduler's resource, with apiVersion,
	// kind, metadata and spec.
	Converted bool
}

// LoadPolicy reads a retry policy from a file in YAML, JSON or JSON5; "-" is the standard
// input. An error in the contents is of type Errors.
func LoadPolicy(path string, opts Options) (*PolicyFile, error) {
	opts = opts.withDefaults()
	name, data, err := opts.source(path)
	if err != nil {
		return nil, err
	}
	return ParsePolicy(name, data)
}

// ParsePolicy reads a retry policy from a text. It reports all errors with their places.
func ParsePolicy(name string, data []byte) (*PolicyFile, error) {
	r, root := policyTree(name, data)
	d := &policyDecoder{decoder{r}}
	f := &PolicyFile{}
	if root != nil {
		f.Policy, f.Converted = d.policy(root)
		d.noteDefaultAction(root, f)
	}
	f.Warnings = r.sortedWarnings()
	return f, r.err()
}

// noteDefaultAction warns of attempts to which a default action that ends jobs does not
// apply.
func (d *policyDecoder) noteDefaultAction(root *node, f *PolicyFile) {
	if f.Policy == nil || d.err() != nil || f.Policy.DefaultAction != workflow.ActionFail && f.Policy.DefaultAction != workflow.ActionHold {
		return
	}
	at := root.child("default_action")
	if f.Converted {
		at = root.child("spec").child("defaultAction")
	}
	if at == nil {
		at = root
	}
	d.warn(at, "to treat them differently, write a rule with `when: {cause: [walltime, preempted]}`",
		"the default action %s does not apply to attempts that are ended by Ctrl-C, by --time-limit, at the end of an allocation or when the daemon cancels one: these are repeated", f.Policy.DefaultAction)
}

// LoadPolicies reads one retry policy or a list of them, as LoadPolicy does.
func LoadPolicies(path string, opts Options) ([]workflow.RetryPolicy, []*Warning, error) {
	opts = opts.withDefaults()
	name, data, err := opts.source(path)
	if err != nil {
		return nil, nil, err
	}
	r, root := policyTree(name, data)
	d := &policyDecoder{decoder{r}}
	var nodes []*node
	switch {
	case root == nil:
	case root.kind != kindList:
		nodes = []*node{root}
	case len(root.items) == 0:
		d.fail(root, "write at least one policy", "the list of policies is empty")
	default:
		nodes = root.items
	}
	var policies []workflow.RetryPolicy
	for _, n := range nodes {
		if p, _ := d.policy(n); p != nil {
			policies = append(policies, *p)
		}
	}
	return policies, r.sortedWarnings(), r.err()
}

// policyDecoder reads files about retries, in our form or that of a cluster scheduler.
type policyDecoder struct{ decoder }

// policy reads a policy in either form; nil if it is neither.
func (d *policyDecoder) policy(n *node) (p *workflow.RetryPolicy, converted bool) {
	if !d.isMap(n) {
		return nil, false
	}
	if n.child("kind") != nil || n.child("apiVersion") != nil {
		return d.foreignPolicy(n), true
	}
	p = &workflow.RetryPolicy{}
	d.object(n, reflect.ValueOf(p).Elem())
	d.failProblems(n, p.Validate())
	return p, false
}

// policyTree reads a text about retries into a tree; nil if that fails.
func policyTree(name string, data []byte) (*report, *node) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	r := newReport(source{name, data})
	if formatOf(name) == KDL {
		r.failAt(nil, spot{pos{1, 1}, 1}, "write YAML, JSON or JSON5", "retry policies cannot be read from KDL files; specifications in KDL can contain them")
		return r, nil
	}
	_, root := r.tree(name, data, "write keys such as name and rules")
	return r, root
}

func (d *policyDecoder) isMap(root *node) bool {
	if root.kind == kindMap {
		return true
	}
	d.fail(root, "write keys such as name and rules", "expected a map, found %s", root.kind.article())
	return false
}

// LoadRetrySettings reads the server's retry settings, in our form or as the retryPolicy
// section of a cluster scheduler's configuration.
func LoadRetrySettings(path string, opts Options) (*workflow.RetrySettings, error) {
	opts = opts.withDefaults()
	name, data, err := opts.source(path)
	if err != nil {
		return nil, err
	}
	r, root := policyTree(name, data)
	d := &policyDecoder{decoder{r}}
	settings := &workflow.RetrySettings{}
	if root != nil && d.isMap(root) {
		at := root
		for _, key := range strings.Fields("scheduling retryPolicy") {
			if c := at.child(key); c != nil {
				at = c
			}
		}
		if at != root {
			settings = d.foreignSettings(at)
		} else {
			d.object(at, reflect.ValueOf(settings).Elem())
			d.failProblems(at, settings.Validate())
		}
	}
	return settings, r.err()
}

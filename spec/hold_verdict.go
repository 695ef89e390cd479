package spec

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// HoldVerdict is an entry of a file with verdicts on held jobs.
type HoldVerdict struct {
	hold.HoldVerdict
	Place string // file:line:column
	Err   error  // its error; nil if it is valid
}

// LoadHoldVerdicts reads a list of verdicts on held jobs from a file in YAML, JSON or
// JSON5; "-" is the standard input. An invalid entry has its error there, and the others
// are read. Without a list it returns an error of type Errors.
func LoadHoldVerdicts(path string, opts Options) ([]HoldVerdict, error) {
	opts = opts.withDefaults()
	name, data, err := opts.source(path)
	if err != nil {
		return nil, err
	}
	return ParseHoldVerdicts(name, data)
}

const aList = "write a list: [{job: train_3, action: retry, reason: ...}]"

// ParseHoldVerdicts reads a list of verdicts on held jobs from a text.
func ParseHoldVerdicts(name string, data []byte) ([]HoldVerdict, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	src := source{name, data}
	r := newReport(src)
	if formatOf(name) == KDL {
		r.failAt(nil, spot{pos{1, 1}, 1}, "write YAML, JSON or JSON5", "verdicts cannot be read from KDL files")
		return nil, r.err()
	}
	_, root := r.tree(name, data, aList)
	if root == nil {
		return nil, r.err()
	}
	list := root
	if all := root.child("verdicts"); all != nil { // as in the API
		list = all
	}
	switch {
	case list.kind != kindList:
		r.fail(list, aList, "expected a list of verdicts, found %s", list.kind.article())
	case len(list.items) == 0:
		r.fail(list, "write at least one verdict", "the list of verdicts is empty")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	verdicts := make([]HoldVerdict, len(list.items))
	for i, n := range list.items {
		verdicts[i] = holdVerdict(src, n)
	}
	return verdicts, nil
}

// holdVerdict reads an entry.
func holdVerdict(src source, n *node) (v HoldVerdict) {
	r := newReport(src)
	v.Place = fmt.Sprintf("%s:%d:%d", src.name, n.at.line, n.at.col)
	if n.kind != kindMap {
		r.fail(n, "write {job: train_3, action: retry, reason: ...}", "expected a verdict, found %s", n.kind.article())
		v.Err = r.err()
		return v
	}
	if job := n.child("job"); job != nil && job.kind == kindInt {
		job.kind = kindString // an id
	}
	(&decoder{report: r}).object(n, reflect.ValueOf(&v.HoldVerdict).Elem())
	if v.Err = r.err(); v.Err == nil {
		_, v.Err = v.Classification()
	}
	return v
}

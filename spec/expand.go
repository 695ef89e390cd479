package spec

import (
	"encoding/json"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// maxSize limits the expansion of a specification, in bytes.
const maxSize = 2 << 30

// expansion is the expansion of a specification, within limits.
type expansion struct {
	*report
	texts     textArena
	instances int
	size      int // bytes outside of texts
}

// count adds instances. It returns false, with an error, if there are too many.
func (e *expansion) count(at *node, instances int) bool {
	if e.instances += instances; e.instances <= maxInstances {
		return true
	}
	e.fail(at, "split it into several workflows", "the specification expands to more than %d instances", maxInstances)
	return false
}

// spend adds bytes outside of texts. It returns false, with an error, if the total is too
// large.
func (e *expansion) spend(at *node, bytes int) bool {
	if e.size += bytes; e.size+e.texts.size <= maxSize {
		return true
	}
	e.fail(at, "let jobs read large data from files", "the specification expands to more than %d GiB of text", maxSize>>30)
	return false
}

// files expands the files of a document.
func (e *expansion) files(items []*File, sweeps map[*Sweep]*sweep, x *nameIndex) []workflow.FileDefinition {
	var files []workflow.FileDefinition
	for _, f := range items {
		s := sweeps[&f.Sweep]
		if s == nil || s.count == 0 {
			continue
		}
		checkPlaceholders(e.report, f.at, s.columns)
		name, path := parseTemplate(f.Name, s.columns), parseTemplate(f.Path, s.columns)
		identifier := template{}
		if f.Identifier != nil {
			identifier = parseTemplate(*f.Identifier, s.columns)
		}
		x.grow(s.count)
		files = slices.Grow(files, s.count)
		row := make([]Value, len(s.columns))
		e.family = s.count > 1
		for i := range s.count {
			s.row(i, row)
			d := workflow.FileDefinition{
				Name: e.texts.fill(&name, row), Path: e.texts.fill(&path, row), Identifier: e.texts.fill(&identifier, row), ModTime: f.ModTime,
			}
			if path := f.at.child("path"); d.Path == "" && path != nil && path.kind == kindString {
				e.fail(path, "", "a file needs a path")
			}
			x.add(f.at, d.Name)
			files = append(files, d)
			if !e.spend(f.at, 0) {
				break
			}
		}
		e.family = false
	}
	return files
}

// userData expands the user data of a document.
func (e *expansion) userData(items []*UserData, sweeps map[*Sweep]*sweep, x *nameIndex) []workflow.UserDataDefinition {
	var records []workflow.UserDataDefinition
	for _, u := range items {
		if u.Name == "" {
			e.warn(u.at, "give it a name", "user data without a name is left out")
			continue
		}
		s := sweeps[&u.Sweep]
		if s == nil || s.count == 0 {
			continue
		}
		checkPlaceholders(e.report, u.at, s.columns)
		name, data := parseTemplate(u.Name, s.columns), template{}
		if n := u.at.child("data"); n != nil && n.kind != kindNull {
			data = parseJSONTemplate(n, s.columns)
		}
		var shared json.RawMessage
		if data.text != "" {
			shared = json.RawMessage(data.text)
		}
		x.grow(s.count)
		row := make([]Value, len(s.columns))
		e.family = s.count > 1
		for i := range s.count {
			s.row(i, row)
			d := workflow.UserDataDefinition{Name: e.texts.fill(&name, row), IsEphemeral: u.IsEphemeral, Data: shared}
			if !data.constant() {
				d.Data = data.fill(nil, row)
				if !e.spend(u.at, len(d.Data)) {
					break
				}
			}
			x.add(u.at, d.Name)
			records = append(records, d)
		}
		e.family = false
	}
	return records
}

package spec

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// builder makes the definition of a document: it expands, resolves names and
// checks. It reports and goes on, so that all errors come out in one go.
type builder struct {
	*report
	doc  *Document
	opts Options
	def  *workflow.Definition

	patterns map[string]bool // of stderr, in retry rules

	axes      map[*node]*axis
	tables    map[string]*table
	sweeps    map[*Sweep]*sweep
	instances int
	size      int // bytes of the expansion, but for those in texts

	requirements, handlers, schedulers *names

	jobs, files, userData *nameIndex
	taken                 map[part]*node // by what comes from other files, and what brought it
	ambiguous             bool           // two items have one name
	plans                 []*jobPlan

	texts   textArena
	indexes indexArena
	scratch []byte
	found   []int32
	refs    references
}

func newBuilder(r *report, doc *Document, opts Options) *builder {
	return &builder{
		report: r, doc: doc, opts: opts, def: &workflow.Definition{},
		axes: map[*node]*axis{}, tables: map[string]*table{},
		jobs: newNameIndex("job"), files: newNameIndex("file"), userData: newNameIndex("user data record"),
		taken: map[part]*node{}, patterns: map[string]bool{},
	}
}

// maxSize bounds what a specification expands to, in bytes.
const maxSize = 2 << 30

// spend counts bytes of an expansion besides those in b.texts. It returns
// false, with an error, when they are too many to go on.
func (b *builder) spend(at *node, bytes int) bool {
	if b.size += bytes; b.size+b.texts.size <= maxSize {
		return true
	}
	b.fail(at, "let jobs read large data from files", "the specification expands to more than %d GiB of text", maxSize>>30)
	return false
}

// expandFiles expands the files of the document.
func (b *builder) expandFiles() {
	for _, f := range b.doc.Files {
		s := b.sweeps[&f.Sweep]
		if s == nil || s.count == 0 {
			continue
		}
		b.checkPlaceholders(f.at, s.columns)
		name, path := parseTemplate(f.Name, s.columns), parseTemplate(f.Path, s.columns)
		identifier := template{}
		if f.Identifier != nil {
			identifier = parseTemplate(*f.Identifier, s.columns)
		}
		b.files.grow(s.count)
		b.def.Files = slices.Grow(b.def.Files, s.count)
		row := make([]Value, len(s.columns))
		b.family = s.count > 1
		for i := range s.count {
			s.row(i, row)
			d := workflow.FileDefinition{
				Name: b.texts.fill(&name, row), Path: b.texts.fill(&path, row), Identifier: b.texts.fill(&identifier, row), ModTime: f.ModTime,
			}
			if path := f.at.child("path"); d.Path == "" && path != nil && path.kind == kindString {
				b.fail(path, "", "a file needs a path")
			}
			b.addName(b.files, f.at, d.Name)
			b.def.Files = append(b.def.Files, d)
			if !b.spend(f.at, 0) {
				break
			}
		}
		b.family = false
	}
}

// expandUserData expands the user data of the document.
func (b *builder) expandUserData() {
	for _, u := range b.doc.UserData {
		if u.Name == "" {
			b.warn(u.at, "give it a name", "user data without a name is left out")
			continue
		}
		s := b.sweeps[&u.Sweep]
		if s == nil || s.count == 0 {
			continue
		}
		b.checkPlaceholders(u.at, s.columns)
		name, data := parseTemplate(u.Name, s.columns), template{}
		if n := u.at.child("data"); n != nil && n.kind != kindNull {
			data = parseJSONTemplate(n, s.columns)
		}
		var shared json.RawMessage
		if data.text != "" {
			shared = json.RawMessage(data.text)
		}
		b.userData.grow(s.count)
		row := make([]Value, len(s.columns))
		b.family = s.count > 1
		for i := range s.count {
			s.row(i, row)
			d := workflow.UserDataDefinition{Name: b.texts.fill(&name, row), IsEphemeral: u.IsEphemeral, Data: shared}
			if !data.constant() {
				d.Data = data.fill(nil, row)
				if !b.spend(u.at, len(d.Data)) {
					break
				}
			}
			b.addName(b.userData, u.at, d.Name)
			b.def.UserData = append(b.def.UserData, d)
		}
		b.family = false
	}
}

// workflowEnv is the env of the workflow: {p} of a shared parameter becomes its
// value if it has one, else its text as written.
func (b *builder) workflowEnv() map[string]string {
	if len(b.doc.Env) == 0 {
		return nil
	}
	var columns []string
	var row []Value
	for i := range b.doc.Parameters {
		p := &b.doc.Parameters[i]
		value := StringValue(p.definition())
		if a := b.axis(p); a != nil && a.len() == 1 {
			value = a.value(0)
		}
		columns, row = append(columns, p.Name), append(row, value)
	}
	env := maps.Clone(b.doc.Env)
	for name, value := range env {
		b.checkEnv(b.doc.at.get("env").get(name), name, value)
		t := parseTemplate(value, columns)
		env[name] = string(t.fill(nil, row))
	}
	return env
}

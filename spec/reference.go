package spec

import (
	"slices"
	"strings"
)

// references are what command and script of a job become, with the files and
// user data that they name by ${files.input.NAME} and the like.
type references struct {
	command, script string
	lists           [4]referenced // in the order of jobPlan.uses
}

// referenced are the files or user data that a job names in its texts.
type referenced struct{ command, script []int32 }

// referenceKinds are the forms of references, in the order of jobPlan.uses.
var referenceKinds = [4]string{"files.input.", "files.output.", "user_data.input.", "user_data.output."}

// refer replaces the references in both texts. The result is valid until the
// next call.
func (b *builder) refer(p *jobPlan, command, script string) *references {
	r := &b.refs
	r.command, r.script = command, script
	for k := range r.lists {
		r.lists[k].command, r.lists[k].script = r.lists[k].command[:0], r.lists[k].script[:0]
	}
	if strings.Contains(command, "${") {
		r.command = b.substitute(p.job.at.get("command"), command, &r.lists, false)
	}
	if strings.Contains(script, "${") {
		r.script = b.substitute(p.job.at.get("invocation_script"), script, &r.lists, true)
	}
	for k, s := range p.uses {
		if len(r.lists[k].command) > 0 && len(s.names) > 0 {
			b.checkReplaced(p, k, r.lists[k].command)
		}
	}
	return r
}

// checkReplaced warns if names of an explicit list are lost.
func (b *builder) checkReplaced(p *jobPlan, k int, named []int32) {
	s := p.uses[k]
	if !s.constant {
		return
	}
	for _, i := range s.listed {
		if !slices.Contains(named, i) {
			b.warn(s.nameAt, "name all of them in the command, or none", "has no effect for %s: what the command names replaces the list", clip(s.index.names[i]))
			return
		}
	}
}

// substitute replaces the references in a text, in one pass.
func (b *builder) substitute(n *node, text string, lists *[4]referenced, script bool) string {
	var out strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			break
		}
		out.WriteString(text[:start])
		text = text[start:]
		end := strings.IndexByte(text, '}')
		k := slices.IndexFunc(referenceKinds[:], func(kind string) bool { return strings.HasPrefix(text[2:], kind) })
		if end < 0 || k < 0 {
			b.checkReference(n, text, end)
			out.WriteString("${")
			text = text[2:]
			continue
		}
		name := text[2+len(referenceKinds[k]) : end]
		out.WriteString(b.reference(n, text[:end+1], k, name, lists, script))
		text = text[end+1:]
	}
	out.WriteString(text)
	return out.String()
}

// checkReference reports what looks like a reference but is none.
func (b *builder) checkReference(n *node, text string, end int) {
	if end < 0 {
		return
	}
	inner := text[2:end]
	for _, noun := range []string{"files.", "user_data."} {
		if strings.HasPrefix(inner, noun) {
			b.failIn(n, text[:end+1], "write ${"+noun+"input.NAME} or ${"+noun+"output.NAME}", "%s is neither input nor output", clip(text[:end+1]))
		}
	}
}

// reference returns what one reference becomes and notes the relation.
func (b *builder) reference(n *node, whole string, k int, name string, lists *[4]referenced, script bool) string {
	index := b.files
	if k >= 2 {
		index = b.userData
	}
	i, ok := index.byName[name]
	if !ok {
		b.unknownName(n, whole, index, name)
		return whole
	}
	list := &lists[k].command
	if script {
		list = &lists[k].script
	}
	if k < 2 {
		*list = append(*list, i)
		return b.def.Files[i].Path
	}
	if data := b.def.UserData[i].Data; data != nil {
		*list = append(*list, i)
		return string(data)
	}
	b.warn(n, "give the record data, or list it under "+[]string{"input_user_data", "output_user_data"}[k-2], "%s stays as it stands: the record has no data", clip(whole))
	return whole
}

// used is what a job uses of one kind: what the command names, else the list;
// and what the script names, and what the regexes select.
func (b *builder) used(s *selection, r referenced, row []Value) []int32 {
	if len(r.command) == 0 && len(r.script) == 0 {
		return b.resolve(s, row)
	}
	listed, matched := s.listed, s.matched
	if !s.constant {
		listed, matched = b.listed(s, row), b.matched(s, row)
	}
	if len(r.command) > 0 {
		listed = r.command
	}
	return b.indexes.keep(union(union(listed, r.script), matched))
}

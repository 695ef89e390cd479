package spec

import (
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// references are command and script of a job after replacement, and the files and user data
// that they refer to by ${files.input.NAME} and the like.
type references struct {
	command, script string
	lists           [4]referenced // in the order of jobPlan.uses
}

// referenced are the files or user data to which the texts of a job refer.
type referenced struct{ command, script []int32 }

// referenceKinds are the forms of references, in the order of jobPlan.uses.
var referenceKinds = [4]string{"files.input.", "files.output.", "user_data.input.", "user_data.output."}

// referrer replaces the references to files and user data in texts of jobs.
type referrer struct {
	*report
	files, userData *nameIndex
	fileDefs        []workflow.FileDefinition     // in the order of files
	data            []workflow.UserDataDefinition // in the order of userData
	last            references
}

// refer replaces the references in both texts. The result is valid until the next call.
func (r *referrer) refer(p *jobPlan, command, script string) *references {
	refs := &r.last
	refs.command, refs.script = command, script
	for k := range refs.lists {
		refs.lists[k].command, refs.lists[k].script = refs.lists[k].command[:0], refs.lists[k].script[:0]
	}
	if strings.Contains(command, "${") {
		refs.command = r.substitute(p.job.at.get("command"), command, &refs.lists, false)
	}
	if strings.Contains(script, "${") {
		refs.script = r.substitute(p.job.at.get("invocation_script"), script, &refs.lists, true)
	}
	for k, s := range p.uses {
		if len(refs.lists[k].command) > 0 && len(s.names) > 0 {
			r.checkReplaced(p, k, refs.lists[k].command)
		}
	}
	return refs
}

// checkReplaced warns if names of an explicit list are lost.
func (r *referrer) checkReplaced(p *jobPlan, k int, named []int32) {
	s := p.uses[k]
	if !s.constant {
		return
	}
	for _, i := range s.listed {
		if !slices.Contains(named, i) {
			r.warn(s.nameAt, "name all of them in the command, or none", "this has no effect for %s: the references in the command replace the list", clip(s.index.names[i]))
			return
		}
	}
}

// substitute replaces the references in a text, in one pass.
func (r *referrer) substitute(n *node, text string, lists *[4]referenced, script bool) string {
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
			r.checkReference(n, text, end)
			out.WriteString("${")
			text = text[2:]
			continue
		}
		name := text[2+len(referenceKinds[k]) : end]
		out.WriteString(r.reference(n, text[:end+1], k, name, lists, script))
		text = text[end+1:]
	}
	out.WriteString(text)
	return out.String()
}

// checkReference reports an invalid reference.
func (r *referrer) checkReference(n *node, text string, end int) {
	if end < 0 {
		return
	}
	inner := text[2:end]
	for _, noun := range []string{"files.", "user_data."} {
		if strings.HasPrefix(inner, noun) {
			r.failIn(n, text[:end+1], "write ${"+noun+"input.NAME} or ${"+noun+"output.NAME}", "%s is neither input nor output", clip(text[:end+1]))
		}
	}
}

// reference returns the replacement of a reference and records the relation.
func (r *referrer) reference(n *node, whole string, k int, name string, lists *[4]referenced, script bool) string {
	index := r.files
	if k >= 2 {
		index = r.userData
	}
	i, ok := index.byName[name]
	if !ok {
		index.unknown(n, whole, name)
		return whole
	}
	list := &lists[k].command
	if script {
		list = &lists[k].script
	}
	if k < 2 {
		*list = append(*list, i)
		return r.fileDefs[i].Path
	}
	if data := r.data[i].Data; data != nil {
		*list = append(*list, i)
		return string(data)
	}
	r.warn(n, "give the record data, or list it under "+[]string{"input_user_data", "output_user_data"}[k-2], "%s is not replaced: the record has no data", clip(whole))
	return whole
}

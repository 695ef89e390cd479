package spec

import (
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// fileUse has which files of a definition jobs read and write.
type fileUse struct{ read, written []bool }

func fileUseOf(def *workflow.Definition) fileUse {
	use := fileUse{read: make([]bool, len(def.Files)), written: make([]bool, len(def.Files))}
	for i := range def.Jobs {
		for _, f := range def.Jobs[i].InputFiles {
			use.read[f] = true
		}
		for _, f := range def.Jobs[i].OutputFiles {
			use.written[f] = true
		}
	}
	return use
}

// checkFiles stats the files that are only read, and checks the identifiers.
func (b *builder) checkFiles() {
	use := fileUseOf(b.def)
	setModTimes(b.def.Files, use, b.opts.state)
	if slices.ContainsFunc(b.doc.Files, func(f *File) bool { return f.Identifier != nil }) {
		checkIdentifiers(b.parts.files, b.def.Files, use, b.doc.EnableROCrate != nil && *b.doc.EnableROCrate)
	}
}

// setModTimes sets the times and sizes of files that are only read.
func setModTimes(files []workflow.FileDefinition, use fileUse, state func(path string) (fileState, bool)) {
	var states []fileState
	for i := range files {
		f := &files[i]
		if f.ModTime != nil || !use.read[i] || use.written[i] {
			continue
		}
		if s, ok := state(f.Path); ok {
			if len(states) == cap(states) {
				states = make([]fileState, 0, 1024) // pointers into blocks, not one allocation each
			}
			states = append(states, s)
			last := &states[len(states)-1]
			f.ModTime, f.Size = &last.modTime, &last.size
		}
	}
}

var reservedIdentifiers = []string{"#torc-", "#software-", "#job-"}

// checkIdentifiers checks the identifiers of files, which require an RO-Crate.
func checkIdentifiers(x *nameIndex, files []workflow.FileDefinition, use fileUse, roCrate bool) {
	paths, seen := map[string]int{}, map[string]int{}
	for i := range files {
		if _, again := paths[files[i].Path]; !again {
			paths[files[i].Path] = i
		}
	}
	for i := range files {
		at := x.origin(int32(i)).child("identifier")
		if at == nil || at.kind != kindString {
			continue
		}
		id := files[i].Identifier
		other, isPath := paths[id]
		first, again := seen[id]
		switch {
		case !roCrate:
			x.fail(at, "add enable_ro_crate: true", "an identifier needs enable_ro_crate")
		case strings.TrimSpace(id) == "":
			x.fail(at, "remove it", "an identifier cannot be blank")
		case slices.ContainsFunc(reservedIdentifiers, func(p string) bool { return strings.HasPrefix(id, p) }), id == "ro-crate-metadata.json", id == "./":
			x.fail(at, "choose another one, for example a URL of the file", "the identifier %s is reserved", clip(id))
		case isPath && other != i:
			x.fail(at, "", "the identifier %s is the path of the file %s", clip(id), clip(files[other].Name))
		case use.written[i]:
			x.fail(at, "outputs get their identifier when they are written", "a file that a job writes cannot have an identifier")
		case !use.read[i] && files[i].ModTime == nil:
			x.fail(at, "list it under a job's input_files", "a file with an identifier must be an input")
		case again:
			x.fail(at, "identifiers must be unique", "the identifier %s already belongs to the file %s", clip(id), clip(files[first].Name))
		}
		if !again {
			seen[id] = i
		}
	}
}

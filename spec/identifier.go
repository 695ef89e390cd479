package spec

import (
	"slices"
	"strings"
)

// checkFiles looks at what jobs do with files: it stats those that are only
// read, and checks the identifiers.
func (b *builder) checkFiles() {
	read, written := make([]bool, len(b.def.Files)), make([]bool, len(b.def.Files))
	for i := range b.def.Jobs {
		for _, f := range b.def.Jobs[i].InputFiles {
			read[f] = true
		}
		for _, f := range b.def.Jobs[i].OutputFiles {
			written[f] = true
		}
	}
	var times []float64
	for i := range b.def.Files {
		f := &b.def.Files[i]
		if f.ModTime != nil || !read[i] || written[i] {
			continue
		}
		if t, ok := b.opts.modTime(f.Path); ok {
			if len(times) == cap(times) {
				times = make([]float64, 0, 1024) // pointers into blocks, not one allocation each
			}
			times = append(times, t)
			f.ModTime = &times[len(times)-1]
		}
	}
	b.checkIdentifiers(read, written)
}

var reservedIdentifiers = []string{"#torc-", "#software-", "#job-"}

func (b *builder) checkIdentifiers(read, written []bool) {
	if !slices.ContainsFunc(b.doc.Files, func(f *File) bool { return f.Identifier != nil }) {
		return
	}
	paths, seen := map[string]int{}, map[string]int{}
	for i := range b.def.Files {
		if _, again := paths[b.def.Files[i].Path]; !again {
			paths[b.def.Files[i].Path] = i
		}
	}
	for i := range b.def.Files {
		at := b.files.origin(int32(i)).child("identifier")
		if at == nil || at.kind != kindString {
			continue
		}
		id := b.def.Files[i].Identifier
		other, isPath := paths[id]
		first, again := seen[id]
		switch {
		case !b.doc.EnableROCrate:
			b.fail(at, "add enable_ro_crate: true", "an identifier needs enable_ro_crate")
		case strings.TrimSpace(id) == "":
			b.fail(at, "remove it", "an identifier cannot be blank")
		case slices.ContainsFunc(reservedIdentifiers, func(p string) bool { return strings.HasPrefix(id, p) }), id == "ro-crate-metadata.json", id == "./":
			b.fail(at, "choose another one, for example a URL of the file", "the identifier %s is reserved", clip(id))
		case isPath && other != i:
			b.fail(at, "", "the identifier %s is the path of the file %s", clip(id), clip(b.def.Files[other].Name))
		case written[i]:
			b.fail(at, "outputs get their identifier when they are written", "a file that a job writes cannot have an identifier")
		case !read[i] && b.def.Files[i].ModTime == nil:
			b.fail(at, "list it under a job's input_files", "a file with an identifier must be an input")
		case again:
			b.fail(at, "identifiers are unique", "the identifier %s is that of the file %s", clip(id), clip(b.def.Files[first].Name))
		}
		if !again {
			seen[id] = i
		}
	}
}

// Package spec reads workflow specifications in YAML, JSON, JSON5 and KDL into a
// workflow.Definition. It reports all errors of a file at once, each with its place, an
// excerpt and a hint.
package spec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Options configure the reading of a specification. The zero value is valid.
type Options struct {
	// User is the owner of the workflow, whatever the file says.
	User string
	// Dir is the submission directory, to which paths of tables, @files and inputs are
	// relative; the current folder if empty.
	Dir string
	// Stdin is read for the path "-"; nil means that there is none.
	Stdin io.Reader
	// ReadFile and Stat replace those of package os.
	ReadFile func(path string) ([]byte, error)
	Stat     func(path string) (fs.FileInfo, error)
	// NoResourceMonitoring turns monitoring off by default.
	NoResourceMonitoring bool
	// SkipChecks omits the checks of jobs against schedulers.
	SkipChecks bool

	within       *nesting // of a sub-workflow
	compensation bool     // it is read for the on_failure of another file
}

// Result is a specification that was read without errors.
type Result struct {
	Definition *workflow.Definition
	Warnings   []*Warning
	Summary    Summary
	Format     Format
	Families   []JobFamily // the item of the document for each job
}

// maxFile limits the size of a specification, in bytes.
const maxFile = 512 << 20

// withDefaults sets the defaults.
func (o Options) withDefaults() Options {
	if o.Dir == "" {
		o.Dir = "."
	}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	if o.Stat == nil {
		o.Stat = os.Stat
	}
	return o
}

// resolve returns a path of the specification relative to Dir.
func (o *Options) resolve(path string) string {
	if o.Dir == "." || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(o.Dir, path)
}

func (o *Options) read(path string) ([]byte, error) {
	return o.ReadFile(o.resolve(path))
}

// besides returns a path relative to the file that contains it.
func (o *Options) besides(file, path string) string {
	switch {
	case filepath.IsAbs(path):
		return path
	case file == "<stdin>":
		return o.resolve(path)
	}
	return filepath.Join(filepath.Dir(file), path)
}

// fileState is the time of a file in seconds since 1970, and its size in bytes.
type fileState struct {
	modTime float64
	size    int64
}

// state returns the state of a file; false if there is none.
func (o *Options) state(path string) (fileState, bool) {
	info, err := o.Stat(o.resolve(path))
	if err != nil {
		return fileState{}, false
	}
	return fileState{float64(info.ModTime().UnixNano()) / 1e9, info.Size()}, true
}

// Load reads a specification; "-" is the standard input. An error in the contents is of
// type Errors, others are *workflow.Error.
func Load(path string, opts Options) (*Result, error) {
	opts = opts.withDefaults()
	name, data, err := opts.source(path)
	if err != nil {
		return nil, err
	}
	return Parse(name, data, opts)
}

// source reads the text of a specification.
func (o *Options) source(path string) (name string, data []byte, err error) {
	if path != "-" {
		data, err := o.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil, &workflow.Error{Code: workflow.CodeNotFound, Message: "there is no file " + path, Err: err}
		case err != nil:
			return "", nil, &workflow.Error{Code: workflow.CodeInvalid, Message: fmt.Sprintf("cannot read the specification: %v", err), Err: err}
		case len(data) > maxFile:
			return "", nil, workflow.Errorf(workflow.CodeInvalid, "%s is larger than %d MiB", path, maxFile>>20)
		}
		return path, data, nil
	}
	if o.Stdin == nil {
		return "", nil, workflow.Errorf(workflow.CodeInvalid, "there is nothing on the standard input").WithHint("pipe a specification in, or name a file")
	}
	data, err = io.ReadAll(io.LimitReader(o.Stdin, maxFile+1))
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("read the specification from the standard input: %w", err)
	case len(data) == 0:
		return "", nil, workflow.Errorf(workflow.CodeInvalid, "the standard input is empty").WithHint("pipe a specification in, or name a file")
	case len(data) > maxFile:
		return "", nil, workflow.Errorf(workflow.CodeInvalid, "the standard input is larger than %d MiB", maxFile>>20)
	}
	return "<stdin>", data, nil
}

// Parse reads a specification from a text. The extension of name determines the format, or
// else the text.
func Parse(name string, data []byte, opts Options) (*Result, error) {
	b, format := parse(name, data, opts)
	if err := b.err(); err != nil {
		return nil, err
	}
	return &Result{Definition: b.def, Warnings: b.sortedWarnings(), Summary: b.summary(), Format: format, Families: b.parts.jobs.families()}, nil
}

// parse reads a text; errors are in the builder's report.
func parse(name string, data []byte, opts Options) (*builder, Format) {
	opts = opts.withDefaults()
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	r := newReport(source{name, data})
	format, root := r.tree(name, data, "a specification starts with keys such as name and jobs")
	if root == nil {
		return newBuilder(r, &Document{}, opts), format
	}
	substituteVariables(r, root, opts.read, opts.within.variables())
	b := newBuilder(r, (&decoder{r}).decode(root), opts)
	if root.kind == kindMap {
		b.build()
	}
	return b, format
}

// tree reads the text into a tree; nil if that fails. Errors in parts of it are reported.
// Start is the hint for an empty file.
func (r *report) tree(name string, data []byte, start string) (Format, *node) {
	if err := checkText(data); err != nil {
		err.hint = cmp.Or(err.hint, start)
		r.syntax(err)
		return "", nil
	}
	format := formatOf(name)
	var root *node
	var err error
	if format == "" {
		format, root, err = detect(data)
	} else {
		root, err = readFormat(format, data)
	}
	if err != nil {
		r.syntax(err)
	}
	r.kdl = format == KDL
	return format, root
}

// syntax reports a syntax error.
func (r *report) syntax(err error) {
	var several syntaxErrors
	var syntax *syntaxError
	switch {
	case errors.As(err, &several):
		for _, e := range several {
			r.syntax(e)
		}
	case errors.As(err, &syntax):
		r.failAt(nil, spot{syntax.at, 1}, syntax.hint, "%s", syntax.message)
	default:
		r.failAt(nil, spot{pos{1, 1}, 1}, "", "%v", err)
	}
}

// syntaxErrors are several errors of one text.
type syntaxErrors []*syntaxError

func (es syntaxErrors) Error() string { return es[0].Error() }

// someJobs matches a key or node for jobs in any format.
var someJobs = regexp.MustCompile(`(?m)(?:^|[\s{,])["']?jobs?["']?\s*(?::|\s["'])`)

// isForeign reports an error if a file that another one refers to has errors and no jobs,
// so that it is not a specification. Its content is not shown, since it may be
// confidential.
func (r *report) isForeign(at *node, name string, data []byte, c *report) bool {
	if len(c.errors) == 0 || someJobs.Match(data) {
		return false
	}
	r.fail(at, "a specification has the key jobs", "%s is not a specification", name)
	return true
}

// Package spec reads the workflow specifications of users: YAML, JSON, JSON5
// and KDL files become a workflow.Definition. All errors of a file are found in
// one go, each with its place, an excerpt and what would be right.
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

// Options say how to read a specification. The zero value is ready for use.
type Options struct {
	// User owns the workflow, whatever the file says.
	User string
	// Dir is the folder that paths of tables, @files and inputs are relative to,
	// and the submission directory; the current folder if empty.
	Dir string
	// Stdin is read for the path "-"; nil means that there is none.
	Stdin io.Reader
	// ReadFile and Stat stand for those of package os.
	ReadFile func(path string) ([]byte, error)
	Stat     func(path string) (fs.FileInfo, error)
	// NoResourceMonitoring leaves jobs unmeasured if the file says nothing.
	NoResourceMonitoring bool
	// SkipChecks leaves out the checks of jobs against schedulers.
	SkipChecks bool

	within       *nesting // of a sub-workflow
	compensation bool     // it is read for the on_failure of another one
}

// Result is a specification that was read without errors.
type Result struct {
	Definition *workflow.Definition
	Warnings   []*Warning
	Summary    Summary
	Format     Format
	Families   []JobFamily // from which items of the document the jobs are
}

// maxFile bounds the size of a specification, in bytes.
const maxFile = 512 << 20

// withDefaults fills in what was not given.
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

// resolve makes a path of the specification usable from anywhere.
func (o *Options) resolve(path string) string {
	if o.Dir == "." || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(o.Dir, path)
}

func (o *Options) read(path string) ([]byte, error) {
	return o.ReadFile(o.resolve(path))
}

// besides is a path relative to the file that it stands in.
func (o *Options) besides(file, path string) string {
	switch {
	case filepath.IsAbs(path):
		return path
	case file == "<stdin>":
		return o.resolve(path)
	}
	return filepath.Join(filepath.Dir(file), path)
}

// modTime returns the time of a file in seconds since 1970.
func (o *Options) modTime(path string) (float64, bool) {
	info, err := o.Stat(o.resolve(path))
	if err != nil {
		return 0, false
	}
	return float64(info.ModTime().UnixNano()) / 1e9, true
}

// Load reads a specification. The path "-" stands for the standard input. An
// error about the contents is of type Errors, others are *workflow.Error.
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
			return "", nil, workflow.Errorf(workflow.CodeInvalid, "%s has more than %d MiB", path, maxFile>>20)
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
		return "", nil, workflow.Errorf(workflow.CodeInvalid, "the standard input has more than %d MiB", maxFile>>20)
	}
	return "<stdin>", data, nil
}

// Parse reads a specification from a text. The extension of the name tells the
// format; without a known one the text does.
func Parse(name string, data []byte, opts Options) (*Result, error) {
	b, format := parse(name, data, opts)
	if err := b.err(); err != nil {
		return nil, err
	}
	return &Result{Definition: b.def, Warnings: b.sortedWarnings(), Summary: b.summary(), Format: format, Families: b.parts.jobs.families()}, nil
}

// parse does all the work; what is wrong is in the builder's report.
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

// tree reads the text into a tree, nil if that fails. What is wrong with parts
// of it only is reported, and the rest goes on. How such a file starts is said
// where it is empty.
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

// syntax reports why a text is not of its format.
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

// someJobs is what a specification has in any of its formats: a key or node for
// jobs.
var someJobs = regexp.MustCompile(`(?m)(?:^|[\s{,])["']?jobs?["']?\s*(?::|\s["'])`)

// isForeign reports a file that another one names as a specification and that is
// none: it has errors and no jobs. What it says may be anything, a password for
// one, so nothing of it is shown.
func (r *report) isForeign(at *node, name string, data []byte, c *report) bool {
	if len(c.errors) == 0 || someJobs.Match(data) {
		return false
	}
	r.fail(at, "a specification has the key jobs", "%s is no specification", name)
	return true
}

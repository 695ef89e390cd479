// Package sbatchtemplates turns a request for an allocation into the batch
// script that Slurm gets. The same request gives the same script, and no value
// in it can become anything but that value.
package sbatchtemplates

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

//go:embed *.sbatch.tmpl
var files embed.FS

var templates = template.Must(template.ParseFS(files, "*.sbatch.tmpl"))

// Request is one allocation to ask for. What is zero or empty is left to
// Slurm.
type Request struct {
	JobName       string // from JobName
	Account       string
	Partition     string
	QOS           string
	Nodes         int
	NTasksPerNode int
	CPUsPerTask   int
	Mem           string        // per node, as sbatch reads it; 0 is the whole node
	GRES          string        // for example gpu:2
	Tmp           string        // local disk per node, as sbatch reads it
	Exclusive     bool          // whole nodes
	Walltime      time.Duration // slurm.Unlimited is no limit
	Exclude       []string      // nodes to avoid
	After         string        // id of the Slurm job that must have ended before
	Comment       string        // for display only

	// SignalLead is how long before its end the runners are told by the signal,
	// TERM if it is empty. Slurm may be up to a minute early. Of a TERM it notes
	// in the error file that the job was CANCELLED, though it goes on.
	SignalLead time.Duration
	Signal     string
	// Requeue lets Slurm start the job again by itself when its node fails.
	Requeue bool

	Output string // file, with %j for the id of the job; see OutputFiles
	Error  string

	// Defaults are the workflow's own options for every allocation. Those that
	// the fields above the signal set give way; those below give way to them.
	Defaults []Option
	// Extra is the user's literal text, a line per directive. It comes after all
	// others, so that it wins, save for the name.
	Extra string

	Dir              string            // where the runner starts, absolute
	Env              map[string]string // exported to the runner
	Runner           []string          // program and arguments
	OneRunnerPerNode bool
	SrunMPI          string // --mpi of the srun that starts one runner per node
}

// script is what the templates fill in, all of it ready to stand there.
type script struct {
	Directives []string
	Extra      []string
	JobName    string
	Dir        string
	Exports    []string
	Srun       []string
	Runner     string
}

// Render writes the batch script of a request.
func Render(r Request) ([]byte, error) {
	r = r.excluding()
	s := script{}
	var err error
	if s.JobName, err = r.jobName(); err != nil {
		return nil, err
	}
	if s.Directives, err = r.directives(); err != nil {
		return nil, err
	}
	if s.Extra, err = r.extra(); err != nil {
		return nil, err
	}
	if s.Dir, err = r.dir(); err != nil {
		return nil, err
	}
	if strings.Contains(r.Output+r.Error, `\`) {
		return nil, workflow.Errorf(workflow.CodeInvalid, "Slurm cannot write to %s: it takes backslashes out of the names of output files", r.Output).
			WithHint("choose an output directory without a backslash in its path (-o)")
	}
	if s.Exports, err = r.exports(); err != nil {
		return nil, err
	}
	if len(r.Runner) == 0 {
		return nil, fmt.Errorf("render the script of %s: there is no runner to start", r.JobName)
	}
	if s.Runner, err = shellWords(r.Runner); err != nil {
		return nil, err
	}
	name := "one-runner.sbatch.tmpl"
	if r.OneRunnerPerNode {
		name = "runner-per-node.sbatch.tmpl"
		if s.Srun, err = r.srunOptions(); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, s); err != nil {
		return nil, fmt.Errorf("render the script of %s: %w", r.JobName, err)
	}
	return b.Bytes(), nil
}

var validName = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

func (r *Request) jobName() (string, error) {
	if len(r.JobName) > maxName || !validName.MatchString(r.JobName) {
		return "", workflow.Errorf(workflow.CodeInvalid, "%q is no name for a Slurm job", r.JobName).
			WithHint("letters, digits and . _ : -, at most %d", maxName)
	}
	return Option{Name: "job-name", Value: r.JobName}.text(), nil
}

// directives are the options of the request in their fixed order.
func (r *Request) directives() ([]string, error) {
	fixed := r.shape()
	soft := r.manners()
	has := func(options []Option, name string) bool {
		return slices.ContainsFunc(options, func(o Option) bool { return o.Name == name })
	}
	if r.After != "" && has(r.Defaults, "dependency") {
		return nil, workflow.Errorf(workflow.CodeInvalid, "the dependency in slurm_defaults cannot hold beside serialize_allocations").WithHint("remove one of them")
	}
	var all []Option
	all = append(all, fixed...)
	for _, o := range r.Defaults {
		if no := refusedLong(o.Name); no != nil {
			return nil, workflow.Errorf(workflow.CodeInvalid, "%s cannot stand in slurm_defaults", o.Name).WithHint("%s", no.hint)
		}
		if !has(fixed, o.Name) {
			all = append(all, o)
		}
	}
	requeue := has(r.Defaults, "requeue") || has(r.Defaults, "no-requeue")
	for _, o := range soft {
		if !has(r.Defaults, o.Name) && (!requeue || !strings.HasSuffix(o.Name, "requeue")) {
			all = append(all, o)
		}
	}
	texts := make([]string, len(all))
	for i, o := range all {
		if err := o.check(); err != nil {
			return nil, err
		}
		texts[i] = o.text()
	}
	return texts, nil
}

// shape is what the allocation is to be.
func (r *Request) shape() []Option {
	var all []Option
	add := func(name, value string) {
		if value != "" {
			all = append(all, Option{Name: name, Value: value})
		}
	}
	add("account", r.Account)
	add("partition", r.Partition)
	add("qos", r.QOS)
	add("nodes", number(r.Nodes))
	add("ntasks-per-node", number(r.NTasksPerNode))
	add("cpus-per-task", number(r.CPUsPerTask))
	add("mem", r.Mem)
	add("gres", r.GRES)
	add("tmp", r.Tmp)
	if r.Exclusive {
		all = append(all, Option{Name: "exclusive", Bare: true})
	}
	if r.Walltime > 0 {
		add("time", slurm.FormatDuration(r.Walltime))
	}
	add("exclude", strings.Join(r.Exclude, ","))
	if r.After != "" {
		add("dependency", "afterany:"+r.After)
	}
	return all
}

// manners is how the allocation is to behave unless the user wants it
// otherwise.
func (r *Request) manners() []Option {
	var all []Option
	add := func(name, value string) {
		if value != "" {
			all = append(all, Option{Name: name, Value: value})
		}
	}
	add("chdir", r.Dir)
	add("output", r.Output)
	add("error", r.Error)
	// A requeued job goes on in the files of its first life.
	add("open-mode", "append")
	if r.Requeue {
		all = append(all, Option{Name: "requeue", Bare: true})
	} else {
		all = append(all, Option{Name: "no-requeue", Bare: true})
	}
	if r.SignalLead > 0 {
		add("signal", r.signal())
	}
	add("comment", r.Comment)
	return all
}

// signal tells the runners of the end: as the process of the batch script, or,
// under srun, which would answer a SIGTERM by killing its tasks, as the tasks
// of a step. With proctrack/cgroup their children get nothing.
func (r *Request) signal() string {
	text := cmp.Or(r.Signal, "TERM") + "@" + strconv.FormatInt(int64(r.SignalLead/time.Second), 10)
	if r.OneRunnerPerNode {
		return text
	}
	return "B:" + text
}

func (r *Request) extra() ([]string, error) {
	var lines []string
	for line := range strings.Lines(r.Extra) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if err := checkExtra(line); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func (r *Request) dir() (string, error) {
	if !strings.HasPrefix(r.Dir, "/") {
		return "", fmt.Errorf("render the script of %s: the directory %q is not absolute", r.JobName, r.Dir)
	}
	return shellWord(r.Dir)
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (r *Request) exports() ([]string, error) {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		if !variable.MatchString(name) {
			return nil, workflow.Errorf(workflow.CodeInvalid, "%q is no name for a variable", name)
		}
		value, err := shellWord(r.Env[name])
		if err != nil {
			return nil, err
		}
		lines = append(lines, name+"="+value)
	}
	return lines, nil
}

// srunOptions are the options of the srun that starts a runner on every node,
// beside those that stand in the template.
func (r *Request) srunOptions() ([]string, error) {
	var words []string
	if r.Nodes > 0 {
		words = append(words, "--nodes="+number(r.Nodes))
	}
	if r.SrunMPI != "" {
		mpi, err := shellWord(r.SrunMPI)
		if err != nil {
			return nil, err
		}
		words = append(words, "--mpi="+mpi)
	}
	return words, nil
}

func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// shellWords writes a command for bash.
func shellWords(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, word := range words {
		var err error
		if quoted[i], err = shellWord(word); err != nil {
			return "", err
		}
	}
	return strings.Join(quoted, " "), nil
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:,@%+-]+$`)

// shellWord writes a value as one word for bash, in single quotes: the forms
// with escapes mean something else under another locale.
func shellWord(word string) (string, error) {
	switch {
	case strings.Contains(word, "\x00"):
		return "", workflow.Errorf(workflow.CodeInvalid, "%q cannot stand in a batch script: it has a NUL", word)
	case plainWord.MatchString(word):
		return word, nil
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'", nil
}

// Package sbatchtemplates renders the batch script of an allocation. The same request
// gives the same script, and values are quoted so that they cannot inject anything.
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

// Request is a request for one allocation. Zero and empty values are left to Slurm.
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

	// SignalLead is how long before the end the runners get the signal, TERM if it is
	// empty. Slurm may send it up to a minute early. For TERM it writes to the error file
	// that the job was CANCELLED, although it continues.
	SignalLead time.Duration
	Signal     string
	// Requeue lets Slurm requeue the job if its node fails.
	Requeue bool

	Output string // file, with %j for the id of the job; see OutputFiles
	Error  string

	// Defaults are the workflow's options for all allocations. The fields above the signal
	// override them; they override those below.
	Defaults []Option
	// Extra is the user's literal text, one directive per line. It comes last, so that it
	// overrides all others except the name.
	Extra string

	Dir              string            // where the runner starts, absolute
	Env              map[string]string // exported to the runner
	Runner           []string          // program and arguments
	OneRunnerPerNode bool
	SrunMPI          string // --mpi of the srun that starts one runner per node
}

// script is the data of the templates, with quoted values.
type script struct {
	Directives []string
	Extra      []string
	JobName    string
	Dir        string
	Exports    []string
	Srun       []string
	Runner     string
}

// Render returns the batch script of a request. Its errors have CodeInvalid for values
// that are not possible in a script.
func Render(r Request) ([]byte, error) {
	r = r.withExcluded()
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
		return nil, workflow.Errorf(workflow.CodeInvalid, "Slurm cannot write to %s: it removes backslashes from the names of output files", r.Output).
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
		return "", workflow.Errorf(workflow.CodeInvalid, "%q is not a valid name of a Slurm job", r.JobName).
			WithHint("letters, digits and . _ : -, at most %d", maxName)
	}
	return Option{Name: "job-name", Value: r.JobName}.text(), nil
}

// directives returns the options of the request in a fixed order.
func (r *Request) directives() ([]string, error) {
	fixed := r.sizeOptions()
	soft := r.behaviorOptions()
	has := func(options []Option, name string) bool {
		return slices.ContainsFunc(options, func(o Option) bool { return o.Name == name })
	}
	if r.After != "" && has(r.Defaults, "dependency") {
		return nil, workflow.Errorf(workflow.CodeInvalid, "slurm_defaults cannot have a dependency together with serialize_allocations").WithHint("remove one of them")
	}
	var all []Option
	all = append(all, fixed...)
	for _, o := range r.Defaults {
		if no := forbiddenLong(o.Name); no != nil {
			return nil, workflow.Errorf(workflow.CodeInvalid, "%s is not allowed in slurm_defaults", o.Name).WithHint("%s", no.hint)
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

// sizeOptions returns the options for the size of the allocation.
func (r *Request) sizeOptions() []Option {
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

// behaviorOptions returns the options that the user may override.
func (r *Request) behaviorOptions() []Option {
	var all []Option
	add := func(name, value string) {
		if value != "" {
			all = append(all, Option{Name: name, Value: value})
		}
	}
	add("chdir", r.Dir)
	add("output", r.Output)
	add("error", r.Error)
	// A requeued job appends to its earlier files.
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

// signal returns the option by which the runners are signaled before the end: the process
// of the batch script, or, under srun, which would kill its tasks on SIGTERM, the tasks of
// a step. With proctrack/cgroup their children get no signal.
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
			return nil, workflow.Errorf(workflow.CodeInvalid, "%q is not a valid name of a variable", name)
		}
		value, err := shellWord(r.Env[name])
		if err != nil {
			return nil, err
		}
		lines = append(lines, name+"="+value)
	}
	return lines, nil
}

// srunOptions returns the options of the srun that starts a runner on every node, in
// addition to those in the template.
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

// shellWords quotes a command for bash.
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

// shellWord quotes a value for bash with single quotes, since escapes depend on the
// locale.
func shellWord(word string) (string, error) {
	switch {
	case strings.Contains(word, "\x00"):
		return "", workflow.Errorf(workflow.CodeInvalid, "%q has a NUL, which is not possible in a batch script", word)
	case plainWord.MatchString(word):
		return word, nil
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'", nil
}

package slurmtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// request is what a batch script and the options of sbatch request.
type request struct {
	script       []byte
	env          []string
	dir          string
	name         string
	account      string
	qos          string
	partition    string
	reservation  string
	comment      string
	output       string
	stderr       string
	appendOutput bool
	time         time.Duration
	nodes        int
	tasks        int // 0: one per node
	tasksPerNode int
	cpusPerTask  int
	memory       int64 // bytes per node
	memoryPerCPU int64
	wholeMemory  bool
	gpus         int // per node
	exclusive    bool
	requeue      bool
	held         bool
	begin        time.Duration // after the submission
	exclude      []string
	nodeList     []string
	dependencies []dependency
	depText      string
	signal       string
	signalLead   time.Duration
	signalTo     Target
	testOnly     bool
	wrap         string
}

type dependency struct {
	kind   string
	number int64
}

// cpusPerNode returns how many CPUs the tasks on one node take.
func (r *request) cpusPerNode() int {
	tasks := max(r.tasksPerNode, (r.tasks+r.nodes-1)/r.nodes, 1)
	return tasks * r.cpusPerTask
}

// shortOptions are the short options of sbatch that the fake knows, by letter.
var shortOptions = map[byte]string{
	'A': "account", 'a': "array", 'b': "begin", 'c': "cpus-per-task", 'd': "dependency", 'D': "chdir",
	'e': "error", 'G': "gpus", 'H': "hold", 'J': "job-name", 'n': "ntasks", 'N': "nodes", 'o': "output",
	'p': "partition", 'q': "qos", 't': "time", 'w': "nodelist", 'x': "exclude",
}

// flags are options without a value.
var flags = map[string]func(*request){
	"parsable":            func(*request) {},
	"hold":                func(r *request) { r.held = true },
	"requeue":             func(r *request) { r.requeue = true },
	"no-requeue":          func(r *request) { r.requeue = false },
	"exclusive":           func(r *request) { r.exclusive = true },
	"test-only":           func(r *request) { r.testOnly = true },
	"no-kill":             func(*request) {},
	"overcommit":          func(*request) {},
	"ignore-pbs":          func(*request) {},
	"quiet":               func(*request) {},
	"verbose":             func(*request) {},
	"spread-job":          func(*request) {},
	"contiguous":          func(*request) {},
	"use-min-nodes":       func(*request) {},
	"get-user-env":        func(*request) {},
	"wait-all-nodes":      func(*request) {},
	"kill-on-bad-exit":    func(*request) {},
	"kill-on-invalid-dep": func(*request) {},
}

// values are options with a value.
var values = map[string]func(*request, string) error{
	"account":         func(r *request, v string) error { r.account = v; return nil },
	"partition":       func(r *request, v string) error { r.partition = v; return nil },
	"qos":             func(r *request, v string) error { r.qos = v; return nil },
	"job-name":        func(r *request, v string) error { r.name = v; return nil },
	"comment":         func(r *request, v string) error { r.comment = v; return nil },
	"output":          func(r *request, v string) error { r.output = v; return nil },
	"error":           func(r *request, v string) error { r.stderr = v; return nil },
	"open-mode":       func(r *request, v string) error { r.appendOutput = v == "append"; return nil },
	"chdir":           func(r *request, v string) error { r.dir = v; return nil },
	"wrap":            func(r *request, v string) error { r.wrap = v; return nil },
	"time":            setTime,
	"nodes":           func(r *request, v string) (err error) { r.nodes, err = leading(v); return },
	"ntasks":          func(r *request, v string) (err error) { r.tasks, err = leading(v); return },
	"ntasks-per-node": func(r *request, v string) (err error) { r.tasksPerNode, err = leading(v); return },
	"cpus-per-task":   func(r *request, v string) (err error) { r.cpusPerTask, err = leading(v); return },
	"mem":             setMemory,
	"mem-per-cpu":     setMemoryPerCPU,
	"gres":            setGRES,
	"gpus":            setGPUs,
	"gpus-per-node":   setGPUs,
	"exclude":         func(r *request, v string) (err error) { r.exclude, err = slurm.ExpandNodes(v); return },
	"nodelist":        func(r *request, v string) (err error) { r.nodeList, err = slurm.ExpandNodes(v); return },
	"dependency":      setDependency,
	"signal":          setSignal,
	"begin":           setBegin,
	"exclusive":       func(r *request, _ string) error { r.exclusive = true; return nil },
	"export":          func(*request, string) error { return nil },
	"tmp":             func(*request, string) error { return nil },
	"mail-type":       func(*request, string) error { return nil },
	"mail-user":       func(*request, string) error { return nil },
	"constraint":      func(*request, string) error { return nil },
	"licenses":        func(*request, string) error { return nil },
	"nice":            func(*request, string) error { return nil },
	"priority":        func(*request, string) error { return nil },
	"propagate":       func(*request, string) error { return nil },
	"hint":            func(*request, string) error { return nil },
	"distribution":    func(*request, string) error { return nil },
	"deadline":        func(*request, string) error { return nil },
	"reservation":     func(r *request, v string) error { r.reservation = v; return nil },
	"input":           func(*request, string) error { return nil },
}

// refused is the error of sbatch about an option.
type refused string

func (r refused) Error() string { return string(r) }

func leading(v string) (int, error) {
	v, _, _ = strings.Cut(v, "-")
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("invalid number %q", v)
	}
	return n, nil
}

func setTime(r *request, v string) (err error) {
	if r.time, err = slurm.ParseDuration(v); err != nil || r.time <= 0 {
		return refused("Invalid --time specification")
	}
	if r.time != slurm.Unlimited { // Slurm counts limits in minutes
		r.time = (r.time + time.Minute - 1).Truncate(time.Minute)
	}
	return nil
}

func setMemory(r *request, v string) error {
	m, err := slurm.ParseMemory(v, slurm.MiB)
	r.memory, r.wholeMemory = m.Bytes, m.Bytes == 0
	return err
}

func setMemoryPerCPU(r *request, v string) error {
	m, err := slurm.ParseMemory(v, slurm.MiB)
	r.memoryPerCPU = m.Bytes
	return err
}

func setGRES(r *request, v string) error {
	all, err := slurm.ParseGRES(strings.ReplaceAll(v, "gres/", ""))
	for _, g := range all {
		if g.Name == "gpu" {
			r.gpus = int(g.Count)
		}
	}
	return err
}

func setGPUs(r *request, v string) error { return setGRES(r, "gpu:"+v) }

func setDependency(r *request, v string) error {
	r.depText = v
	for part := range strings.FieldsFuncSeq(v, func(c rune) bool { return c == ',' || c == '?' }) {
		kind, ids, _ := strings.Cut(part, ":")
		if kind == "singleton" {
			r.dependencies = append(r.dependencies, dependency{kind: kind})
			continue
		}
		for id := range strings.SplitSeq(ids, ":") {
			number, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				return refused("Batch job submission failed: Job dependency problem")
			}
			r.dependencies = append(r.dependencies, dependency{kind: kind, number: number})
		}
	}
	return nil
}

// setSignal parses [{R|B}:]<signal>[@seconds].
func setSignal(r *request, v string) error {
	r.signalTo = Steps
	if which, rest, ok := strings.Cut(v, ":"); ok {
		if strings.Contains(which, "B") {
			r.signalTo = BatchShell
		}
		v = rest
	}
	name, lead, ok := strings.Cut(v, "@")
	r.signal, r.signalLead = strings.TrimPrefix(strings.ToUpper(name), "SIG"), time.Minute
	if ok {
		seconds, err := strconv.Atoi(lead)
		if err != nil {
			return refused("Invalid --signal specification")
		}
		r.signalLead = time.Duration(seconds) * time.Second
	}
	return nil
}

// setBegin parses now+SECONDS.
func setBegin(r *request, v string) error {
	seconds, err := strconv.Atoi(strings.TrimPrefix(v, "now+"))
	if err != nil {
		return refused("Invalid --begin specification")
	}
	r.begin = time.Duration(seconds) * time.Second
	return nil
}

// parseOptions parses options; rest is the script's file and its arguments.
func (r *request) parseOptions(args []string) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			return args, nil
		}
		args = args[1:]
		name, value, hasValue := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !strings.HasPrefix(arg, "--") {
			name, value = shortOptions[arg[1]], arg[2:]
			hasValue = value != ""
		}
		if set, ok := flags[name]; ok && !hasValue {
			set(r)
			continue
		}
		set, ok := values[name]
		if !ok {
			return nil, fmt.Errorf("sbatch: unrecognized option '%s'", arg)
		}
		if !hasValue {
			if len(args) == 0 {
				return nil, fmt.Errorf("sbatch: option '%s' requires an argument", arg)
			}
			value, args = args[0], args[1:]
		}
		if err := set(r, value); err != nil {
			return nil, fmt.Errorf("sbatch: error: %w", err)
		}
	}
	return nil, nil
}

// directives returns the words of the script's #SBATCH lines up to its first
// command. As in sbatch an unquoted # ends the line.
func directives(script []byte) []string {
	var words []string
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "#SBATCH"); ok {
			words = append(words, shellWords(rest)...)
		} else if line != "" && !strings.HasPrefix(line, "#") {
			break
		}
	}
	return words
}

// shellWords splits at blanks that are not quoted or escaped.
func shellWords(text string) []string {
	var words []string
	var word strings.Builder
	quote, open, escaped := rune(0), false, false
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == '#':
			end()
			return words
		case r == ' ' || r == '\t':
			end()
		default:
			word.WriteRune(r)
			open = true
		}
	}
	end()
	return words
}

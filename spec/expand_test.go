package spec

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobNames are the names of the expanded jobs.
func jobNames(d *workflow.Definition) []string {
	var names []string
	for _, j := range d.Jobs {
		names = append(names, j.Name)
	}
	return names
}

func TestSweeps(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"product in the order of the keys": {`jobs: [{name: "{b}{a}", command: x, parameters: {b: "1:2", a: [x, y]}}]`, "1x 1y 2x 2y"},
		"zip":                              {`jobs: [{name: "{b}{a}", command: x, parameters: {b: "1:2", a: [x, y]}, parameter_mode: zip}]`, "1x 2y"},
		"shared, in the order of use":      {"parameters: {a: [x, y], b: '1:2'}\njobs: [{name: '{a}{b}', command: x, use_parameters: [b, a, b]}]", "x1 y1 x2 y2"},
		"own hide shared":                  {"parameters: {a: [x, y]}\njobs: [{name: '{a}', command: x, use_parameters: [a], parameters: {a: [z]}}]", "z"},
		"shared are opt-in":                {"parameters: {a: [x, y]}\njobs: [{name: 'j{a}', command: x}]", "j{a}"},
		"table":                            {`jobs: [{name: "{tag}_{batch:03d}_{lr:.2f}", command: x, parameters_file: testdata/tables/sweep.csv}]`, "alpha_016_0.10|beta, gamma_032_0.01"},
		"shared table":                     {"parameters_file: testdata/tables/sweep.json\njobs: [{name: '{batch}', command: x, use_parameters_file: true}, {name: other, command: x}]", "16 32 other"},
		"native scalars":                   {`jobs: [{name: "{i}{f}{b}{s}", command: x, parameters: {i: 7, f: 0.50, b: true, s: "1:2"}}]`, "70.5true1 70.5true2"},
		"text in a list stays text":        {`jobs: [{name: "j{i:03d}", command: x, parameters: {i: ["5", 6]}}]`, "j5 j006"},
		"no values":                        {`jobs: [{name: "j{i}", command: x, parameters: {i: []}}, {name: a, command: x}]`, "a"},
		"unknown mode is product":          {`jobs: [{name: "{b}{a}", command: x, parameters: {b: "1:2", a: [x, y]}, parameter_mode: all}]`, "1x 1y 2x 2y"},
		"variables in ranges":              {"variables: {n: '2'}\njobs: [{name: 'j{i}', command: x, parameters: {i: '1:{n}'}}]", "j1 j2"},
	} {
		r := parseText(t, "name: w\n"+c.text)
		sep := " "
		if strings.Contains(c.want, "|") {
			sep = "|"
		}
		if got := strings.Join(jobNames(r.Definition), sep); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestTemplatesReachAllFieldsThatTheyShould(t *testing.T) {
	r := parseText(t, `
name: w
resource_requirements: [{name: r1, num_cpus: 1, memory: 1g}]
failure_handlers: [{name: "h{i}", rules: []}]
slurm_schedulers: [{name: s1, account: a}]
files:
  - {name: "f{i}", path: "p/{i:02d}", parameters: {i: "1:2"}}
user_data:
  - {name: "u{i}", data: {"k{i}": "v{i}", n: [1, "{i}"]}, parameters: {i: "1:2"}}
jobs:
  - {name: base1, command: x}
  - name: "j{i}"
    command: "run {i} ${i}"
    invocation_script: "pre {i}"
    env: {A: "{i}", B: same}
    resource_requirements: "r{i}"
    scheduler: "s{i}"
    failure_handler: "h{i}"
    depends_on: ["base{i}"]
    depends_on_regexes: ["^base{i}$"]
    input_files: ["f{i}"]
    output_file_regexes: ["^f{i}$"]
    input_user_data: ["u{i}"]
    output_user_data_regexes: ["u{i}"]
    parameters: {i: "1:1"}
  - {name: "l{i}", command: x, labels: ["z{i}", "a", "z{i}"], parameters: {i: "1:1"}}
`)
	d := r.Definition
	want := workflow.JobDefinition{
		Name: "j1", Command: "run 1 $1", JobSettings: workflow.JobSettings{InvocationScript: new("pre 1")}, Env: map[string]string{"A": "1", "B": "same"},
		Requirements: "r1", Scheduler: "s1", FailureHandler: "h{i}", DependsOn: []int32{0},
		InputFiles: []int32{0}, OutputFiles: []int32{0}, InputUserData: []int32{0}, OutputUserData: []int32{0},
	}
	if diff := cmp.Diff(want, d.Jobs[1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "z1"}, d.Jobs[2].Labels); diff != "" {
		t.Error(diff)
	}
	if d.Files[1].Path != "p/02" || string(d.UserData[1].Data) != `{"k{i}":"v2","n":[1,"2"]}` {
		t.Errorf("%+v %s", d.Files[1], d.UserData[1].Data)
	}
}

func TestReferences(t *testing.T) {
	const head = `
name: w
files: [{name: a, path: A.txt}, {name: b, path: B.txt}, {name: c, path: C.txt}, {name: rx1, path: R1}]
user_data: [{name: u, data: {x: "${files.input.b}"}}, {name: v, data: 5}]
jobs:
`
	for name, c := range map[string]struct {
		job  string
		want workflow.JobDefinition
	}{
		"the command replaces the list": {
			`{name: j, command: "x ${files.input.b} ${files.input.a} ${files.input.b}", input_files: [c]}`,
			workflow.JobDefinition{Command: "x B.txt A.txt B.txt", InputFiles: []int32{0, 1}},
		},
		"the script adds to the list": {
			`{name: j, command: x, invocation_script: "pre ${files.input.b}", input_files: [c, a]}`,
			workflow.JobDefinition{Command: "x", JobSettings: workflow.JobSettings{InvocationScript: new("pre B.txt")}, InputFiles: []int32{0, 1, 2}},
		},
		"script and command": {
			`{name: j, command: "x ${files.output.c}", invocation_script: "${files.output.a}", output_files: [b]}`,
			workflow.JobDefinition{Command: "x C.txt", JobSettings: workflow.JobSettings{InvocationScript: new("A.txt")}, OutputFiles: []int32{0, 2}},
		},
		"regexes add": {
			`{name: j, command: "x ${files.input.c}", input_file_regexes: ["^rx"]}`,
			workflow.JobDefinition{Command: "x C.txt", InputFiles: []int32{2, 3}},
		},
		"user data as JSON, in one pass": {
			`{name: j, command: "x '${user_data.input.u}' ${user_data.output.v}"}`,
			workflow.JobDefinition{Command: `x '{"x":"${files.input.b}"}' 5`, InputUserData: []int32{0}, OutputUserData: []int32{1}},
		},
		"what belongs to the shell stays": {
			`{name: j, command: "x ${HOME} ${files} $(date) ${A:-${B}} ${"}`,
			workflow.JobDefinition{Command: "x ${HOME} ${files} $(date) ${A:-${B}} ${"},
		},
		"with parameters": {
			`{name: "j", command: "x ${files.input.rx{i}} ${files.input.{f}}", parameters: {i: "1:1", f: [a]}}`,
			workflow.JobDefinition{Command: "x R1 A.txt", InputFiles: []int32{0, 3}},
		},
		"lists are sorted and without repeats": {
			`{name: j, command: x, input_files: [c, a, c], input_file_regexes: ["^[ab]$"]}`,
			workflow.JobDefinition{Command: "x", InputFiles: []int32{0, 1, 2}},
		},
	} {
		c.want.Name = "j"
		if diff := cmp.Diff(c.want, parseText(t, head+"  - "+c.job).Definition.Jobs[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWorkflowEnvTakesSharedParameters(t *testing.T) {
	r := parseText(t, `
name: w
parameters: {one: [x], range: "1:3", list: [a, 2], single: 5}
env: {A: "{one}-{single}", B: "{range}", C: "{list}", D: "{none}"}
jobs: []
`)
	want := map[string]string{"A": "x-5", "B": "1:3", "C": `["a",2]`, "D": "{none}"}
	if diff := cmp.Diff(want, r.Definition.Env); diff != "" {
		t.Error(diff)
	}
}

func TestVariables(t *testing.T) {
	r := parseText(t, `
name: "{a}"
description: "${a} {a:03d} {} {1} {'x': {a}}"
variables: {a: one, b: "${a}"}
metadata: {k: ["{a}", {"{a}": "{b}"}]}
parameters: {p: "1:2"}
jobs:
  - {name: "{a}_{p}_{c}", command: "{a} ${files.input.{a}}", parameters: {p: "1:1", c: [7]}}
files: [{name: one, path: "{b}/x"}]
`)
	d := r.Definition
	if d.Name != "one" || d.Description != "${a} one {} {1} {'x': one}" || string(d.Metadata) != `{"k":["one",{"{a}":"${a}"}]}` {
		t.Errorf("%q %q %s", d.Name, d.Description, d.Metadata)
	}
	if j := d.Jobs[0]; j.Name != "one_1_7" || j.Command != "one ${a}/x" {
		t.Errorf("%+v", j)
	}
	// Without variables unknown names are nobody's business.
	if d := parseText(t, "name: '{x}'\nvariables: {}\njobs: []").Definition; d.Name != "{x}" {
		t.Error(d.Name)
	}
}

func TestModTimesOfInputs(t *testing.T) {
	files := fstest.MapFS{"in.txt": {Data: []byte("x")}, "both.txt": {}, "unused.txt": {}, "given.txt": {}}
	stats := map[string]int{}
	r, err := Parse("w.yaml", []byte(`
name: w
files: [{name: in, path: in.txt}, {name: both, path: both.txt}, {name: unused, path: unused.txt}, {name: gone, path: gone.txt}, {name: given, path: given.txt, st_mtime: 12.5}]
jobs:
  - {name: a, command: x, output_files: [both], input_files: [given]}
  - {name: b, command: x, input_files: [both, gone], input_file_regexes: ["^in$"]}
`), Options{Stat: func(path string) (fs.FileInfo, error) {
		stats[path]++
		return fs.Stat(files, path)
	}})
	if err != nil {
		t.Fatal(rendered(err))
	}
	var known []string
	for _, f := range r.Definition.Files {
		if f.ModTime != nil {
			known = append(known, f.Name)
		}
	}
	if diff := cmp.Diff([]string{"in", "given"}, known); diff != "" {
		t.Error(diff)
	}
	if got := slices.Sorted(maps.Keys(stats)); !slices.Equal(got, []string{"gone.txt", "in.txt"}) {
		t.Errorf("stat of %v", got)
	}
	if *r.Definition.Files[4].ModTime != 12.5 {
		t.Error("st_mtime is not kept")
	}
}

func TestPathsAreRelativeToTheFolder(t *testing.T) {
	r, err := Load("testdata/good/everything.yaml", Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(rendered(err))
	}
	if !strings.HasPrefix(r.Definition.SubmissionDirectory, os.TempDir()) {
		t.Error(r.Definition.SubmissionDirectory)
	}
	_, err = Parse("w.yaml", []byte("name: w\njobs: [{name: '{batch}', command: x, parameters_file: sweep.csv}]"), Options{Dir: "testdata/tables"})
	if err != nil {
		t.Error(rendered(err))
	}
}

func TestDefaults(t *testing.T) {
	d := parseText(t, `
name: w
resource_requirements: [{name: r, num_cpus: 1, memory: 1g}]
failure_handlers: [{name: h, rules: [{match_all_exit_codes: true}]}]
slurm_schedulers: [{name: s, account: a}]
execution_config: {mode: direct, termination_signal: TERM, timeout_exit_code: 152, stdio: {mode: separate}}
jobs: [{name: j, command: x, resource_requirements: default}]
actions: [{trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, scheduler_type: slurm}]
`).Definition
	if r := d.Requirements[0]; r.Runtime != "PT1H" || r.NumNodes != 1 || r.NumGPUs != 0 {
		t.Errorf("%+v", r)
	}
	if s := d.SlurmSchedulers[0]; s.Nodes != 1 || s.Walltime != "01:00:00" {
		t.Errorf("%+v", s)
	}
	if d.FailureHandlers[0].Rules[0].MaxRetries != 3 || d.Actions[0].NumAllocations != 1 || *d.ComputeNodeWaitForNewJobsSeconds != 90 {
		t.Error("defaults")
	}
	if d.Jobs[0].Requirements != "" || d.ExecutionConfig != nil || d.User != "me" {
		t.Errorf("%q %+v %s", d.Jobs[0].Requirements, d.ExecutionConfig, d.User)
	}
	if m := d.ResourceMonitor; !m.Enabled || !m.Jobs.Enabled || m.Jobs.Granularity != "summary" || m.SampleIntervalSeconds != 10 || m.ComputeNode != nil {
		t.Errorf("%+v", m)
	}
	r, err := Parse("w.yaml", []byte("name: w\njobs: []"), Options{NoResourceMonitoring: true})
	if err != nil || r.Definition.ResourceMonitor != nil {
		t.Error("monitoring without being asked for", err)
	}
}

func TestJobStdioOverrides(t *testing.T) {
	d := parseText(t, `
name: w
jobs: [{name: a, command: x}, {name: b, command: x}]
execution_config: {job_stdio_overrides: {b: {mode: none}}}
`).Definition
	if d.Jobs[0].Stdio != nil || d.Jobs[1].Stdio == nil || d.Jobs[1].Stdio.Mode != workflow.StdioNone {
		t.Errorf("%+v", d.Jobs)
	}
}

// TestBarrierIsShared: a thousand jobs behind a thousand share one list, and
// the search for cycles does not unfold it.
func TestBarrierIsShared(t *testing.T) {
	d := parseText(t, `
name: w
files: [{name: "f{i}", path: "{i}", parameters: {i: "1:20000"}}]
jobs:
  - {name: "a{i}", command: x, parameters: {i: "1:20000"}, output_files: ["f{i}"]}
  - {name: "b{i}", command: x, parameters: {i: "1:20000"}, depends_on_regexes: ["^a"], input_file_regexes: ["^f"]}
`).Definition
	first, last := d.Jobs[20_000], d.Jobs[39_999]
	if len(first.DependsOn) != 20_000 || &first.DependsOn[0] != &last.DependsOn[0] || &first.InputFiles[0] != &last.InputFiles[0] {
		t.Error("the list is not shared")
	}
}

func TestUpdateInPlaceIsNoCycle(t *testing.T) {
	parseText(t, `
name: w
files: [{name: "f{i}", path: "{i}", parameters: {i: "1:3"}}]
jobs:
  - {name: "first{i}", command: x, parameters: {i: "1:3"}, output_files: ["f{i}"]}
  - {name: update, command: x, input_file_regexes: ["^f"], output_files: [f2]}
  - {name: "read{i}", command: x, parameters: {i: "1:3"}, input_file_regexes: ["^f"]}
`)
	// Two that update the same file wait for each other.
	_, err := Parse("w.yaml", []byte(`
name: w
files: [{name: f, path: f}]
jobs:
  - {name: "u{i}", command: x, parameters: {i: "1:2"}, input_files: [f], output_files: [f]}
`), Options{})
	if err == nil || !strings.Contains(err.Error(), "wait for each other: u1 → u2") {
		t.Error(err)
	}
}

func TestManyAnchoredRegexes(t *testing.T) {
	d := parseText(t, `
name: w
jobs:
  - {name: "a_{i}_{k}", command: x, parameters: {i: "1:200", k: "1:3"}}
  - {name: "b_{i}", command: x, parameters: {i: "1:200"}, depends_on_regexes: ["^a_{i}_"]}
`).Definition
	for i := range 200 {
		first := int32(3 * i)
		if diff := cmp.Diff([]int32{first, first + 1, first + 2}, d.Jobs[600+i].DependsOn); diff != "" {
			t.Fatalf("b_%d: %s", i+1, diff)
		}
	}
}

func TestExpandedSweepIsAFixpoint(t *testing.T) {
	d := parseText(t, string(sweepOfJobs(20))).Definition
	text, err := Expanded(d).JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("w.json", text, Options{User: "me"})
	if err != nil {
		t.Fatal(rendered(err))
	}
	if diff := sameDefinitions(d, again.Definition); diff != "" {
		t.Error(diff)
	}
}

// TestDocumentInCode builds a specification as a program does.
func TestDocumentInCode(t *testing.T) {
	text, err := (&Document{
		Name: "exec",
		Jobs: []*Job{{
			Name: "sim_{i}_{k}", Command: "./sim {i} <{k}>",
			Sweep: Sweep{Parameters: Parameters{{Name: "k", Value: "[x]"}, {Name: "i", Value: "1:3"}}, ParameterMode: "product"},
		}},
	}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse("exec.json", text, Options{})
	if err != nil {
		t.Fatal(rendered(err))
	}
	if got := fmt.Sprint(jobNames(r.Definition)); got != "[sim_1_x sim_2_x sim_3_x]" || r.Definition.Jobs[0].Command != "./sim 1 <x>" {
		t.Error(got, r.Definition.Jobs[0].Command)
	}
	if empty, err := (&Document{Name: "w"}).JSON(); err != nil || !strings.Contains(string(empty), `"jobs": []`) {
		t.Errorf("%s, %v", empty, err)
	}
}

// TestTooMuchText: an expansion that takes too much memory is refused on the
// way, not when the memory is gone.
func TestTooMuchText(t *testing.T) {
	for name, text := range map[string]string{
		"commands":  "user_data: [{name: u, data: xxxxxxxxxx}]\njobs: [{name: 'j{i}', command: '${user_data.input.u} {i}', parameters: {i: '1:100'}}]",
		"data":      "user_data: [{name: 'u{i}', data: 'xxxxxxxxxx{i}', parameters: {i: '1:100'}}]\njobs: []",
		"names":     "jobs: [{name: 'jobjobjobjob{i}', command: x, parameters: {i: '1:100'}}]",
		"paths":     "files: [{name: 'f{i}', path: 'pathpathpath{i}', parameters: {i: '1:100'}}]\njobs: []",
		"relations": "jobs: [{name: 'a{i}', command: x, parameters: {i: '1:30'}}, {name: 'b{i}', command: x, parameters: {i: '1:30'}, depends_on_regexes: ['^a.{1,{i}}']}]",
	} {
		root, err := readYAML([]byte("name: w\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		r := newReport(source{"w.yaml", []byte(text)})
		b := newBuilder(r, (&decoder{r}).decode(root), Options{}.withDefaults())
		b.expansion.size = maxSize - 1000
		b.build()
		if err := b.err(); err == nil || !strings.Contains(err.Error(), "GiB of text") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

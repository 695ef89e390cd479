package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// waitGraph is the graph of what jobs wait for. Files, user data and lists that many jobs
// share are nodes too: a thousand jobs behind a thousand jobs are two thousand edges, not a
// million.
type waitGraph struct {
	*report
	parts     *parts
	jobs      []workflow.JobDefinition
	plans     []*jobPlan
	producers [2][][]int32 // of files, of user data
	firstUse  [2]int       // node of the first file, of the first user data record
	firstGate int          // node of the first shared list
	gates     [][]int32    // the shared lists, as nodes
	gateOf    []planGates  // by plan
	planOf    func(job int32) int
	scratch   []int32
}

// planGates are the shared lists of a plan: depends_on, input files, input user data. The
// number is a node; 0 means none, since node 0 is a job.
type planGates [3]int32

// maxCycles limits the reported cycles of a file.
const maxCycles = 10

// checkCycles reports cycles of explicit and implied dependencies; one of those that share
// a job.
func (g *waitGraph) checkCycles() {
	told := map[int]bool{}
	deps := func(i int) []int32 {
		if told[i] {
			return nil
		}
		return g.deps(i)
	}
	for range maxCycles {
		cycle := graph.FindCycle(g.firstGate+len(g.gates), deps)
		if cycle == nil {
			return
		}
		g.failCycle(cycle)
		for _, i := range cycle {
			told[i] = true
		}
	}
}

// failCycle reports a cycle.
func (g *waitGraph) failCycle(cycle []int) {
	at, names, text := g.describe(cycle)
	if names == 1 {
		g.fail(at, "remove this dependency; a regex may match more than intended", "the job waits for itself: %s", text)
		return
	}
	g.fail(at, "remove one of these dependencies", "the jobs wait for each other: %s", text)
}

// newWaitGraph returns the graph of the jobs of a definition.
func newWaitGraph(def *workflow.Definition, parts *parts, plans []*jobPlan) *waitGraph {
	g := &waitGraph{report: parts.report, parts: parts, jobs: def.Jobs, plans: plans}
	g.planOf = func(job int32) int {
		k, found := slices.BinarySearchFunc(plans, job, func(p *jobPlan, job int32) int { return int(p.first) - int(job) })
		if !found {
			k--
		}
		return k
	}
	g.producers[0] = g.makers(len(def.Files), func(j *workflow.JobDefinition) []int32 { return j.OutputFiles })
	g.producers[1] = g.makers(len(def.UserData), func(j *workflow.JobDefinition) []int32 { return j.OutputUserData })
	g.firstUse[0] = len(def.Jobs)
	g.firstUse[1] = g.firstUse[0] + len(def.Files)
	g.firstGate = g.firstUse[1] + len(def.UserData)
	g.addGates()
	return g
}

// makers returns the jobs that write each file or user data record.
func (g *waitGraph) makers(n int, outputs func(*workflow.JobDefinition) []int32) [][]int32 {
	makers := make([][]int32, n)
	for i := range g.jobs {
		for _, f := range outputs(&g.jobs[i]) {
			makers[f] = append(makers[f], int32(i))
		}
	}
	return makers
}

// addGates adds nodes for the lists that the instances of a plan share.
func (g *waitGraph) addGates() {
	g.gateOf = make([]planGates, len(g.plans))
	for k, p := range g.plans {
		for kind, s := range []*selection{p.dependsOn, p.uses[0], p.uses[2]} {
			if !s.constant || len(s.all) < 2 || p.sweep.count < 2 {
				continue
			}
			list := s.all
			if kind > 0 {
				list = make([]int32, len(s.all))
				for i, f := range s.all {
					list[i] = int32(g.firstUse[kind-1]) + f
				}
			}
			g.gateOf[k][kind] = int32(g.firstGate + len(g.gates))
			g.gates = append(g.gates, list)
		}
	}
}

// deps returns what a node waits for. The result is valid until the next call.
func (g *waitGraph) deps(i int) []int32 {
	switch {
	case i >= g.firstGate:
		return g.gates[i-g.firstGate]
	case i >= g.firstUse[1]:
		return g.producers[1][i-g.firstUse[1]]
	case i >= g.firstUse[0]:
		return g.producers[0][i-g.firstUse[0]]
	}
	j := &g.jobs[i]
	if len(j.DependsOn) == 0 && len(j.InputFiles) == 0 && len(j.InputUserData) == 0 {
		return nil
	}
	k := g.planOf(int32(i))
	p, gates := g.plans[k], g.gateOf[k]
	g.scratch = g.scratch[:0]
	if gates[0] != 0 {
		g.scratch = append(g.scratch, gates[0])
	} else {
		g.scratch = append(g.scratch, j.DependsOn...)
	}
	g.addUses(int32(i), 0, j.InputFiles, j.OutputFiles, p.uses[0].all, gates[1])
	g.addUses(int32(i), 1, j.InputUserData, j.OutputUserData, p.uses[2].all, gates[2])
	return g.scratch
}

// addUses adds what a job waits for because of files (0) or user data (1). A job that
// updates a file in place does not wait for itself.
func (g *waitGraph) addUses(job int32, kind int, inputs, outputs, shared []int32, gate int32) {
	updates := len(outputs) > 0 && slices.ContainsFunc(inputs, func(f int32) bool { return slices.Contains(g.producers[kind][f], job) })
	if gate != 0 && !updates && len(inputs) == len(shared) && &inputs[0] == &shared[0] {
		g.scratch = append(g.scratch, gate)
		return
	}
	for _, f := range inputs {
		if !updates || !slices.Contains(g.producers[kind][f], job) {
			g.scratch = append(g.scratch, int32(g.firstUse[kind])+f)
			continue
		}
		for _, maker := range g.producers[kind][f] {
			if maker != job {
				g.scratch = append(g.scratch, maker)
			}
		}
	}
}

// describe returns a cycle as text, with its number of jobs and the place of the first.
func (g *waitGraph) describe(cycle []int) (at *node, jobs int, text string) {
	const shown = 12
	first := slices.IndexFunc(cycle, func(i int) bool { return i < g.firstUse[0] })
	cycle = slices.Concat(cycle[first:], cycle[:first], cycle[first:first+1])
	var parts []string
	through := ""
	for _, i := range cycle {
		switch {
		case i >= g.firstGate:
		case i >= g.firstUse[1]:
			through = fmt.Sprintf(" (through the user data %s)", clip(g.parts.userData.names[i-g.firstUse[1]]))
		case i >= g.firstUse[0]:
			through = fmt.Sprintf(" (through the file %s)", clip(g.parts.files.names[i-g.firstUse[0]]))
		default:
			parts = append(parts, g.jobs[i].Name+through)
			through = ""
		}
	}
	jobs = len(parts) - 1
	if extra := len(parts) - shown; extra > 0 {
		parts = slices.Concat(parts[:shown-2], []string{fmt.Sprintf("%d more", extra+1)}, parts[len(parts)-1:])
	}
	origin := g.parts.jobs.origin(int32(cycle[0]))
	for _, key := range []string{"depends_on", "depends_on_regexes", "input_files", "input_file_regexes", "input_user_data", "input_user_data_regexes", "command"} {
		if n := origin.child(key); n != nil {
			origin = n
			break
		}
	}
	return origin, jobs, strings.Join(parts, " → ")
}

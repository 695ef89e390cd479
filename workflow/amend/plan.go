package amend

import (
	"maps"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// Reason is why a job runs, or runs again.
type Reason string

// The reasons, the ones that explain most first.
const (
	Kept        Reason = ""            // it does not run again
	New         Reason = "new"         // the workflow did not have it
	Returned    Reason = "returned"    // an earlier definition had dropped it
	Command     Reason = "command"     // its command or invocation script has changed
	Environment Reason = "environment" // its environment has changed
	Inputs      Reason = "inputs"      // what it reads or depends on has changed
	Outputs     Reason = "outputs"     // it is to write other files, or one is gone
	Failed      Reason = "failed"      // it did not succeed
	Behind      Reason = "behind"      // a job that it depends on runs
	Waiting     Reason = "waiting"     // it has not run yet
)

// Reasons returns all reasons for a job to run, in the order of a report.
func Reasons() []Reason {
	return []Reason{New, Returned, Command, Environment, Inputs, Outputs, Failed, Behind, Waiting}
}

// Change is what a new definition means for a job.
type Change struct {
	Earlier    int32 // the job of the workflow; -1: it has none of this name
	Reason     Reason
	Difference string   // what the reason is about; may be empty
	Settings   []string // that apply without running it, each with its difference
}

// Plan is what a new definition means for a workflow.
type Plan struct {
	Jobs    []Change // of each job of the definition
	Removed []int32  // jobs of the workflow that the definition does not have
	// Spawned are jobs of the workflow that its own jobs added. They stay, and run again
	// behind jobs that do.
	Spawned []Change
	Matched int // jobs of the definition that the workflow has
}

// Runs returns how many jobs run for each reason, and how many there are in all.
func (p *Plan) Runs() (byReason map[Reason]int, total int) {
	byReason = map[Reason]int{}
	for _, list := range [][]Change{p.Jobs, p.Spawned} {
		for i := range list {
			if r := list[i].Reason; r != Kept {
				byReason[r]++
				total++
			}
		}
	}
	return byReason, total
}

// Compare returns what a definition means for a workflow. It returns CodeInvalid for a name
// that several jobs, files or user data records of a side share.
func Compare(earlier, now *Side) (*Plan, error) {
	c := comparison{earlier: earlier, now: now, plan: &Plan{Jobs: make([]Change, len(now.Jobs))}}
	if err := c.match(); err != nil {
		return nil, err
	}
	for i := range now.Jobs {
		c.compare(i)
	}
	c.follow()
	return c.plan, nil
}

// comparison is the state of a Compare.
type comparison struct {
	earlier, now *Side
	plan         *Plan
	// What the jobs, files and user data records of the workflow are in the definition; -1:
	// it does not have them.
	jobs, files, userData []int32
	pathChanged           []bool   // of files of the definition
	fileChanged           []string // how files of the definition have changed; empty: they have not, or it is not known
	dataChanged           []bool   // of user data records of the definition
}

// match finds what has the same name on both sides.
func (c *comparison) match() (err error) {
	jobs, err := byName("job", len(c.now.Jobs), func(i int) string { return c.now.Jobs[i].Name })
	if err != nil {
		return err
	}
	files, err := byName("file", len(c.now.Files), func(i int) string { return c.now.Files[i].Name })
	if err != nil {
		return err
	}
	data, err := byName("user data record", len(c.now.UserData), func(i int) string { return c.now.UserData[i].Name })
	if err != nil {
		return err
	}
	for i := range c.plan.Jobs {
		c.plan.Jobs[i].Earlier = -1
	}
	c.jobs = make([]int32, len(c.earlier.Jobs))
	for e := range c.earlier.Jobs {
		old := &c.earlier.Jobs[e]
		i, found := jobs[old.Name]
		switch {
		case found && c.plan.Jobs[i].Earlier >= 0:
			return workflow.Errorf(workflow.CodeConflict, "the workflow has several jobs named %q, so that it is unclear which one the definition means", old.Name)
		case found:
			c.plan.Jobs[i].Earlier = int32(e)
			c.plan.Matched++
		case old.State.Spawned:
			i = int32(len(c.now.Jobs) + len(c.plan.Spawned))
			c.plan.Spawned = append(c.plan.Spawned, Change{Earlier: int32(e)})
		default:
			i = -1
			if !old.State.Removed {
				c.plan.Removed = append(c.plan.Removed, int32(e))
			}
		}
		c.jobs[e] = i
	}
	c.files, c.pathChanged, c.fileChanged = make([]int32, len(c.earlier.Files)), make([]bool, len(c.now.Files)), make([]string, len(c.now.Files))
	for e := range c.earlier.Files {
		f := &c.earlier.Files[e]
		i, found := files[f.Name]
		if !found {
			c.files[e] = -1
			continue
		}
		if c.files[e], c.pathChanged[i] = i, c.now.Files[i].Path != f.Path; c.now.Stated && !c.pathChanged[i] {
			c.fileChanged[i] = f.change(&c.now.Files[i])
		}
	}
	c.userData, c.dataChanged = make([]int32, len(c.earlier.UserData)), make([]bool, len(c.now.UserData))
	for e, u := range c.earlier.UserData {
		i, found := data[u.Name]
		if !found {
			c.userData[e] = -1
			continue
		}
		c.userData[e], c.dataChanged[i] = i, c.now.UserData[i].Data != u.Data
	}
	return nil
}

// byName returns the indexes of n things by their names, which must differ.
func byName(what string, n int, name func(i int) string) (map[string]int32, error) {
	all := make(map[string]int32, n)
	for i := range n {
		if _, known := all[name(i)]; known {
			return nil, workflow.Errorf(workflow.CodeInvalid, "duplicate %s name %q", what, name(i))
		}
		all[name(i)] = int32(i)
	}
	return all, nil
}

// compare decides about a job of the definition, without the jobs before it.
func (c *comparison) compare(i int) {
	change := &c.plan.Jobs[i]
	if change.Earlier < 0 {
		change.Reason = New
		return
	}
	old, now := &c.earlier.Jobs[change.Earlier], &c.now.Jobs[i]
	change.Settings = now.Settings.changes(&old.Settings)
	if old.State.Rests {
		return
	}
	change.Reason, change.Difference = c.reason(old, now)
}

// reason returns why a job has to run, without the jobs before it.
func (c *comparison) reason(old, now *Job) (Reason, string) {
	status := old.State.Status
	switch {
	case old.State.Removed:
		return Returned, ""
	case status == workflow.Disabled && !old.State.NotNeeded:
		return Kept, "" // a user does not need it
	case !status.IsComplete() && status != workflow.PendingFailed:
		return Waiting, ""
	}
	if reason, difference := c.changed(old, now); reason != Kept {
		return reason, difference
	}
	switch {
	case status == workflow.Completed || status == workflow.Disabled || old.State.Skipped:
		return Kept, ""
	default:
		return Failed, "it was " + status.String()
	}
}

// changed returns why a job that has run cannot stay as it is.
func (c *comparison) changed(old, now *Job) (Reason, string) {
	if old.Command != now.Command {
		return Command, difference(old.Command, now.Command)
	}
	if old.Script != now.Script {
		return Command, "invocation_script: " + difference(old.Script, now.Script)
	}
	if names := changedVariables(old.Env, now.Env); len(names) > 0 {
		first := names[0]
		text := first + ": " + difference(old.Env[first], now.Env[first])
		if len(names) > 1 {
			text += "; " + nameList(names[1:])
		}
		return Environment, text
	}
	if text := c.inputs(old, now); text != "" {
		return Inputs, text
	}
	if text := c.outputs(old, now); text != "" {
		return Outputs, text
	}
	return Kept, ""
}

// changedVariables returns the names of environment variables that differ.
func changedVariables(a, b map[string]string) (names []string) {
	if maps.Equal(a, b) {
		return nil
	}
	for name, value := range a {
		if other, set := b[name]; !set || other != value {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, set := a[name]; !set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// inputs returns how what a job reads and depends on has changed; empty if it has not.
func (c *comparison) inputs(old, now *Job) string {
	var texts []string
	for _, list := range []struct {
		what     string
		old, now []int32
		places   []int32
		oldName  func(int32) string
		name     func(int32) string
	}{
		{"reads ", old.InputFiles, now.InputFiles, c.files, c.earlierFile, c.file},
		{"reads user data ", old.InputUserData, now.InputUserData, c.userData, c.earlierUserData, c.record},
		{"depends on ", old.DependsOn, now.DependsOn, c.jobs, c.earlierJob, c.job},
	} {
		more, less := changedList(list.old, list.now, list.places)
		if len(more) > 0 {
			texts = append(texts, list.what+nameList(namesOf(more, list.name)))
		}
		if len(less) > 0 {
			texts = append(texts, "no longer "+list.what+nameList(namesOf(less, list.oldName)))
		}
	}
	for _, f := range now.InputFiles {
		if c.pathChanged[f] {
			texts = append(texts, "reads "+c.now.Files[f].Path)
			break
		}
	}
	for _, f := range now.InputFiles {
		if c.fileChanged[f] != "" {
			texts = append(texts, c.fileChanged[f])
			break
		}
	}
	for _, u := range now.InputUserData {
		if c.dataChanged[u] {
			texts = append(texts, "user data "+c.record(u)+" has changed")
			break
		}
	}
	return strings.Join(texts, "; ")
}

// outputs returns which other files a job is to write; empty if there are none.
func (c *comparison) outputs(old, now *Job) string {
	more, _ := changedList(old.OutputFiles, now.OutputFiles, c.files)
	for _, f := range now.OutputFiles {
		if c.pathChanged[f] && !slices.Contains(more, f) {
			more = append(more, f)
		}
	}
	if len(more) > 0 {
		return "writes " + nameList(namesOf(more, func(f int32) string { return c.now.Files[f].Path }))
	}
	if text := c.missing(old, now); text != "" {
		return text
	}
	if more, _ = changedList(old.OutputUserData, now.OutputUserData, c.userData); len(more) > 0 {
		return "writes user data " + nameList(namesOf(more, c.record))
	}
	return ""
}

// missing returns which outputs of a job that has completed are gone; empty if none are.
func (c *comparison) missing(old, now *Job) string {
	if !c.now.Stated || old.State.Status != workflow.Completed {
		return ""
	}
	var gone []string
	for _, f := range now.OutputFiles {
		if file := &c.now.Files[f]; file.ModTime == nil {
			gone = append(gone, file.Path)
		}
	}
	switch len(gone) {
	case 0:
		return ""
	case 1:
		return gone[0] + " is gone"
	}
	return nameList(gone) + " are gone"
}

func (c *comparison) job(i int32) string             { return c.now.Jobs[i].Name }
func (c *comparison) earlierJob(i int32) string      { return c.earlier.Jobs[i].Name }
func (c *comparison) file(i int32) string            { return c.now.Files[i].Path }
func (c *comparison) earlierFile(i int32) string     { return c.earlier.Files[i].Path }
func (c *comparison) record(i int32) string          { return c.now.UserData[i].Name }
func (c *comparison) earlierUserData(i int32) string { return c.earlier.UserData[i].Name }

func namesOf(list []int32, name func(int32) string) []string {
	names := make([]string, len(list))
	for k, i := range list {
		names[k] = name(i)
	}
	return names
}

// changedList returns what a list has more and less than the one before. Places says what
// the members of the earlier list are now.
func changedList(old, now, places []int32) (more, less []int32) {
	if sameList(old, now, places) {
		return nil, nil
	}
	is := make(map[int32]bool, len(old))
	for _, e := range old {
		is[places[e]] = true
	}
	for _, i := range now {
		if !is[i] {
			more = append(more, i)
		}
	}
	clear(is)
	for _, i := range now {
		is[i] = true
	}
	for _, e := range old {
		if !is[places[e]] {
			less = append(less, e)
		}
	}
	return more, less
}

// sameList reports whether two lists have the same members in the same order.
func sameList(old, now, places []int32) bool {
	if len(old) != len(now) {
		return false
	}
	for k, e := range old {
		if places[e] != now[k] {
			return false
		}
	}
	return true
}

// follow finds the jobs behind those that run.
func (c *comparison) follow() {
	n := len(c.now.Jobs)
	spawned := make([][]int32, len(c.plan.Spawned))
	for k := range c.plan.Spawned {
		change := &c.plan.Spawned[k]
		old := &c.earlier.Jobs[change.Earlier]
		if !old.State.Status.IsComplete() {
			change.Reason = Waiting
		} else if old.State.Status.IsUnsuccessful() && !old.State.Skipped {
			change.Reason, change.Difference = Failed, "it was "+old.State.Status.String()
		}
		for _, e := range old.DependsOn {
			if i := c.jobs[e]; i >= 0 {
				spawned[k] = append(spawned[k], i)
			}
		}
	}
	staged := c.stageDependencies()
	deps := func(i int) []int32 {
		switch {
		case i >= n:
			return spawned[i-n]
		case staged != nil:
			return staged[i]
		}
		return c.now.Jobs[i].DependsOn
	}
	at := func(i int32) *Change {
		if int(i) < n {
			return &c.plan.Jobs[i]
		}
		return &c.plan.Spawned[int(i)-n]
	}
	var first []int32
	for i := range int32(n + len(spawned)) {
		if at(i).Reason != Kept {
			first = append(first, i)
		}
	}
	var behind []int32
	for _, i := range graph.Dependents(n+len(spawned), deps, first) {
		if c.mayRun(at(i)) {
			at(i).Reason = Behind
			behind = append(behind, i)
		}
	}
	for _, i := range behind {
		for _, d := range deps(int(i)) {
			if at(d).Reason != Kept {
				at(i).Difference = "after " + c.name(d)
				break
			}
		}
	}
	for i := range int32(n + len(spawned)) { // skipped, but nothing before it runs
		change := at(i)
		if change.Reason == Kept && change.Earlier >= 0 && c.earlier.Jobs[change.Earlier].State.Skipped {
			change.Reason, change.Difference = Failed, "it was skipped"
		}
	}
}

// stageDependencies returns what the jobs of the definition depend on if those of its stages
// are included: a sub-workflow job depends on the jobs of its stage, and these depend on
// what it depends on. Nil: there are no sub-workflows.
func (c *comparison) stageDependencies() [][]int32 {
	standsFor := map[int32]int{} // the sub-workflow jobs by stage
	for i := range c.now.Jobs {
		if child := c.now.Jobs[i].Child; child > 0 {
			standsFor[child] = i
		}
	}
	if len(standsFor) == 0 {
		return nil
	}
	all := make([][]int32, len(c.now.Jobs))
	for i := range c.now.Jobs {
		all[i] = append(all[i], c.now.Jobs[i].DependsOn...)
		stage := c.now.Jobs[i].Stage
		for depth := 0; stage > 0 && depth < workflow.MaxStageDepth; depth++ {
			job, found := standsFor[stage]
			if !found {
				break
			}
			if depth == 0 {
				all[job] = append(all[job], int32(i))
			}
			all[i] = append(all[i], c.now.Jobs[job].DependsOn...)
			stage = c.now.Jobs[job].Stage
		}
	}
	return all
}

// mayRun reports whether a job that would not run by itself runs behind others.
func (c *comparison) mayRun(change *Change) bool {
	if change.Reason != Kept {
		return false
	}
	old := &c.earlier.Jobs[change.Earlier].State
	return !old.Rests && (old.Status != workflow.Disabled || old.NotNeeded)
}

// name returns the name of a job of the definition, or of a spawned one behind them.
func (c *comparison) name(i int32) string {
	if n := int32(len(c.now.Jobs)); i >= n {
		return c.earlier.Jobs[c.plan.Spawned[i-n].Earlier].Name
	}
	return c.now.Jobs[i].Name
}

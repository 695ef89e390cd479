package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/amend"
)

// amended is a workflow whose definition changes.
type amended struct {
	*staged
}

// newAmended creates a workflow and runs it to its end.
func newAmended(tb testing.TB, def *workflow.Definition, codes map[string]int64) *amended {
	tb.Helper()
	a := &amended{newStaged(tb, def)}
	a.play(codes)
	return a
}

// amend applies another definition, starts the run and plays it to its end. It returns what
// ran.
func (a *amended) amend(def *workflow.Definition, codes map[string]int64) (ran []string) {
	a.tb.Helper()
	if def.Name == "" {
		def.Name, def.User = "w", "me"
	}
	const attempts = `SELECT COUNT(*) FROM attempt a JOIN job j ON j.id = a.job_id AND j.child_id IS NULL`
	before := a.number(attempts)
	proposed, err := a.Workflows.ProposeAmend(a.ctx, a.workflow, def, AmendOptions{User: "me"})
	a.must(err)
	a.must(proposed.Obstacle)
	done, err := a.Workflows.Amend(a.ctx, a.workflow, def, AmendOptions{User: "me"})
	a.must(err)
	if diff := cmp.Diff(proposed.Plan, done.Plan); diff != "" {
		a.tb.Errorf("the plan (-proposed +done):\n%s", diff)
	}
	a.check()
	a.def, a.ids = def, nil
	for i := range def.Jobs {
		a.ids = append(a.ids, a.number(`SELECT id FROM job WHERE workflow_id = ? AND name = ?`, a.workflow, def.Jobs[i].Name))
	}
	if _, runs := done.Plan.Runs(); runs > 0 {
		_, err = a.Workflows.StartRun(a.ctx, a.workflow, "me")
		a.must(err)
	}
	a.node = a.hand(fmt.Sprint("n", done.Workflow.RunID), 100)
	a.node.runID = done.Workflow.RunID
	ran = a.play(codes)
	for i := range def.Jobs {
		if done.Plan.Jobs[i].Reason == amend.Kept && slices.Contains(ran, def.Jobs[i].Name) && def.Jobs[i].Stage == 0 {
			a.tb.Errorf("job %s ran, but the plan says that it does not", def.Jobs[i].Name)
		}
	}
	if n := a.number(attempts); n != before+int64(len(ran)) {
		a.tb.Errorf("%d attempts, %d before and %d new", n, before, len(ran))
	}
	return ran
}

// steps is a definition of three jobs, one after the other, and one beside them.
func steps() *workflow.Definition {
	d := withEnd()
	d.Stages, d.Jobs = nil, d.Jobs[:4]
	for i := range d.Jobs {
		d.Jobs[i].Command = "run " + d.Jobs[i].Name
	}
	return d
}

// TestAmend changes a definition, and checks which jobs run and how they end.
func TestAmend(t *testing.T) {
	const done, off = workflow.Completed, workflow.Disabled
	for _, c := range []struct {
		name   string
		codes  map[string]int64 // of the first run
		def    func() *workflow.Definition
		change func(*workflow.Definition)
		ran    []string
		want   []workflow.JobStatus // of all jobs, by id
	}{
		{name: "nothing", change: func(*workflow.Definition) {}, want: []workflow.JobStatus{done, done, done, done}},
		{name: "a command", change: func(d *workflow.Definition) { d.Jobs[1].Command = "run faster" },
			ran: []string{"step2", "step3"}, want: []workflow.JobStatus{done, done, done, done}},
		{name: "after a failure", codes: map[string]int64{"step2": 1}, change: func(*workflow.Definition) {},
			ran: []string{"step2", "step3"}, want: []workflow.JobStatus{done, done, done, done}},
		{name: "the environment of all", change: func(d *workflow.Definition) { d.Env = map[string]string{"A": "1"} },
			ran: []string{"step1", "beside", "step2", "step3"}, want: []workflow.JobStatus{done, done, done, done}},
		{name: "a new job in the middle", change: func(d *workflow.Definition) {
			d.Jobs = append(d.Jobs, job("between", inMain, 0))
			d.Jobs[2].DependsOn = []int32{1, 4}
		}, ran: []string{"between", "step3"}, want: []workflow.JobStatus{done, done, done, done, done}},
		{name: "one less in the middle", change: func(d *workflow.Definition) {
			d.Jobs = slices.Delete(d.Jobs, 1, 2)
			d.Jobs[1].DependsOn = []int32{0}
		}, ran: []string{"step3"}, want: []workflow.JobStatus{done, off, done, done}},
		{name: "only settings", change: func(d *workflow.Definition) {
			d.Requirements = []workflow.ResourceRequirements{{Name: "big", NumCPUs: 2, NumNodes: 1, Memory: "1g", Runtime: "PT1H"}}
			d.Jobs[0].Requirements, d.Jobs[1].Priority, d.Jobs[2].Labels = "big", 7, []string{"gpu"}
			d.FailureHandlers = []workflow.FailureHandlerDefinition{{Name: "again", Rules: []workflow.FailureRule{{ExitCodes: []int64{1}, MaxRetries: 2}}}}
			d.Jobs[3].FailureHandler = "again"
			d.Actions = []workflow.ActionDefinition{{TriggerType: action.TriggerJobsComplete, ActionType: action.RunCommands, Jobs: []int32{0}, Commands: []string{"true"}}}
			d.Policy = &workflow.RunPolicy{MaxFailures: new(int64(3))}
		}, want: []workflow.JobStatus{done, done, done, done}},
		{name: "within a sub-workflow", def: func() *workflow.Definition { return withChild(true) }, change: func(d *workflow.Definition) { d.Jobs[3].Command = "other" },
			ran: []string{"sub/b", "after", "end"}, want: []workflow.JobStatus{done, done, done, done, done, done}},
		{name: "before a sub-workflow", def: func() *workflow.Definition { return withChild(true) }, change: func(d *workflow.Definition) {
			d.Jobs[0].Command = "other"
			d.Jobs[1].DependsOn = []int32{0}
		}, ran: []string{"before", "sub/a", "sub/b", "after", "end"}, want: []workflow.JobStatus{done, done, done, done, done, done}},
	} {
		t.Run(c.name, func(t *testing.T) {
			def := steps
			if c.def != nil {
				def = c.def
			}
			a := newAmended(t, def(), c.codes)
			now := def()
			c.change(now)
			if diff := cmp.Diff(c.ran, a.amend(now, nil)); diff != "" {
				t.Errorf("what ran (-want +got):\n%s", diff)
			}
			a.want(c.want...)
			a.sound(check.Witness{})
			if again := a.amend(now, nil); len(again) > 0 {
				t.Errorf("the same definition once more ran %v", again)
			}
		})
	}
}

// A job that left the definition and comes back runs; meanwhile nothing depends on it.
func TestAmendBackAndForth(t *testing.T) {
	a := newAmended(t, steps(), nil)
	without := steps()
	without.Jobs = without.Jobs[:2]
	if ran := a.amend(without, nil); ran != nil {
		t.Errorf("ran %v", ran)
	}
	a.want(workflow.Completed, workflow.Completed, workflow.Disabled, workflow.Disabled)
	if diff := cmp.Diff([]string{"step3", "beside"}, a.amend(steps(), nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	a.sound(check.Witness{})
	if n := a.number(`SELECT COUNT(*) FROM job WHERE origin IS NOT NULL`); n != 0 {
		t.Errorf("%d jobs are still marked as removed", n)
	}
}

// Requirements that were corrected since stay as long as the specification says the same.
func TestAmendKeepsCorrections(t *testing.T) {
	def := func(memory string) *workflow.Definition {
		d := steps()
		d.Requirements = []workflow.ResourceRequirements{{Name: "q", NumCPUs: 1, NumNodes: 1, Memory: memory, Runtime: "PT1H"}}
		d.Jobs[0].Requirements = "q"
		return d
	}
	a := newAmended(t, def("1g"), nil)
	id := a.number(`SELECT id FROM resource_requirements WHERE workflow_id = ? AND name = 'q'`, a.workflow)
	corrected := "3g"
	_, err := a.Requirements.Update(a.ctx, id, RequirementsUpdate{WorkflowID: a.workflow, Memory: &corrected}, "me")
	a.must(err)
	for _, step := range []struct{ specified, want string }{{"1g", "3g"}, {"2g", "2g"}, {"2g", "2g"}} {
		if ran := a.amend(def(step.specified), nil); ran != nil {
			t.Errorf("%s: ran %v", step.specified, ran)
		}
		if q, err := a.Requirements.Get(a.ctx, id); err != nil || q.Memory != step.want {
			t.Errorf("%s: %+v, error %v, want %s", step.specified, q, err, step.want)
		}
	}
}

func TestAmendRejects(t *testing.T) {
	a := newAmended(t, steps(), nil)
	changed := func(change func(*workflow.Definition)) *workflow.Definition {
		d := steps()
		d.Name, d.User = "w", "me"
		change(d)
		return d
	}
	same := changed(func(*workflow.Definition) {})
	for _, c := range []struct {
		name string
		def  *workflow.Definition
		o    AmendOptions
		code workflow.Code
	}{
		{"another user", same, AmendOptions{User: "you"}, workflow.CodeConflict},
		{"another run", same, AmendOptions{User: "me", RunID: new(int64(7))}, workflow.CodeConflict},
		{"duplicate names", changed(func(d *workflow.Definition) { d.Jobs[3].Name = "step1" }), AmendOptions{User: "me"}, workflow.CodeInvalid},
		{"a cycle", changed(func(d *workflow.Definition) { d.Jobs[0].DependsOn = []int32{2} }), AmendOptions{User: "me"}, workflow.CodeInvalid},
		{"a dependency on nothing", changed(func(d *workflow.Definition) { d.Jobs[0].DependsOn = []int32{9} }), AmendOptions{User: "me"}, workflow.CodeInvalid},
		{"unknown requirements", changed(func(d *workflow.Definition) { d.Jobs[0].Requirements = "none" }), AmendOptions{User: "me"}, workflow.CodeInvalid},
		{"a file of nobody", changed(func(d *workflow.Definition) { d.Jobs[0].InputFiles = []int32{0} }), AmendOptions{User: "me"}, workflow.CodeInvalid},
		{"other stages", withChild(false), AmendOptions{}, workflow.CodeInvalid},
		{"only new jobs", changed(func(d *workflow.Definition) {
			for i := range d.Jobs {
				d.Jobs[i].Name += "_b"
			}
		}), AmendOptions{User: "me"}, workflow.CodeConflict},
	} {
		before := a.number(`SELECT event_seq FROM workflow WHERE id = ?`, a.workflow)
		_, err := a.Workflows.Amend(a.ctx, a.workflow, c.def, c.o)
		if workflow.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %v", c.name, err, c.code)
		}
		if after := a.number(`SELECT event_seq FROM workflow WHERE id = ?`, a.workflow); after != before {
			t.Errorf("%s: something has changed", c.name)
		}
	}
	a.sound(check.Witness{})
}

// While a job runs nothing changes; the plan can be seen.
func TestAmendWhileAJobRuns(t *testing.T) {
	s := newStaged(t, steps())
	answer := s.node.turn()
	now := steps()
	now.Name, now.User, now.Jobs[0].Command = "w", "me", "other"
	p, err := s.Workflows.ProposeAmend(s.ctx, s.workflow, now, AmendOptions{User: "me"})
	if s.must(err); workflow.CodeOf(p.Obstacle) != workflow.CodeConflict {
		t.Errorf("obstacle %v", p.Obstacle)
	}
	_, err = s.Workflows.Amend(s.ctx, s.workflow, now, AmendOptions{User: "me"})
	wantCode(t, err, workflow.CodeConflict)
	s.end(answer, nil)
	s.sound(check.Witness{})
}

// TestAmendRandomly: after any edit of any graph, what runs is what the plan says, all jobs
// are complete at the end, and the database is sound.
func TestAmendRandomly(t *testing.T) {
	a := &amended{newStaged(t, steps())}
	rapid.Check(t, func(t *rapid.T) {
		draw := func() *workflow.Definition {
			d := &workflow.Definition{Name: "w", User: "me"}
			for i := range rapid.IntRange(1, 7).Draw(t, "jobs") {
				j := workflow.JobDefinition{Name: fmt.Sprint("j", i), Command: fmt.Sprint("run ", rapid.IntRange(0, 1).Draw(t, "command"))}
				for k := range i {
					if rapid.IntRange(0, 3).Draw(t, "depends") == 0 {
						j.DependsOn = append(j.DependsOn, int32(k))
					}
				}
				j.RunIf = workflow.RunIf(rapid.IntRange(0, 2).Draw(t, "run if"))
				d.Jobs = append(d.Jobs, j)
			}
			return d
		}
		codes := map[string]int64{}
		for i := range 7 {
			if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
				codes[fmt.Sprint("j", i)] = 1
			}
		}
		a.load(draw())
		a.play(codes)
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			a.now = a.now.Add(time.Minute)
			a.amend(draw(), codes)
		}
		if n := a.number(`SELECT COUNT(*) FROM job WHERE workflow_id = ? AND status NOT BETWEEN {completed} AND {disabled}`, a.workflow); n != 0 {
			t.Errorf("%d jobs are not complete", n)
		}
	})
	a.sound(check.Witness{})
}

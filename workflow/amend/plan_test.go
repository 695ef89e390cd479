package amend

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// pipeline returns three completed jobs: make, which writes data; use, which reads data and
// the file in; and report, which depends on use.
func pipeline() *Side {
	done := State{Status: workflow.Completed}
	return &Side{
		Files:    []File{{Name: "in", Path: "in.csv", ModTime: new(1.0), Size: new(int64(10))}, {Name: "data", Path: "data.csv", ModTime: new(2.0)}},
		UserData: []UserData{{"options", `{"a":1}`}},
		Jobs: []Job{
			{Name: "make", Command: "make --steps 10 >data.csv", OutputFiles: []int32{1}, State: done},
			{Name: "use", Command: "use data.csv", DependsOn: []int32{0}, InputFiles: []int32{0, 1}, InputUserData: []int32{0}, State: done, Env: map[string]string{"A": "1"}},
			{Name: "report", Command: "report", DependsOn: []int32{1}, State: done},
		},
	}
}

// lines returns a plan as text: each job with its reason and difference, and settings.
func lines(earlier, now *Side, p *Plan) (all []string) {
	line := func(name string, c *Change) {
		text := name + " " + string(c.Reason)
		if c.Difference != "" {
			text += ": " + c.Difference
		}
		if len(c.Settings) > 0 {
			text += " [" + strings.Join(c.Settings, "; ") + "]"
		}
		if c.Reason != Kept || len(c.Settings) > 0 {
			all = append(all, text)
		}
	}
	for i := range p.Jobs {
		line(now.Jobs[i].Name, &p.Jobs[i])
	}
	for i := range p.Spawned {
		line(earlier.Jobs[p.Spawned[i].Earlier].Name, &p.Spawned[i])
	}
	for _, e := range p.Removed {
		all = append(all, "removed "+earlier.Jobs[e].Name)
	}
	return all
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(*Side) // changes the workflow
		now    func(*Side) // changes the definition
		want   []string
	}{
		{name: "nothing"},
		{name: "command of the first", now: func(s *Side) { s.Jobs[0].Command = "make --steps 20 >data.csv" },
			want: []string{"make command: --steps 10 → --steps 20", "use behind: after make", "report behind: after use"}},
		{name: "command of the last", now: func(s *Side) { s.Jobs[2].Command = "report -v" }, want: []string{"report command: report → report -v"}},
		{name: "white space", now: func(s *Side) { s.Jobs[2].Command = "report " }, want: []string{"report command: only white space differs"}},
		{name: "script", now: func(s *Side) { s.Jobs[2].Script = "nice" }, want: []string{"report command: invocation_script: – → nice"}},
		{name: "environment", now: func(s *Side) { s.Jobs[1].Env = map[string]string{"A": "2", "B": "1"} },
			want: []string{"use environment: A: 1 → 2; B", "report behind: after use"}},
		{name: "settings alone", now: func(s *Side) {
			s.Jobs[0].Settings = Settings{Priority: 5, Requirements: "small: memory=1g"}
		}, want: []string{"make  [resource_requirements: – → small: memory=1g; priority: 0 → 5]"}},
		{name: "a further input", now: func(s *Side) {
			s.Files = append(s.Files, File{Name: "more", Path: "more.csv"})
			s.Jobs[2].InputFiles = []int32{2}
		}, want: []string{"report inputs: reads more.csv"}},
		{name: "one input less", now: func(s *Side) { s.Jobs[1].InputFiles = []int32{1} },
			want: []string{"use inputs: no longer reads in.csv", "report behind: after use"}},
		{name: "the same files in another order", now: func(s *Side) {
			slices.Reverse(s.Files)
			s.Jobs[0].OutputFiles, s.Jobs[1].InputFiles = []int32{0}, []int32{0, 1}
		}},
		{name: "an input moved", now: func(s *Side) { s.Files[0].Path = "old/in.csv" },
			want: []string{"use inputs: reads old/in.csv", "report behind: after use"}},
		{name: "an output moved", now: func(s *Side) { s.Files[1].Path = "new.csv" },
			want: []string{"make outputs: writes new.csv", "use inputs: reads new.csv", "report behind: after use"}},
		{name: "files as they were", now: func(s *Side) { s.Stated = true }},
		{name: "an input modified", now: func(s *Side) { s.Stated, s.Files[0].ModTime = true, new(3.0) },
			want: []string{"use inputs: in.csv was modified", "report behind: after use"}},
		{name: "an input of another size", now: func(s *Side) { s.Stated, s.Files[0].Size = true, new(int64(12)) },
			want: []string{"use inputs: in.csv has changed from 10 to 12 bytes", "report behind: after use"}},
		{name: "an input modified, but nobody looked", now: func(s *Side) { s.Files[0].ModTime = nil }},
		{name: "an input without a recorded time", before: func(s *Side) { s.Files[0].ModTime = nil }, now: func(s *Side) { s.Stated = true }},
		{name: "an output gone", now: func(s *Side) { s.Stated, s.Files[1].ModTime = true, nil },
			want: []string{"make outputs: data.csv is gone", "use inputs: data.csv is gone", "report behind: after use"}},
		{name: "an output gone that no time was recorded of", before: func(s *Side) { s.Files[1].ModTime = nil }, now: func(s *Side) { s.Stated, s.Files[1].ModTime = true, nil },
			want: []string{"make outputs: data.csv is gone", "use behind: after make", "report behind: after use"}},
		{name: "an output of a job that was not needed", before: func(s *Side) {
			s.Jobs[0].State = State{Status: workflow.Disabled, NotNeeded: true}
			s.Files[1].ModTime = nil
		},
			now: func(s *Side) { s.Stated, s.Files[1].ModTime = true, nil }},
		{name: "an output changed by hand", now: func(s *Side) { s.Stated, s.Files[1].ModTime = true, new(5.0) },
			want: []string{"use inputs: data.csv was modified", "report behind: after use"}},
		{name: "user data", now: func(s *Side) { s.UserData[0].Data = `{"a":2}` },
			want: []string{"use inputs: user data options has changed", "report behind: after use"}},
		{name: "a dependency less", now: func(s *Side) { s.Jobs[2].DependsOn = nil }, want: []string{"report inputs: no longer depends on use"}},
		{name: "a new job in front", now: func(s *Side) {
			s.Jobs = append(s.Jobs, Job{Name: "prepare", Command: "prepare"})
			s.Jobs[0].DependsOn = []int32{3}
		}, want: []string{"make inputs: depends on prepare", "use behind: after make", "report behind: after use", "prepare new"}},
		{name: "a job less", now: func(s *Side) { s.Jobs = s.Jobs[:2] }, want: []string{"removed report"}},
		{name: "the first job less", now: func(s *Side) {
			s.Jobs = s.Jobs[1:]
			s.Jobs[0].DependsOn, s.Jobs[1].DependsOn = nil, []int32{0}
		}, want: []string{"use inputs: no longer depends on make", "report behind: after use", "removed make"}},
		{name: "renamed", now: func(s *Side) { s.Jobs[2].Name = "summary" }, want: []string{"summary new", "removed report"}},
		{name: "failed", before: func(s *Side) {
			s.Jobs[1].State.Status, s.Jobs[2].State = workflow.Failed, State{Status: workflow.Canceled, Skipped: true}
		},
			want: []string{"use failed: it was failed", "report behind: after use"}},
		{name: "held", before: func(s *Side) { s.Jobs[2].State.Status = workflow.PendingFailed }, want: []string{"report failed: it was pending_failed"}},
		{name: "skipped, and what it waited for has succeeded", before: func(s *Side) { s.Jobs[2].State = State{Status: workflow.Canceled, Skipped: true} },
			want: []string{"report failed: it was skipped"}},
		{name: "interrupted", before: func(s *Side) { s.Jobs[1].State.Status, s.Jobs[2].State.Status = workflow.Ready, workflow.Blocked },
			now:  func(s *Side) { s.Jobs[1].Command = "use -v" },
			want: []string{"use waiting", "report waiting"}},
		{name: "disabled by a user", before: func(s *Side) { s.Jobs[2].State.Status = workflow.Disabled },
			now: func(s *Side) { s.Jobs[0].Command, s.Jobs[2].Command = "make", "report -v" }, want: []string{"make command: make --steps 10 >data.csv → make", "use behind: after make"}},
		{name: "not needed, but what is before it runs", before: func(s *Side) { s.Jobs[2].State = State{Status: workflow.Disabled, NotNeeded: true} },
			now: func(s *Side) { s.Jobs[1].Command = "use -v" }, want: []string{"use command: use data.csv → use -v", "report behind: after use"}},
		{name: "dropped earlier", before: func(s *Side) { s.Jobs[2].State = State{Status: workflow.Disabled, Removed: true} }, want: []string{"report returned"}},
		{name: "dropped earlier and still", before: func(s *Side) { s.Jobs[2].State = State{Status: workflow.Disabled, Removed: true} },
			now: func(s *Side) { s.Jobs = s.Jobs[:2] }},
		{name: "an undo job", before: func(s *Side) { s.Jobs[2].State = State{Status: workflow.Disabled, Rests: true} },
			now: func(s *Side) { s.Jobs[1].Command, s.Jobs[2].Settings.Priority = "use -v", 1 }, want: []string{"use command: use data.csv → use -v", "report  [priority: 0 → 1]"}},
		{name: "a spawned job", before: func(s *Side) { s.Jobs[2].State.Spawned = true },
			now: func(s *Side) { s.Jobs = s.Jobs[:2]; s.Jobs[1].Command = "use -v" }, want: []string{"use command: use data.csv → use -v", "report behind: after use"}},
		{name: "a spawned job that failed", before: func(s *Side) { s.Jobs[2].State = State{Status: workflow.Failed, Spawned: true} },
			now: func(s *Side) { s.Jobs = s.Jobs[:2] }, want: []string{"report failed: it was failed"}},
		{name: "a spawned job that waits", before: func(s *Side) { s.Jobs[2].State = State{Status: workflow.Blocked, Spawned: true} },
			now: func(s *Side) { s.Jobs = s.Jobs[:2] }, want: []string{"report waiting"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			earlier, now := pipeline(), pipeline()
			if tt.before != nil {
				tt.before(earlier)
			}
			if tt.now != nil {
				tt.now(now)
			}
			p, err := Compare(earlier, now)
			if err != nil {
				t.Fatal(err)
			}
			got := lines(earlier, now, p)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			_, runs := p.Runs()
			if again := slices.DeleteFunc(got, func(l string) bool { return strings.HasPrefix(l, "removed") || strings.Contains(l, "  [") }); len(again) != runs {
				t.Errorf("%d jobs run, want %d", runs, len(again))
			}
		})
	}
}

func TestCompareRejectsDuplicates(t *testing.T) {
	for name, change := range map[string]func(earlier, now *Side){
		`duplicate job name "use"`:          func(_, now *Side) { now.Jobs[2].Name = "use" },
		`duplicate file name "in"`:          func(_, now *Side) { now.Files[1].Name = "in" },
		`several jobs named "use"`:          func(earlier, _ *Side) { earlier.Jobs[2].Name = "use" },
		`duplicate user data record name "`: func(_, now *Side) { now.UserData = append(now.UserData, now.UserData[0]) },
	} {
		earlier, now := pipeline(), pipeline()
		change(earlier, now)
		if _, err := Compare(earlier, now); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

func TestMatched(t *testing.T) {
	earlier, now := pipeline(), pipeline()
	for i := range now.Jobs {
		now.Jobs[i].Name += "_2"
	}
	p, err := Compare(earlier, now)
	if err != nil || p.Matched != 0 || len(p.Removed) != 3 {
		t.Errorf("%+v, error %v", p, err)
	}
}

func TestDifference(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, tt := range []struct{ before, now, want string }{
		{"sim --seed 1 --out a", "sim --seed 2 --out a", "--seed 1 → --seed 2"},
		{"a", "b", "a → b"},
		{"a", "a b", "a → a b"},
		{"a b", "a", "a b → a"},
		{"", "b", "– → b"},
		{"x: cpus=1 memory=1g", "x: cpus=1 memory=2g", "memory=1g → memory=2g"},
		{long, "y", strings.Repeat("x", 59) + "… → y"},
		{"a  b", "a b", "only white space differs"},
	} {
		if got := difference(tt.before, tt.now); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.before, tt.now, got, tt.want)
		}
	}
}

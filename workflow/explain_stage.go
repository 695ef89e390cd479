package workflow

import "fmt"

// stageState says where a job stands that waits for its stage, or stands for one;
// empty for others.
func (f JobFacts) stageState() string {
	switch {
	case f.Child != nil && f.Job.Status == Running:
		return "running, " + f.Child.progress()
	case f.Stage == nil || f.Job.Status != Blocked || f.Stage.State != StageNotStarted:
		return ""
	case len(f.Stage.WaitsFor) > 0:
		return "blocked, the end job " + f.Stage.waits()
	case f.Stage.Kind == StageEnd && f.Stage.ParentID == nil:
		return "blocked, the end job runs when all others are complete"
	case f.Stage.Kind == StageEnd:
		return "blocked, the end job of a sub-workflow runs when its other jobs are complete"
	}
	return fmt.Sprintf("blocked, job %q whose sub-workflow it is in has not begun", f.Stage.Name)
}

// stageLines say what a job has to do with stages.
func (f JobFacts) stageLines() []string {
	var lines []string
	if c := f.Child; c != nil {
		line := fmt.Sprintf("it stands for the sub-workflow %s, which is %s", c.Policy.Source, c.State)
		lines = append(lines, line, c.progress())
		if c.Verdict != nil {
			line := "its verdict: " + c.Verdict.Text()
			if n := c.Verdict.DeletedJobs; n > 0 {
				line += fmt.Sprintf("; %s since", CountOf(n, "job of it was deleted", "jobs of it were deleted"))
			}
			lines = append(lines, line)
		}
	}
	if s := f.Stage; s != nil {
		lines = append(lines, fmt.Sprintf("it is in the stage %q (%s), which is %s: %s", s.Name, s.Kind, s.State, s.progress()))
	}
	if f.Class.Login {
		lines = append(lines, "it runs on the daemon's host "+f.Login.Host)
	}
	return lines
}

// waits says for what an end job waits whose turn it is.
func (s *Stage) waits() string {
	return "waits until the processes of the run, which was given up, have ended: to be said by the runners on " +
		firstFew(s.WaitsFor, int64(len(s.WaitsFor)))
}

// progress says how many jobs of a stage are done.
func (s *Stage) progress() string {
	if len(s.WaitsFor) > 0 {
		return s.waits()
	}
	c := Counts{ByStatus: s.Counts}
	text := fmt.Sprintf("%d of %s done", c.Total()-c.Open(), CountOf(c.Total(), "job", "jobs"))
	if n := s.Counts.unsuccessful(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	return text
}

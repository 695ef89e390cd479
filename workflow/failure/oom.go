package failure

import (
	"cmp"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// hiddenOOM explains the end of an attempt that exited with 0 although the kernel killed one
// of its processes, in a cgroup with other jobs.
func (x *examination) hiddenOOM() (workflow.Cause, bool) {
	s := x.OOMShare
	if s == nil || s.Kills <= 0 && !counts(s) {
		return workflow.Cause{}, false
	}
	return workflow.Cause{Kind: workflow.CauseOOMPartial, Confidence: confidence(s), Status: workflow.Failed,
		ReturnCode: x.codes.OOMCode(), Text: x.oomText("exit code 0")}, true
}

// counts reports whether doubtful kills count as kills of the attempt.
func counts(s *workflow.OOMShare) bool {
	switch {
	case s.Doubtful <= 0 || s.Policy == workflow.OOMIgnore:
		return false
	case s.Policy == workflow.OOMFailAll:
		return true
	}
	return s.Likely
}

// confidence returns how certain it is that the kills hit the attempt.
func confidence(s *workflow.OOMShare) workflow.Confidence {
	switch {
	case s.Kills > 0 && s.Seen:
		return workflow.Certain
	case s.Kills > 0 || s.Likely:
		return workflow.Likely
	}
	return workflow.Guess
}

// killsText returns a text such as "1 cgroup kill of python3 (pid 4711)", or which jobs the
// kills may have hit.
func (x *examination) killsText() string {
	s := x.OOMShare
	if s == nil || x.OOMKills <= 0 {
		return countKills(x.OOMKills)
	}
	var own, doubt string
	if s.Kills > 0 {
		if own = countKills(s.Kills); s.Process != "" {
			own += " of " + s.Process
		}
	}
	if s.Doubtful > 0 {
		doubt = countKills(s.Doubtful) + " of it or of " + others(s)
	}
	if own+doubt == "" {
		return countKills(x.OOMKills)
	}
	return workflow.JoinText(own, doubt)
}

func countKills(n int64) string {
	if n <= 0 {
		return ""
	}
	return workflow.CountOf(n, "cgroup kill", "cgroup kills")
}

// others returns the names of the other jobs.
func others(s *workflow.OOMShare) string {
	if len(s.Others) == 0 {
		return "a process that belongs to no job"
	}
	text := workflow.JoinText(s.Others...)
	if more := s.OtherCount - len(s.Others); more > 0 {
		text = workflow.JoinText(text, fmt.Sprintf("%d more", more))
	}
	return text
}

// doubtText returns the text about doubtful kills; "" if there are none.
func (x *examination) doubtText() string {
	if s := x.OOMShare; s != nil && s.Doubtful > 0 {
		return x.meanwhileText()
	}
	return ""
}

// meanwhileText returns the text about kills that did not change the outcome of an attempt.
func (x *examination) meanwhileText() string {
	if x.OOMKills <= 0 {
		return ""
	}
	whose := "of it or of another job"
	if s := x.OOMShare; s != nil {
		switch {
		case s.Doubtful > 0:
			whose = "of it or of " + others(s)
		case len(s.Others) > 0:
			whose = "of " + others(s)
		}
	}
	text := fmt.Sprintf("despite %s meanwhile, %s", workflow.CountOf(x.OOMKills, "cgroup OOM kill", "cgroup OOM kills"), whose)
	if s := x.OOMShare; s != nil && s.Doubtful > 0 {
		text += fmt.Sprintf(" (oom_partial: %s)", cmp.Or(s.Policy, workflow.OOMFailLikely))
	}
	return text
}

package workflow

import (
	"cmp"
	"fmt"
)

// OOMShare says whose the kills are that the kernel made for lack of memory while an
// attempt ran, since other jobs lived in the same cgroup. Those that are not accounted
// for here are of others.
type OOMShare struct {
	// Kills are those of the attempt's processes. Seen says that they were seen to end
	// by SIGKILL at that time; otherwise no other job's ended then.
	Kills   int64  `json:"kills,omitempty"`
	Seen    bool   `json:"seen,omitempty"`
	Process string `json:"process,omitempty"` // the largest of them: name and pid
	// Doubtful are kills of the attempt's processes or of the others'. Likely says that
	// its process was the largest of those in question.
	Doubtful int64 `json:"doubtful,omitempty"`
	Likely   bool  `json:"likely,omitempty"`
	// Others are the jobs whose the other kills are or may be: at most 10 names.
	Others     []string `json:"others,omitempty"`
	OtherCount int      `json:"other_count,omitempty"`
	// Policy is what the job's policies say about doubtful kills; empty for
	// OOMFailLikely. The daemon fills it in.
	Policy OOMPartial `json:"policy,omitempty"`
}

// OOMPartial says what becomes of attempts that exited with 0 if the kernel killed a
// process of one of them, and it is in doubt of which.
type OOMPartial string

// What may become of them.
const (
	OOMFailLikely OOMPartial = "fail_likely" // the one with the largest process has failed
	OOMIgnore     OOMPartial = "ignore"      // all are completed
	OOMFailAll    OOMPartial = "fail_all"    // all have failed
)

// OOMPartial is what the policies say about attempts that are in doubt: the first that
// says something decides.
func (p *Policies) OOMPartial() OOMPartial {
	for _, policy := range append(pointers(p.Site), p.policies()...) {
		if policy.OOMPartial != "" {
			return policy.OOMPartial
		}
	}
	return OOMFailLikely
}

// hiddenOOM is an attempt that exited with 0 although the kernel killed a process of
// it, beside other jobs that lived in the same cgroup.
func (x *examination) hiddenOOM() (Cause, bool) {
	s := x.OOMShare
	if s == nil || s.Kills <= 0 && !s.counts() {
		return Cause{}, false
	}
	return Cause{Kind: CauseOOMPartial, Confidence: s.confidence(), Status: Failed,
		ReturnCode: x.codes.oom(), Text: x.oomText("exit code 0")}, true
}

// counts reports whether doubtful kills are taken for the attempt's.
func (s *OOMShare) counts() bool {
	switch {
	case s.Doubtful <= 0 || s.Policy == OOMIgnore:
		return false
	case s.Policy == OOMFailAll:
		return true
	}
	return s.Likely
}

// confidence is how sure it is that the kills are the attempt's.
func (s *OOMShare) confidence() Confidence {
	switch {
	case s.Kills > 0 && s.Seen:
		return Certain
	case s.Kills > 0 || s.Likely:
		return Likely
	}
	return Guess
}

// killsText is "1 cgroup kill of python3 (pid 4711)", or whose they may be.
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
		doubt = countKills(s.Doubtful) + " of it or of " + s.others()
	}
	if own+doubt == "" {
		return countKills(x.OOMKills)
	}
	return join(own, doubt)
}

func countKills(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%d cgroup %s", n, plural(n, "kill", "kills"))
}

// others names the other jobs.
func (s *OOMShare) others() string {
	if len(s.Others) == 0 {
		return "a process that is no job's"
	}
	text := join(s.Others...)
	if more := s.OtherCount - len(s.Others); more > 0 {
		text = join(text, fmt.Sprintf("%d more", more))
	}
	return text
}

// doubtText names the others in question, where nothing else speaks of them.
func (x *examination) doubtText() string {
	if s := x.OOMShare; s != nil && s.Doubtful > 0 {
		return x.meanwhileText()
	}
	return ""
}

// meanwhileText mentions kills that did not change the verdict of an attempt.
func (x *examination) meanwhileText() string {
	if x.OOMKills <= 0 {
		return ""
	}
	whose := "of it or of a neighbour"
	if s := x.OOMShare; s != nil {
		switch {
		case s.Doubtful > 0:
			whose = "of it or of " + s.others()
		case len(s.Others) > 0:
			whose = "of " + s.others()
		}
	}
	text := fmt.Sprintf("though %d cgroup OOM %s meanwhile, %s", x.OOMKills, plural(x.OOMKills, "kill", "kills"), whose)
	if s := x.OOMShare; s != nil && s.Doubtful > 0 {
		text += fmt.Sprintf(" (oom_partial: %s)", cmp.Or(s.Policy, OOMFailLikely))
	}
	return text
}

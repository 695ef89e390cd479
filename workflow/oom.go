package workflow

// OOMShare says which of the kernel's OOM kills during an attempt hit this attempt, when
// other jobs were in the same cgroup. Kills that it does not count hit other jobs.
type OOMShare struct {
	// Kills is the number of kills that hit processes of the attempt. Seen says that these
	// were observed to end by SIGKILL at that time; otherwise it is inferred, because no
	// process of another job ended then.
	Kills   int64  `json:"kills,omitempty"`
	Seen    bool   `json:"seen,omitempty"`
	Process string `json:"process,omitempty"` // the largest of them: name and pid
	// Doubtful is the number of kills that hit either the attempt or another job. Likely
	// says that, of the processes in question, the largest was one of this attempt.
	Doubtful int64 `json:"doubtful,omitempty"`
	Likely   bool  `json:"likely,omitempty"`
	// Others are the jobs that the other kills hit or may have hit: at most 10 names.
	Others     []string `json:"others,omitempty"`
	OtherCount int      `json:"other_count,omitempty"`
	// Policy is what the job's policies say about doubtful kills; empty means
	// OOMFailLikely. The daemon sets it.
	Policy OOMPartial `json:"policy,omitempty"`
}

// OOMPartial says what happens to attempts that exited with 0 if the kernel killed a
// process of one of them, and it is uncertain of which.
type OOMPartial string

// The values of OOMPartial.
const (
	OOMFailLikely OOMPartial = "fail_likely" // the attempt with the largest process has failed
	OOMIgnore     OOMPartial = "ignore"      // all have completed
	OOMFailAll    OOMPartial = "fail_all"    // all have failed
)

package workflow

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

package holds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// review is a walk through groups of held jobs, from one decision to the next. It neither
// reads keys nor calls the server.
type review struct {
	groups  []hold.HoldGroup
	at      int
	verdict hold.HoldVerdict // about the group at hand
	asking  bool             // whether to carry it out
	retried int              // jobs, so far
	failed  int
	skipped int // groups
}

// reviewStep is what has to be done next.
type reviewStep string

const (
	stepChoose    reviewStep = "choose" // show the group, and read a key
	stepKey       reviewStep = "key"    // read another key
	stepLog       reviewStep = "log"
	stepResources reviewStep = "resources" // read a line
	stepReason    reviewStep = "reason"    // read a line
	stepApply     reviewStep = "apply"
	stepEnd       reviewStep = "end"
)

func newReview(groups []hold.HoldGroup) *review { return &review{groups: groups} }

// start returns the first step.
func (r *review) start() reviewStep {
	if r.at >= len(r.groups) {
		return stepEnd
	}
	r.verdict, r.asking = hold.HoldVerdict{Fingerprint: r.groups[r.at].Fingerprint}, false
	return stepChoose
}

// press returns the step that follows a key.
func (r *review) press(key rune) reviewStep {
	if r.asking {
		r.asking = false
		if key == 'y' {
			return stepApply
		}
		return r.start()
	}
	switch key {
	case 'r', 'm':
		r.verdict.Action = workflow.ActionRetry
		if key == 'm' {
			return stepResources
		}
		return stepReason
	case 'f':
		r.verdict.Action = workflow.ActionFail
		return stepReason
	case 'l':
		return stepLog
	case 's':
		r.skipped++
		return r.next()
	case 'q':
		return stepEnd
	}
	return stepKey
}

// next goes on with the next group.
func (r *review) next() reviewStep {
	r.at++
	return r.start()
}

// setResources takes what the retries get: "16g", or "memory=16g runtime=2h cpus=4".
func (r *review) setResources(line string) error {
	v := &r.verdict
	for _, word := range strings.Fields(line) {
		key, value, found := strings.Cut(word, "=")
		if !found {
			key, value = "memory", word
		}
		switch key {
		case "memory":
			v.Memory = value
		case "runtime":
			v.Runtime = value
		case "cpus", "num_cpus":
			if _, err := fmt.Sscanf(value, "%d", &v.NumCPUs); err != nil {
				return workflow.Errorf(workflow.CodeInvalid, "cpus %q is not a number", value)
			}
		default:
			return workflow.Errorf(workflow.CodeInvalid, "unknown resource %q", key).WithHint("use memory, runtime and cpus, as in memory=16g runtime=2h cpus=4")
		}
	}
	if v.Memory == "" && v.Runtime == "" && v.NumCPUs == 0 {
		return workflow.Errorf(workflow.CodeInvalid, "nothing was given")
	}
	check := *v
	check.Reason = "x"
	_, err := check.Classification()
	return err
}

// usualReason is the reason of those who give none.
const usualReason = "decided in a review"

func (r *review) setReason(line string) {
	if r.verdict.Reason = line; line == "" {
		r.verdict.Reason = usualReason
	}
}

// foresee takes what the verdict would do, and reports whether that is anything; then the
// next key is the answer to whether to do it.
func (r *review) foresee(o *hold.VerdictOutcome) bool {
	r.asking = slices.ContainsFunc(o.Jobs, func(j hold.HoldOutcome) bool { return j.Resolved })
	return r.asking
}

// applied takes what the verdict has done, and goes on.
func (r *review) applied(o *hold.VerdictOutcome) reviewStep {
	for _, j := range o.Jobs {
		switch {
		case !j.Resolved:
		case r.verdict.Action == workflow.ActionRetry:
			r.retried++
		default:
			r.failed++
		}
	}
	return r.next()
}

// summary returns what was decided.
func (r *review) summary() string {
	return fmt.Sprintf("%s: %s, %s; %s left undecided", workflow.CountOf(int64(len(r.groups)), "group", "groups"),
		workflow.CountOf(int64(r.retried), "job gets another attempt", "jobs get another attempt"), workflow.CountOf(int64(r.failed), "job has failed", "jobs have failed"),
		workflow.CountOf(int64(r.skipped+len(r.groups)-r.at), "group", "groups"))
}

// mostEffects limits the lines about what a verdict does.
const mostEffects = 8

// effects returns what a verdict does to jobs, one line for those to which it does the same.
func effects(o *hold.VerdictOutcome) (lines []string) {
	if o.Error != "" {
		return []string{outcomeOf(hold.HoldOutcome{Error: o.Error, Hint: o.Hint})}
	}
	counts, example := map[string]int64{}, map[string]string{}
	var order []string
	for _, j := range o.Jobs {
		text := outcomeOf(j)
		if counts[text]++; counts[text] == 1 {
			order, example[text] = append(order, text), j.JobName
		}
	}
	for i, text := range order {
		if i == mostEffects {
			return append(lines, fmt.Sprintf("and %d more outcomes", len(order)-i))
		}
		of := ""
		if counts[text] > 1 {
			of = " and others"
		}
		lines = append(lines, fmt.Sprintf("%s (%s%s): %s", workflow.CountOf(counts[text], "job", "jobs"), cli.Printable(example[text]), of, cli.Printable(text)))
	}
	return lines
}

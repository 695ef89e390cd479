package hold

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// SuggestedName is the name of a suggested policy.
const SuggestedName = "from-verdicts"

// SuggestedRule is a rule that was decided for failures that are alike, or why there is none.
type SuggestedRule struct {
	AlikeFailure
	Experience Experience `json:"experience"`
	// Because is what the rule follows from, such as "6 of 6 retries succeeded: exit code 1:
	// NCCL timeout after <n> seconds".
	Because string              `json:"because"`
	Rule    *workflow.RetryRule `json:"rule,omitempty"` // nil: left to a person
}

// SuggestedPolicy is a retry policy that decides as was decided before.
type SuggestedPolicy struct {
	Policy *workflow.RetryPolicy `json:"policy,omitempty"` // nil without a rule
	Rules  []SuggestedRule       `json:"rules"`            // those with most jobs first
}

// mostSuggested limits the rules of a suggested policy.
const mostSuggested = 100

// Suggest returns a retry policy that decides as verdicts about at least minJobs alike
// failures did. Failures are retried if at least four fifths of the retries succeeded, and
// not retried if at most one fifth did, or if they were always given up. Others are left to
// a person.
func Suggest(verdicts []EarlierVerdict, minJobs int64) SuggestedPolicy {
	byPrint := map[string]*SuggestedRule{}
	var all []*SuggestedRule
	more := map[string]map[string]int64{} // jobs by what their retries got
	attempts := map[string]int64{}
	for i := range verdicts {
		v := &verdicts[i]
		if v.State != Decided || v.Author == AuthorDeadline && v.Action == workflow.ActionFail { // nobody has decided that
			continue
		}
		r := byPrint[v.Fingerprint]
		if r == nil {
			r = &SuggestedRule{AlikeFailure: v.AlikeFailure}
			byPrint[v.Fingerprint], all = r, append(all, r)
			more[v.Fingerprint] = map[string]int64{}
		}
		r.Experience.Add(v)
		attempts[v.Fingerprint] = max(attempts[v.Fingerprint], v.MostAttempts)
		if with := v.With(); with != "" && v.Action == workflow.ActionRetry {
			more[v.Fingerprint][with] += v.Succeeded
		}
	}
	slices.SortStableFunc(all, func(a, b *SuggestedRule) int {
		return cmp.Or(cmp.Compare(b.Experience.Retried+b.Experience.LetFail, a.Experience.Retried+a.Experience.LetFail), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	out := SuggestedPolicy{Rules: []SuggestedRule{}}
	p := &workflow.RetryPolicy{Name: SuggestedName, Description: "Decides as people and agents decided about such failures before."}
	for _, r := range all[:min(len(all), mostSuggested)] {
		r.decide(minJobs, attempts[r.Fingerprint], more[r.Fingerprint])
		if r.Rule != nil {
			p.Rules = append(p.Rules, *r.Rule)
		}
		out.Rules = append(out.Rules, *r)
	}
	if len(p.Rules) > 0 {
		out.Policy = p
	}
	return out
}

// decide completes a rule.
func (r *SuggestedRule) decide(minJobs, attempts int64, more map[string]int64) {
	e := &r.Experience
	r.Because = e.Text() + ": " + r.Text()
	known := e.Succeeded + e.Failed
	rule := &workflow.RetryRule{ID: r.ruleID()}
	switch {
	case known+e.LetFail < minJobs:
		r.Because += fmt.Sprintf(" (no rule: fewer than %d jobs with a known outcome)", minJobs)
		return
	case known > 0 && e.Succeeded*5 >= known*4 && e.LetFail <= known/4:
		limit := max(attempts, 1)
		rule.Action, rule.Limit = workflow.ActionRetry, &limit
	case e.Succeeded*5 <= known:
		rule.Action = workflow.ActionFail
	default:
		r.Because += " (no rule: such failures end in different ways)"
		return
	}
	grown := int64(0)
	for _, succeeded := range more {
		grown += succeeded
	}
	if rule.Action == workflow.ActionRetry && grown*2 > known { // a rule cannot name an amount that fits all jobs
		r.Because += " (no rule: most of the retries got other requirements: " + strings.Join(sortedKeys(more), "; ") + ")"
		return
	}
	var ok bool
	if rule.When, ok = r.match(); !ok {
		r.Because += " (no rule: nothing tells such failures from others)"
		return
	}
	r.Rule = rule
}

func sortedKeys(m map[string]int64) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ruleID returns an id for the rule that is readable and unique.
func (r *SuggestedRule) ruleID() string {
	word := string(r.Cause)
	if r.Category != "" {
		word = r.Category
	}
	id := word + "-" + r.Fingerprint
	return id[max(0, len(id)-63):]
}

// match returns which failures are like this one; false if that would be too many.
func (f *AlikeFailure) match() (m workflow.RuleMatch, ok bool) {
	m.Cause = []workflow.CauseKind{f.Cause}
	if f.Cause == workflow.CauseExit && f.ReturnCode != 0 {
		m.ExitCode = &workflow.ExitCodeMatch{In: []int64{f.ReturnCode}}
	}
	if f.Category != "" {
		m.Category = []string{f.Category}
	}
	if line := f.tellingLine(); line != "" {
		m.Stderr = linePattern(line)
	}
	return m, m.Stderr != "" || f.Category != "" || f.Cause != workflow.CauseExit || f.ReturnCode > 2
}

// telling matches words of lines that say what is wrong.
var telling = regexp.MustCompile(`(?i)error|exception|fail|fault|timed? ?out|refused|unreachable|denied|unavailable|no such|not found|no space|killed|abort|invalid|reset by peer`)

// tellingLine returns the line that says most about the failure; "" if there is none with
// enough letters.
func (f *AlikeFailure) tellingLine() (best string) {
	for _, line := range f.Lines {
		letters := strings.IndexFunc(placeholder.ReplaceAllString(line, ""), isLetter) >= 0
		if letters && (best == "" || telling.MatchString(line) || !telling.MatchString(best)) {
			best = line
		}
	}
	return best
}

func isLetter(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > 127 }

// placeholder matches what normalizeLine puts in the place of what differs.
var placeholder = regexp.MustCompile(`<(?:time|path|hex|n)>`)

// cutPlaceholder matches a placeholder that was cut off.
var cutPlaceholder = regexp.MustCompile(`<[a-z]{0,4}$`)

// linePattern returns a regular expression for the lines that normalizeLine makes equal to
// this one.
func linePattern(line string) string {
	if whole, cut := strings.CutSuffix(line, "…"); cut {
		line = strings.TrimRight(cutPlaceholder.ReplaceAllString(whole, ""), " ")
	}
	var b strings.Builder
	text := func(s string) {
		for i, word := range strings.Split(s, " ") {
			if i > 0 {
				b.WriteString(`\s+`)
			}
			b.WriteString(regexp.QuoteMeta(word))
		}
	}
	last := 0
	for _, at := range placeholder.FindAllStringIndex(line, -1) {
		text(line[last:at[0]])
		if line[at[0]:at[1]] == "<time>" {
			b.WriteString(`.+`)
		} else {
			b.WriteString(`\S+`)
		}
		last = at[1]
	}
	text(line[last:])
	return b.String()
}

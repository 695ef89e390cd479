package scheduler

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// choicesShown is how many choices a decision names.
const choicesShown = 6

// record adds the choices to the decision: the best first, then others that differ from it.
func (c *chooser) record(options []*option, best, none *option) {
	for _, x := range options {
		x.Choice.Text, x.Choice.Count = "no further allocation", 0
		if x.packing != nil {
			x.Choice.Text, x.Choice.Count = x.packing.inWords(&c.set), len(x.packing.drafts)
		}
	}
	others := slices.Clone(options)
	slices.SortStableFunc(others, func(a, b *option) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.late(), b.late()), cmp.Compare(a.held, b.held))
	})
	shown := []string{best.Text}
	best.Chosen, best.Choice.Reason = true, reasonFor(best, none, c.must)
	c.decision.Choices = append(c.decision.Choices, best.Choice)
	for _, x := range others {
		if len(shown) == choicesShown {
			break
		}
		if slices.Contains(shown, x.Text) || x == none && c.must && len(none.slots) == 0 {
			continue
		}
		shown = append(shown, x.Text)
		x.Choice.Reason = reasonAgainst(x, best)
		c.decision.Choices = append(c.decision.Choices, x.Choice)
	}
}

func reasonFor(best, none *option, must bool) string {
	switch {
	case best == none && best.left > 0:
		return "nothing else would take more jobs"
	case best == none:
		return "nothing else would end the jobs much sooner"
	case len(best.replaces) > 0:
		return fmt.Sprintf("instead of %s that would end the jobs in %s", workflow.CountOf(int64(len(best.replaces)), "pending allocation", "pending allocations"), about(none.Completion))
	case !must:
		return fmt.Sprintf("the present allocations would end the jobs in %s", about(none.Completion))
	}
	return "it uses least of those that end the jobs soonest"
}

func reasonAgainst(x, best *option) string {
	switch {
	case x.left > best.left:
		return fmt.Sprintf("has no room for %s", countOf(x.left-best.left, "job"))
	case x.excess && !best.excess:
		return "asks for more CPUs at once than there are"
	case x.by > best.by:
		return fmt.Sprintf("ends the jobs %s later", about(time.Duration(x.by-best.by)*time.Second))
	case x.held > best.held:
		return fmt.Sprintf("ends the jobs %s sooner for %.1f more CPU hours", about(time.Duration(best.by-x.by)*time.Second), float64(x.held-best.held)/3600)
	}
	return "no better"
}

// inWords names the allocations of a packing.
func (k *packing) inWords(set *Settings) string {
	var parts, pools []string
	for i := 0; i < len(k.drafts); {
		shape, pool := k.drafts[i].final(set), k.drafts[i].pool.Name
		n := 0
		for ; i < len(k.drafts) && reflect.DeepEqual(k.drafts[i].final(set), shape); i++ {
			n++
		}
		parts, pools = append(parts, shape.inWords(n)), append(pools, pool)
	}
	more := ""
	if len(parts) > 3 {
		more = fmt.Sprintf(", and %d other shapes", len(parts)-2)
		parts = parts[:2]
	}
	for i := range parts { // a pool is named once, after its last shape
		if i == len(parts)-1 || pools[i+1] != pools[i] {
			parts[i] += " in " + pools[i]
		}
	}
	return strings.Join(parts, "; ") + more
}

// about returns a duration for people, in its two largest units.
func about(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return inWords(d.Round(time.Hour))
	case d >= time.Hour:
		return inWords(d.Round(time.Minute))
	case d >= 10*time.Minute:
		return inWords(d.Round(10 * time.Second))
	}
	return inWords(d.Round(time.Second))
}

// Line returns the choice for people.
func (c *Choice) Line() string {
	text := fmt.Sprintf("%s: ends the jobs in about %s", c.Text, about(c.Completion))
	if c.Count > 0 {
		text += fmt.Sprintf(", starts in about %s", about(c.Start))
	}
	text += fmt.Sprintf(", %.1f CPU hours, %.0f %% idle", float64(c.CPUSeconds)/3600, 100*c.IdleShare)
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	return text
}

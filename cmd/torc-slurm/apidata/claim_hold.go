package apidata

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// ClaimHolds are why no job of a workflow is claimed now.
type ClaimHolds []hold.ClaimHold

// Text returns why, and until when.
func (h ClaimHolds) Text(now time.Time) string {
	var text string
	for i := range h {
		if i > 0 {
			text += "; "
		}
		until := "until somebody lifts it"
		if ms := h[i].UntilMS; ms != 0 {
			until = "until " + shortClock(time.UnixMilli(ms), now)
		}
		text += h[i].Reason + ", " + until
	}
	return text
}

// shortClock is a local time, with its day if that is not today.
func shortClock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// Commands returns how to end the holds; prefix is the program with the flags for the
// same server.
func (h ClaimHolds) Commands(prefix string, workflowID int64) []string {
	if len(h) == 0 {
		return nil
	}
	list := []string{fmt.Sprintf("%s workflows resume %d", prefix, workflowID)}
	for i := range h {
		if h[i].Kind == hold.HoldMaxFailures {
			list = append(list, fmt.Sprintf("%s workflows update %d --max-failures N", prefix, workflowID))
		}
	}
	return list
}

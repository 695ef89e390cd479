package store

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestCheckDeepOfBreakers corrupts a trip that two failures on n1 led to, while one more
// job ran there, in an allocation.
func TestCheckDeepOfBreakers(t *testing.T) {
	h := &history{rig: newRig(t, independent(5)...)}
	h.says(workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{
		{Name: "b", Per: workflow.PerNode, Threshold: 2, Within: "1h", Action: workflow.BreakerExcludeNode}}})
	h.intend("aa")
	h.adopt("aa", 100, 0)
	h.hand("n2", 1) // another node exists
	bad := h.join("aa", 100, 0)
	bad.free.Slots = 3
	bad.turn()
	for range 2 {
		h.now = h.now.Add(time.Minute)
		bad.turn(bad.failsSaying(bad.held[0].LeaseRef, ""))
	}
	if n := h.number(`SELECT COUNT(*) FROM breaker_trip`); n != 1 {
		t.Fatalf("%d trips", n)
	}
	if findings := h.checkAfter(t, `SELECT 1`); len(findings) > 0 {
		t.Fatalf("nothing is wrong, but: %v", findings)
	}
	const again = `INSERT INTO breaker_trip (workflow_id, run_id, breaker, subject, action, trip, since_ms, until_ms)
		SELECT workflow_id, run_id, breaker, subject, action, `
	for _, tc := range []struct{ text, spoil string }{
		{"what was counted says otherwise", `UPDATE breaker_trip SET action = 'hold'`},
		{"it was closed at", `UPDATE breaker_trip SET ended_ms = since_ms - 1`},
		{"it was closed at", `UPDATE breaker_trip SET ended_ms = until_ms + 1`},
		{"the workflow is at run 1", `UPDATE breaker_trip SET run_id = 2, trip = json_set(trip, '$.attempts[0].job_id', 98, '$.attempts[1].job_id', 99)`},
		{"after trip 1 had excluded n1", `UPDATE job SET claimed_ms = (SELECT since_ms + 1 FROM breaker_trip) WHERE id = (SELECT MAX(id) FROM job WHERE status = 3)`},
		{"it names 1 attempts, its threshold is 2", `UPDATE breaker_trip SET trip = json_remove(trip, '$.attempts[0]')`},
		{`it counted to 0 within "1h"`, `UPDATE breaker_trip SET trip = json_set(trip, '$.threshold', 0)`},
		{"failed 60000 ms before it, it counts within 30s", `UPDATE breaker_trip SET trip = json_set(trip, '$.within', '30s')`},
		{"did not fail by oom", `UPDATE breaker_trip SET trip = json_set(trip, '$.attempts[0].cause', 'oom')`},
		{"did not fail by exit", `UPDATE breaker_trip SET trip = json_set(trip, '$.attempts[1].attempt_id', 7)`},
		{"1 ms before the end of the previous trip", again + `json_replace(trip, '$.attempts[0].ended_ms', until_ms + 1, '$.attempts[1].ended_ms', until_ms + 1),
			until_ms - 1, until_ms + 1 FROM breaker_trip`},
		{"failed before the end of the previous trip", again + `json_replace(trip, '$.within', '2h'), until_ms, until_ms + 1 FROM breaker_trip`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			wantFinding(t, h.checkAfter(t, tc.spoil), "breaker", tc.text)
		})
	}
}

package allocate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/api"
)

func TestWriteChoices(t *testing.T) {
	choices := []api.AllocationChoice{
		{Text: "4 allocations of 1 node for 15m in partition std", Allocations: 4, StartSeconds: 10, CompletionSeconds: 910, CPUHours: 3.77, IdleShare: 0.118, Chosen: true, Reason: "it uses least of those that end the jobs soonest"},
		{Text: "no further allocation", CompletionSeconds: 7230, Reason: "ends the jobs 1h45m20s later"},
		{Text: "9 allocations"},
	}
	for _, tt := range []struct {
		name, noForecast string
		choices          []api.AllocationChoice
		want             string
	}{
		{"choices", "", choices, `Chosen: 4 allocations of 1 node for 15m in partition std
  starts in about 10s, jobs end in about 15m, 3.8 CPU hours, 12 % idle: it uses least of those that end the jobs soonest
Instead of: no further allocation
  jobs end in about 2h1m, 0.0 CPU hours, 0 % idle: ends the jobs 1h45m20s later
`},
		{"a long one", "", []api.AllocationChoice{{Chosen: true, CompletionSeconds: 30, Text: strings.Repeat("1 allocation of 2 nodes for 18m; ", 4) + "in std"}},
			"Chosen: 1 allocation of 2 nodes for 18m; 1 allocation of 2 nodes for 18m; 1 allocation of 2 nodes for 18m; 1 allocation\n" +
				"    of 2 nodes for 18m; in std\n  jobs end in about 30s, 0.0 CPU hours, 0 % idle\n"},
		{"none", "", nil, ""},
		{"no forecast", "sinfo does not answer", nil, "Planned without a forecast: sinfo does not answer\n"},
	} {
		var b strings.Builder
		WriteChoices(&b, tt.choices, tt.noForecast, 2)
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		for line := range strings.Lines(b.String()) {
			if len(line) > 121 {
				t.Errorf("%s: a line of %d characters: %s", tt.name, len(line)-1, line)
			}
		}
	}
}

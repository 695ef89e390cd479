package workflow_test

import (
	"testing"
	"time"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestMutationApply(t *testing.T) {
	const gib = 1 << 30
	grow := func(factor float64, limit string, from GrowFrom) *Growth {
		return &Growth{Factor: factor, Max: limit, From: from}
	}
	for _, tt := range []struct {
		name            string
		m               *Mutation
		memory, runtime string
		used            Usage
		want            string
	}{
		{"nothing", nil, "4g", "PT1H", Usage{}, ""},
		{"memory", &Mutation{Memory: grow(1.5, "", "")}, "4g", "PT1H", Usage{PeakMemoryBytes: 9 * gib}, "memory 4g -> 6g"},
		{"from the peak", &Mutation{Memory: grow(1.5, "", GrowFromPeak)}, "4g", "PT1H", Usage{PeakMemoryBytes: 6 * gib}, "memory 4g -> 9g"},
		{"a peak below the request", &Mutation{Memory: grow(1.5, "", GrowFromPeak)}, "4g", "PT1H", Usage{PeakMemoryBytes: gib}, "memory 4g -> 6g"},
		{"the cap", &Mutation{Memory: grow(2, "5g", "")}, "4g", "PT1H", Usage{}, "memory 4g -> 5g (the max of the rule is 5g)"},
		{"at the cap", &Mutation{Memory: grow(2, "4g", "")}, "4g", "PT1H", Usage{}, "memory stays 4g (the max of the rule is 4g)"},
		{"above the cap", &Mutation{Memory: grow(2, "1g", "")}, "4g", "PT1H", Usage{}, "memory stays 4g (the max of the rule is 1g)"},
		{"whole mebibytes", &Mutation{Memory: grow(1.0001, "", "")}, "1g", "PT1H", Usage{}, "memory 1g -> 1025m"},
		{"beyond all bounds", &Mutation{Memory: grow(1e300, "", "")}, "4g", "PT1H", Usage{}, "memory 4g -> 1048576t"},
		{"runtime", &Mutation{Runtime: grow(1.5, "P2D", "")}, "4g", "PT1H", Usage{}, "runtime PT1H -> PT1H30M"},
		{"runtime from what it took", &Mutation{Runtime: grow(2, "", GrowFromPeak)}, "4g", "PT1H", Usage{Elapsed: 2 * time.Hour}, "runtime PT1H -> PT4H"},
		{"both", &Mutation{Memory: grow(2, "", ""), Runtime: grow(2, "PT90M", "")}, "4g", "PT1H", Usage{}, "memory 4g -> 8g, runtime PT1H -> PT1H30M (the max of the rule is PT90M)"},
	} {
		r := ResourceRequirements{Name: "big", Memory: tt.memory, Runtime: tt.runtime}
		grown, said := tt.m.Apply(r, tt.used)
		if said != tt.want {
			t.Errorf("%s: %q, not %q", tt.name, said, tt.want)
		}
		if said == "" && grown != r {
			t.Errorf("%s: %+v became %+v silently", tt.name, r, grown)
		}
	}
	r := ResourceRequirements{Name: DefaultRequirements, Memory: "1g", Runtime: "PT1M"}
	if grown, said := (&Mutation{Memory: grow(2, "", "")}).Apply(r, Usage{}); said != "" || grown != r {
		t.Errorf("the default requirement grew: %q", said)
	}
}

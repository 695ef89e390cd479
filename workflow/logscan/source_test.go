package logscan

import (
	"reflect"
	"testing"
)

func TestSourceOf(t *testing.T) {
	p := NewPlaces("77", "99")
	five := Job{5, "five"}
	p.AddJob("77", five)
	p.AddJob("99", five)
	p.AddJob("88", Job{6, "six"}) // of no allocation that is known
	p.AddAttempt("77", Attempt{5, 1, 1})
	p.AddAttempt("", Attempt{5, 1, 2}) // its runner was in none
	for name, want := range map[string]Source{
		"slurm_output_wf1_sl77.e": {"77", []Job{five}},
		"job_wf1_j5_r1_a1.e":      {"77", []Job{five}},
		"job_wf1_j5_r1_a2.e":      {"99", []Job{five}}, // the latest
		"job_wf1_j5_r2_a1.o":      {"99", []Job{five}},
	} {
		if got, is := p.SourceOf(name); !is || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %t, want %+v", name, got, is, want)
		}
	}
	for _, name := range []string{"slurm_output_wf1_sl88.e", "job_wf1_j6_r1_a1.e", "job_wf1_j7_r1_a1.e", "job_runner_n1_wf1_r1.log"} {
		if got, is := p.SourceOf(name); is {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := p.SlurmJobOf("slurmstepd: error: *** JOB 99 ON n3 CANCELLED ***"); got != "99" {
		t.Errorf("the line is of Slurm job %q", got)
	}
	if got := p.SlurmJobOf("slurmstepd: error: *** JOB 88 ON n3 CANCELLED ***"); got != "" {
		t.Errorf("the line is of Slurm job %q", got)
	}
}

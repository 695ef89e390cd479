package workflow

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMonitorDefaults(t *testing.T) {
	for text, want := range map[string]ResourceMonitorConfig{
		`{}`: {Granularity: "summary", SampleIntervalSeconds: 10, FlushIntervalSeconds: 300},
		`{"enabled":true,"granularity":"time_series","sample_interval_seconds":2,"jobs":{"enabled":true},"compute_node":{"cpu":false}}`: {
			Enabled: true, Granularity: "time_series", SampleIntervalSeconds: 2, FlushIntervalSeconds: 300,
			Jobs:        &JobMonitorConfig{Enabled: true, Granularity: "summary"},
			ComputeNode: &NodeMonitorConfig{Granularity: "summary", Memory: true},
		},
	} {
		var got ResourceMonitorConfig
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var back ResourceMonitorConfig
		if err := json.Unmarshal(again, &back); err != nil || cmp.Diff(got, back) != "" {
			t.Errorf("%s comes back as %+v, error %v", again, back, err)
		}
	}
}

package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGRES(t *testing.T) {
	for text, want := range map[string][]GRES{
		"gpu":                         {{Name: "gpu", Count: 1}},
		"gpu:2(IDX:0,1)":              {{Name: "gpu", Count: 2}},
		"gpu:a100:4(S:0-1),nvme:1":    {{Name: "gpu", Type: "a100", Count: 4}, {Name: "nvme", Count: 1}},
		"gpu:tesla:no_consume:4":      {{Name: "gpu", Type: "tesla", Count: 4}},
		"bandwidth:lustre:no_consume": {{Name: "bandwidth", Type: "lustre", Count: 1}},
		"fast:no_consume:2K":          {{Name: "fast", Count: 2048}},
		"(null)":                      nil,
	} {
		got, err := ParseGRES(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", text, err, diff)
		}
	}
}

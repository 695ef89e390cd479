package artifact

import "testing"

func TestHasChanged(t *testing.T) {
	at := func(s float64) *float64 { return &s }
	for _, tt := range []struct {
		name            string
		before, now     *float64
		completedOutput bool
		want            bool
	}{
		{"same", at(1.5), at(1.5), true, false},
		{"rounded", at(1.5), at(1.500001), false, false},
		{"newer", at(1.5), at(2), false, true},
		{"older", at(1.5), at(1), false, true},
		{"gone", at(1.5), nil, false, true},
		{"never there", nil, nil, false, false},
		{"output is gone", nil, nil, true, true},
		{"new", nil, at(1), true, false},
	} {
		if got := (&File{ModTime: tt.before}).HasChanged(tt.now, tt.completedOutput); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

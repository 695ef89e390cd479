package forecast

import (
	"testing"
	"time"
)

func TestNoLarger(t *testing.T) {
	hours := func(n int) func(*Request) { return func(r *Request) { r.Walltime = time.Duration(n) * time.Hour } }
	for name, tc := range map[string]struct {
		a, b            Request
		within, smaller bool
	}{
		"equal":                           {need(2, nil), need(2, nil), true, true},
		"smaller":                         {need(2, nil), need(4, nil), true, true},
		"larger":                          {need(4, nil), need(2, nil), false, false},
		"half of the CPUs, twice as long": {need(2, hours(2)), need(4, hours(1)), false, true},
		"half of the CPUs, much longer":   {need(2, hours(3)), need(4, hours(1)), false, false},
		"shorter, but more CPUs":          {need(4, hours(1)), need(2, hours(9)), false, false},
		"another place":                   {need(2, func(r *Request) { r.Partitions = []string{"gpu"} }), need(4, nil), false, false},
		"whole nodes":                     {need(2, func(r *Request) { r.WholeNodes = true }), need(4, nil), false, false},
	} {
		if tc.a.Within(&tc.b) != tc.within || tc.a.NoLarger(&tc.b) != tc.smaller {
			t.Errorf("%s: %t, %t", name, tc.a.Within(&tc.b), tc.a.NoLarger(&tc.b))
		}
	}
}

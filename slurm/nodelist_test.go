package slurm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpandNodes(t *testing.T) {
	for list, want := range map[string]string{
		"n1":                      "n1",
		"n[1-3,7]":                "n1 n2 n3 n7",
		"n[08-11]":                "n08 n09 n10 n11",
		"n[001,10]":               "n001 n10",
		"a,b[1-2],c":              "a b1 b2 c",
		"rack[1-2]node[1-2]":      "rack1node1 rack1node2 rack2node1 rack2node2",
		"r[1-2]-ib":               "r1-ib r2-ib",
		"gpu-a100-x.y_z[3]":       "gpu-a100-x.y_z3",
		"":                        "",
		"(null)":                  "",
		"None assigned":           "",
		"n/a":                     "",
		" x1000c0s0b0n[0-1] ":     "x1000c0s0b0n0 x1000c0s0b0n1",
		"n[1-2],n[2-3]":           "n1 n2 n2 n3",
		"tux[1-2][a]":             "!",
		"n[1-":                    "!",
		"n1]":                     "!",
		"n[]":                     "!",
		"n[3-1]":                  "!",
		"n[a-b]":                  "!",
		"n[1-9999999]":            "!",
		"a[1-999]b[1-999]":        "!",
		"a b":                     "!",
		",":                       "!",
		"n[1,]":                   "!",
		"n[[1]]":                  "!",
		"n[99999999999999999999]": "!",
	} {
		hosts, err := ExpandNodes(list)
		if want == "!" {
			if err == nil {
				t.Errorf("%q is %v", list, hosts)
			}
			continue
		}
		if err != nil || strings.Join(hosts, " ") != want {
			t.Errorf("%q is %v, %v; want %s", list, hosts, err, want)
		}
	}
}

func TestJoinNodes(t *testing.T) {
	hosts := []string{"n3", "n1", "n3"}
	if got := JoinNodes(hosts); got != "n1,n3" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff([]string{"n3", "n1", "n3"}, hosts); diff != "" {
		t.Errorf("the argument was changed: %s", diff)
	}
}

func FuzzExpandNodes(f *testing.F) {
	for _, seed := range []string{"n[1-3,7]", "rack[1-2]node[01-10]", "a,b", "n[1-", "(null)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		hosts, err := ExpandNodes(list)
		if err != nil {
			return
		}
		if len(hosts) > maxHosts {
			t.Errorf("%d hosts", len(hosts))
		}
		again, err := ExpandNodes(strings.Join(hosts, ","))
		if err != nil || len(again) != len(hosts) {
			t.Errorf("%q is %d hosts, which are %d, %v", list, len(hosts), len(again), err)
		}
	})
}

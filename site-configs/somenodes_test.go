package siteconfigs

import (
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm"
)

func TestSomeNodes(t *testing.T) {
	got := SomeNodes([]slurm.NodeGroup{{Nodes: "cloud[1-100]"}, {Nodes: "n[1-2]"}, {Nodes: "cloud[1-100]"}})
	up := []slurm.NodeGroup{{Nodes: "cloud[1-9]", State: "idle", Flags: "~"}, {Nodes: "n1", State: "idle"}}
	if got := SomeNodes(up); got[0] != "n1" || got[1] != "cloud1" {
		t.Errorf("one of these is up: %v", got)
	}
	if want := []string{"cloud1", "n1", "cloud2", "n2", "cloud3", "cloud4"}; !slices.Equal(got, want) {
		t.Errorf("nodes %v, want %v", got, want)
	}
}

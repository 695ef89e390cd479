package siteconfigs

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// TestRestrictions: whom a partition accepts, according to Slurm, counts before how well
// it suits.
func TestRestrictions(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*slurm.Partition) // of a partition that would suit better
		need   Need
		want   string
		why    string // why the other was not chosen
	}{
		{"none", func(*slurm.Partition) {}, Need{CPUs: 1}, "special", "fits as well as special"},
		{"QOS", func(p *slurm.Partition) { p.AllowQOS = []string{"owners"} }, Need{CPUs: 1}, "plain", "the QOS normal may not use it"},
		{"QOS requested", func(p *slurm.Partition) { p.AllowQOS = []string{"owners"} }, Need{CPUs: 1, QOS: "owners"}, "special", "fits as well as special"},
		{"QOS unknown", func(p *slurm.Partition) { p.AllowQOS = []string{"owners"} }, Need{CPUs: 1, Account: "new"}, "plain", "is only for the QOS owners"},
		{"QOS denied", func(p *slurm.Partition) { p.DenyQOS = []string{"normal"} }, Need{CPUs: 1}, "plain", "the QOS normal may not use it"},
		{"root", func(p *slurm.Partition) { p.RootOnly = true }, Need{CPUs: 1}, "plain", "takes no jobs: only root may use it"},
		{"reservation", func(p *slurm.Partition) { p.ReqResv = true }, Need{CPUs: 1}, "plain", "takes only jobs with a reservation"},
		{"reservation, named", func(p *slurm.Partition) { p.ReqResv = true }, Need{CPUs: 1, Partition: "special"}, "special", "special is required"},
		{"memory", func(p *slurm.Partition) { p.MaxMemory = slurm.Memory{Bytes: slurm.GiB, Per: slurm.PerNode} }, Need{CPUs: 1, MemoryMB: 1025},
			"plain", "1025 MiB are needed, a node has 1024"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			special := slurm.Partition{Name: "special", State: "UP", OverSubscribe: "YES:4"}
			tc.change(&special)
			plain := slurm.Partition{Name: "plain", State: "UP", OverSubscribe: "YES:4"}
			nodes := func(name string) slurm.NodeGroup {
				return slurm.NodeGroup{Partition: name, State: "idle", Count: 2, CPUs: 8, Memory: 16 * slurm.GiB}
			}
			s := FromFacts(Facts{
				Config: slurm.Config{Cluster: "here"}, Partitions: []slurm.Partition{special, plain}, Nodes: []slurm.NodeGroup{nodes("special"), nodes("plain")},
				DefaultAccount: "proj", Associations: []slurm.Association{{Cluster: "here", Account: "proj", QOS: []string{"normal", "owners"}}},
				QOS: []slurm.QOS{{Name: "normal"}, {Name: "owners"}},
			})
			choice, refusals := Best(s, tc.need)
			if choice.Partition == nil || choice.Partition.Name != tc.want || refusals[0].Reason != tc.why {
				t.Errorf("got %+v, %v, want %s, the other %q", choice, refusals, tc.want, tc.why)
			}
		})
	}
}

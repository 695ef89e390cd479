package siteconfigs

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// TestMaxJob: a job that an account, a QOS or the QOS of the partition will never let run
// fits nowhere.
func TestMaxJob(t *testing.T) {
	tres := func(name string, n int64) slurm.TRES { return slurm.TRES{name: n} }
	for _, tc := range []struct {
		name   string
		change func(*Facts)
		need   Need
		want   string // the reason; empty: it fits
	}{
		{"per job", func(f *Facts) { f.QOS[0].MaxTRESPerJob = tres("cpu", 8) }, Need{CPUs: 3, Nodes: 3}, "9 CPUs are needed, a job may have 8 by its account or QOS"},
		{"just", func(f *Facts) { f.QOS[0].MaxTRESPerJob = tres("cpu", 9) }, Need{CPUs: 3, Nodes: 3}, ""},
		{"whole nodes", func(f *Facts) { f.QOS[0].MaxTRESPerJob = tres("cpu", 7); f.Partitions[0].OverSubscribe = "EXCLUSIVE" }, Need{CPUs: 1},
			"8 CPUs are needed, a job may have 7 by its account or QOS"},
		{"another QOS", func(f *Facts) { f.QOS[0].MaxTRESPerJob = tres("cpu", 1) }, Need{CPUs: 3, QOS: "large"}, ""},
		{"of all jobs of the account", func(f *Facts) { f.Associations[0].GrpTRES = tres("node", 2) }, Need{CPUs: 1, Nodes: 3}, "3 nodes are needed, a job may have 2 by its account or QOS"},
		{"memory of a job of the account", func(f *Facts) { f.Associations[0].MaxTRES = tres("mem", slurm.GiB) }, Need{MemoryMB: 1025}, "1025 MiB are needed, a job may have 1024 by its account or QOS"},
		{"QOS of the partition", func(f *Facts) { f.Partitions[0].QOS = "small"; f.QOS[1].MaxTRESPerUser = tres("cpu", 2) }, Need{CPUs: 3}, "3 CPUs are needed, a job may have 2 by its account or QOS"},
	} {
		f := Facts{
			Partitions:     []slurm.Partition{{Name: "all", State: "UP", OverSubscribe: "YES:4"}},
			Nodes:          []slurm.NodeGroup{{Partition: "all", State: "idle", Count: 4, CPUs: 8, Memory: 16 * slurm.GiB}},
			DefaultAccount: "proj", Associations: []slurm.Association{{Account: "proj", DefaultQOS: "normal"}},
			QOS: []slurm.QOS{{Name: "normal"}, {Name: "small"}, {Name: "large"}},
		}
		tc.change(&f)
		choice, refusals := Best(FromFacts(f), tc.need)
		if tc.want == "" && choice.Partition == nil || tc.want != "" && (len(refusals) == 0 || refusals[0].Reason != tc.want) {
			t.Errorf("%s: got %+v, %v, want %q", tc.name, choice, refusals, tc.want)
		}
	}
}

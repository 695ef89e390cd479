package slurm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReservations(t *testing.T) {
	const line = "ReservationName=x StartTime=1795507371 EndTime=1795509171 Duration=00:30:00 Nodes=n[1-2] NodeCnt=2 CoreCnt=8 " +
		"Features=(null) PartitionName=debug Flags=FLEX,IGNORE_JOBS TRES=cpu=8 Users=root,-eve Groups=(null) Accounts=-physics Licenses=(null) State=INACTIVE\n"
	for name, c := range map[string]struct {
		text string
		want []Reservation
		fail bool
	}{
		"none": {text: "No reservations in the system\n"},
		"one": {text: line, want: []Reservation{{
			Name: "x", State: "INACTIVE", Start: time.Unix(1795507371, 0), End: time.Unix(1795509171, 0), Nodes: "n[1-2]", NodeCount: 2, Cores: 8,
			Partition: "debug", Flags: []string{"FLEX", "IGNORE_JOBS"}, Users: []string{"root", "-eve"}, Accounts: []string{"-physics"},
		}}},
		"of cores": {
			text: "ReservationName=y StartTime=1795507371 EndTime=1795509171 Nodes=n4 NodeCnt=1 CoreCnt=2 Flags=SPEC_NODES NodeName=n4 CoreIDs=0-1 TRES=cpu=2 State=ACTIVE\n",
			want: []Reservation{{Name: "y", State: "ACTIVE", Start: time.Unix(1795507371, 0), End: time.Unix(1795509171, 0), Nodes: "n4", NodeCount: 1, Cores: 2, Flags: []string{"SPEC_NODES"}}},
		},
		"of licenses": {
			text: "ReservationName=z StartTime=N/A EndTime=Unknown Nodes=(null) NodeCnt=N/A CoreCnt=0 Flags= Licenses=matlab:2 State=ACTIVE\n",
			want: []Reservation{{Name: "z", State: "ACTIVE"}},
		},
		"empty":       {fail: true},
		"cut":         {text: line + line[:100], fail: true},
		"garbage":     {text: "<html>proxy</html>\n", fail: true},
		"no name":     {text: "StartTime=1795507371 EndTime=1795509171 Nodes=n4\n", fail: true},
		"absurd time": {text: "ReservationName=z StartTime=yesterday EndTime=1795509171 Nodes=n4\n", fail: true},
		"absurd size": {text: "ReservationName=z StartTime=1795507371 EndTime=1795509171 Nodes=n4 NodeCnt=-3\n", fail: true},
	} {
		got, err := New(Options{Executor: &stub{out: Output{Stdout: []byte(c.text)}}}).Reservations(t.Context())
		if diff := cmp.Diff(c.want, got); diff != "" || (ClassOf(err) == Unavailable) != c.fail {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	r := Reservation{Flags: []string{"MAINT", "IGNORE_JOBS"}}
	if !r.Maintenance() || !r.Has("IGNORE_JOBS") || r.Has("FLEX") || (&Reservation{}).Maintenance() {
		t.Errorf("flags of %+v", r)
	}
}

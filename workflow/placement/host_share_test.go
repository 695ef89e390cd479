package placement

import "testing"

// TestRoomOnHost checks what one of several runners on a host with eight CPUs may be
// granted.
func TestRoomOnHost(t *testing.T) {
	user := func(id, held, waits int64) HostUser {
		u := HostUser{RunnerID: id, WorkflowID: id + 10, Total: FreeNode{CPUs: 8, MemoryBytes: 80}, Waits: waits}
		if held > 0 {
			u.Leases, u.Held = held, FreeNode{CPUs: held, MemoryBytes: 10 * held}
		}
		return u
	}
	type want struct {
		alone     bool
		cpus, one int64
		memory    int64
	}
	for _, tc := range []struct {
		name   string
		me     HostUser
		others []HostUser
		want   want
	}{
		{"nobody else", user(1, 3, 0), nil, want{alone: true}},
		{"others have nothing to do", user(1, 3, 0), []HostUser{user(2, 0, 0)}, want{alone: true}},
		{"another runs jobs", user(1, 3, 0), []HostUser{user(2, 2, 0)}, want{cpus: 3, memory: 30}},
		{"all is used", user(1, 3, 0), []HostUser{user(2, 5, 0)}, want{}},
		{"another has claimed jobs in advance", user(1, 0, 0), []HostUser{user(2, 30, 0)}, want{}},
		{"I have claimed jobs in advance", user(1, 30, 0), []HostUser{user(2, 2, 0)}, want{}},
		{"another waits and holds nothing", user(1, 3, 0), []HostUser{user(2, 0, 1)}, want{}},
		{"it waits longer", user(1, 0, 2), []HostUser{user(2, 0, 1)}, want{}},
		{"I wait longer", user(1, 0, 1), []HostUser{user(2, 0, 2)}, want{cpus: 4, one: 8, memory: 80}},
		{"it waits already when I arrive", user(1, 0, 0), []HostUser{user(2, 0, 1)}, want{}},
		{"another waits for more", user(1, 3, 0), []HostUser{user(2, 3, 1)}, want{cpus: 1, memory: 20}},
		{"another waits for more, I have my part", user(1, 4, 0), []HostUser{user(2, 3, 1)}, want{memory: 10}},
		{"two wait for more, I have nothing", user(1, 0, 9), []HostUser{user(2, 3, 1), user(3, 2, 2)}, want{cpus: 2, one: 3, memory: 30}},
		{"more runners than CPUs", user(1, 0, 9), []HostUser{user(2, 1, 1), user(3, 1, 1), user(4, 1, 1), user(5, 1, 1), user(6, 1, 1), user(7, 1, 1), user(8, 1, 1), user(9, 0, 0), user(10, 0, 10)},
			want{cpus: 1, one: 1, memory: 10}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := RoomOnHost(tc.me, tc.others)
			if (want{got.Alone, got.Room.CPUs, got.OneJob.CPUs, got.Room.MemoryBytes}) != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestHostInUse(t *testing.T) {
	total := FreeNode{CPUs: 2, MemoryBytes: 8 << 30, GPUs: 1}
	others := []HostUser{
		{WorkflowID: 3, Leases: 9, Held: FreeNode{CPUs: 9, MemoryBytes: 6 << 30}}, {WorkflowID: 4}, {WorkflowID: 5, Leases: 1, Held: FreeNode{GPUs: 1}},
	}
	for n, want := range map[int]string{
		1: "2 of 2 CPUs, 6.00 GiB of 8.00 GiB of n1 are used by workflow 3",
		3: "2 of 2 CPUs, 6.00 GiB of 8.00 GiB, 1 of 1 GPU of n1 are used by workflows 3, 5",
	} {
		if got := HostInUse("n1", total, others[:n]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestWhyAJobWaitsForItsHost checks the text for a job that fits its runner but not the
// part of the host that other workflows leave free.
func TestWhyAJobWaitsForItsHost(t *testing.T) {
	node := FreeNode{CPUs: 2, MemoryBytes: 8 << 30}
	r := RunnerFacts{ID: 2, Host: "n1", Total: Offer{Nodes: []FreeNode{node}, Slots: 9}, Free: Offer{Nodes: []FreeNode{node}, Slots: 9},
		Beside: []HostUser{{WorkflowID: 3, Leases: 2, Held: FreeNode{CPUs: 2}}}}
	lines, best := ExplainFit(Class{CPUs: 1, Nodes: 1}, []RunnerFacts{r}, nil)
	if want := "runner 2 (n1): waits: 2 of 2 CPUs of n1 are used by workflow 3"; len(lines) != 1 || lines[0] != want || best != FitsLater {
		t.Errorf("%q, %d; want %q", lines, best, want)
	}
}

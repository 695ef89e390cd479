package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// HostUser is a runner that shares its host with others.
type HostUser struct {
	RunnerID, WorkflowID int64
	Total                FreeNode // the resources of the host, as the runner detected them
	Held                 FreeNode // requirements of its leases, including jobs claimed in advance
	Leases               int64
	// Waits is its position among the runners that could take jobs if others did not
	// use the host, lowest first; 0: it does not wait.
	Waits int64
}

// inUse returns how much of the host the runner may use at any moment. That is at most
// the whole host, however many jobs the runner has claimed in advance.
func (u *HostUser) inUse(total FreeNode) FreeNode {
	return FreeNode{CPUs: min(u.Held.CPUs, total.CPUs), MemoryBytes: min(u.Held.MemoryBytes, total.MemoryBytes), GPUs: min(u.Held.GPUs, total.GPUs)}
}

// HostRoom is what a runner may be granted on a host that it shares.
type HostRoom struct {
	// Alone says that no other runner holds anything there or waits, so that the runner
	// may be granted all that it offers.
	Alone  bool
	Room   FreeNode // for jobs that fit together
	OneJob FreeNode // for a single job, if none fits in Room
}

// RoomOnHost returns what a runner may be granted next to the other runners on its
// host. All of them together never hold more than the host has. If others wait, they
// take turns: runners that hold nothing go first, in the order in which they began to
// wait, and no other runner gets more before they have something. Then each runner gets
// at most an equal part of the CPUs, or one job.
func RoomOnHost(me HostUser, others []HostUser) HostRoom {
	own := FreeNode{
		CPUs: me.Total.CPUs - me.Held.CPUs, MemoryBytes: me.Total.MemoryBytes - me.Held.MemoryBytes, GPUs: me.Total.GPUs - me.Held.GPUs, Busy: me.Leases > 0,
	}
	parts, waits := int64(1), false
	for _, o := range others {
		waits = waits || o.Waits > 0
		if o.Leases > 0 || o.Waits > 0 {
			parts++
		}
	}
	if parts == 1 {
		return HostRoom{Alone: true}
	}
	room := leftByOthers(own, me.Total, others)
	if !waits {
		return HostRoom{Room: room}
	}
	if nextOnHost(me, others) != nil {
		return HostRoom{}
	}
	h := HostRoom{Room: room}
	if me.Leases == 0 {
		h.OneJob = room
	}
	h.Room.CPUs = max(0, min(room.CPUs, max(me.Total.CPUs/parts, 1)-me.Held.CPUs))
	return h
}

// leftByOthers returns what others leave of the free part of a node.
func leftByOthers(free, total FreeNode, others []HostUser) FreeNode {
	for i := range others {
		used := others[i].inUse(total)
		free.CPUs, free.MemoryBytes, free.GPUs = free.CPUs-used.CPUs, free.MemoryBytes-used.MemoryBytes, free.GPUs-used.GPUs
		free.Busy = free.Busy || others[i].Leases > 0
	}
	free.CPUs, free.MemoryBytes, free.GPUs = max(free.CPUs, 0), max(free.MemoryBytes, 0), max(free.GPUs, 0)
	return free
}

// nextOnHost returns the runner that must get something before others get more; nil if
// there is none.
func nextOnHost(me HostUser, others []HostUser) (first *HostUser) {
	for i := range others {
		o := &others[i]
		if o.Leases > 0 || o.Waits == 0 || me.Leases == 0 && me.Waits > 0 && waitsLonger(&me, o) {
			continue
		}
		if first == nil || waitsLonger(o, first) {
			first = o
		}
	}
	return first
}

// waitsLonger reports whether a has waited longer than b.
func waitsLonger(a, b *HostUser) bool {
	return a.Waits < b.Waits
}

// HostInUse returns a sentence about how much of a host other runners use: "2 of 2 CPUs
// of n1 are used by workflow 3".
func HostInUse(host string, total FreeNode, others []HostUser) string {
	var ids []string
	var used FreeNode
	for i := range others {
		o := &others[i]
		if o.Leases == 0 && o.Waits == 0 {
			continue
		}
		if id := fmt.Sprint(o.WorkflowID); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		u := o.inUse(total)
		used.CPUs, used.MemoryBytes, used.GPUs = used.CPUs+u.CPUs, used.MemoryBytes+u.MemoryBytes, used.GPUs+u.GPUs
	}
	parts := []string{fmt.Sprintf("%d of %s", used.CPUs, workflow.CountOf(total.CPUs, "CPU", "CPUs"))}
	if used.MemoryBytes > total.MemoryBytes/2 {
		parts = append(parts, fmt.Sprintf("%s of %s", workflow.FormatBytes(used.MemoryBytes), workflow.FormatBytes(total.MemoryBytes)))
	}
	if used.GPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", used.GPUs, workflow.CountOf(total.GPUs, "GPU", "GPUs")))
	}
	return fmt.Sprintf("%s of %s are used by %s %s", strings.Join(parts, ", "), host, workflow.Plural(int64(len(ids)), "workflow", "workflows"), strings.Join(ids, ", "))
}

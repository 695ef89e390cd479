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
	Total                FreeNode // what the host has, as it found out
	Held                 FreeNode // what its leases ask for, those that it has taken ahead included
	Leases               int64
	// Waits is its place among those that could take jobs but for what others hold, the
	// lowest first; 0: it does not wait.
	Waits int64
}

// uses is what the runner may use at any moment of a host that has so much: it never
// runs more at a time than that, however much it has taken ahead.
func (u *HostUser) uses(total FreeNode) FreeNode {
	return FreeNode{CPUs: min(u.Held.CPUs, total.CPUs), MemoryBytes: min(u.Held.MemoryBytes, total.MemoryBytes), GPUs: min(u.Held.GPUs, total.GPUs)}
}

// HostRoom is what a runner may be granted on a host that it shares.
type HostRoom struct {
	// Alone: no other holds anything there, or waits. What the runner offers is what it
	// may be granted.
	Alone bool
	Room  FreeNode // for jobs that together fit
	One   FreeNode // if none does: for one job
}

// RoomOnHost returns what a runner may be granted beside the others of its host. What
// all of them hold never exceeds the host. Where others wait, they take turns: one that
// holds nothing goes first, who waits longest before the rest, and until it has got
// something nobody else gets more; beyond that a runner takes no more than an equal part
// of the CPUs, or one job.
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
	room := besideOthers(own, me.Total, others)
	if !waits {
		return HostRoom{Room: room}
	}
	if First(me, others) != nil {
		return HostRoom{}
	}
	h := HostRoom{Room: room}
	if me.Leases == 0 {
		h.One = room
	}
	h.Room.CPUs = max(0, min(room.CPUs, max(me.Total.CPUs/parts, 1)-me.Held.CPUs))
	return h
}

// besideOthers is what others leave of the free part of a node.
func besideOthers(free, total FreeNode, others []HostUser) FreeNode {
	for i := range others {
		used := others[i].uses(total)
		free.CPUs, free.MemoryBytes, free.GPUs = free.CPUs-used.CPUs, free.MemoryBytes-used.MemoryBytes, free.GPUs-used.GPUs
		free.Busy = free.Busy || others[i].Leases > 0
	}
	free.CPUs, free.MemoryBytes, free.GPUs = max(free.CPUs, 0), max(free.MemoryBytes, 0), max(free.GPUs, 0)
	return free
}

// First returns the runner that is to get something before another one gets more; nil
// if there is none.
func First(me HostUser, others []HostUser) (first *HostUser) {
	for i := range others {
		o := &others[i]
		if o.Leases > 0 || o.Waits == 0 || me.Leases == 0 && me.Waits > 0 && longer(&me, o) {
			continue
		}
		if first == nil || longer(o, first) {
			first = o
		}
	}
	return first
}

// longer reports whether one runner has waited longer than another.
func longer(a, b *HostUser) bool {
	return a.Waits < b.Waits
}

// HostInUse says how much of a host the others hold: "2 of 2 CPUs of n1 are used by
// workflow 3".
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
		u := o.uses(total)
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

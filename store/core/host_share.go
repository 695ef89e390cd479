package core

import "slices"

// hostWaits records which runners wait for room that others use on a shared host. It
// belongs to the writer's goroutine. A restarted daemon starts without it, which only
// affects whose turn it is.
type hostWaits struct {
	Last int64 // the last place given
	By   map[int64]*HostWait
}

// HostWait is the place of a waiting runner, and when it last asked.
type HostWait struct{ Place, SeenMS int64 }

// hostWaitSeen is how long a runner counts as waiting after it last asked: longer than the
// interval between two turns.
const hostWaitSeen = 30_000 // ms

// Place returns the place of a waiting runner; 0 if it is not waiting.
func (h *hostWaits) Place(runner, nowMS int64) int64 {
	if w := h.By[runner]; w != nil && nowMS-w.SeenMS <= hostWaitSeen {
		return w.Place
	}
	return 0
}

// WakeHosts wakes the runners that wait for room on a host, except one. The few of other
// hosts are woken too.
func WakeHosts(tx *Tx, but int64) {
	var ids []int64
	for id := range tx.Shared.HostWaits.By {
		if id != but {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	tx.Changes.Runners = AppendNew(tx.Changes.Runners, ids)
}

// LeaveHost wakes the other runners of a host when one has left it.
func LeaveHost(tx *Tx, r *Runner) {
	if r.SharesHost {
		delete(tx.Shared.HostWaits.By, r.ID)
		WakeHosts(tx, r.ID)
	}
}

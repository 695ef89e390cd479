package core

import "slices"

// HostWaits remembers which runners wait for what others hold on a host that they
// share. It belongs to the writer's goroutine, and begins anew with the daemon: nothing
// depends on it but whose turn it is.
type hostWaits struct {
	Last int64 // place that was given
	By   map[int64]*HostWait
}

// HostWait is what is known of runners that wait until others of their user leave a
// host.
type HostWait struct{ Place, SeenMS int64 }

// hostWaitSeen is how long a runner that asks no more counts as waiting: longer than
// from one of its turns to the next.
const hostWaitSeen = 30_000 // ms

// Place is that of a runner among those that wait, 0 if it does not.
func (h *hostWaits) Place(runner, nowMS int64) int64 {
	if w := h.By[runner]; w != nil && nowMS-w.SeenMS <= hostWaitSeen {
		return w.Place
	}
	return 0
}

// WakeHosts has runners look again that wait for what others hold, but for one. Those of
// other hosts are few.
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

// LeaveHost has the others of a host look again when a runner has left it.
func LeaveHost(tx *Tx, r *Runner) {
	if r.SharesHost {
		delete(tx.Shared.HostWaits.By, r.ID)
		WakeHosts(tx, r.ID)
	}
}

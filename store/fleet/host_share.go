package fleet

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// selectHostUsers selects the runners that share a host, each as a Neighbour.
const selectHostUsers = `SELECT n.id, ` + view.HostUserColumns + `FROM compute_node n ` + view.LeasesOfHostUser + `WHERE n.hostname = ? AND n.boot_id = ? AND n.is_active = 1 AND n.shares_host = 1 GROUP BY n.id ORDER BY n.id`

// hostShare is a runner's share of a host.
type hostShare struct {
	me     placement.HostUser
	others []placement.HostUser
	room   placement.HostRoom
}

// loadHostShare returns the share of a runner; nil if it has its host to itself.
func loadHostShare(tx *core.Tx, r *core.Runner) (*hostShare, error) {
	if !r.SharesHost {
		return nil, nil
	}
	var shared bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM compute_node WHERE hostname = ? AND boot_id = ? AND is_active = 1 AND shares_host = 1 AND id != ?)`,
		[]any{r.Hostname, r.BootID, r.ID}, &shared)
	if err != nil || !shared {
		return nil, err
	}
	all, err := sqlite.Select(tx, view.ScanNeighbour, selectHostUsers, r.Hostname, r.BootID)
	if err != nil {
		return nil, fmt.Errorf("read the runners of %s: %w", r.Hostname, err)
	}
	s := &hostShare{}
	for _, n := range all {
		u := n.HostUser
		u.Waits = tx.Shared.HostWaits.Place(u.RunnerID, tx.NowMS)
		if u.RunnerID == r.ID {
			s.me = u
		} else {
			s.others = append(s.others, u)
		}
	}
	s.room = placement.RoomOnHost(s.me, s.others)
	return s, nil
}

// chooseShared selects jobs within the room that other runners leave on the host, and
// records whether more would fit without them. Then it returns who uses the host.
func (c *Claim) chooseShared(s *hostShare) (waits string, err error) {
	if c.left <= 0 || len(c.offer.Nodes) == 0 {
		waitForHost(c.tx, s, false, false)
		return "", nil
	}
	pick := func(room placement.FreeNode, slots int64) error {
		part := *c
		part.bound(room, slots)
		err := part.Choose()
		c.Picked = part.Picked
		return err
	}
	if err := pick(s.room.Room, c.left); err != nil {
		return "", err
	}
	if len(c.Picked) == 0 && s.room.OneJob.CPUs > 0 {
		if err := pick(s.room.OneJob, 1); err != nil {
			return "", err
		}
	}
	wanted := *c
	held := s.me.Held
	wanted.bound(placement.FreeNode{CPUs: s.me.Total.CPUs - held.CPUs, MemoryBytes: s.me.Total.MemoryBytes - held.MemoryBytes, GPUs: s.me.Total.GPUs - held.GPUs}, c.left)
	wanted.Picked, wanted.fairness = nil, nil
	if err := wanted.Choose(); err != nil {
		return "", err
	}
	more := len(wanted.Picked) > len(c.Picked)
	waitForHost(c.tx, s, more, len(c.Picked) > 0)
	if more {
		waits = placement.HostInUse(c.runner.Hostname, s.me.Total, s.others)
	}
	return waits, nil
}

// bound limits a claim to part of a node, offered once, so that it does not take room that
// other runners may get.
func (c *Claim) bound(room placement.FreeNode, slots int64) {
	room.Name = c.offer.Nodes[0].Name
	c.offer.Nodes = []placement.FreeNode{room}
	c.offer.Slots, c.left = slots, slots
	c.packer = placement.NewPacker(c.offer)
}

// waitForHost records whether a runner waits for room that others use. A runner that was
// granted something goes to the end of the queue.
func waitForHost(tx *core.Tx, s *hostShare, waits, granted bool) {
	h := &tx.Shared.HostWaits
	switch w := h.By[s.me.RunnerID]; {
	case waits && s.me.Waits > 0 && !granted:
		w.SeenMS = tx.NowMS
	case waits:
		h.Last++
		h.By[s.me.RunnerID] = &core.HostWait{Place: h.Last, SeenMS: tx.NowMS}
	case w != nil:
		delete(h.By, s.me.RunnerID)
		core.WakeHosts(tx, s.me.RunnerID)
	}
}

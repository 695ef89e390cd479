package store

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// hostWaits remembers which runners wait for what others hold on a host that they
// share. It belongs to the writer's goroutine, and begins anew with the daemon: nothing
// depends on it but whose turn it is.
type hostWaits struct {
	last int64 // place that was given
	by   map[int64]*hostWait
}

type hostWait struct{ place, seenMS int64 }

// hostWaitSeen is how long a runner that asks no more counts as waiting: longer than
// from one of its turns to the next.
const hostWaitSeen = 30_000 // ms

// place is that of a runner among those that wait, 0 if it does not.
func (h *hostWaits) place(runner, nowMS int64) int64 {
	if w := h.by[runner]; w != nil && nowMS-w.seenMS <= hostWaitSeen {
		return w.place
	}
	return 0
}

const hostUserColumns = `n.id, n.workflow_id, n.num_cpus, n.memory_gb, n.num_gpus,
	CAST(TOTAL(q.num_cpus) AS INTEGER), CAST(TOTAL(q.memory_bytes) AS INTEGER), CAST(TOTAL(q.num_gpus) AS INTEGER), COUNT(j.id) `

// leasesOfHostUser joins the leases of the runners n. A recovery script has no part in it.
const leasesOfHostUser = `LEFT JOIN job j ON j.compute_node_id = n.id AND j.status IN (3, 4) AND j.phase = 0
	LEFT JOIN claim_class c ON c.id = j.class_id LEFT JOIN resource_requirements q ON q.id = c.requirements_id `

// selectHostUsers finds the runners that share a host, each as a neighbour of itself.
const selectHostUsers = `SELECT n.id, ` + hostUserColumns + `FROM compute_node n ` + leasesOfHostUser + `WHERE n.hostname = ? AND n.boot_id = ? AND n.is_active = 1 AND n.shares_host = 1 GROUP BY n.id ORDER BY n.id`

// selectHostNeighbours finds those with which the runners m of a workflow share their
// hosts.
const selectHostNeighbours = `SELECT m.id, ` + hostUserColumns + `FROM compute_node m
	JOIN compute_node n ON n.hostname = m.hostname AND n.boot_id = m.boot_id AND n.is_active = 1 AND n.shares_host = 1 AND n.id != m.id ` +
	leasesOfHostUser + `WHERE m.workflow_id = ? AND m.is_active = 1 AND m.shares_host = 1 GROUP BY m.id, n.id ORDER BY m.id, n.id`

// neighbour is a runner on the host of another.
type neighbour struct {
	of int64
	workflow.HostUser
}

func scanNeighbour(r rowScanner) (n neighbour, err error) {
	u := &n.HostUser
	var memoryGB float64
	err = r.Scan(&n.of, &u.RunnerID, &u.WorkflowID, &u.Total.CPUs, &memoryGB, &u.Total.GPUs, &u.Held.CPUs, &u.Held.MemoryBytes, &u.Held.GPUs, &u.Leases)
	u.Total.MemoryBytes = int64(memoryGB * (1 << 30))
	return n, err
}

// besides adds to runners what others hold on the hosts that they share.
func besides(runners []workflow.RunnerFacts, neighbours []neighbour) {
	for i := range runners {
		for _, n := range neighbours {
			if n.of == runners[i].ID {
				runners[i].Beside = append(runners[i].Beside, n.HostUser)
			}
		}
	}
}

// hostShare is a runner's part of a host that it shares with others.
type hostShare struct {
	me     workflow.HostUser
	others []workflow.HostUser
	room   workflow.HostRoom
}

// hostShare returns the part of a runner; nil if it has its host for itself.
func (tx *Tx) hostShare(r *runner) (*hostShare, error) {
	if !r.sharesHost {
		return nil, nil
	}
	var shared bool
	err := tx.row(`SELECT EXISTS (SELECT 1 FROM compute_node WHERE hostname = ? AND boot_id = ? AND is_active = 1 AND shares_host = 1 AND id != ?)`,
		[]any{r.hostname, r.bootID, r.id}, &shared)
	if err != nil || !shared {
		return nil, err
	}
	rows, err := tx.query(selectHostUsers, r.hostname, r.bootID)
	if err != nil {
		return nil, fmt.Errorf("read the runners of %s: %w", r.hostname, err)
	}
	all, err := collect(rows, scanNeighbour)
	if err != nil {
		return nil, fmt.Errorf("read the runners of %s: %w", r.hostname, err)
	}
	s := &hostShare{}
	for _, n := range all {
		u := n.HostUser
		u.Waits = tx.w.hostWaits.place(u.RunnerID, tx.nowMS)
		if u.RunnerID == r.id {
			s.me = u
		} else {
			s.others = append(s.others, u)
		}
	}
	s.room = workflow.RoomOnHost(s.me, s.others)
	return s, nil
}

// chooseShared picks jobs as far as others leave room on the host, notes whether more
// could be picked without them, and says who has it then.
func (c *claim) chooseShared(s *hostShare) (waits string, err error) {
	if c.left <= 0 || len(c.offer.Nodes) == 0 {
		c.tx.waitForHost(s, false, false)
		return "", nil
	}
	pick := func(room workflow.OfferNode, slots int64) error {
		part := *c
		part.bound(room, slots)
		err := part.choose()
		c.picked = part.picked
		return err
	}
	if err := pick(s.room.Room, c.left); err != nil {
		return "", err
	}
	if len(c.picked) == 0 && s.room.One.CPUs > 0 {
		if err := pick(s.room.One, 1); err != nil {
			return "", err
		}
	}
	wanted := *c
	held := s.me.Held
	wanted.bound(workflow.OfferNode{CPUs: s.me.Total.CPUs - held.CPUs, MemoryBytes: s.me.Total.MemoryBytes - held.MemoryBytes, GPUs: s.me.Total.GPUs - held.GPUs}, c.left)
	wanted.picked, wanted.fairness = nil, nil
	if err := wanted.choose(); err != nil {
		return "", err
	}
	more := len(wanted.picked) > len(c.picked)
	c.tx.waitForHost(s, more, len(c.picked) > 0)
	if more {
		waits = workflow.HostInUse(c.runner.hostname, s.me.Total, s.others)
	}
	return waits, nil
}

// bound has a claim pick jobs for a part of the node, which it offers once: nothing is
// taken ahead of room that others may get.
func (c *claim) bound(room workflow.OfferNode, slots int64) {
	room.Name = c.offer.Nodes[0].Name
	c.offer.Nodes = []workflow.OfferNode{room}
	c.offer.Slots, c.left = slots, slots
	c.packer = workflow.NewPacker(c.offer)
}

// waitForHost notes whether a runner waits for what others hold. One that was granted
// something now goes to the end.
func (tx *Tx) waitForHost(s *hostShare, waits, granted bool) {
	h := &tx.w.hostWaits
	switch w := h.by[s.me.RunnerID]; {
	case waits && s.me.Waits > 0 && !granted:
		w.seenMS = tx.nowMS
	case waits:
		h.last++
		h.by[s.me.RunnerID] = &hostWait{place: h.last, seenMS: tx.nowMS}
	case w != nil:
		delete(h.by, s.me.RunnerID)
		tx.wakeHosts(s.me.RunnerID)
	}
}

// wakeHosts has runners look again that wait for what others hold, but for one. Those of
// other hosts are few.
func (tx *Tx) wakeHosts(but int64) {
	var ids []int64
	for id := range tx.w.hostWaits.by {
		if id != but {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	tx.changes.Runners = appendNew(tx.changes.Runners, ids)
}

// leaveHost has the others of a host look again when a runner has left it.
func (tx *Tx) leaveHost(r *runner) {
	if r.sharesHost {
		delete(tx.w.hostWaits.by, r.id)
		tx.wakeHosts(r.id)
	}
}

package fleet

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Claim selects jobs of a workflow for an offer.
type Claim struct {
	tx         *core.Tx
	workflowID int64
	offer      placement.Offer
	packer     *placement.Packer
	left       int64 // slots
	classes    map[int64]view.JobClass
	kept       []Pick // granted earlier, to be granted again
	Picked     []Pick
	runner     *core.Runner // nil for torc's clients
	fairness   *core.Fairness
	others     []placement.Offer // of other nodes of the workflow
	askedFor   bool              // others has been read
	onlyStaged bool              // in a canceled run, only jobs of its compensation are claimed
}

// Pick is a selected job.
type Pick struct {
	job   int64
	class int64
	node  int // index in the offer
}

// NewClaim returns a Claim for an offer.
func NewClaim(tx *core.Tx, workflowID int64, offer placement.Offer) *Claim {
	return &Claim{
		tx: tx, workflowID: workflowID, offer: offer, packer: placement.NewPacker(offer), left: offer.Slots,
		classes: map[int64]view.JobClass{},
	}
}

// keep selects a job again whose grant was lost.
func (c *Claim) keep(l *core.LeasedJob) error {
	k, known := c.classes[l.ClassID]
	if !known {
		var err error
		if k, err = core.LoadClass(c.tx, l.ClassID); err != nil {
			return err
		}
		c.classes[k.ID] = k
	}
	p := Pick{job: l.JobID, class: k.ID}
	if !l.Recovering {
		p.node, _ = c.packer.Take(k.Class)
		c.left--
	}
	c.kept = append(c.kept, p)
	return nil
}

// Choose selects ready jobs in claim order.
func (c *Claim) Choose() error {
	if c.left <= 0 || len(c.offer.Nodes) == 0 && !c.offer.IgnoreResources {
		return nil
	}
	ready, err := core.ReadyClasses(c.tx, c.workflowID)
	if err != nil || len(ready) == 0 {
		return err
	}
	all := make([]placement.Class, len(ready))
	for i, k := range ready {
		c.classes[k.ID] = k
		all[i] = k.Class
	}
	if c.fairness != nil {
		reserve(c.fairness, c, all)
	}
	for found := c.packer.Candidates(all); len(found) > 0 && c.left > 0; {
		n := 1
		for n < len(found) && c.offer.Compare(found[0], found[n]) == 0 {
			n++
		}
		if err := c.chooseOf(found[:n]); err != nil {
			return err
		}
		found = found[n:]
	}
	return nil
}

// candidate is a ready job, with the index of its class.
type candidate struct {
	id    int64
	class int
}

// chooseOf selects jobs of classes of equal rank, by id.
func (c *Claim) chooseOf(classes []placement.Class) error {
	var jobs []candidate
	for i, k := range classes {
		found, err := c.readyOf(k)
		if err != nil {
			return err
		}
		for _, id := range found {
			jobs = append(jobs, candidate{id: id, class: i})
		}
	}
	if len(classes) > 1 {
		slices.SortFunc(jobs, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	}
	full := make([]bool, len(classes))
	for _, j := range jobs {
		if full[j.class] {
			continue
		}
		k := classes[j.class]
		node, ok := c.packer.Take(k)
		if full[j.class] = !ok; !ok {
			continue
		}
		c.Picked = append(c.Picked, Pick{job: j.id, class: k.ID, node: node})
		c.left--
	}
	return nil
}

// avoids is a condition for jobs that avoid the node ?3 now.
const avoids = `avoid_nodes IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(avoid_nodes)
	WHERE value ->> 'node' = ?3 AND COALESCE(value ->> 'until_ms', ?2 + 1) > ?2)`

// readyOf returns claimable jobs of a class: those that do not avoid the runner's node and,
// if there is room left, those that avoid it but have no other.
func (c *Claim) readyOf(k placement.Class) ([]int64, error) {
	ready := `SELECT id FROM job WHERE class_id = ?1 AND status = {ready} AND not_before_ms <= ?2 `
	if c.onlyStaged { // the + makes SQLite use the index of stages: there may be many more jobs
		ready = `SELECT id FROM job WHERE +class_id = ?1 AND status = {ready} AND not_before_ms <= ?2 AND stage_id IN (
			SELECT s.id FROM claim_class k JOIN stage s ON s.workflow_id = k.workflow_id AND s.kind = 'compensation' WHERE k.id = ?1) `
	}
	const order = ` ORDER BY not_before_ms, id LIMIT ?4`
	var host string
	if c.runner != nil {
		host = c.runner.Hostname
	}
	found, err := core.IDsOf(c.tx, ready+`AND NOT (`+avoids+`)`+order, k.ID, c.tx.NowMS, host, c.left)
	if err != nil {
		return nil, fmt.Errorf("read ready jobs of class %d: %w", k.ID, err)
	}
	if host == "" || int64(len(found)) == c.left {
		return found, nil
	}
	avoiding, err := core.IDsOf(c.tx, ready+`AND `+avoids+order, k.ID, c.tx.NowMS, host, c.left-int64(len(found)))
	if err != nil {
		return nil, fmt.Errorf("read ready jobs of class %d: %w", k.ID, err)
	}
	if len(avoiding) == 0 {
		return found, nil
	}
	elsewhere, err := c.elsewhere(k)
	if err != nil || elsewhere {
		return found, err
	}
	return append(found, avoiding...), nil
}

// elsewhere reports whether jobs of a class could run on another node: one of the workflow,
// or one of an allocation that can be requested.
func (c *Claim) elsewhere(k placement.Class) (bool, error) {
	if k.Login {
		return false, nil
	}
	if !c.askedFor {
		c.askedFor = true
		others, err := sqlite.Select(c.tx, core.ScanRunner, core.SelectRunners+`WHERE workflow_id = ? AND is_active = 1 AND hostname != ? LIMIT 100`, c.workflowID, c.runner.Hostname)
		if err != nil {
			return false, fmt.Errorf("read the nodes of workflow %d: %w", c.workflowID, err)
		}
		for _, r := range others {
			c.others = append(c.others, r.TotalOffer(nil))
		}
	}
	for _, o := range c.others {
		if ok, _ := placement.NewPacker(o).Fits(k); ok {
			return true, nil
		}
	}
	places := c.tx.Shared.Places.Of(c.workflowID)
	return places != nil && places.Elsewhere(k, c.runner.Hostname), nil
}

// Take leases the selected jobs to a holder; nil is a torc client. The attempt number
// follows the last recorded one of this run.
func (c *Claim) Take(runID int64, holder *int64) error {
	if len(c.Picked) == 0 {
		return nil
	}
	err := engine.ClaimJobs(c.tx, c.workflowID, runID, JobsOf(c.Picked), holder)
	return sqlite.Wrap(err, "claim %d jobs of workflow %d", len(c.Picked), c.workflowID)
}

// JobsOf returns the ids of candidates.
func JobsOf(picks []Pick) []int64 {
	ids := make([]int64, len(picks))
	for i, p := range picks {
		ids[i] = p.job
	}
	return ids
}

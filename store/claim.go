package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// claim picks jobs of a workflow for one offer.
type claim struct {
	tx         *Tx
	workflowID int64
	offer      workflow.Offer
	packer     *workflow.Packer
	left       int64 // slots
	classes    map[int64]jobClass
	kept       []pick // granted before, and again
	picked     []pick
	runner     *runner // nil for torc's clients
	fairness   *fairness
	others     []workflow.Offer // of the workflow's other nodes
	askedFor   bool             // others have been read
	onlyStaged bool             // of a canceled run, nothing is claimed but what undoes it
}

// pick is a job that was chosen.
type pick struct {
	job   int64
	class int64
	node  int // of the offer
}

func newClaim(tx *Tx, workflowID int64, offer workflow.Offer) *claim {
	return &claim{
		tx: tx, workflowID: workflowID, offer: offer, packer: workflow.NewPacker(offer), left: offer.Slots,
		classes: map[int64]jobClass{},
	}
}

// keep picks a job that was granted before: its grant got lost.
func (c *claim) keep(l *lease) error {
	k, known := c.classes[l.classID]
	if !known {
		var err error
		if k, err = c.tx.class(l.classID); err != nil {
			return err
		}
		c.classes[k.ID] = k
	}
	p := pick{job: l.JobID, class: k.ID}
	if !l.recovering {
		p.node, _ = c.packer.Take(k.Class)
		c.left--
	}
	c.kept = append(c.kept, p)
	return nil
}

// choose picks ready jobs in the order in which they are to be claimed.
func (c *claim) choose() error {
	if c.left <= 0 || len(c.offer.Nodes) == 0 && !c.offer.IgnoreResources {
		return nil
	}
	ready, err := c.tx.readyClasses(c.workflowID)
	if err != nil || len(ready) == 0 {
		return err
	}
	all := make([]workflow.Class, len(ready))
	for i, k := range ready {
		c.classes[k.ID] = k
		all[i] = k.Class
	}
	if c.fairness != nil {
		c.fairness.reserve(c, all)
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

// chooseOf picks jobs of classes that compare as equal, by their ids.
func (c *claim) chooseOf(classes []workflow.Class) error {
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
		c.picked = append(c.picked, pick{job: j.id, class: k.ID, node: node})
		c.left--
	}
	return nil
}

// avoids is the condition that a job keeps away from the node ?3 now.
const avoids = `avoid_nodes IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(avoid_nodes)
	WHERE value ->> 'node' = ?3 AND COALESCE(value ->> 'until_ms', ?2 + 1) > ?2)`

// readyOf returns jobs of a class that may be claimed now: those that do not
// avoid the runner's node, and, if these leave room, those that do and would not
// get another.
func (c *claim) readyOf(k workflow.Class) ([]int64, error) {
	ready := `SELECT id FROM job WHERE class_id = ?1 AND status = 2 AND not_before_ms <= ?2 `
	if c.onlyStaged { // of perhaps many more; the + has SQLite take the index of their stage
		ready = `SELECT id FROM job WHERE +class_id = ?1 AND status = 2 AND not_before_ms <= ?2 AND stage_id IN (
			SELECT s.id FROM claim_class k JOIN stage s ON s.workflow_id = k.workflow_id AND s.kind = 'compensation' WHERE k.id = ?1) `
	}
	const order = ` ORDER BY not_before_ms, id LIMIT ?4`
	var host string
	if c.runner != nil {
		host = c.runner.hostname
	}
	found, err := c.tx.idsOf(ready+`AND NOT (`+avoids+`)`+order, k.ID, c.tx.nowMS, host, c.left)
	if err != nil {
		return nil, fmt.Errorf("read ready jobs of class %d: %w", k.ID, err)
	}
	if host == "" || int64(len(found)) == c.left {
		return found, nil
	}
	avoiding, err := c.tx.idsOf(ready+`AND `+avoids+order, k.ID, c.tx.nowMS, host, c.left-int64(len(found)))
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

// elsewhere reports whether jobs of a class could run on another node than the
// runner's: one of the workflow, or of an allocation that can be asked for.
func (c *claim) elsewhere(k workflow.Class) (bool, error) {
	if k.Login {
		return false, nil
	}
	if !c.askedFor {
		c.askedFor = true
		rows, err := c.tx.query(selectRunners+`WHERE workflow_id = ? AND is_active = 1 AND hostname != ? LIMIT 100`, c.workflowID, c.runner.hostname)
		if err != nil {
			return false, fmt.Errorf("read the nodes of workflow %d: %w", c.workflowID, err)
		}
		others, err := collect(rows, scanRunner)
		if err != nil {
			return false, fmt.Errorf("read the nodes of workflow %d: %w", c.workflowID, err)
		}
		for _, r := range others {
			c.others = append(c.others, r.totalOffer(nil))
		}
	}
	for _, o := range c.others {
		if ok, _ := workflow.NewPacker(o).Fits(k); ok {
			return true, nil
		}
	}
	ask := c.tx.w.elsewhere
	return ask != nil && ask(c.workflowID, k, c.runner.hostname), nil
}

// take gives the picked jobs to a holder: nil is a torc client. The attempt of
// a job is the one after the last that was recorded in this run.
func (c *claim) take(runID int64, holder *int64) error {
	if len(c.picked) == 0 {
		return nil
	}
	// A job that became ready in this use case has not been stamped.
	n, err := c.tx.exec(`UPDATE job SET status = 3, fence = fence + 1, compute_node_id = ?2, claimed_ms = ?3, start_ms = NULL, `+notReady+`,
			first_ready_ms = COALESCE(first_ready_ms, iif(policy_id IS NULL, NULL, ?3)),
			attempt_id = 1 + COALESCE((SELECT MAX(a.attempt_id) FROM attempt a WHERE a.job_id = job.id AND a.run_id = ?4), 0)
		WHERE id IN (SELECT value FROM json_each(?1)) AND status = 2`, idList(jobsOf(c.picked)), holder, c.tx.nowMS, runID)
	if err == nil && n != int64(len(c.picked)) {
		err = fmt.Errorf("%w: %d of %d", errNoRow, n, len(c.picked))
	}
	if err != nil {
		return fmt.Errorf("claim %d jobs of workflow %d: %w", len(c.picked), c.workflowID, err)
	}
	c.tx.move(c.workflowID, workflow.Ready, workflow.Pending, n)
	return nil
}

func jobsOf(picks []pick) []int64 {
	ids := make([]int64, len(picks))
	for i, p := range picks {
		ids[i] = p.job
	}
	return ids
}

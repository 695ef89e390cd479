package simulation

import (
	"fmt"
	"time"
)

// auditPeriod is the time between two audits during a run.
const auditPeriod = time.Minute

// maxStrayAudits is the number of consecutive audits for which a process may live on without
// a lease while its runner and the daemon can communicate: the runner learns of it in its
// next turn and gives the process its grace time.
const maxStrayAudits = 4

// audit regularly checks what the end of the run does not show.
func (w *world) audit() {
	var last *daemon
	untold := untoldLeases{}
	for sleep(w.life, auditPeriod) == nil {
		d := w.present()
		if d != nil && d == last {
			w.auditProcesses(d)
			untold = w.auditGrants(d, untold)
			w.auditAllocations(d)
		} else {
			w.ps.forgetStrays()
			w.surplus, untold = 0, untoldLeases{}
		}
		last = d
	}
}

// auditProcesses checks that processes without a lease are ended (P13).
func (w *world) auditProcesses(d *daemon) {
	holds := map[leaseKey]bool{}
	w.queryFile(d.path, `SELECT id, fence FROM job WHERE status IN (3, 4)`, func(scan func(...any)) {
		var l leaseKey
		scan(&l.job, &l.fence)
		holds[l] = true
	})
	calm := w.weather() == weather{}
	w.ps.mu.Lock()
	defer w.ps.mu.Unlock()
	for _, p := range w.ps.live {
		if holds[leaseKey{p.job, p.fence}] || !calm || w.isCut(hostOf(p.node)) {
			p.strays = 0
			continue
		}
		if p.strays++; p.strays == maxStrayAudits {
			w.violated("P13: job %d attempt %d continues on %s without a lease", p.job, p.attempt, p.node)
		}
	}
}

// maxSurplusAudits is the number of consecutive audits for which more allocations than jobs
// may be waiting, because Slurm may not answer for a while.
const maxSurplusAudits = 6

// cancelTime is the time after which a decided cancellation must have been carried out if
// nothing fails any more.
const cancelTime = 25 * time.Minute

// auditAllocations checks that no more allocations wait than there are jobs for (P10),
// and that unwanted ones are gone (P13).
func (w *world) auditAllocations(d *daemon) {
	if w.cluster == nil {
		return
	}
	var jobs, waiting int
	w.queryFile(d.path, `SELECT (SELECT COUNT(*) FROM job WHERE status IN (0, 1, 2, 3)), (SELECT COUNT(*) FROM allocation
			WHERE state IN ('intent', 'pending') AND is_duplicate = 0 AND superseded_ms = 0 AND restart_count = 0 AND cancel_ms = 0)`,
		func(scan func(...any)) { scan(&jobs, &waiting) })
	if w.complete() {
		jobs = 0
	}
	if waiting <= jobs {
		w.surplus = 0
	} else if w.surplus++; w.surplus == maxSurplusAudits {
		w.violated("P10: %d allocations wait for %d jobs", waiting, jobs)
	}
	if time.Since(w.until) < cancelTime {
		return
	}
	since := time.Now().Add(-cancelTime).UnixMilli()
	w.queryFile(d.path, fmt.Sprintf(`SELECT id FROM allocation WHERE state != 'ended' AND cancel_ms BETWEEN 1 AND %d`, since), func(scan func(...any)) {
		var id int64
		scan(&id)
		w.violated("P13: allocation %d was canceled %s ago", id, cancelTime)
	})
}

// maxUntoldAudits is the number of consecutive audits for which a runner may not know of a
// lease although it gets answers in the meantime.
const maxUntoldAudits = 3

// untoldLeases are the leases that their runners do not know of.
type untoldLeases map[leaseKey]struct{ audits, answers int }

// auditGrants checks that a grant whose answer was lost is granted again.
func (w *world) auditGrants(d *daemon, before untoldLeases) untoldLeases {
	now := untoldLeases{}
	w.queryFile(d.path, `SELECT j.id, j.fence, n.runner_key FROM job j JOIN compute_node n ON n.id = j.compute_node_id
			WHERE j.status = 3 AND j.phase = 0`, func(scan func(...any)) {
		var l leaseKey
		var runner string
		scan(&l.job, &l.fence, &runner)
		w.mu.Lock()
		u, answers, told := before[l], w.answers[runner], w.told[l]
		w.mu.Unlock()
		if told {
			return
		}
		if answers > u.answers {
			u.audits++
		}
		if u.audits == maxUntoldAudits+1 { // the first audit only starts the count
			w.violated("P2: job %d was granted to %s, which was never told", l.job, runner)
		}
		u.answers = answers
		now[l] = u
	})
	return now
}

func (ps *processes) forgetStrays() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.live {
		p.strays = 0
	}
}

package view

import (
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
)

// How many finished jobs of a class tell how long others run, and among how many jobs of
// the class they are searched for.
const (
	runtimesRead   = 200
	runtimesSought = 1000
)

// selectRuntimes selects the runtimes of completed jobs of a class, near to its first ready job:
// as jobs of a class run in the order of their ids, the latest are before it.
const selectRuntimes = `WITH first AS (SELECT COALESCE((SELECT MIN(id) FROM job WHERE class_id = ?1 AND status = {ready}), 1 << 62) AS ready),
	near AS (SELECT * FROM (SELECT id, status FROM job, first WHERE class_id = ?1 AND id < ready ORDER BY id DESC LIMIT ?2)
		UNION ALL SELECT * FROM (SELECT id, status FROM job, first WHERE class_id = ?1 AND id >= ready ORDER BY id LIMIT ?2))
	SELECT a.end_ms - a.start_ms FROM near j JOIN attempt a ON a.job_id = j.id AND a.status = {completed}
	WHERE j.status = {completed} AND a.start_ms IS NOT NULL LIMIT ?3`

// Runtimes returns how long completed jobs of claim classes ran, by class, a few hundred of each
// at most.
func (s Scheduling) Runtimes(ctx context.Context, classes []int64) (map[int64][]time.Duration, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	all := make(map[int64][]time.Duration, len(classes))
	for _, id := range classes {
		all[id], err = selectFacts(&l, selectRuntimes, []any{id, runtimesSought, runtimesRead},
			func(r sqlite.Scanner) (time.Duration, error) {
				var ms int64
				err := r.Scan(&ms)
				return time.Duration(max(ms, 0)) * time.Millisecond, err
			})
		if err != nil {
			return nil, fmt.Errorf("read the runtimes of class %d: %w", id, err)
		}
	}
	return all, nil
}

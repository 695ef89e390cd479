package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"

	_ "github.com/torc-slurm/torc-slurm/store" // the driver
)

// standaloneDatabase is where `torc-slurm -s` keeps its database.
func standaloneDatabase(dir string) string {
	return filepath.Join(dir, "torc_output", "torc.db")
}

// times are the start and the end of an attempt in milliseconds.
type times struct{ start, end int64 }

// attempts returns the attempts of the jobs whose names match a GLOB pattern,
// by start.
func attempts(ctx context.Context, dir, pattern string) ([]times, error) {
	db, err := sql.Open("sqlite3", "file:"+standaloneDatabase(dir)+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `
		SELECT a.start_ms, a.end_ms FROM attempt a JOIN job j ON j.id = a.job_id
		WHERE j.name GLOB ? ORDER BY a.start_ms, a.end_ms`, pattern)
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	defer rows.Close()
	var list []times
	for rows.Next() {
		var t times
		if err := rows.Scan(&t.start, &t.end); err != nil {
			return nil, fmt.Errorf("read attempts: %w", err)
		}
		list = append(list, t)
	}
	return list, rows.Err()
}

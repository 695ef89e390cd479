// Package metricsdb writes the time series of a runner into a SQLite file, in the tables
// that torc's tools read.
package metricsdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3" // the driver

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
)

// JobSample is one measurement of a job's process tree.
type JobSample struct {
	JobID       int64
	Timestamp   int64   // seconds since the epoch
	CPUPercent  float64 // 100 is one CPU
	MemoryBytes int64
	Processes   int64
}

// SystemSample is one measurement of the node.
type SystemSample struct {
	Timestamp        int64   // seconds since the epoch
	CPUPercent       float64 // 100 is all CPUs
	MemoryBytes      int64   // in use
	TotalMemoryBytes int64
}

// Summary sums up the measurements of the node.
type Summary struct {
	SampleCount     int64
	PeakCPUPercent  float64
	AvgCPUPercent   float64
	PeakMemoryBytes int64
	AvgMemoryBytes  int64
}

// Batch is written in one transaction.
type Batch struct {
	Jobs    []JobSample
	System  []SystemSample
	Names   map[int64]string // of jobs
	Summary *Summary         // nil if there is none yet
}

// Empty reports whether there is nothing to write.
func (b *Batch) Empty() bool {
	return len(b.Jobs) == 0 && len(b.System) == 0 && len(b.Names) == 0 && b.Summary == nil
}

const schema = `
CREATE TABLE IF NOT EXISTS job_resource_samples (
	id INTEGER PRIMARY KEY,
	job_id INTEGER NOT NULL,
	timestamp INTEGER NOT NULL,
	cpu_percent REAL NOT NULL,
	memory_bytes INTEGER NOT NULL,
	num_processes INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS job_resource_samples_job ON job_resource_samples (job_id, timestamp);
CREATE TABLE IF NOT EXISTS job_metadata (
	job_id INTEGER PRIMARY KEY,
	job_name TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS system_resource_samples (
	id INTEGER PRIMARY KEY,
	timestamp INTEGER NOT NULL,
	cpu_percent REAL NOT NULL,
	memory_bytes INTEGER NOT NULL,
	total_memory_bytes INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS system_resource_summary (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	sample_count INTEGER NOT NULL,
	peak_cpu_percent REAL NOT NULL,
	avg_cpu_percent REAL NOT NULL,
	peak_memory_bytes INTEGER NOT NULL,
	avg_memory_bytes INTEGER NOT NULL
);`

// DB is an open file. It is not safe for concurrent use.
type DB struct {
	sql *sql.DB
}

// Open opens a file, and creates it with its folder if it does not exist.
func Open(path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	// Only for its owner, since it has the names of jobs.
	f, err := trustedfile.OpenOwn(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	// The data may be lost if the node crashes. The file may be on a network file system,
	// where WAL does not work.
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: path,
		RawQuery: "_journal_mode=DELETE&_synchronous=OFF&_busy_timeout=10000&_txlock=immediate"}
	handle, err := sql.Open("sqlite3", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	handle.SetMaxOpenConns(1)
	if _, err := handle.Exec(schema); err != nil {
		return nil, errors.Join(fmt.Errorf("open metrics %s: %w", path, err), handle.Close())
	}
	return &DB{sql: handle}, nil
}

// Write adds a batch, all or nothing.
func (d *DB) Write(ctx context.Context, b *Batch) error {
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	if err := b.insert(tx); err != nil {
		return errors.Join(fmt.Errorf("write metrics: %w", err), tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// Close closes the file.
func (d *DB) Close() error { return d.sql.Close() }

func (b *Batch) insert(tx *sql.Tx) error {
	err := each(tx, `INSERT INTO job_resource_samples (job_id, timestamp, cpu_percent, memory_bytes, num_processes)
		VALUES (?, ?, ?, ?, ?)`, b.Jobs, func(s JobSample) []any {
		return []any{s.JobID, s.Timestamp, s.CPUPercent, s.MemoryBytes, s.Processes}
	})
	if err != nil {
		return err
	}
	err = each(tx, `INSERT INTO system_resource_samples (timestamp, cpu_percent, memory_bytes, total_memory_bytes)
		VALUES (?, ?, ?, ?)`, b.System, func(s SystemSample) []any {
		return []any{s.Timestamp, s.CPUPercent, s.MemoryBytes, s.TotalMemoryBytes}
	})
	if err != nil {
		return err
	}
	for id, name := range b.Names {
		if _, err := tx.Exec(`INSERT OR REPLACE INTO job_metadata (job_id, job_name) VALUES (?, ?)`, id, name); err != nil {
			return err
		}
	}
	if s := b.Summary; s != nil {
		_, err = tx.Exec(`INSERT OR REPLACE INTO system_resource_summary
			(id, sample_count, peak_cpu_percent, avg_cpu_percent, peak_memory_bytes, avg_memory_bytes)
			VALUES (1, ?, ?, ?, ?, ?)`,
			s.SampleCount, s.PeakCPUPercent, s.AvgCPUPercent, s.PeakMemoryBytes, s.AvgMemoryBytes)
	}
	return err
}

// each executes a statement for each item.
func each[T any](tx *sql.Tx, statement string, items []T, values func(T) []any) error {
	if len(items) == 0 {
		return nil
	}
	stmt, err := tx.Prepare(statement)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, item := range items {
		if _, err := stmt.Exec(values(item)...); err != nil {
			return err
		}
	}
	return nil
}

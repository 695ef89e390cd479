package metricsdb

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T, path string) *DB {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a dir?#", "metrics.db")
	d := open(t, path)
	batch := Batch{
		Jobs:   []JobSample{{JobID: 4, Timestamp: 10, CPUPercent: 150, MemoryBytes: 1 << 40, Processes: 3}},
		System: []SystemSample{{Timestamp: 10, CPUPercent: 50, MemoryBytes: 7, TotalMemoryBytes: 9}},
		Names:  map[int64]string{4: "it's"},
	}
	for range 2 {
		if err := d.Write(context.Background(), &batch); err != nil {
			t.Fatal(err)
		}
	}
	last := Batch{Summary: &Summary{SampleCount: 2, PeakCPUPercent: 50, AvgCPUPercent: 40, PeakMemoryBytes: 7, AvgMemoryBytes: 6}}
	if err := d.Write(context.Background(), &last); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	d = open(t, path) // a later runner of the same run adds to it
	var got struct {
		Jobs, System, Names, Summaries int
		Memory                         int64
		Name                           string
	}
	err := d.sql.QueryRow(`SELECT (SELECT count(*) FROM job_resource_samples), (SELECT count(*) FROM system_resource_samples),
		(SELECT count(*) FROM job_metadata), (SELECT count(*) FROM system_resource_summary),
		(SELECT max(memory_bytes) FROM job_resource_samples), (SELECT job_name FROM job_metadata)`).
		Scan(&got.Jobs, &got.System, &got.Names, &got.Summaries, &got.Memory, &got.Name)
	if err != nil {
		t.Fatal(err)
	}
	want := got
	want.Jobs, want.System, want.Names, want.Summaries, want.Memory, want.Name = 2, 2, 1, 1, 1<<40, "it's"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWriteIsAllOrNothing fails at each part of a batch in turn.
func TestWriteIsAllOrNothing(t *testing.T) {
	batch := Batch{
		Jobs: []JobSample{{JobID: 1}}, System: []SystemSample{{}}, Names: map[int64]string{1: "a"}, Summary: &Summary{},
	}
	for _, table := range []string{"job_resource_samples", "system_resource_samples", "job_metadata", "system_resource_summary"} {
		t.Run(table, func(t *testing.T) {
			d := open(t, filepath.Join(t.TempDir(), "m.db"))
			for _, refuse := range []string{
				`CREATE TRIGGER refuse BEFORE INSERT ON ` + table + ` BEGIN SELECT RAISE(ABORT, 'no room'); END`,
				`DROP TRIGGER refuse; DROP TABLE ` + table,
			} {
				if _, err := d.sql.Exec(refuse); err != nil {
					t.Fatal(err)
				}
				if err := d.Write(t.Context(), &batch); err == nil {
					t.Fatalf("no error after %s", refuse)
				}
			}
			for _, other := range []string{"job_resource_samples", "system_resource_samples", "job_metadata", "system_resource_summary"} {
				if other == table {
					continue
				}
				var n int
				if err := d.sql.QueryRow(`SELECT count(*) FROM ` + other).Scan(&n); err != nil || n != 0 {
					t.Errorf("%s has %d rows, %v", other, n, err)
				}
			}
		})
	}
}

func TestWriteCanceled(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "m.db"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Write(ctx, &Batch{Jobs: []JobSample{{JobID: 1}}}); err == nil {
		t.Error("no error")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, dir, filepath.Join(text, "m.db")} {
		if d, err := Open(path); err == nil {
			d.Close()
			t.Errorf("%s was opened", path)
		}
	}
}

func TestEmpty(t *testing.T) {
	if b := (Batch{}); !b.Empty() {
		t.Error("empty batch is not empty")
	}
	if b := (Batch{Summary: &Summary{}}); b.Empty() {
		t.Error("batch with a summary is empty")
	}
}

func TestOpenFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := Open(filepath.Join(file, "m.db")); err == nil {
		d.Close()
		t.Error("no error")
	}
}

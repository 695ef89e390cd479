package metricsdb

import (
	"context"
	"os"
	"path/filepath"
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

func TestWriteIsAllOrNothing(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "m.db"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Write(ctx, &Batch{Jobs: []JobSample{{JobID: 1}}}); err == nil {
		t.Fatal("no error")
	}
	var n int
	if err := d.sql.QueryRow(`SELECT count(*) FROM job_resource_samples`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
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

package slurm

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldens says how each file of testdata is parsed.
var goldens = map[string]func([]byte) (any, error){
	"22.05/squeue.txt":                    readQueue,
	"22.05/squeue-special.txt":            readQueue,
	"22.05/sacct.txt":                     readAccounting,
	"22.05/show-job.txt":                  readJob,
	"22.05/show-job-line-break.txt":       readJob,
	"22.05/show-partition.txt":            readPartitions,
	"22.05/show-config.txt":               readConfig,
	"22.05/sinfo.txt":                     readNodes,
	"22.05/sinfo-planned.txt":             readNodeLoads,
	"22.05/sinfo-reserved.txt":            readNodeLoads,
	"22.05/sinfo-down.txt":                readNodeLoads,
	"22.05/show-reservation.txt":          readReservations,
	"22.05/show-node.txt":                 readNodeRecords,
	"22.05/associations.txt":              readAssociations,
	"22.05/qos.txt":                       readQOS,
	"documented/20.11-sacct.txt":          readAccounting,
	"documented/23.02-show-job.txt":       readJob,
	"documented/24.05-show-partition.txt": readPartitions,
}

func readQueue(out []byte) (any, error) {
	jobs, skipped, err := parseQueue(out)
	return whole(jobs, skipped, err)
}

func readAccounting(out []byte) (any, error) {
	records, skipped, err := parseAccounting(out)
	return whole(records, skipped, err)
}

// whole makes rows that could not be parsed an error.
func whole(rows any, skipped int, err error) (any, error) {
	if err == nil && skipped > 0 {
		err = garbled("", "some rows were skipped")
	}
	return rows, err
}

func readNodes(out []byte) (any, error) { return parseNodes(out) }

func readNodeLoads(out []byte) (any, error) {
	nodes, skipped, err := parseNodeLoads(out)
	return whole(nodes, skipped, err)
}

func readReservations(out []byte) (any, error) { return parseReservations(string(out)) }

func readNodeRecords(out []byte) (any, error) { return parseNodeRecords(string(out)) }

func readJob(out []byte) (any, error) {
	d, err := parseJobDetail(firstJob(string(out)))
	d.Values = nil
	return d, err
}

func readPartitions(out []byte) (any, error) {
	all, err := parsePartitions(string(out))
	for i := range all {
		all[i].Values = nil
	}
	return all, err
}

func readConfig(out []byte) (any, error) {
	c, err := parseConfig(string(out))
	c.Values = nil
	return c, err
}

func readAssociations(out []byte) (any, error) {
	c := New(Options{Executor: &stub{out: Output{Stdout: out}}})
	return c.Associations(context.Background(), "torctest")
}

func readQOS(out []byte) (any, error) {
	c := New(Options{Executor: &stub{out: Output{Stdout: out}}})
	return c.QOS(context.Background())
}

func TestGolden(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) != len(goldens) {
		t.Errorf("%d files for %d readers, %v", len(files), len(goldens), err)
	}
	for name, read := range goldens {
		out, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		value, err := read(out)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		compare(t, filepath.Join("testdata", strings.TrimSuffix(name, ".txt")+".golden"), value)
	}
}

// compare writes each value as one line of JSON and compares the lines with a file.
func compare(t *testing.T, path string, value any) {
	t.Helper()
	got, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	got = append(bytes.ReplaceAll(got, []byte("},{\""), []byte("},\n{\"")), '\n')
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// FuzzAnswers: whatever the programs print, parsing it does not panic, and every job in a
// parsed queue has an id and a state, and no node has negative resources.
func FuzzAnswers(f *testing.F) {
	for name := range goldens {
		out, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out)
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, read := range goldens {
			if value, err := read(out); err != nil && ClassOf(err) != Unavailable {
				t.Errorf("%v of %v", err, value)
			}
		}
		jobs, _, _ := parseQueue(out)
		for _, job := range jobs {
			if job.ID.IsZero() || job.State == "" {
				t.Errorf("%+v", job)
			}
		}
		nodes, _, _ := parseNodeLoads(out)
		for _, n := range WithoutReservedLoad(nodes, []NodeRecord{{Name: "n1", ReservedCPUs: 3, ReservedMemory: GiB}}) {
			if problem := impossible(&n); problem != "" {
				t.Errorf("%s: %+v", problem, n)
			}
		}
	})
}

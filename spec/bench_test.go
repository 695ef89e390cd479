package spec

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
)

func sweepOfJobs(n int) []byte {
	return fmt.Appendf(nil, `name: sweep
resource_requirements: [{name: small, num_cpus: 1, memory: 1g}]
jobs:
  - {name: "job_{i:07d}", command: "./sim --seed {i} --out out/{i}.dat", resource_requirements: small, parameters: {i: "1:%d"}}
`, n)
}

func BenchmarkParse100k(b *testing.B) {
	src := sweepOfJobs(100_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("sweep.yaml", src, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse1M(b *testing.B) {
	src := sweepOfJobs(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("sweep.yaml", src, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// manyJobs is a specification that writes every job out.
func manyJobs(n int) *Document {
	d := &Document{Name: "many"}
	for i := range n {
		d.Jobs = append(d.Jobs, &Job{Name: fmt.Sprintf("job_%d", i), Command: fmt.Sprintf("echo %d", i)})
	}
	return d
}

func BenchmarkParse100kWrittenOut(b *testing.B) {
	asJSON, err := manyJobs(100_000).JSON()
	if err != nil {
		b.Fatal(err)
	}
	var asYAML bytes.Buffer
	asYAML.WriteString("name: many\njobs:\n")
	for i := range 100_000 {
		fmt.Fprintf(&asYAML, "  - name: job_%d\n    command: \"echo %d\"\n", i, i)
	}
	for name, src := range map[string][]byte{"many.json": asJSON, "many.yaml": asYAML.Bytes()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(name, src, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMemoryOfASweep bounds the memory per job: a million jobs must stay under
// 1.5 GiB together with the garbage that making them leaves behind.
func TestMemoryOfASweep(t *testing.T) {
	const jobs, perJob = 200_000, 1000 // bytes
	src := sweepOfJobs(jobs)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := Parse("sweep.yaml", src, Options{})
	if err != nil {
		t.Fatal(rendered(err))
	}
	runtime.ReadMemStats(&after)
	allocated := (after.TotalAlloc - before.TotalAlloc) / jobs
	runtime.GC()
	runtime.ReadMemStats(&after)
	kept := (after.HeapAlloc - before.HeapAlloc) / jobs
	t.Logf("%d bytes per job allocated, %d kept", allocated, kept)
	if allocated > perJob {
		t.Errorf("%d bytes per job, at most %d are allowed", allocated, perJob)
	}
	runtime.KeepAlive(r)
}

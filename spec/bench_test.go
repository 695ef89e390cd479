package spec

import (
	"fmt"
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

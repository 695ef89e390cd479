package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func inWords(d time.Duration) string { return workflow.FormatSeconds(int64(d / time.Second)) }

// countOf writes "1 ready job", "12 ready jobs".
func countOf(n int64, noun string) string {
	return workflow.CountOf(n, noun, noun+"s")
}

// inWords writes what so many allocations of the shape are: "3 allocations of 2
// nodes for 1h3m, without n1".
func (s *Shape) inWords(count int) string {
	text := fmt.Sprintf("%s of %s for %s", countOf(int64(count), "allocation"), countOf(s.Nodes, "node"), inWords(s.Walltime))
	if !s.WholeNodes {
		text += fmt.Sprintf(" with %s, %s", countOf(s.Node.CPUs, "CPU"), workflow.FormatBytes(s.Node.MemoryBytes))
		if s.Node.GPUs > 0 {
			text += ", " + countOf(s.Node.GPUs, "GPU")
		}
	}
	if len(s.Exclude) > 0 {
		text += ", without " + strings.Join(s.Exclude, ",")
	}
	return text
}

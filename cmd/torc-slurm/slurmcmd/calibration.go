package slurmcmd

import (
	"fmt"
	"io"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// writeCalibration writes what was expected of allocations beside what happened; nothing if c is nil.
func writeCalibration(w io.Writer, c *compute.Calibration) {
	if c == nil {
		return
	}
	fmt.Fprintf(w, "\nForecasts of %s\n", workflow.CountOf(int64(len(c.Allocations)), "allocation", "allocations"))
	cli.WriteFields(w,
		cli.Field{"  Wait", fmt.Sprintf("expected %s, was %s (medians)", workflow.FormatSeconds(c.ExpectedWaitS), workflow.FormatSeconds(c.WaitS))},
		cli.Field{"  In time", fmt.Sprintf("%d of %d started within the wait that nine of ten should not exceed", c.InTime, c.Waited)},
		cli.Field{"  Idle", fmt.Sprintf("expected %.0f %%, was %.0f %% of the CPU time", 100*c.ExpectedIdleShare, 100*c.IdleShare)},
	)
	for _, p := range c.Plans {
		fmt.Fprintf(w, "\n%s: %s, expected to end the jobs in %s with %s; had %s\n", time.UnixMilli(p.AskedMS).Local().Format(time.DateTime),
			workflow.CountOf(int64(p.Allocations), "allocation", "allocations"), workflow.FormatSeconds(p.ExpectedEndS), cpuHours(p.ExpectedCPUSeconds), cpuHours(p.CPUSeconds))
		if p.Instead != "" {
			fmt.Fprintf(w, "  instead of %s\n", cli.Printable(p.Instead))
		}
	}
}

func cpuHours(seconds int64) string { return fmt.Sprintf("%.1f CPU hours", float64(seconds)/3600) }

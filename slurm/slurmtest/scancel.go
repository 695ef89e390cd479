package slurmtest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// scancel cancels jobs or sends them a signal. Like the real one it ignores unknown jobs.
func scancel(q *queue, c *controller, args []string, uid int) slurm.Output {
	named, ids := options(args, map[string]string{"-s": "signal"})
	for _, id := range ids {
		number, err := strconv.ParseInt(strings.SplitN(id, ".", 2)[0], 10, 64)
		if err != nil {
			return refusal(fmt.Sprintf("scancel: error: Invalid job id %s", id))
		}
		j := q.job(number)
		if j == nil {
			continue
		}
		if uid != 0 && j.uid != uid {
			return refusal(fmt.Sprintf("scancel: error: Kill job error on job id %s: Access/permission denied", id))
		}
		signal := strings.TrimPrefix(named["signal"], "SIG")
		to := Steps
		if _, ok := named["batch"]; ok {
			to = BatchShell
		} else if _, ok := named["full"]; ok {
			to = Everything
		}
		if r := j.current(); signal == "" || signal == "KILL" && to != BatchShell {
			c.cancel(j, uid)
		} else if r != nil {
			c.send(r, signal, to)
		}
	}
	return slurm.Output{}
}

package jobs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

func TestWithoutColumns(t *testing.T) {
	titles := func(titles ...string) (shown []string, err error) {
		l, err := withoutColumns(apidata.JobColumns(nil, time.Time{}), titles)
		for _, c := range l.Columns {
			shown = append(shown, c.Title)
		}
		return shown, err
	}
	got, err := titles("command", "Compute Node", "ELAPSED", "priority")
	if diff := cmp.Diff([]string{"ID", "Name", "Status"}, got); diff != "" || err != nil {
		t.Errorf("error %v, columns (-want +got):\n%s", err, diff)
	}
	if got, err := titles("compute_node", "compute-node"); err == nil {
		t.Errorf("a column was left out twice: %v", got)
	}
	if _, err := titles("size"); cli.ExitStatus(err) != cli.ExitUsage {
		t.Errorf("a column that there is not: %v", err)
	}
}

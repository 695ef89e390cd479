package output

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestManyMissingOutputs(t *testing.T) {
	files := make([]lease.GrantFile, 25)
	for i := range files {
		files[i].Path = "/no/such/file"
	}
	if o := CheckDeclared(files, ""); o.Count != 25 || len(o.Missing) != maxMissing {
		t.Errorf("%d missing, %d named", o.Count, len(o.Missing))
	}
}

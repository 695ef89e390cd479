package row

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestTorcExtra(t *testing.T) {
	for want, given := range map[any]workflow.TorcWorkflow{
		nil: {},
		`{"compute_node_expiration_buffer_seconds":0,"enable_ro_crate":false}`: {ComputeNodeExpirationBufferSeconds: new(int64(0)), EnableROCrate: new(false)},
		`{"access_groups":["a","b"]}`:                                          {AccessGroups: []string{"a", "b"}},
	} {
		got, err := TorcExtra{&given}.Value()
		if err != nil || got != want {
			t.Errorf("%+v is stored as %v, %v; want %v", given, got, err, want)
		}
		var read workflow.TorcWorkflow
		if err := (TorcExtra{&read}).Scan(got); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(given, read); diff != "" {
			t.Errorf("%v (-given +read):\n%s", want, diff)
		}
	}
	for _, wrong := range []any{"{", `{"supports_termination":3}`, 7} {
		if err := (TorcExtra{&workflow.TorcJob{}}).Scan(wrong); err == nil {
			t.Errorf("%v was read", wrong)
		}
	}
}

package slurm

import (
	"os"
	"path/filepath"
	"testing"
)

func TestClusterName(t *testing.T) {
	for text, want := range map[string]string{
		"ClusterName=alpha\n":                          "alpha",
		"# ClusterName=old\n clustername = Beta # b\n": "beta",
		"SlurmctldHost=ctl\n":                          "",
		"":                                             "",
	} {
		file := filepath.Join(t.TempDir(), "slurm.conf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"SLURM_CONF": file, "TORC_FAKE_SBATCH": "/fake/sbatch"}
		if got := ClusterName(func(name string) string { return env[name] }); got != want {
			t.Errorf("%q: cluster %q, want %q", text, got, want)
		}
	}
}

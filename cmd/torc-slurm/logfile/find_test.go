package logfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// write writes files below a directory.
func write(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFind: the logs of one workflow are found in all directories that exist. Files of other
// workflows, links, and what was put aside for other databases are not.
func TestFind(t *testing.T) {
	root := t.TempDir()
	first, second := filepath.Join(root, "first"), filepath.Join(root, "second")
	write(t, first, "job_runner_n1_wf12_r1.log", "job_stdio/job_wf12_j1_r1_a1.o", "job_stdio/job_wf13_j1_r1_a1.o", "torc.db", "db-0a1b2c3d/job_stdio/job_wf12_j9_r1_a1.o")
	write(t, second, "slurm_output_wf12_sl7.o", "slurm_output_wf12_dir/notes.txt")
	if err := os.Symlink("/etc/passwd", filepath.Join(first, "job_stdio", "job_wf12_j2_r1_a1.o")); err != nil {
		t.Fatal(err)
	}
	files, err := Find([]string{first, filepath.Join(root, "none"), second}, 12)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, f := range files {
		found[filepath.Join(filepath.Base(f.Dir), f.Path)] = f.Info.Size()
	}
	want := map[string]int64{"first/job_runner_n1_wf12_r1.log": 25, "first/job_stdio/job_wf12_j1_r1_a1.o": 29, "second/slurm_output_wf12_sl7.o": 23}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("files and sizes (-want +got):\n%s", diff)
	}
}

func TestFindWithoutLogs(t *testing.T) {
	dir := t.TempDir()
	if files, err := Find([]string{dir}, 12); err != nil || len(files) != 0 {
		t.Errorf("an empty directory: %v, %v", files, err)
	}
	none := filepath.Join(dir, "none")
	_, err := Find([]string{none, filepath.Join(dir, "neither")}, 12)
	message, hint := cli.ErrorText(err)
	if want := "there is no directory " + none; message != want || hint != "give the output directory of the workflow with -o" || cli.ExitStatus(err) != 3 {
		t.Errorf("no directory: %q, hint %q, exit status %d", message, hint, cli.ExitStatus(err))
	}
}

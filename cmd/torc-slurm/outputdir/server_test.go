package outputdir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
	"github.com/torc-slurm/torc-slurm/runner"
)

// submissionDir is a command that prints the submission directory of workflow 12. An argument
// is the name of a link to the current folder, which is then the current folder.
func submissionDir(a *cli.Factory) *cobra.Command {
	return &cobra.Command{Use: "submission-dir", RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		if len(args) > 0 {
			link := filepath.Join(a.Dir, args[0])
			if err := os.Symlink(a.Dir, link); err != nil {
				return err
			}
			a.Dir = link
		}
		dir, err := SubmissionDir(ctx, a, c, 12)
		if err == nil {
			fmt.Fprintln(a.Stdout, dir)
		}
		return err
	})}
}

func TestSubmissionDir(t *testing.T) {
	const get = "GET /workflows/12"
	submitted := func(args, dir string, want clitest.Result) clitest.Case {
		want.Requests = []string{get}
		return clitest.Case{
			Args: args, Want: want, Files: map[string]string{"there/spec.yaml": "", "file": ""},
			Routes: clitest.Routes{get: {Body: `{"id":12,"name":"w","user":"ann","submission_directory":` + dir + `}`}},
		}
	}
	away := func(dir string) clitest.Result {
		return clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: the jobs of workflow 12 run in " + dir + ", where it was submitted, but this host does not have that folder\n" +
				"hint: run the command on a host that has the folder, or create it again\n",
		}
	}
	clitest.Check(t, submissionDir,
		submitted("submission-dir", `"$DIR/there"`, clitest.Result{Stdout: "$DIR/there\n"}),
		submitted("submission-dir", `null`, clitest.Result{Stdout: "$DIR\n"}),
		submitted("submission-dir", `"relative"`, clitest.Result{Stdout: "$DIR\n"}),
		submitted("submission-dir link", `"$DIR"`, clitest.Result{Stdout: "$DIR/link\n"}),
		submitted("submission-dir", `"$DIR/away"`, away("$DIR/away")),
		submitted("submission-dir", `"$DIR/file"`, away("$DIR/file")),
	)
}

// directories is a command that prints the directories with the output of runners, or with
// --claim the one that a runner claims.
func directories(a *cli.Factory) *cobra.Command {
	claim := false
	cmd := &cobra.Command{Use: "directories [DIR]"}
	cmd.Flags().BoolVar(&claim, "claim", false, "")
	cmd.RunE = a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		if claim {
			o := runner.Options{OutputDir: a.Path(cli.FirstArg(args))}
			release, err := Claim(ctx, a, c, &o)
			if err != nil {
				return err
			}
			defer release()
			fmt.Fprintln(a.Stdout, o.Database, o.OutputDir)
			return nil
		}
		dirs, err := List(ctx, a, c, cli.FirstArg(args))
		for _, dir := range dirs {
			fmt.Fprintln(a.Stdout, dir)
		}
		return err
	})
	return cmd
}

// TestDirectories: commands that read logs search the directories in which runners of the
// server's database may have written; one is below the directory of another database.
func TestDirectories(t *testing.T) {
	const version = "GET /version"
	routes := clitest.Routes{version: {Body: `{"version":"1","api_version":"v1","database":"AAAAAAAAAAAA"}`}}
	asked := []string{version, version} // when the connection is opened, and for the database
	files := map[string]string{"out/db-aaaaaaaa/job_stdio/x.o": ""}
	clitest.Check(t, directories,
		clitest.Case{Args: "directories", Routes: routes, Want: clitest.Result{Stdout: "$DIR/torc_output\n$DIR/torc_output/db-aaaaaaaa\n", Requests: asked}},
		clitest.Case{Args: "directories out", Routes: routes, Files: files, Want: clitest.Result{Stdout: "$DIR/out\n$DIR/out/db-aaaaaaaa\n", Requests: asked}},
		clitest.Case{Args: "directories --claim new", Routes: routes, Want: clitest.Result{Stdout: "AAAAAAAAAAAA $DIR/new\n", Requests: asked}},
		clitest.Case{Args: "directories", Routes: clitest.Routes{version: {Status: 403, Body: `{"error":{"message":"not for you"}}`}}, Want: clitest.Result{
			Status:   cli.ExitRefused,
			Stderr:   "error: ask the server for the name of its database: not for you\n",
			Requests: asked,
		}},
	)
}

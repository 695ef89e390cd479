// Package db has the commands about database files.
package db

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// New groups the commands about database files. They need no server, and do not
// disturb one.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupServer, "db", "Back up and check databases", newBackup(a), newCheck(a))
}

// databasePath is the file that a command is about: the one that is named,
// that of --standalone, or the one that the server would take.
func databasePath(a *cli.Factory, name string) (string, error) {
	if name == "" && a.Flags.Standalone {
		return daemonlink.StandaloneDatabase(a), nil
	}
	return daemonlink.ServeDatabase(a, name)
}

// databaseError is the error of a command for which there is no server that
// could be out of reach: what cannot be opened is refused.
func databaseError(err error) error {
	if workflow.CodeOf(err) == workflow.CodeUnavailable {
		return &cli.ExitError{Status: cli.ExitRefused, Err: err}
	}
	return err
}

func newBackup(a *cli.Factory) *cobra.Command {
	var database string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of a database",
		Long: `Write a copy of a database, as it is at one moment, to a file that does not exist
yet. A server may go on working with the database meanwhile.`,
		Example: `  torc-slurm db backup ~/torc-$(date +%F).db
  torc-slurm -s db backup copy.db                    the one in ./torc_output
  torc-slurm db backup copy.db --database /data/torc.db`,
		ValidArgsFunction: cli.CompletePaths,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.Exits("3 there is no such database", "5 the database cannot be read, or the copy not be written"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := databasePath(a, database)
			if err != nil {
				return err
			}
			to := a.Path(args[0])
			if err := store.Backup(cmd.Context(), from, to); err != nil {
				return databaseError(err)
			}
			return a.ShowMessage(struct {
				Status   string `json:"status"`
				Database string `json:"database"`
				Backup   string `json:"backup"`
			}{"success", from, to}, "Wrote a copy of %s to %s", from, to)
		},
	}
	cmd.Flags().StringVarP(&database, "database", "d", "", "database `FILE` (default: that of your own server)")
	return cmd
}

// checkResult is what db check says in JSON.
type checkResult struct {
	Status   string         `json:"status"` // ok, damaged
	Database string         `json:"database"`
	Deep     bool           `json:"deep"`
	Findings []checkFinding `json:"findings"`
}

// checkFinding is something that is not as it must be.
type checkFinding struct {
	Promise string `json:"promise"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

func newCheck(a *cli.Factory) *cobra.Command {
	var (
		deep       bool
		outputDirs []string
	)
	cmd := &cobra.Command{
		Use:   "check [DATABASE]",
		Short: "Check a database",
		Long: `Check a database: the file, references and counters. With --deep also whether what
is recorded keeps the promises of the engine: one record for each attempt, no two
leases for one job, no job started too early, retries within their budgets, one
verdict for each run, events without a gap; and whether all reports that runners
still keep in an output directory and that were acknowledged are recorded.

It only reads. A server may go on working with the database meanwhile.`,
		Example: `  torc-slurm db check
  torc-slurm -s db check --deep                      the one in ./torc_output
  torc-slurm db check --deep /data/torc.db -o /scratch/torc_output`,
		ValidArgsFunction: cli.CompletePaths,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.Exits("1 something was found", "3 there is no such database", "5 the database cannot be read, or is of another version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := databasePath(a, cli.FirstArg(args))
			if err != nil {
				return err
			}
			findings, err := checkDatabase(cmd.Context(), path, deep, paths(a, outputDirs))
			if err != nil {
				return databaseError(err)
			}
			return showFindings(a, path, deep, findings)
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "check everything that is recorded")
	cmd.Flags().StringArrayVarP(&outputDirs, "output-dir", "o", nil, "with --deep: an output `DIR` of runs in this database; may be repeated")
	_ = cmd.MarkFlagDirname("output-dir")
	return cmd
}

// paths makes the user's paths absolute.
func paths(a *cli.Factory, names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = a.Path(name)
	}
	return all
}

func checkDatabase(ctx context.Context, path string, deep bool, outputDirs []string) ([]check.Finding, error) {
	if !deep {
		return check.File(ctx, path)
	}
	var witness check.Witness
	for _, dir := range outputDirs {
		reports, err := spooledReports(dir)
		if err != nil {
			return nil, err
		}
		witness.Spooled = append(witness.Spooled, reports...)
	}
	return check.Deep(ctx, path, witness)
}

// spooledReports reads what runners keep in an output directory.
func spooledReports(outputDir string) ([]check.SpooledReport, error) {
	paths, err := spool.Files(filepath.Join(outputDir, "spool"))
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalid, "cannot look for reports in %s: %v", outputDir, err)
	}
	var all []check.SpooledReport
	for _, path := range paths {
		contents, err := spool.Read(path)
		if err != nil {
			return nil, workflow.Errorf(workflow.CodeInvalid, "%v", err)
		}
		for i, report := range contents.Reports {
			all = append(all, check.SpooledReport{
				RunID:    contents.Header.RunID,
				LeaseRef: lease.LeaseRef{JobID: report.JobID, Attempt: report.Attempt, Fence: report.Fence},
				EndedMS:  report.EndedMS,
				Answered: i < contents.Answered,
			})
		}
	}
	return all, nil
}

// showFindings says what was found; the exit status is 1 if anything was.
func showFindings(a *cli.Factory, path string, deep bool, findings []check.Finding) error {
	result := checkResult{Status: "ok", Database: path, Deep: deep, Findings: []checkFinding{}}
	for _, f := range findings {
		result.Findings = append(result.Findings, checkFinding(f))
	}
	if len(findings) > 0 {
		result.Status = "damaged"
	}
	err := a.ShowRecord(result, func(w io.Writer) {
		for _, f := range findings {
			fmt.Fprintln(w, f)
		}
		if len(findings) == 0 {
			fmt.Fprintf(w, "%s is sound\n", path)
		}
	})
	if err == nil && len(findings) > 0 {
		return cli.Silent(cli.ExitFailed)
	}
	return err
}

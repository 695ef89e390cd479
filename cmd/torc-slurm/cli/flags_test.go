package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commandFor is a command with the flags of all commands, as the root has it below.
func commandFor(a *Factory, name string) *cobra.Command {
	root := &cobra.Command{Use: "torc-slurm", SilenceErrors: true, SilenceUsage: true}
	root.SetFlagErrorFunc(flagError)
	addGlobalFlags(root, &a.Flags)
	c := &cobra.Command{Use: name, Annotations: Exits(), RunE: func(c *cobra.Command, _ []string) error { return a.Configure(c) }}
	c.Flags().Int64("limit", 0, "")
	c.Flags().Float64("timeout", 0, "")
	c.Flags().Bool("force", false, "")
	if name == "list" {
		WithCSV(c.Annotations)
	}
	root.AddCommand(c)
	return root
}

func TestConfigureChecksFlags(t *testing.T) {
	for _, tt := range []struct {
		args    string
		environ string
		err     string // of usage; empty if there is none
		format  string
	}{
		{args: "show", format: "table"},
		{args: "show -f json", format: "json"},
		{args: "list -f csv", format: "csv"},
		{args: "show", environ: "TORC_CLIENT__FORMAT=json", format: "json"},
		{args: "show -f table", environ: "TORC_CLIENT__FORMAT=json", format: "table"},
		{args: "show", environ: "TORC_CLIENT__FORMAT=csv", format: "table"},
		{args: "list", environ: "TORC_CLIENT__FORMAT=csv", format: "csv"},
		{args: "show -f csv", err: "csv is for lists; `torc-slurm show` shows none", format: "table"},
		{args: "show -f xml", err: `unknown format "xml": it is table, json or csv`, format: "table"},
		{args: "show --log-level loud", err: `unknown log level "loud": it is debug, info, warn or error`},
		{args: "show", environ: "RUST_LOG=torc=debug,hyper=info"},
		{args: "show --log-level loud -v"},
		{args: "show --db x.db", err: "--db names the database of --standalone; add -s"},
		{args: "show -s --db x.db"},
		{args: "show --in-memory", err: "--in-memory needs --standalone; add -s"},
		{args: "show -s --in-memory", err: "--in-memory works with run and exec only, not with show"},
		{args: "run -s --in-memory --snapshot-interval-seconds 60"},
		{args: "run -s --snapshot-interval-seconds 60", err: "--snapshot-interval-seconds needs --in-memory"},
		{args: "run -s --in-memory --snapshot-interval-seconds 0", err: "--snapshot-interval-seconds 0: the minimum is 1"},
		{args: "exec -s --in-memory", environ: "TORC_SERVER_SNAPSHOT_KEEP=3"},
		{args: "exec -s --in-memory", environ: "TORC_SERVER_SNAPSHOT_KEEP=0", err: `TORC_SERVER_SNAPSHOT_KEEP: "0" is not a positive whole number`},
		{args: "show --limit ten", err: "--limit \"ten\" is not a whole number; see `torc-slurm show --help`"},
		{args: "show --timeout soon", err: "--timeout \"soon\" is not a number; see `torc-slurm show --help`"},
		{args: "show --force=maybe", err: "--force \"maybe\" is not true or false; see `torc-slurm show --help`"},
		{args: "show --nothing", err: "unknown flag: --nothing; see `torc-slurm show --help`"},
	} {
		t.Run(tt.args+" "+tt.environ, func(t *testing.T) {
			a, _, _ := factoryFor(t, "", FormatTable)
			a.Environ = []string{"HOME=" + a.Dir, "XDG_CONFIG_HOME=" + a.Dir, tt.environ}
			args := strings.Fields(tt.args)
			root := commandFor(a, args[0])
			root.SetArgs(args)
			err := root.Execute()
			switch {
			case tt.err == "" && err != nil:
				t.Fatal(err)
			case tt.err != "" && (err == nil || err.Error() != tt.err || ExitStatus(err) != ExitUsage):
				t.Errorf("%v, want %s", err, tt.err)
			}
			if tt.format != "" && a.Format != tt.format {
				t.Errorf("format %s, want %s", a.Format, tt.format)
			}
		})
	}
}

func TestPrefix(t *testing.T) {
	for _, tt := range []struct {
		flags GlobalFlags
		want  string
	}{
		{GlobalFlags{}, "torc-slurm"},
		{GlobalFlags{Standalone: true, Database: "my data/x.db"}, "torc-slurm -s --db 'my data/x.db'"},
		{GlobalFlags{URL: "http://host:8080", Password: "secret"}, "torc-slurm --url http://host:8080"},
	} {
		if got := Prefix(&Factory{Flags: tt.flags}); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

func TestRunGroup(t *testing.T) {
	for args, want := range map[string]string{
		"files lst":  `torc-slurm files has no command "lst"; did you mean list?`,
		"files xyzw": "torc-slurm files has no command \"xyzw\"; see `torc-slurm files --help`",
	} {
		a, _, _ := factoryFor(t, "", FormatTable)
		root := &cobra.Command{Use: "torc-slurm", SilenceErrors: true, SilenceUsage: true}
		root.AddGroup(&cobra.Group{ID: GroupManagement, Title: "Management"})
		nothing := func(*cobra.Command, []string) error { return nil }
		root.AddCommand(NewGroup(a, GroupManagement, "files", "Files", &cobra.Command{Use: "list", RunE: nothing}))
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); ExitStatus(err) != ExitUsage || err.Error() != want {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

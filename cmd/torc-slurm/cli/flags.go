package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// GlobalFlags are the values of the flags that every command accepts.
type GlobalFlags struct {
	Format           string
	logLevel         string
	Verbose          bool
	URL              string
	Password         string
	PromptPassword   bool
	skipVersionCheck bool
	TLSCACert        string
	TLSInsecure      bool
	Cookie           string
	Standalone       bool
	Database         string
	InMemory         bool
	SnapshotInterval int64 // seconds
}

// addGlobalFlags adds the flags that every command accepts.
func addGlobalFlags(root *cobra.Command, f *GlobalFlags) {
	flags := root.PersistentFlags()
	flags.SortFlags = false
	flags.StringVarP(&f.Format, "format", "f", "", "output `FORMAT`: table, json or csv (lists only)")
	flags.StringVar(&f.URL, "url", "", "`URL` of the server (TORC_API_URL); without it, your own daemon")
	flags.BoolVarP(&f.Standalone, "standalone", "s", false, "run the server in this process, with its own database")
	flags.StringVar(&f.Database, "db", "", "database `FILE` of --standalone (default torc_output/torc.db)")
	addStandaloneFlags(flags, f)
	flags.StringVar(&f.Password, "password", "", "`PASSWORD` for the server (TORC_PASSWORD)")
	flags.BoolVar(&f.PromptPassword, "prompt-password", false, "ask for the password")
	flags.StringVar(&f.TLSCACert, "tls-ca-cert", "", "PEM `FILE` with the authority that the server's certificate is checked against (TORC_TLS_CA_CERT)")
	flags.BoolVar(&f.TLSInsecure, "tls-insecure", false, "accept any certificate (TORC_TLS_INSECURE)")
	flags.StringVar(&f.Cookie, "cookie-header", "", "`VALUE` of the Cookie header (TORC_COOKIE_HEADER)")
	flags.BoolVar(&f.skipVersionCheck, "skip-version-check", false, "talk to a server of another major version")
	flags.StringVar(&f.logLevel, "log-level", "", "`LEVEL` of messages: debug, info, warn or error (RUST_LOG; default warn)")
	flags.BoolVarP(&f.Verbose, "verbose", "v", false, "the same as --log-level debug")
	_ = root.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{FormatTable, FormatJSON, FormatCSV}, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

// flagError returns the usage error for a flag that cannot be parsed.
func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		kind := map[string]string{"int64": "a whole number", "float64": "a number", "bool": "true or false", "int64Slice": "a list of whole numbers"}
		if want := kind[invalid.GetFlag().Value.Type()]; want != "" {
			text = fmt.Sprintf("--%s %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
	}
	return UsageErrorf("%s; see `%s --help`", text, c.CommandPath())
}

// defaultSnapshots is how many snapshots of a database are kept.
const defaultSnapshots = 5

// addStandaloneFlags adds the flags that go with --standalone.
func addStandaloneFlags(flags *pflag.FlagSet, f *GlobalFlags) {
	flags.BoolVar(&f.InMemory, "in-memory", false, "with -s, for run and exec: keep the database in memory; its file is read at the start and replaced at the end")
	flags.Int64Var(&f.SnapshotInterval, "snapshot-interval-seconds", 0, "with --in-memory: replace the file every `N` seconds, too")
	flags.String("torc-server-bin", "", "accepted for compatibility: the server is this program")
	_ = flags.MarkHidden("torc-server-bin")
}

// checkInMemory rejects combinations of flags that exclude each other.
func (a *Factory) checkInMemory(c *cobra.Command) error {
	interval := c.Flags().Changed("snapshot-interval-seconds")
	switch {
	case interval && !a.Flags.InMemory:
		return UsageErrorf("--snapshot-interval-seconds needs --in-memory")
	case interval && a.Flags.SnapshotInterval < 1:
		return UsageErrorf("--snapshot-interval-seconds %d: the minimum is 1", a.Flags.SnapshotInterval)
	case !a.Flags.InMemory:
		return nil
	case !a.Flags.Standalone:
		return UsageErrorf("--in-memory needs --standalone; add -s")
	case c.Name() != "run" && c.Name() != "exec":
		return UsageErrorf("--in-memory works with run and exec only, not with %s", c.Name())
	}
	_, err := a.SnapshotsKept()
	return err
}

// SnapshotsKept returns how many snapshots are kept; a usage error if the setting is not a
// number.
func (a *Factory) SnapshotsKept() (int, error) {
	const name = "TORC_SERVER_SNAPSHOT_KEEP"
	text := a.Getenv(name)
	if text == "" {
		return defaultSnapshots, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, UsageErrorf("%s: %q is not a positive whole number", name, text)
	}
	return n, nil
}

// Prefix returns the command line of this program with the user's global flags for the
// server.
func Prefix(a *Factory) string {
	words := []string{"torc-slurm"}
	if a.Flags.Standalone {
		words = append(words, "-s")
	}
	if a.Flags.Database != "" {
		words = append(words, "--db", ShellWord(a.Flags.Database))
	}
	if a.Flags.URL != "" {
		words = append(words, "--url", ShellWord(a.Flags.URL))
	}
	return strings.Join(words, " ")
}

// ShellWord quotes a word for a shell.
func ShellWord(word string) string {
	if quoted, err := QuoteWords([]string{word}); err == nil {
		return quoted
	}
	return word
}

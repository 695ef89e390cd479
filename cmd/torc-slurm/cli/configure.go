package cli

import (
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
)

// Configure combines configuration files, variables and flags. It returns a usage error if
// they contradict each other.
func (a *Factory) Configure(c *cobra.Command) error {
	config, err := LoadConfig(&a.Environment)
	if err != nil {
		return err
	}
	a.Config = config
	a.Format = FirstOf(a.Flags.Format, config.Client.Format, FormatTable)
	switch a.Format {
	case FormatTable, FormatJSON, FormatCSV:
	default:
		bad := a.Format
		a.Format = FormatTable
		return UsageErrorf("unknown format %q: it is table, json or csv", bad)
	}
	if a.Format == FormatCSV && c.Annotations[CSVAnnotation] == "" {
		a.Format = FormatTable
		if a.Flags.Format != "" {
			return UsageErrorf("csv is for lists; `%s` shows none", c.CommandPath())
		}
	}
	level := slog.LevelDebug
	if !a.Flags.Verbose {
		if level, err = ParseLogLevel(FirstOf(a.Flags.logLevel, a.Getenv("RUST_LOG"), config.Client.LogLevel, "warn")); err != nil {
			return err
		}
	}
	a.Log = LogTo(a.Stderr, level)
	for _, warning := range config.warnings {
		a.Log.Warn(warning)
	}
	if a.Flags.Database != "" && !a.Flags.Standalone {
		return UsageErrorf("--db names the database of --standalone; add -s")
	}
	return a.checkInMemory(c)
}

// ParseLogLevel parses a log level. In a list of filters, as in RUST_LOG, it uses the one
// without a module.
func ParseLogLevel(text string) (slog.Level, error) {
	level := text
	for part := range strings.SplitSeq(text, ",") {
		if !strings.Contains(part, "=") {
			level = part
		}
	}
	switch strings.ToLower(strings.TrimSpace(level)) {
	case "trace", "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	case "off", "none":
		return slog.LevelError + 4, nil
	}
	if strings.Contains(text, "=") {
		return slog.LevelWarn, nil // filters for other programs
	}
	return 0, UsageErrorf("unknown log level %q: it is debug, info, warn or error", text)
}

package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// followFlags are the flags of events follow.
type followFlags struct {
	level    string
	duration float64 // minutes
	file     string
	after    int64
	untilEnd bool
}

func newFollow(a *cli.Factory) *cobra.Command {
	flags := followFlags{after: -1}
	c := cli.OnWorkflow(a, &cobra.Command{
		Use:     "follow [ID]",
		Aliases: []string{"monitor"},
		Short:   "Show the events of a workflow as they happen",
		Long: `Show the events of a workflow as they happen, until Ctrl-C, for some minutes, or
until the workflow has ended. If the connection is lost, it is restored and no event
is missed. With -f json each line is an object.`,
		Example: `  torc-slurm events follow 12
  torc-slurm events follow 12 --after 0 --until-end
  torc-slurm -f json events follow 12 --level warning --filename events.jsonl`,
		Annotations: cli.ServerExits(cli.ExitInterrupted),
		RunE: func(c *cobra.Command, args []string) error {
			return runEventsFollow(c.Context(), a, cli.FirstArg(args), flags)
		},
	})
	c.Flags().StringVar(&flags.level, "level", "info", "minimum `LEVEL`: debug, info, warning, error")
	c.Flags().Float64VarP(&flags.duration, "duration", "d", 0, "end after this many `MINUTES`")
	c.Flags().StringVar(&flags.file, "filename", "", "write to `FILE` instead of standard output")
	c.Flags().Int64Var(&flags.after, "after", -1, "begin after the event with this `SEQ`; 0 for all (default: only new events)")
	c.Flags().BoolVar(&flags.untilEnd, "until-end", false, "end when the workflow has ended")
	_ = c.RegisterFlagCompletionFunc("level", cobra.FixedCompletions([]string{"debug", "info", "warning", "error"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func runEventsFollow(ctx context.Context, a *cli.Factory, text string, flags followFlags) error {
	switch flags.level {
	case "debug", "info", "warning", "error":
	default:
		return cli.UsageErrorf("unknown level %q: use debug, info, warning or error", flags.level)
	}
	conn, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	id, err := a.LatestWorkflowID(ctx, conn, text)
	if err != nil {
		return err
	}
	out := a.Stdout
	if flags.file != "" {
		f, err := trustedfile.OpenOwn(a.Path(flags.file), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return cli.UsageErrorf("--filename: %v", err)
		}
		defer f.Close()
		out = f
	}
	if flags.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cli.Minutes(flags.duration))
		defer cancel()
	}
	options := client.StreamOptions{Level: flags.level}
	if flags.after >= 0 {
		options.After = &flags.after
	}
	err = copyEvents(a, conn.Events.Stream(ctx, id, options), out, flags.untilEnd)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // the requested time is over
	}
	return err
}

// copyEvents writes events until the stream ends, or the workflow.
func copyEvents(a *cli.Factory, events func(func(client.StreamedEvent, error) bool), out io.Writer, untilEnd bool) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := writeEvent(a, out, e); err != nil {
			return err
		}
		if untilEnd && isEnd(e) {
			return nil
		}
	}
	return nil
}

func writeEvent(a *cli.Factory, out io.Writer, e client.StreamedEvent) error {
	if a.Format == cli.FormatJSON {
		return json.NewEncoder(out).Encode(struct {
			Seq int64 `json:"seq"`
			api.StreamEvent
		}{e.Seq, e.StreamEvent})
	}
	at := time.UnixMilli(e.Timestamp).Format("2006-01-02 15:04:05.000")
	_, err := fmt.Fprintf(out, "%s  %-7s  %s  %s\n", at, e.Severity, e.EventType, dataText(e.Data))
	return err
}

// isEnd reports whether an event is the end of a run.
func isEnd(e client.StreamedEvent) bool {
	var end stage.EndPayload
	return json.Unmarshal(e.Data, &end) == nil && end.EvaluatedByEndStep
}

// dataText returns the fields of an event's data as name=value, in their order.
func dataText(data json.RawMessage) string {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return cli.Printable(string(data))
	}
	var parts []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			break
		}
		parts = append(parts, fmt.Sprintf("%s=%s", name, value))
	}
	return cli.Printable(strings.Join(parts, " "))
}

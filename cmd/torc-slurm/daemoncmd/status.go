package daemoncmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// status is what is known of the user's daemon.
type status struct {
	Running       bool      `json:"running"`
	PID           int       `json:"pid,omitempty"`
	Host          string    `json:"host,omitempty"`
	Version       string    `json:"version,omitempty"`
	Started       time.Time `json:"started,omitzero"`
	Cluster       string    `json:"cluster,omitempty"`
	Socket        string    `json:"socket,omitempty"`
	URL           string    `json:"url,omitempty"`
	NodeURL       string    `json:"node_url,omitempty"` // for compute nodes
	Database      string    `json:"database"`
	DatabaseBytes int64     `json:"database_bytes,omitempty"` // with its journal
	MemoryBytes   int64     `json:"memory_bytes,omitempty"`   // resident, if the daemon runs on this host
	Log           string    `json:"log"`
}

func newStatus(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether your daemon runs, where, and what it uses",
		Long: `Show whether your daemon runs, on which host, since when, with which version, and how
large its database and its memory are. The daemon is not started.`,
		Example:     `  torc-slurm daemon status`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("4 the daemon does not run, or does not answer", cli.ExitRefused),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := statusOf(c.Context(), a)
			if err != nil {
				return err
			}
			if err := a.ShowRecord(s, func(w io.Writer) { writeStatus(w, s, a.Now()) }); err != nil {
				return err
			}
			if !s.Running {
				return &cli.ExitError{Status: cli.ExitUnreachable}
			}
			return nil
		},
	}
}

// find returns the endpoint of the user's daemon; nil if no daemon answers there.
func find(ctx context.Context, a *cli.Factory) (*server.Endpoint, error) {
	if err := a.CheckHome(); err != nil {
		return nil, err
	}
	path := server.EndpointPath(a.Home())
	c, err := daemonlink.DialEndpoint(ctx, a, path)
	if c == nil || err != nil {
		return nil, err
	}
	c.CloseIdle()
	e, err := server.ReadEndpoint(path)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

func statusOf(ctx context.Context, a *cli.Factory) (*status, error) {
	s := &status{Database: daemonlink.OwnDatabase(a), Log: daemonlink.DaemonLog(a.Home())}
	e, err := find(ctx, a)
	if err != nil {
		return nil, err
	}
	if e != nil {
		s.Running, s.PID, s.Host, s.Version, s.Started, s.Cluster = true, e.PID, e.Host, e.Version, e.Started, e.Cluster
		s.Socket, s.URL, s.NodeURL, s.Database = e.Socket, e.URL, e.NodeURL, e.Database
		if e.BootID == server.BootID() {
			s.MemoryBytes = residentMemory(e.PID)
		}
	}
	for _, name := range [...]string{s.Database, s.Database + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			s.DatabaseBytes += info.Size()
		}
	}
	return s, nil
}

// residentMemory returns the memory of a process in bytes; 0 if it is not known.
func residentMemory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}

func writeStatus(w io.Writer, s *status, now time.Time) {
	var fields []cli.Field
	if s.Running {
		fmt.Fprintf(w, "Your daemon runs: process %d on %s\n", s.PID, s.Host)
		fields = []cli.Field{
			{"Version", s.Version}, {"Started", since(s.Started, now)}, {"Cluster", s.Cluster},
			{"Socket", s.Socket}, {"URL", s.URL}, {"For nodes", s.NodeURL}, {"Memory", bytesOf(s.MemoryBytes)},
		}
	} else {
		fmt.Fprintln(w, "Your daemon does not run. A command starts it when it needs it.")
	}
	database := strings.TrimSuffix(s.Database+", "+bytesOf(s.DatabaseBytes), ", ")
	cli.WriteFields(w, append(fields, cli.Field{"Database", database}, cli.Field{"Log", s.Log})...)
}

// since returns a time, and how long ago it was.
func since(t, now time.Time) string {
	return fmt.Sprintf("%s, %s ago", t.Local().Format(time.DateTime), workflow.FormatSeconds(int64(max(now.Sub(t), 0)/time.Second)))
}

func bytesOf(n int64) string {
	if n == 0 {
		return ""
	}
	return workflow.FormatBytes(n)
}

package noderunner

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/daemonlink"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/gateway"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// nodeGatewayFlags are the flags of node-gateway.
type nodeGatewayFlags struct {
	endpoint, secret string
	workflow         int64
	port             int
}

// nodeGatewayName is the name of the command, and of the Slurm steps that run it.
const nodeGatewayName = "node-gateway"

// NewGateway returns the command that lets the jobs on a node call the server.
func NewGateway(a *cli.Factory) *cobra.Command {
	var flags nodeGatewayFlags
	c := &cobra.Command{
		Use:         nodeGatewayName,
		Short:       "Let the jobs on this node call the API until standard input ends (runners start this)",
		Hidden:      true,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits("1 the gateway failed", "2 wrong usage"),
		RunE:        func(c *cobra.Command, _ []string) error { return runNodeGateway(c.Context(), a, flags) },
	}
	f := c.Flags()
	f.StringVar(&flags.endpoint, "endpoint", "", "`FILE` that says where the daemon is; without it, the server of --url")
	f.StringVar(&flags.secret, "secret", "", "`FILE` with the secret of the allocation")
	f.Int64Var(&flags.workflow, "workflow", 0, "`ID` of the workflow")
	f.IntVar(&flags.port, "port", 0, "`PORT` to listen on, if it is free")
	_ = c.MarkFlagRequired("workflow")
	return c
}

func runNodeGateway(_ context.Context, a *cli.Factory, flags nodeGatewayFlags) error {
	// At the end of the allocation Slurm signals this process together with the jobs. It keeps
	// running, since the jobs may call the API until they are killed.
	a.Interrupts.Take()
	log := cli.LogTo(a.Stderr, slog.LevelInfo)
	o := gateway.Options{WorkflowID: flags.workflow, Port: flags.port, Log: log}
	if flags.endpoint != "" {
		link := &nodeLink{endpoint: flags.endpoint, secret: flags.secret, log: log}
		defer link.close()
		o.Forward = link.Forward
	} else {
		c, err := daemonlink.DialURL(a, a.Flags.URL)
		if err != nil {
			return err
		}
		defer c.CloseIdle()
		o.Forward = c.Forward
	}
	g, err := gateway.Start(o)
	if err != nil {
		return err
	}
	defer g.Close()
	if g.TokenFile() != "" {
		return workflow.Errorf(workflow.CodeUnsupported, "the kernel of this node does not report which user calls, so jobs on it cannot call the API")
	}
	fmt.Fprintln(a.Stdout, g.Ready())
	_, err = io.Copy(io.Discard, a.Stdin)
	return err
}

// openNodeGateways returns the gateways through which the steps of a runner on other nodes
// call the server. args are the flags that say where the server is. The caller closes the
// gateways.
func openNodeGateways(a *cli.Factory, o *runner.Options, args ...string) *gateway.Nodes {
	steps, log := o.Steps, o.Log
	nodes := gateway.NewNodes(func(node string, port int) *exec.Cmd {
		program := append([]string{a.Executable, nodeGatewayName, "--workflow", strconv.FormatInt(o.WorkflowID, 10), "--port", strconv.Itoa(port)}, args...)
		argv, env := steps.OverlapArgv("torc-"+nodeGatewayName, node, a.Environ, program)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir, cmd.Stderr = env, a.Dir, a.RawStderr
		return cmd
	}, log)
	o.APIURLOn = nodes.URL
	return nodes
}

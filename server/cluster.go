package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/server/hub"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// ClusterOptions configure the Slurm cluster that the daemon requests allocations from.
type ClusterOptions struct {
	Slurm *slurm.Client // nil for none
	// Name is the name of the cluster, if it is known without calling Slurm.
	Name string
	// Program is the absolute path of this program on compute nodes.
	Program  string
	Settings allocation.Settings
	// Scheduling are the intervals for requesting allocations.
	Scheduling scheduler.Settings
	// Site returns what the cluster offers; with anew it does not use the cache, which
	// may be wrong. Nil if that is not known.
	Site func(ctx context.Context, anew bool) (*siteconfigs.Site, error)
	// Facts returns the cached facts about the cluster, from any command; nil without a
	// cache.
	Facts func(ctx context.Context) (siteconfigs.Facts, error)
	// StateDir is the folder for what is learned of the cluster; empty: nothing is kept.
	StateDir string
	// SignalLead is how long before its end an allocation's runner is signaled.
	SignalLead time.Duration
	// DaemonPatience is how long a starting runner waits for a daemon that is down; 0: a
	// tenth of its allocation's time, 15 minutes at most.
	DaemonPatience time.Duration
	Random         io.Reader         // for intents and secrets; crypto/rand if nil
	Requeue        bool              // let Slurm restart allocations by itself
	NoForecast     bool              // plan without idle nodes and expected waits
	Env            map[string]string // exported to runners
}

// cluster is the daemon's side of Slurm: it requests allocations and tracks them.
// It does not call Slurm before a request or an allocation needs it.
type cluster struct {
	daemon  *Daemon
	o       ClusterOptions
	site    knownSite
	cancels <-chan struct{} // allocations must be canceled
	needed  chan struct{}   // the loop is needed; Run creates it

	opened   chan struct{} // closed when the following fields are set
	loop     *allocation.Loop
	killWait time.Duration // of Slurm; 0 if unknown
}

func newCluster(d *Daemon, cancels <-chan struct{}) *cluster {
	c := &cluster{
		daemon: d, o: d.o.Cluster, site: knownSite{find: d.o.Cluster.Site, now: time.Now},
		cancels: cancels, needed: make(chan struct{}, 1), opened: make(chan struct{}),
	}
	d.server.site = &c.site
	return c
}

// scheduler returns the scheduler that requests the allocations of submitted workflows.
func (c *cluster) scheduler(changed <-chan struct{}) *scheduler.Scheduler {
	d := c.daemon
	o := scheduler.Options{
		Store: d.store, Submitter: c, Silence: knownRunners{d.server}.ActiveSilence, Settings: c.o.Scheduling, Woken: changed, Now: d.o.Now, Log: d.o.Log,
		Silent: 2 * d.o.Lease, Poll: c.Wake, Eligible: func(id int64) time.Time { return c.Seen().Jobs[id].Eligible },
	}
	o.Expected = func(id int64) time.Time {
		if job := c.Seen().Jobs[id]; job.State.Pending() {
			return job.Start
		}
		return time.Time{}
	}
	switch {
	case c.o.NoForecast:
		o.Outlook = noOutlook{}
	case c.o.Slurm != nil:
		o.Outlook = newOutlook(c)
	}
	o.Settings.Requeue = c.o.Requeue
	o.Widen = func(ctx context.Context, id int64, partitions []string) error {
		return c.o.Slurm.SetPartitions(ctx, slurm.JobID{Number: id}, partitions)
	}
	o.Shorten = func(ctx context.Context, id int64, limit time.Duration) error {
		return c.o.Slurm.SetTimeLimit(ctx, slurm.JobID{Number: id}, limit)
	}
	if c.o.Site != nil {
		o.Site = c.site.Site
	}
	return scheduler.New(o)
}

// Run tracks allocations until ctx ends, as soon as there are any.
func (c *cluster) Run(ctx context.Context) {
	live, err := c.daemon.store.Allocations.Live(ctx)
	if err != nil {
		c.daemon.o.Log.Error("cannot list live allocations", "error", err)
	}
	if len(live) == 0 {
		select {
		case <-ctx.Done():
			return
		case <-c.needed:
		}
	}
	c.open(ctx)
	close(c.opened)
	var loops sync.WaitGroup
	defer loops.Wait()
	loops.Go(func() { _ = c.loop.Run(ctx) }) // ends only with ctx
	if len(live) > 0 {
		loops.Go(func() { c.openForNodes(ctx) })
	}
	defer c.loop.Submitter().Close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.cancels:
			c.loop.Wake()
		case <-c.needed:
		}
	}
}

// whoAmI returns our user name for queries of Slurm, and our user id. Slurm accepts the
// id as a name if the name is unknown: a statically linked program sees only users in
// files.
func whoAmI(current func() (*user.User, error)) (name, id string) {
	me, err := current()
	if err != nil {
		id = strconv.Itoa(os.Getuid())
		return id, id
	}
	return me.Username, me.Uid
}

// open creates the loop for the configuration of the cluster. It does not fail, since
// submissions wait for the loop.
func (c *cluster) open(ctx context.Context) {
	d, set := c.daemon, c.o.Settings
	if set.User == "" {
		set.User, set.Owner = whoAmI(user.Current)
	}
	set.Lease = cmp.Or(set.Lease, d.o.Lease)
	config, err := c.config(ctx)
	if err != nil {
		d.o.Log.Warn("cannot read the configuration of Slurm", "error", err)
	} else if set.MinJobAge == 0 {
		set.MinJobAge = config.MinJobAge
	}
	if err := d.keepCluster(cmp.Or(c.o.Name, config.Cluster)); err != nil {
		d.o.Log.Warn("cannot record the cluster of the daemon for commands on other clusters", "error", err)
	}
	c.killWait = config.KillWait
	if set.KillWait == 0 {
		set.KillWait = config.KillWait
	}
	c.loop = allocation.New(allocation.Options{
		Store: d.store, Slurm: c.o.Slurm, Runners: knownRunners{d.server}, Spool: spoolOf{store: d.store, read: d.o.Spooled}, SecretDir: filepath.Join(filepath.Dir(d.o.EndpointPath), "secrets"),
		Script: allocation.Script{
			OutputDir: filepath.Dir(d.o.EndpointPath), SignalLead: c.o.SignalLead, Requeue: c.o.Requeue, Env: c.o.Env, Runner: c.runner,
		},
		Settings: set, NoAccounting: err == nil && !config.Accounted(), Now: d.o.Now, Random: c.o.Random, Log: d.o.Log,
	})
}

// config returns the configuration of Slurm.
func (c *cluster) config(ctx context.Context) (slurm.Config, error) {
	if c.o.Facts == nil {
		return c.o.Slurm.Config(ctx)
	}
	facts, err := c.o.Facts(ctx)
	return facts.Config, err
}

// Wake has the loop poll allocations soon.
func (c *cluster) Wake() {
	select {
	case <-c.opened:
		c.loop.Wake()
	default: // it polls when it starts
	}
}

// allocations waits until the loop exists.
func (c *cluster) allocations(ctx context.Context) (*allocation.Loop, error) {
	select {
	case c.needed <- struct{}{}:
	default: // Run will create the loop
	}
	select {
	case <-c.opened:
		return c.loop, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// openInterval is the time between two tries of openForNodes.
const openInterval = 15 * time.Second

// openForNodes makes sure that runners of an earlier daemon reach this one.
func (c *cluster) openForNodes(ctx context.Context) {
	tick := time.NewTicker(openInterval)
	defer tick.Stop()
	for {
		towards, err := c.nodeAddress(ctx)
		if err == nil {
			_, err = c.daemon.OpenForNodes(towards)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		c.daemon.o.Log.Error("compute nodes cannot reach the daemon", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// runner returns the command that an allocation runs.
func (c *cluster) runner(a compute.Allocation, secretFile string) []string {
	q := &a.Request
	args := []string{
		c.o.Program, "runner", "--endpoint", c.daemon.o.EndpointPath, "--secret", secretFile,
		"--workflow", fmt.Sprint(a.WorkflowID), "--output-dir", q.OutputDir,
	}
	if c.killWait > 0 {
		args = append(args, "--kill-wait", c.killWait.String())
	}
	if c.o.DaemonPatience > 0 {
		args = append(args, "--patience", c.o.DaemonPatience.String())
	}
	if q.WalltimeS > 0 {
		args = append(args, "--walltime", (time.Duration(q.WalltimeS) * time.Second).String())
	}
	if q.IdleTimeoutS > 0 {
		args = append(args, "--idle-timeout", (time.Duration(q.IdleTimeoutS) * time.Second).String())
	}
	if q.MaxParallelJobs > 0 {
		args = append(args, "--max-parallel-jobs", fmt.Sprint(q.MaxParallelJobs))
	}
	for _, label := range q.Labels {
		args = append(args, "--label", label)
	}
	return args
}

// Submit makes sure that the nodes can reach the daemon, and requests an allocation.
func (c *cluster) Submit(ctx context.Context, want allocation.Want) (compute.Allocation, error) {
	c.site.use()
	if !filepath.IsAbs(want.Request.OutputDir) {
		return compute.Allocation{}, workflow.Errorf(workflow.CodeInvalid, "the output directory %q of an allocation is not absolute", want.Request.OutputDir)
	}
	if c.daemon.o.EndpointPath == "" {
		return compute.Allocation{}, workflow.Errorf(workflow.CodeConflict, "compute nodes cannot find this daemon: it has no endpoint file, because its database is in memory").
			WithHint("submit to a daemon whose database is a file")
	}
	towards, err := c.nodeAddress(ctx)
	if err != nil {
		return compute.Allocation{}, err
	}
	if _, err := c.daemon.OpenForNodes(towards); err != nil {
		return compute.Allocation{}, err
	}
	loop, err := c.allocations(ctx)
	if err != nil {
		return compute.Allocation{}, err
	}
	a, err := loop.Submitter().Submit(ctx, want)
	if class := slurm.ClassOf(err); class == slurm.Permanent || class == slurm.Limit {
		c.site.invalidate()
	}
	return a, err
}

// nodeAddress returns the address of a compute node; empty if the daemon already listens
// for nodes.
func (c *cluster) nodeAddress(ctx context.Context) (string, error) {
	if c.daemon.Endpoint().NodeURL != "" || c.daemon.o.Nodes.Host != "" {
		return "", nil
	}
	if address := c.rememberedAddress(ctx); address != "" {
		return address, nil
	}
	groups, err := c.o.Slurm.Nodes(ctx)
	if err != nil {
		return "", fmt.Errorf("find a compute node: %w", err)
	}
	return firstAddress(siteconfigs.SomeNodes(groups), func(node string) (string, error) {
		address, err := c.o.Slurm.NodeAddress(ctx, node)
		if err == nil {
			_, err = addressTowards(address)
		}
		if err != nil {
			c.daemon.o.Log.Warn("no address of a compute node is known", "node", node, "error", err)
		}
		return address, err
	})
}

// rememberedAddress returns the cached address of a node that this host can resolve,
// empty if there is none.
func (c *cluster) rememberedAddress(ctx context.Context) string {
	if c.o.Facts == nil {
		return ""
	}
	facts, err := c.o.Facts(ctx)
	if err != nil {
		return ""
	}
	for _, node := range facts.Reachable {
		if _, err := addressTowards(node.Address); err == nil {
			return node.Address
		}
	}
	return ""
}

// firstAddress returns the address of the first node that has one.
func firstAddress(nodes []string, addressOf func(node string) (string, error)) (string, error) {
	var failure error
	for _, node := range nodes {
		address, err := addressOf(node)
		if err == nil {
			return address, nil
		}
		failure = err
	}
	if failure == nil {
		return "", errors.New("the cluster has no nodes")
	}
	return "", workflow.Errorf(workflow.CodeUnavailable, "no name of the tried nodes (%s) resolves on this host: %v", strings.Join(nodes, ", "), failure).
		WithHint("configure the address of this host for compute nodes: server.node_host in the configuration, or serve --node-host ADDRESS")
}

// Poll polls Slurm, if there are allocations.
func (c *cluster) Poll(ctx context.Context) error {
	live, err := c.daemon.store.Allocations.Live(ctx)
	if err != nil || len(live) == 0 {
		return err
	}
	loop, err := c.allocations(ctx)
	if err != nil {
		return err
	}
	return loop.Poll(ctx)
}

// Seen returns what the loop saw last.
func (c *cluster) Seen() allocation.QueueSnapshot {
	select {
	case <-c.opened:
		return c.loop.Seen()
	default:
		return allocation.QueueSnapshot{}
	}
}

// knownRunners are the server's runners, for the allocation loop.
type knownRunners struct{ *Server }

// Silence returns for how long a runner has sent no turn while the daemon listened.
func (s knownRunners) Silence(runner int64) time.Duration {
	return s.leases.silence(runner, s.Now())
}

// ActiveSilence is Silence for a runner that has not deregistered. Its registration may
// be visible in the database a moment before its lease is known.
func (s knownRunners) ActiveSilence(runner int64) time.Duration {
	return s.leases.activeSilence(runner, s.Now())
}

// Stop orders a runner to end what it runs, to report, and to leave.
func (s knownRunners) Stop(runner int64, why string) {
	if s.leases.order(runner) {
		s.Log.Info("ordered a runner to stop", "compute_node_id", runner, "reason", why)
		s.Hub.Wake(hub.RunnerOf(runner))
	}
}

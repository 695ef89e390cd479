package simulation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// gate is between a daemon or runner and Slurm.
type gate struct {
	*cluster
	who    string
	life   context.Context // of the caller
	daemon *daemon         // nil if the caller is a runner
	budget int             // of calls within a minute

	mu      sync.Mutex
	numbers map[string]int // of calls, by program
	recent  []time.Time    // of calls within the last minute
}

func (s *cluster) gate(life context.Context, who string, d *daemon, budget int) *gate {
	return &gate{cluster: s, who: who, life: life, daemon: d, budget: budget, numbers: map[string]int{}}
}

// Run runs a program of Slurm for a caller, as long as the caller lives. It is a
// slurm.Executor.
func (g *gate) Run(ctx context.Context, cmd slurm.Command) (slurm.Output, error) {
	if g.daemon != nil && g.daemon.died.Load() != 0 {
		return slurm.Output{}, errors.New("simulated: the daemon is dead") // what it decides now is not in its image
	}
	c := g.seed.of("slurm", g.who, cmd.Program, g.number(&cmd))
	before, after := c.spread(5*time.Millisecond, 2*time.Second), c.spread(5*time.Millisecond, 2*time.Second)
	f := noFailure
	if g.faulty() && c.is(g.faultiness) {
		f = oneOf(c, failures(cmd.Program)...)
	}
	g.note("%s: %s %s", g.who, cmd.Program, strings.Join(cmd.Args, " "))
	if g.daemon != nil && g.life.Err() == nil {
		g.checkCall(cmd)
	}
	if err := sleep(ctx, before); err != nil || g.life.Err() != nil {
		if c.is(0.5) { // the caller is dead, not the program
			_, _ = g.carryOut(context.Background(), cmd)
		}
		return slurm.Output{}, errors.New("simulated: the caller is dead")
	}
	if out, is := g.outage(cmd.Program); is {
		return out, nil
	}
	out, err := g.fail(ctx, f, cmd, c)
	if e := sleep(ctx, after); e != nil {
		return slurm.Output{}, e
	}
	g.note("%s: %s returns %d %q %q, %v", g.who, cmd.Program, out.ExitCode, out.Stdout, out.Stderr, err)
	return out, err
}

// number counts a call. Estimates are within the budget, submissions and cancellations need
// not be (P12).
func (g *gate) number(cmd *slurm.Command) int {
	program := cmd.Program
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.recent) > 0 && now.Sub(g.recent[0]) >= time.Minute {
		g.recent = g.recent[1:]
	}
	earlier := len(g.recent)
	for earlier > 0 && g.recent[earlier-1].Equal(now) {
		earlier-- // the order of simultaneous calls is not known here
	}
	if !isSubmission(cmd) && program != slurm.Scancel && earlier >= g.budget {
		g.violated("P12: %s runs %s after %d calls within a minute", g.who, program, earlier)
	}
	g.recent = append(g.recent, now)
	g.numbers[program]++
	return g.numbers[program]
}

// carryOut has Slurm carry out a call, and records which jobs that created.
func (g *gate) carryOut(ctx context.Context, cmd slurm.Command) (slurm.Output, error) {
	out, err := g.Cluster.Run(ctx, cmd)
	if isSubmission(&cmd) && err == nil && out.ExitCode == 0 {
		g.cluster.mu.Lock()
		defer g.cluster.mu.Unlock()
		name := nameIn(cmd.Stdin)
		g.made[name] = append(g.made[name], time.Now())
	}
	return out, err
}

// nameIn returns the job name that a script requests.
func nameIn(script []byte) string {
	for line := range strings.Lines(string(script)) {
		if _, name, ok := strings.Cut(line, "--job-name="); ok {
			return strings.Trim(strings.TrimSpace(name), `'"`)
		}
	}
	return ""
}

// failure is a way in which a call of a program fails.
type failure int

const (
	noFailure   failure = iota
	undoneHangs         // it has no effect and does not end
	refuses             // it reports that it cannot connect
	doneHangs           // it has its effect and does not end
	isCut               // a part of its answer is lost
	isEmpty             // all of its answer is lost
	lies                // it omits jobs that exist
	isLate              // it does not end, and has its effect later
	isDoubled           // it has its effect twice
)

// failures returns the ways in which calls of a program may fail.
func failures(program string) []failure {
	all := []failure{undoneHangs, refuses, doneHangs, isCut, isEmpty, lies}
	if program == slurm.Sbatch || program == slurm.Scancel {
		all = append(all, isLate, isDoubled)
	}
	return all
}

// fail runs a program that fails in some way.
func (g *gate) fail(ctx context.Context, f failure, cmd slurm.Command, c chance) (slurm.Output, error) {
	lingers, later := c.spread(5*time.Millisecond, 2*time.Second), c.spread(10*time.Second, 6*time.Minute)
	switch f {
	case undoneHangs:
		g.note("%s: %s has no effect and does not end", g.who, cmd.Program)
		return slurm.Output{}, hang(ctx, lingers)
	case refuses:
		return slurm.Output{Stderr: []byte("slurm_load_jobs error: Unable to contact slurm controller (connect failure)"), ExitCode: 1}, nil
	case isLate:
		g.note("%s: %s does not end, and has its effect after %s", g.who, cmd.Program, later)
		time.AfterFunc(later, func() {
			if g.faulty() {
				_, _ = g.carryOut(context.Background(), cmd)
			}
		})
		return slurm.Output{}, hang(ctx, lingers)
	}
	out, err := g.carryOut(ctx, cmd)
	switch f {
	case doneHangs:
		g.note("%s: %s does not end", g.who, cmd.Program)
		return slurm.Output{}, hang(ctx, lingers)
	case isCut:
		out.Stdout = out.Stdout[:int(c.Float64()*float64(len(out.Stdout)))]
	case isEmpty:
		out = slurm.Output{}
	case lies:
		out = lie(cmd, out)
	case isDoubled:
		g.note("%s: %s is carried out twice", g.who, cmd.Program)
		_, _ = g.carryOut(ctx, cmd)
	}
	return out, err
}

// outagePeriod is the time between two possible outages of Slurm's daemons.
const outagePeriod = 5 * time.Minute

// outage returns what a program prints when the Slurm daemon that it needs is down.
func (s *cluster) outage(program string) (out slurm.Output, is bool) {
	daemon, says := "slurmctld", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
	if program == slurm.Sacct || program == slurm.Sacctmgr {
		daemon, says = "slurmdbd", "sacct: error: Problem talking to the database: Connection refused"
	}
	if s.faultiness == 0 || !s.faulty() {
		return out, false
	}
	at := time.Since(s.began)
	c := s.seed.of("outage", daemon, at/outagePeriod)
	if !c.is(0.15) || at%outagePeriod > c.spread(10*time.Second, outagePeriod) {
		return out, false
	}
	return slurm.Output{Stderr: []byte(says), ExitCode: 1}, true
}

// hang waits until a program is killed and a little longer, since it does not end at the
// same moment.
func hang(ctx context.Context, more time.Duration) error {
	<-ctx.Done()
	_ = sleep(context.Background(), more)
	return fmt.Errorf("simulated: %w", context.DeadlineExceeded)
}

// lie removes all jobs from an answer of squeue.
func lie(cmd slurm.Command, out slurm.Output) slurm.Output {
	if cmd.Program == slurm.Squeue {
		heading, _, _ := strings.Cut(string(out.Stdout), "\n")
		out.Stdout = []byte(heading + "\n")
	}
	return out
}

package clusterfacts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/slurm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said is a Slurm that counts what it is asked.
type said struct {
	mu                  sync.Mutex
	now                 time.Time
	nodes, reservations int
	estimates           [][]string
	nodesErr, resErr    error
	estimateErr         error
	cancel              context.CancelFunc // called during each question
}

func (s *said) Now() time.Time { return s.now }

func (s *said) NodeLoads(context.Context) (slurm.NodeLoads, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes++
	if s.cancel != nil {
		s.cancel()
	}
	if s.nodesErr != nil {
		return slurm.NodeLoads{}, s.nodesErr
	}
	return slurm.NodeLoads{At: s.now, Nodes: []slurm.NodeLoad{idle("n1", "idle", "")}}, nil
}

func (s *said) Reservations(context.Context) ([]slurm.Reservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reservations++
	if s.resErr != nil {
		return nil, s.resErr
	}
	return []slurm.Reservation{{Name: fmt.Sprint(s.reservations), Start: s.now.Add(5 * time.Hour), End: s.now.Add(6 * time.Hour), Nodes: "n1"}}, nil
}

func (s *said) Estimate(_ context.Context, job slurm.Submission) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.estimates = append(s.estimates, job.Args)
	if s.cancel != nil {
		s.cancel()
	}
	if !strings.HasPrefix(string(job.Script), "#!") {
		return time.Time{}, errors.New("sbatch would refuse it")
	}
	return s.now.Add(time.Hour), s.estimateErr
}

func newSource() (*Source, *said) {
	s := &said{now: noon}
	return NewSource(Options{Slurm: s, Now: s.Now}), s
}

var (
	down     = &slurm.Error{Program: slurm.Sinfo, Class: slurm.Unavailable, Text: "slurmctld is down"}
	withheld = &slurm.Error{Program: slurm.Sinfo, Class: slurm.Withheld, Text: "the budget is spent"}
)

// TestClusterIsAskedRarely: an hour of plans, one each second.
func TestClusterIsAskedRarely(t *testing.T) {
	source, s := newSource()
	for range 3600 {
		c, err := source.Cluster(t.Context())
		if err != nil || len(c.Nodes) != 1 || len(c.Reservations) != 1 || s.now.Sub(c.At) >= LoadsEvery {
			t.Fatalf("%+v, %v", c, err)
		}
		s.now = s.now.Add(time.Second)
	}
	if s.nodes != 120 || s.reservations != 6 || len(s.estimates) != 0 {
		t.Errorf("%d times for nodes, %d for reservations, %d for estimates", s.nodes, s.reservations, len(s.estimates))
	}
}

// TestClusterUnasked: a source by itself makes no calls.
func TestClusterUnasked(t *testing.T) {
	source, s := newSource()
	if source.Prober(); s.nodes+s.reservations+len(s.estimates) != 0 {
		t.Error("Slurm was called")
	}
}

// TestClusterShared: callers at the same time share one call.
func TestClusterShared(t *testing.T) {
	source, s := newSource()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if c, err := source.Cluster(t.Context()); err != nil || len(c.Nodes) != 1 {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	all.Wait()
	if s.nodes != 1 || s.reservations != 1 {
		t.Errorf("%d times for nodes, %d for reservations", s.nodes, s.reservations)
	}
}

// TestClusterFails: the error is returned, and Slurm not asked again at once.
func TestClusterFails(t *testing.T) {
	source, s := newSource()
	s.nodesErr = down
	for range 3 {
		if c, err := source.Cluster(t.Context()); !errors.Is(err, down) || c != nil {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if s.nodes != 1 || s.reservations != 0 {
		t.Errorf("%d times for nodes, %d for reservations", s.nodes, s.reservations)
	}
	s.now, s.nodesErr = s.now.Add(LoadsEvery), nil
	if c, err := source.Cluster(t.Context()); err != nil || len(c.Nodes) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	// What was free a minute ago is not used if Slurm does not say anew.
	s.now, s.nodesErr = s.now.Add(LoadsEvery), down
	if c, err := source.Cluster(t.Context()); !errors.Is(err, down) || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestClusterWithheld: a call that was not made is tried again by the next plan.
func TestClusterWithheld(t *testing.T) {
	source, s := newSource()
	s.nodesErr = withheld
	if c, err := source.Cluster(t.Context()); slurm.ClassOf(err) != slurm.Withheld || !strings.Contains(err.Error(), "budget") || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
	s.nodesErr = nil
	if c, err := source.Cluster(t.Context()); err != nil || len(c.Nodes) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestClusterCanceled: a caller that goes away does not decide for the others.
func TestClusterCanceled(t *testing.T) {
	source, s := newSource()
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel, s.nodesErr = cancel, &slurm.Error{Program: slurm.Sinfo, Class: slurm.Unavailable, Err: context.Canceled}
	if c, err := source.Cluster(ctx); err == nil || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
	s.cancel, s.nodesErr = nil, nil
	if c, err := source.Cluster(t.Context()); err != nil || len(c.Nodes) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	<-source.turn // another caller holds it
	if c, err := source.Cluster(ctx); !errors.Is(err, context.Canceled) || c != nil {
		t.Errorf("%+v, %v", c, err)
	}
	source.turn <- struct{}{}
}

// TestReservationsFail: older ones count for an hour, then nothing is known.
func TestReservationsFail(t *testing.T) {
	source, s := newSource()
	s.resErr = down
	if c, err := source.Cluster(t.Context()); !errors.Is(err, down) || c != nil {
		t.Errorf("never known: %+v, %v", c, err)
	}
	s.now, s.resErr = s.now.Add(AgainAfterFailure), nil
	if c, err := source.Cluster(t.Context()); err != nil || c.Reservations[0].Name != "2" {
		t.Errorf("%+v, %v", c, err)
	}
	known := s.now
	s.resErr = down
	for s.now.Before(known.Add(staleReservations)) {
		if c, err := source.Cluster(t.Context()); err != nil || len(c.Reservations) != 1 || c.Reservations[0].Name != "2" {
			t.Fatalf("after %v: %+v, %v", s.now.Sub(known), c, err)
		}
		s.now = s.now.Add(30 * time.Second)
	}
	if s.reservations != 2+25 { // after 10 min, then every 2
		t.Errorf("%d times for reservations", s.reservations)
	}
	if c, err := source.Cluster(t.Context()); !errors.Is(err, down) || c != nil {
		t.Errorf("an hour old: %+v, %v", c, err)
	}
}

// TestClockSetBack: what is from the future is asked for again.
func TestClockSetBack(t *testing.T) {
	source, s := newSource()
	if _, err := source.Cluster(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Prober().Probe(t.Context(), forecast.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	s.now = s.now.Add(-24 * time.Hour)
	if c, err := source.Cluster(t.Context()); err != nil || !c.At.Equal(s.now) {
		t.Errorf("%+v, %v", c, err)
	}
	if probes := source.Probes(); len(probes) != 0 || s.nodes != 2 || s.reservations != 2 {
		t.Errorf("%v, %d times for nodes, %d for reservations", probes, s.nodes, s.reservations)
	}
}

func TestReservedForTheSystem(t *testing.T) {
	s := &said{now: noon}
	source := NewSource(Options{Slurm: s, Now: s.Now, Reserved: func() []slurm.NodeRecord {
		return []slurm.NodeRecord{{Name: "n1", ReservedCPUs: 2, ReservedMemory: slurm.GiB}}
	}})
	c, err := source.Cluster(t.Context())
	if err != nil || c.Nodes[0].Free.CPUs != 6 || c.Nodes[0].Free.MemoryBytes != 15*slurm.GiB || !c.Nodes[0].Idle() {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestProbe(t *testing.T) {
	source, s := newSource()
	plan := source.Prober()
	probe := func(p *Prober, nodes int64) (forecast.Probe, error) {
		return p.Probe(t.Context(), forecast.Request{Nodes: nodes}, []string{"--time=60", fmt.Sprintf("--nodes=%d", nodes)})
	}
	for nodes := int64(1); nodes <= 3; nodes++ {
		got, err := probe(plan, nodes)
		if err != nil || got.Request.Nodes != nodes || !got.Start.Equal(noon.Add(time.Hour)) || !got.At.Equal(noon) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if got, err := probe(plan, 4); slurm.ClassOf(err) != slurm.Withheld || !got.Start.IsZero() {
		t.Errorf("a fourth one: %+v, %v", got, err)
	}
	s.now = s.now.Add(ProbeLifetime - time.Second)
	for _, p := range []*Prober{plan, source.Prober()} { // what is known costs nothing
		if got, err := probe(p, 2); err != nil || !got.At.Equal(noon) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if len(s.estimates) != 3 || len(source.Probes()) != 3 {
		t.Errorf("%v, %v", s.estimates, source.Probes())
	}
	s.now = s.now.Add(time.Second)
	if got := source.Probes(); len(got) != 0 {
		t.Errorf("after five minutes: %v", got)
	}
	if got, err := probe(source.Prober(), 2); err != nil || !got.At.Equal(s.now) || len(s.estimates) != 4 {
		t.Errorf("%+v, %v, %v", got, err, s.estimates)
	}
}

// TestProbeFails: a refusal is remembered, a call that was not made is not and ends the
// probes of this plan.
func TestProbeFails(t *testing.T) {
	source, s := newSource()
	s.estimateErr = &slurm.Error{Program: slurm.Sbatch, Class: slurm.Permanent, Text: "no"}
	for range 5 {
		if got, err := source.Prober().Probe(t.Context(), forecast.Request{}, []string{"a"}); slurm.ClassOf(err) != slurm.Permanent || !got.Start.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if len(s.estimates) != 1 || len(source.Probes()) != 0 {
		t.Errorf("%v, %v", s.estimates, source.Probes())
	}
	s.estimateErr = withheld
	plan := source.Prober()
	for _, arg := range []string{"b", "c", "d"} {
		if got, err := plan.Probe(t.Context(), forecast.Request{}, []string{arg}); slurm.ClassOf(err) != slurm.Withheld || !got.Start.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if len(s.estimates) != 2 { // the budget decided once
		t.Errorf("%v", s.estimates)
	}
	s.estimateErr = nil
	if got, err := source.Prober().Probe(t.Context(), forecast.Request{}, []string{"b"}); err != nil || got.Start.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel, s.estimateErr = cancel, &slurm.Error{Program: slurm.Sbatch, Class: slurm.Unavailable, Err: context.Canceled}
	if _, err := source.Prober().Probe(ctx, forecast.Request{}, []string{"e"}); err == nil {
		t.Error("a canceled call is an answer")
	}
	s.cancel, s.estimateErr = nil, nil
	if got, err := source.Prober().Probe(t.Context(), forecast.Request{}, []string{"e"}); err != nil || got.Start.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
}

// Package failpoint makes a program die at named places, for crash tests. A place that is
// not armed costs a nil check.
//
// Nothing is global and no environment is read here: main parses the variable
// TORC_SLURM_FAILPOINTS and passes Set.Hit on.
package failpoint

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Set is a set of armed failpoints. The nil Set has none. It is safe for
// concurrent use.
type Set struct {
	points map[string]*point
	kill   func()
}

// point is one armed failpoint: it fires at the at-th hit, or, if at is 0,
// with a probability.
type point struct {
	at     int
	chance float64

	mu   sync.Mutex
	hits int
	rnd  *rand.Rand
}

// Parse reads failpoints separated by commas or semicolons:
//
//	store.commit.before=kill@37      SIGKILL to this process at the 37th hit
//	store.commit.after=kill%0.01/7   at each hit with probability 0.01, seed 7
//
// Without @ or % a failpoint fires at the first hit. An empty text is the nil
// Set.
func Parse(text string) (*Set, error) {
	s := &Set{points: map[string]*point{}, kill: killSelf}
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, rest, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("failpoint %q: want name=kill", item)
		}
		if s.points[name] != nil {
			return nil, fmt.Errorf("duplicate failpoint %q", name)
		}
		p, err := parsePoint(rest)
		if err != nil {
			return nil, fmt.Errorf("failpoint %q: %w", item, err)
		}
		s.points[name] = p
	}
	if len(s.points) == 0 {
		return nil, nil
	}
	return s, nil
}

func parsePoint(text string) (*point, error) {
	when, ok := strings.CutPrefix(text, "kill")
	if !ok {
		return nil, fmt.Errorf("unknown action %q, there is only kill", text)
	}
	switch {
	case when == "":
		return &point{at: 1}, nil
	case when[0] == '@':
		n, err := strconv.Atoi(when[1:])
		if err != nil || n < 1 {
			return nil, fmt.Errorf("hit %q is not a positive number", when[1:])
		}
		return &point{at: n}, nil
	case when[0] == '%':
		return parseChance(when[1:])
	}
	return nil, fmt.Errorf("unknown action %q, there is only kill", text)
}

func parseChance(text string) (*point, error) {
	chance, seedText, _ := strings.Cut(text, "/")
	f, err := strconv.ParseFloat(chance, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return nil, fmt.Errorf("probability %q is not in (0, 1]", chance)
	}
	var seed uint64
	if seedText != "" {
		if seed, err = strconv.ParseUint(seedText, 10, 64); err != nil {
			return nil, fmt.Errorf("seed %q is not a number", seedText)
		}
	}
	return &point{chance: f, rnd: rand.New(rand.NewPCG(seed, seed))}, nil
}

// Hit does not return if the failpoint of that name is armed and fires.
func (s *Set) Hit(name string) {
	if s == nil {
		return
	}
	if p := s.points[name]; p != nil && p.fires() {
		s.kill()
	}
}

func (p *point) fires() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at == 0 {
		return p.rnd.Float64() < p.chance
	}
	p.hits++
	return p.hits == p.at
}

// killSelf ends the process like kill -9: without deferred calls or flushing.
func killSelf() {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // wait for the signal
}

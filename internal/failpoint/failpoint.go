// Package failpoint makes a program stop or fail at named places, for crash
// tests. A place that is not armed costs a nil check.
//
// Nothing is global and no environment is read here: main parses the text
// (the variable TORC_SLURM_FAILPOINTS) and passes the Set to whoever has
// places to hit.
package failpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// ErrInjected is what an armed "error" failpoint returns.
var ErrInjected = errors.New("injected failure")

// Set is a set of armed failpoints. The nil Set has none. It is safe for
// concurrent use.
type Set struct {
	points map[string]*point
	kill   func()
}

// point is one armed failpoint: it fires at the at-th hit, or, if at is 0,
// with a probability.
type point struct {
	action action
	at     int
	chance float64

	mu   sync.Mutex
	hits int
	rnd  *rand.Rand
}

type action int

const (
	actionKill action = iota
	actionError
)

// Parse reads failpoints separated by commas or semicolons:
//
//	store.commit.before=kill@37      SIGKILL to this process at the 37th hit
//	store.commit.after=kill%0.01/7   at each hit with probability 0.01, seed 7
//	store.write=error@2              Hit returns ErrInjected at the 2nd hit
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
			return nil, fmt.Errorf("failpoint %q: want name=action", item)
		}
		if s.points[name] != nil {
			return nil, fmt.Errorf("failpoint %q is given twice", name)
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
	p := &point{at: 1}
	name := text
	if i := strings.IndexAny(text, "@%"); i >= 0 {
		name = text[:i]
		var err error
		if text[i] == '@' {
			err = p.parseCount(text[i+1:])
		} else {
			err = p.parseChance(text[i+1:])
		}
		if err != nil {
			return nil, err
		}
	}
	switch name {
	case "kill":
		p.action = actionKill
	case "error":
		p.action = actionError
	default:
		return nil, fmt.Errorf("action %q is neither kill nor error", name)
	}
	return p, nil
}

func (p *point) parseCount(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("hit %q is not a positive number", text)
	}
	p.at = n
	return nil
}

func (p *point) parseChance(text string) error {
	chance, seedText, _ := strings.Cut(text, "/")
	f, err := strconv.ParseFloat(chance, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return fmt.Errorf("probability %q is not in (0, 1]", chance)
	}
	var seed uint64
	if seedText != "" {
		if seed, err = strconv.ParseUint(seedText, 10, 64); err != nil {
			return fmt.Errorf("seed %q is not a number", seedText)
		}
	}
	p.at, p.chance, p.rnd = 0, f, rand.New(rand.NewPCG(seed, seed))
	return nil
}

// Hit passes the place of that name. It returns nil unless the failpoint is
// armed as "error" and fires; a "kill" that fires does not return.
func (s *Set) Hit(name string) error {
	if s == nil {
		return nil
	}
	p := s.points[name]
	if p == nil || !p.fires() {
		return nil
	}
	if p.action == actionKill {
		s.kill()
	}
	return fmt.Errorf("failpoint %s: %w", name, ErrInjected)
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

// killSelf ends the process as kill -9 does: no deferred call, no flush.
func killSelf() {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

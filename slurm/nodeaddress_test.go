package slurm

import (
	"context"
	"testing"
)

// oneAnswer is an executor that always gives the same answer.
type oneAnswer string

func (o oneAnswer) Run(context.Context, Command) (Output, error) {
	return Output{Stdout: []byte(o)}, nil
}

func TestNodeAddress(t *testing.T) {
	c := New(Options{Executor: oneAnswer("NodeName=n1 Arch=x86_64 CoresPerSocket=1 CPUAlloc=0 NodeAddr=10.0.0.7 NodeHostName=vm Port=17001\n")})
	if got, err := c.NodeAddress(t.Context(), "n1"); err != nil || got != "10.0.0.7" {
		t.Errorf("got %q, %v", got, err)
	}
	c = New(Options{Executor: oneAnswer("NodeName=n1 Arch=x86_64\n")})
	if _, err := c.NodeAddress(t.Context(), "n1"); ClassOf(err) != Unavailable {
		t.Errorf("an answer without an address: %v", err)
	}
}

package slurmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// The variables that tell a test binary that it is one of Slurm's programs.
const (
	programVariable = "TORC_FAKE_PROGRAM"
	socketVariable  = "TORC_FAKE_SOCKET"
)

// programs are those that Serve creates.
var programs = []string{
	slurm.Sbatch, slurm.Squeue, slurm.Sacct, slurm.Scancel, slurm.Scontrol, slurm.Sinfo, slurm.Sacctmgr, slurm.Srun,
}

// reply is the answer to a program.
type reply struct {
	slurm.Output
	Hangs bool // the program must not end
}

// Serve writes programs sbatch, squeue, … into a directory, which call the cluster in
// this process: other processes can use it by PATH or by TORC_FAKE_SBATCH and so on. The
// programs run a test binary, whose TestMain must call Program. stop ends the service.
func Serve(c *Cluster, dir, binary string) (stop func(), err error) {
	socket := filepath.Join(dir, "socket")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen for the fake Slurm's programs: %w", err)
	}
	for _, program := range programs {
		text := fmt.Sprintf("#!/bin/sh\n%s=%s %s=%s exec %s \"$@\"\n", programVariable, program, socketVariable, socket, binary)
		if err := os.WriteFile(filepath.Join(dir, program), []byte(text), 0o700); err != nil {
			listener.Close()
			return nil, fmt.Errorf("write the fake %s: %w", program, err)
		}
	}
	s := &service{cluster: c}
	s.running.Go(func() { s.accept(listener) })
	return func() {
		listener.Close()
		s.running.Wait()
	}, nil
}

// service answers programs, each on a connection and a goroutine of its own.
type service struct {
	cluster *Cluster
	running sync.WaitGroup
}

func (s *service) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() {
			defer conn.Close()
			s.serve(conn)
		})
	}
}

func (s *service) serve(conn net.Conn) {
	var cmd slurm.Command
	if err := json.NewDecoder(conn).Decode(&cmd); err != nil {
		return
	}
	out, err := s.cluster.Run(context.Background(), cmd)
	r := reply{Output: out, Hangs: errors.Is(err, context.DeadlineExceeded)}
	if err != nil && !r.Hangs {
		r.Stderr, r.ExitCode = []byte(err.Error()+"\n"), 127
	}
	_ = json.NewEncoder(conn).Encode(r) // the program may have been killed
}

// Program is for TestMain: if the binary was called as one of Slurm's programs, it does
// what that program does and returns its exit code.
func Program(getenv func(string) string, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, called bool) {
	program := getenv(programVariable)
	if program == "" {
		return 0, false
	}
	cmd := slurm.Command{Program: program, Args: args[1:], Env: ownVariables(os.Environ())}
	cmd.Dir, _ = os.Getwd()
	if program == slurm.Sbatch {
		script, err := io.ReadAll(stdin)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1, true
		}
		cmd.Stdin = script
	}
	r, err := call(getenv(socketVariable), cmd)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1, true
	}
	if r.Hangs {
		select {}
	}
	if program == slurm.Srun && r.ExitCode == 0 {
		return runStep(getenv(socketVariable), cmd, string(r.Stdout), stdin, stdout, stderr), true
	}
	_, _ = stdout.Write(r.Stdout)
	_, _ = stderr.Write(r.Stderr)
	return r.ExitCode, true
}

func ownVariables(environ []string) []string {
	return slices.DeleteFunc(environ, func(kv string) bool {
		return strings.HasPrefix(kv, programVariable+"=") || strings.HasPrefix(kv, socketVariable+"=")
	})
}

func call(socket string, cmd slurm.Command) (r reply, err error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return r, fmt.Errorf("%s: error: Unable to contact slurm controller (connect failure): %w", cmd.Program, err)
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(cmd); err != nil {
		return r, err
	}
	return r, json.NewDecoder(conn).Decode(&r)
}

// runStep is srun: it runs the program here, and tells the cluster how it ended.
func runStep(socket string, cmd slurm.Command, step string, stdin io.Reader, stdout, stderr io.Writer) int {
	words := programOf(cmd.Args)
	child := exec.Command(words[0], words[1:]...)
	child.Env, child.Stdin, child.Stdout, child.Stderr = cmd.Env, stdin, stdout, stderr
	exit := exitOf(child.Run())
	cmd.Args = []string{stepEnded, strings.TrimSpace(step), strconv.Itoa(exit.Code), strconv.Itoa(exit.Signal)}
	if _, err := call(socket, cmd); err != nil {
		fmt.Fprintln(stderr, err)
	}
	if exit.Signal != 0 {
		return 128 + exit.Signal
	}
	return exit.Code
}

// programOf drops srun's options, which all have the form --name=value or
// --name.
func programOf(args []string) []string {
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 {
		return []string{"true"}
	}
	return args[i:]
}

// Command spawner is the baseline of the benchmarks: it runs one argv n times,
// j at a time, and does nothing else. No runner that starts a process for each
// job can be faster than this on the same machine.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
)

func main() {
	n := flag.Int("n", 1000, "how many processes to run")
	j := flag.Int("j", 2, "how many at a time")
	dir := flag.String("files", "", "open a fresh stdout and stderr file for each process in this folder")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: spawner [-n N] [-j N] [-files DIR] command [arg...]")
		os.Exit(2)
	}
	if err := spawn(*n, *j, *dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "spawner:", err)
		os.Exit(1)
	}
}

// spawn runs argv n times, j at a time, and returns the first error.
func spawn(n, j int, dir string, argv []string) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, j)
	for range j {
		wg.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(n) {
					return
				}
				if err := once(i, dir, argv); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

func once(i int64, dir string, argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	if dir != "" {
		base := filepath.Join(dir, strconv.FormatInt(i, 10))
		stdout, err := os.Create(base + ".o")
		if err != nil {
			return err
		}
		defer stdout.Close()
		stderr, err := os.Create(base + ".e")
		if err != nil {
			return err
		}
		defer stderr.Close()
		cmd.Stdout, cmd.Stderr = stdout, stderr
	}
	return cmd.Run()
}

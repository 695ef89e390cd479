package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// command runs argv in dir and returns how long it took.
func command(ctx context.Context, dir string, argv ...string) (time.Duration, error) {
	_, took, err := output(ctx, dir, argv...)
	return took, err
}

// output runs argv in dir and returns its stdout and how long it took.
func output(ctx context.Context, dir string, argv ...string) (string, time.Duration, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return "", took, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, tail(stderr.String()))
	}
	return stdout.String(), took, nil
}

// tail returns the last lines of a text.
func tail(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// folder creates an empty folder for one run.
func (b *bench) folder(name string) (string, error) {
	return os.MkdirTemp(b.dir, name+"-")
}

// write writes a spec into an empty folder and returns the paths of both.
func (b *bench) write(name, spec string) (dir, path string, err error) {
	if dir, err = b.folder(name); err != nil {
		return "", "", err
	}
	path = filepath.Join(dir, name+".yaml")
	return dir, path, os.WriteFile(path, []byte(spec), 0o644)
}

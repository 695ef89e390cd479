package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// row is a line of the table; the texts are ready to print.
type row struct {
	what, ours, baseline, ratio, must, aim string
}

type table []row

func (t *table) add(r row) {
	*t = append(*t, r)
	say("  %s: %s  %s %s", r.what, r.ours, r.baseline, r.ratio)
}

// markdown returns the table.
func (t table) markdown() string {
	var b strings.Builder
	b.WriteString("| workload | torc-slurm | baseline | ratio | must | aim |\n|---|---|---|---|---|---|\n")
	for _, r := range t {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.what, r.ours, r.baseline, r.ratio, r.must, r.aim)
	}
	return b.String()
}

const (
	beginMark = "<!-- bench:begin -->\n"
	endMark   = "<!-- bench:end -->\n"
)

// report prints the table with what made it, and replaces it in a file.
func (t table) report(ctx context.Context, b *bench, path string) error {
	text := fmt.Sprintf("%s\n\nMade by `%s`, medians of %d run(s) each, in turns.\n\n%s",
		machine(ctx, b), strings.Join(append([]string{"go run ./bench"}, os.Args[1:]...), " "), b.rounds, t.markdown())
	fmt.Print(text)
	if path == "" {
		return nil
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	updated, err := replaceSection(old, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, updated, 0o644)
}

// replaceSection puts text between the bench comments.
func replaceSection(old []byte, text string) ([]byte, error) {
	before, rest, ok := bytes.Cut(old, []byte(beginMark))
	if !ok {
		return nil, fmt.Errorf("no line %q", strings.TrimSpace(beginMark))
	}
	_, after, ok := bytes.Cut(rest, []byte(endMark))
	if !ok {
		return nil, fmt.Errorf("no line %q", strings.TrimSpace(endMark))
	}
	return slices.Concat(before, []byte(beginMark), []byte(text), []byte(endMark), after), nil
}

// quantile returns the q-quantile of values, 0 if there are none.
func quantile[T ~int64 | ~float64](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func median[T ~int64 | ~float64](values []T) T { return quantile(values, 0.5) }

func perSecond(n int, took time.Duration) float64 { return float64(n) / took.Seconds() }

func rate(v float64) string { return fmt.Sprintf("%.0f jobs/s", v) }

func millis(v float64) string { return fmt.Sprintf("%.1f ms", v) }

package main

import (
	"bytes"
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

// report prints the table with a description of the measurement, replaces it in the file,
// and starts another one.
func (b *bench) report(section, about string) error {
	text := fmt.Sprintf("%s\n\nMade by `%s`: medians of %d run(s) each, in turns.\n\n%s",
		about, strings.Join(append([]string{"go run ./bench"}, os.Args[1:]...), " "), b.rounds, b.table.markdown())
	b.table = nil
	fmt.Print(text)
	if b.out == "" {
		return nil
	}
	old, err := os.ReadFile(b.out)
	if err != nil {
		return err
	}
	updated, err := replaceSection(old, section, text)
	if err != nil {
		return fmt.Errorf("%s: %w", b.out, err)
	}
	return os.WriteFile(b.out, updated, 0o644)
}

// replaceSection replaces the text between the comments of a section.
func replaceSection(old []byte, section, text string) ([]byte, error) {
	begin, end := "<!-- "+section+":begin -->\n", "<!-- "+section+":end -->\n"
	before, rest, ok := bytes.Cut(old, []byte(begin))
	if !ok {
		return nil, fmt.Errorf("no line %q", strings.TrimSpace(begin))
	}
	_, after, ok := bytes.Cut(rest, []byte(end))
	if !ok {
		return nil, fmt.Errorf("no line %q", strings.TrimSpace(end))
	}
	return slices.Concat(before, []byte(begin), []byte(text), []byte(end), after), nil
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

func secs(v float64) string { return fmt.Sprintf("%.1f s", v) }

func secsFine(v float64) string { return fmt.Sprintf("%.2f s", v) }

func factor(v float64) string { return fmt.Sprintf("%.2f ×", v) }

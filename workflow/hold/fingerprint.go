package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// fingerprintLines is how many of the last lines of stderr are part of a fingerprint.
const fingerprintLines = 3

// fingerprint returns the same text for similar failures: those with the same cause, return
// code and category, whose last lines differ only in numbers, times, paths and addresses.
func fingerprint(c workflow.Cause, category string, lines []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%s", c.Kind, c.ReturnCode, category)
	for _, line := range lines {
		fmt.Fprintf(h, "\x00%s", normalizeLine(line))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// lastOutput returns the end of the attempt's stderr or, if it is blank, its message.
func lastOutput(e workflow.Evidence) string {
	if strings.TrimSpace(e.StderrTail) == "" {
		return e.TerminationMessage
	}
	return e.StderrTail
}

// lastLines returns the last lines of a text that are not blank.
func lastLines(text string) []string {
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(text, "?")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-fingerprintLines):]
}

func shortLines(lines []string) []string {
	short := make([]string, len(lines))
	for i, line := range lines {
		short[i] = workflow.ShortLine(line)
	}
	return short
}

// variable matches the parts of a line that differ between similar failures. The order
// matters: a match of an earlier pattern may contain a match of a later one.
var variable = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	{regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`), ""},
	{regexp.MustCompile(`\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d{2}:?\d{2}))?)?`), "<time>"},
	{regexp.MustCompile(`\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d{2}:\d{2}:\d{2}`), "<time>"},
	{regexp.MustCompile(`\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b`), "<time>"},
	{regexp.MustCompile(`(^|[\s"'` + "`" + `(\[{<=:,])(?:~|\.{1,2})?(?:/[\w.@%+=,~-]+)+/?`), "$1<path>"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "<hex>"},
	{regexp.MustCompile(`\b0[xX][0-9a-fA-F]+`), "<hex>"},
}

var (
	hexWord = regexp.MustCompile(`\b[0-9a-fA-F]{7,}\b`)
	number  = regexp.MustCompile(`\d+(?:\.\d+)*(?:[eE][+-]?\d+)?`)
)

// normalizeLine returns a line with placeholders for timestamps, paths, hexadecimal words
// and numbers.
func normalizeLine(line string) string {
	for _, v := range variable {
		line = v.pattern.ReplaceAllString(line, v.stands)
	}
	line = hexWord.ReplaceAllStringFunc(line, func(word string) string {
		if strings.ContainsAny(word, "0123456789") && strings.ContainsAny(word, "abcdefABCDEF") {
			return "<hex>"
		}
		return word // a number, or an ordinary word
	})
	line = number.ReplaceAllString(line, "<n>")
	return strings.Join(strings.Fields(line), " ")
}

// Fingerprint returns the same text for attempts that failed alike.
func Fingerprint(c workflow.Cause, e workflow.Evidence) string {
	return fingerprint(c, e.Category, lastLines(lastOutput(e)))
}

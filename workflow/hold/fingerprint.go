package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// fingerprintLines is how many of the last lines of stderr tell failures apart.
const fingerprintLines = 3

// fingerprint is the same for failures that seem to be alike: of the same cause,
// return code and category, whose last words differ in nothing but numbers,
// times, paths and addresses.
func fingerprint(c workflow.Cause, category string, lines []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%s", c.Kind, c.ReturnCode, category)
	for _, line := range lines {
		fmt.Fprintf(h, "\x00%s", normalizeLine(line))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// said is what the attempt said last: its stderr, or else its message.
func said(e workflow.Evidence) string {
	if strings.TrimSpace(e.StderrTail) == "" {
		return e.TerminationMessage
	}
	return e.StderrTail
}

// lastLines are the last lines of a text that are not blank.
func lastLines(text string) []string {
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(text, "?")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-fingerprintLines):]
}

func glances(lines []string) []string {
	short := make([]string, len(lines))
	for i, line := range lines {
		short[i] = workflow.Glance(line)
	}
	return short
}

// variable are the parts of a line that differ between failures of one kind; an
// earlier one may contain what a later one would replace.
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

// normalizeLine puts a name in the place of each timestamp, path, hexadecimal
// word and number of a line.
func normalizeLine(line string) string {
	for _, v := range variable {
		line = v.pattern.ReplaceAllString(line, v.stands)
	}
	line = hexWord.ReplaceAllStringFunc(line, func(word string) string {
		if strings.ContainsAny(word, "0123456789") && strings.ContainsAny(word, "abcdefABCDEF") {
			return "<hex>"
		}
		return word // a number, or a word of prose
	})
	line = number.ReplaceAllString(line, "<n>")
	return strings.Join(strings.Fields(line), " ")
}

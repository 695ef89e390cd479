package sbatchtemplates

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// maxName is the longest name of a Slurm job, in bytes. Tools truncate longer ones.
const maxName = 64

// namePrefix marks our Slurm jobs.
const namePrefix = "torc:"

// intentDigits is the number of digits of the intent id in the name.
const intentDigits = 8

// Name is the parsed name of one of our Slurm jobs.
type Name struct {
	Slug       string // of the workflow's name; for people only
	WorkflowID int64
	RunID      int64
	Intent     string // the first digits of the allocation's intent id
}

// JobName returns the name of the Slurm job of an allocation. It is readable in squeue,
// and identifies the allocation if the answer of sbatch was lost.
func JobName(workflowName string, workflowID, runID int64, intentID string) string {
	suffix := fmt.Sprintf(".%d.r%d.%s", workflowID, runID, intentID[:min(intentDigits, len(intentID))])
	slug := slugOf(workflowName, maxName-len(namePrefix)-len(suffix))
	return namePrefix + slug + suffix
}

// slugOf returns a text of at most so many letters, digits, underscores and dashes. Other
// characters become dashes.
func slugOf(text string, most int) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= most {
			break
		}
	}
	if slug := strings.TrimRight(b.String(), "-"); slug != "" {
		return slug
	}
	return "workflow"
}

var jobName = regexp.MustCompile(`^torc:([A-Za-z0-9_-]+)\.(\d{1,18})\.r(\d{1,18})\.([0-9a-z]+)$`)

// ParseJobName parses a name of JobName. It returns false for other names.
func ParseJobName(text string) (Name, bool) {
	m := jobName.FindStringSubmatch(text)
	if m == nil {
		return Name{}, false
	}
	workflowID, _ := strconv.ParseInt(m[2], 10, 64) // few enough digits
	runID, _ := strconv.ParseInt(m[3], 10, 64)
	return Name{Slug: m[1], WorkflowID: workflowID, RunID: runID, Intent: m[4]}, true
}

// OutputFiles returns where Slurm writes the output of the script and the runner of an
// allocation, with %j for the id of the Slurm job.
func OutputFiles(dir string, workflowID int64) (stdout, stderr string) {
	base := filepath.Join(strings.ReplaceAll(dir, "%", "%%"), fmt.Sprintf("slurm_output_wf%d_sl%%j", workflowID))
	return base + ".o", base + ".e"
}

package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// slurmWords is the package that has Slurm's names for an end, and knows what they mean.
const slurmWords = module + "/workflow/failure"

// ends are the typed constants of package slurm for an end, which no other package may
// compare with.
var ends = []string{
	"Completed", "Failed", "LaunchFailed", "ReconfigFail", "OutOfMemory", "Timeout", "Deadline", "NodeFail", "BootFail", "Preempted", "Requeued", "Cancelled",
}

// TestSlurmsWordsAreInOnePlace: one package has the names of Slurm's ends and decodes
// them; one has the names of the other states. No other package repeats a name, compares
// with the name of an end, or builds the evidence.
func TestSlurmsWordsAreInOnePlace(t *testing.T) { checkProduct(t, wordProblems) }

func wordProblems(s *source) (problems []string) {
	if s.in == slurmWords || s.in == module+"/slurm/slurmtest" {
		return nil
	}
	add := func(n ast.Node, text string) {
		problems = append(problems, fmt.Sprintf("%s: %s", s.at(n), text))
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil {
				break
			}
			word, _, _ := strings.Cut(text, " ")
			if state := slurm.State(word); state.Known() && word == text && (s.in != module+"/slurm" || isEnd(state)) {
				add(n, text+" is a word of Slurm: ask package failure what it means")
			}
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && x.Name == "slurm" && slices.Contains(ends, n.Sel.Name) {
				add(n, "slurm."+n.Sel.Name+": ask failure.SlurmEnd what Slurm says about an end")
			}
		case *ast.CompositeLit:
			if sel, ok := n.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "SlurmEvidence" && len(n.Elts) > 0 {
				add(n, "only failure.SlurmEnd makes evidence from what Slurm reports")
			}
		}
		return true
	})
	return problems
}

func isEnd(s slurm.State) bool { return s.Over() || s == failure.Requeued || s == failure.Suspended }

// TestWordProblems checks that the rule above can fail.
func TestWordProblems(t *testing.T) {
	for _, tc := range []struct {
		in, src string
		bad     bool
	}{
		{"store", "`NODE_FAIL`", true},
		{"store", "`PENDING`", true},
		{"store", "`is RUNNING now`", false},
		{"store", "`completed`", false},
		{"slurm", "`PENDING`", false},
		{"slurm", "`NODE_FAIL`", true},
		{"slurm", "`SUSPENDED`", true},
		{"workflow/failure", "`NODE_FAIL`", false},
		{"allocation", "job.State == slurm.Running", false},
		{"allocation", "job.State == slurm.Preempted", true},
		{"runner", "workflow.SlurmEvidence{JobState: word}", true},
		{"runner", "workflow.SlurmEvidence{}", false},
		{"runner", "failure.SlurmEnd(said).Evidence()", false},
	} {
		if got := wordProblems(snippet(t, module+"/"+tc.in, "a.go", tc.src)); (len(got) > 0) != tc.bad {
			t.Errorf("%s in %s: %q", tc.src, tc.in, got)
		}
	}
}

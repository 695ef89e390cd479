package explain

import "github.com/torc-slurm/torc-slurm/workflow/classifier"

// AgentFacts are the calls of agents about held jobs, and whether another one is due.
type AgentFacts struct {
	Calls []classifier.Call    // the oldest first
	Next  *classifier.Decision // nil: no job is held, or the workflow has no classifier
}

// maxCallLines is how many calls are shown, the latest.
const maxCallLines = 5

func (f *AgentFacts) lines(nowMS int64) []string {
	var lines []string
	for i := range f.Calls[max(0, len(f.Calls)-maxCallLines):] {
		lines = append(lines, f.Calls[max(0, len(f.Calls)-maxCallLines)+i].Line(nowMS))
	}
	if f.Next != nil {
		lines = append(lines, f.Next.Line(nowMS))
	}
	return lines
}

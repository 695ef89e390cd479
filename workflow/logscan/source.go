package logscan

import (
	"fmt"
	"regexp"
	"strings"
)

// Attempt identifies an attempt within a workflow.
type Attempt struct{ Job, Run, Number int64 }

// Job is a job of a workflow.
type Job struct {
	ID   int64
	Name string
}

// Places knows which jobs of a workflow ran in which of its Slurm jobs.
type Places struct {
	known  map[string]bool // Slurm jobs of the workflow
	jobsIn map[string][]Job
	names  map[int64]string   // of jobs
	latest map[int64]string   // Slurm job, by job
	ranIn  map[Attempt]string // Slurm job, of attempts that have ended
}

// NewPlaces returns the places of a workflow with these Slurm jobs, without jobs in them.
func NewPlaces(slurmJobs ...string) *Places {
	p := &Places{known: map[string]bool{}, jobsIn: map[string][]Job{}, names: map[int64]string{}, latest: map[int64]string{}, ranIn: map[Attempt]string{}}
	for _, job := range slurmJobs {
		p.known[job] = true
	}
	return p
}

// AddJob records that a job ran in a Slurm job; the last one recorded is its latest.
func (p *Places) AddJob(slurmJob string, j Job) {
	p.jobsIn[slurmJob] = append(p.jobsIn[slurmJob], j)
	p.names[j.ID], p.latest[j.ID] = j.Name, slurmJob
}

// AddAttempt records in which Slurm job an ended attempt ran; empty: in none.
func (p *Places) AddAttempt(slurmJob string, a Attempt) { p.ranIn[a] = slurmJob }

// Source is the Slurm job and the jobs that wrote a log.
type Source struct {
	SlurmJob string
	Jobs     []Job // the jobs that may have written it
}

var (
	slurmOutput = regexp.MustCompile(`^slurm_output_wf\d+_sl(\d+)`)
	jobOutput   = regexp.MustCompile(`^job_wf\d+_j(\d+)_r(\d+)_a(\d+)`)
)

// SourceOf returns the source of a log, according to the name of its file; is says whether
// it is a Slurm job of the workflow or a job that ran in one. If it is unknown where an
// attempt ran, the latest Slurm job of its job is used.
func (p *Places) SourceOf(name string) (s Source, is bool) {
	if match := jobOutput.FindStringSubmatch(name); match != nil {
		var a Attempt
		_, _ = fmt.Sscan(strings.Join(match[1:], " "), &a.Job, &a.Run, &a.Number) // they are numbers
		if s.SlurmJob = p.ranIn[a]; s.SlurmJob == "" {
			s.SlurmJob = p.latest[a.Job]
		}
		if name, ran := p.names[a.Job]; ran {
			s.Jobs = []Job{{a.Job, name}}
		}
	} else if match := slurmOutput.FindStringSubmatch(name); match != nil {
		s.SlurmJob = match[1]
		s.Jobs = p.jobsIn[match[1]]
	}
	return s, p.known[s.SlurmJob]
}

// SlurmJobOf returns the Slurm job of the workflow that a line names; "" if it names none.
func (p *Places) SlurmJobOf(line string) string {
	if job := SlurmJob(line); p.known[job] {
		return job
	}
	return ""
}

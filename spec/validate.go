package spec

// Validation is the result of a dry run.
type Validation struct {
	Valid    bool     `json:"valid"`
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
	Summary  Summary  `json:"summary"`

	// Problems are the errors and Doubts the warnings with their places.
	Problems Errors     `json:"-"`
	Doubts   []*Warning `json:"-"`
}

// Summary counts what a specification contains.
type Summary struct {
	WorkflowName            string  `json:"workflow_name"`
	WorkflowDescription     *string `json:"workflow_description"`
	JobCount                int     `json:"job_count"`
	JobCountBeforeExpansion int     `json:"job_count_before_expansion"`
	// MainJobCount is JobCount without the jobs of sub-workflows and the end job.
	MainJobCount              int      `json:"-"`
	FileCount                 int      `json:"file_count"`
	FileCountBeforeExpansion  int      `json:"file_count_before_expansion"`
	UserDataCount             int      `json:"user_data_count"`
	ResourceRequirementsCount int      `json:"resource_requirements_count"`
	SlurmSchedulerCount       int      `json:"slurm_scheduler_count"`
	ActionCount               int      `json:"action_count"`
	HasScheduleNodesAction    bool     `json:"has_schedule_nodes_action"`
	JobNames                  []string `json:"job_names"`
	SchedulerNames            []string `json:"scheduler_names"`
}

// Validate checks a specification like Load, but returns its errors as data. A warning that needs
// confirmation counts as an error. Validate itself returns an error only if the file cannot be
// read.
func Validate(path string, opts Options) (*Validation, error) {
	opts = opts.withDefaults()
	name, data, err := opts.source(path)
	if err != nil {
		return nil, err
	}
	b, _ := parse(name, data, opts)
	v := &Validation{Errors: []string{}, Warnings: []string{}, Summary: b.summary()}
	if errs, ok := b.err().(Errors); ok {
		v.Problems = errs
	}
	for _, w := range b.sortedWarnings() {
		if w.NeedsConfirmation {
			v.Problems = append(v.Problems, &w.Error)
			continue
		}
		v.Doubts = append(v.Doubts, w)
		v.Warnings = append(v.Warnings, w.Error.Error())
	}
	byPlace(v.Problems)
	for _, e := range v.Problems {
		v.Errors = append(v.Errors, e.Error())
	}
	v.Valid = len(v.Errors) == 0
	return v, nil
}

// summary counts the parts of the definition, also if the specification has errors.
func (b *builder) summary() Summary {
	s := Summary{
		WorkflowName: b.doc.Name, JobCount: len(b.def.Jobs), MainJobCount: len(b.parts.jobs.names), JobCountBeforeExpansion: len(b.doc.Jobs),
		FileCount: len(b.def.Files), FileCountBeforeExpansion: len(b.doc.Files), UserDataCount: len(b.def.UserData),
		ResourceRequirementsCount: len(b.def.Requirements), SlurmSchedulerCount: len(b.def.SlurmSchedulers), ActionCount: len(b.doc.Actions),
		HasScheduleNodesAction: hasScheduleNodes(b.doc.Actions), JobNames: b.parts.jobs.names, SchedulerNames: []string{},
	}
	if b.doc.Description != "" {
		s.WorkflowDescription = &b.doc.Description
	}
	if s.JobNames == nil {
		s.JobNames = []string{}
	}
	for i := range b.def.SlurmSchedulers {
		s.SchedulerNames = append(s.SchedulerNames, b.def.SlurmSchedulers[i].Name)
	}
	return s
}

package explain

// classificationLines returns who ended each hold of the job, and why.
func (f JobFacts) classificationLines() []string {
	lines := make([]string, len(f.Classifications))
	for i := range f.Classifications {
		lines[i] = f.Classifications[i].Line(f.NowMS)
	}
	return lines
}

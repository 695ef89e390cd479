package slurm

import (
	"encoding/json"
	"testing"
)

func TestParseJobID(t *testing.T) {
	for text, want := range map[string]JobID{
		"123":                    {Number: 123},
		"123_4":                  {Number: 123, Suffix: "_4"},
		"123_[1-9%2]":            {Number: 123, Suffix: "_[1-9%2]"},
		"123_[1,3-...":           {}, // squeue cuts off long sets; without its end a set names no tasks
		"123+0":                  {Number: 123, Suffix: "+0"},
		"":                       {},
		"0":                      {},
		"-1":                     {},
		"12a":                    {},
		"123_":                   {},
		"123_x":                  {},
		"123_[]":                 {},
		"123_[x]":                {},
		"123+":                   {},
		"123.batch":              {},
		"123 ":                   {},
		"9999999999999999999999": {},
	} {
		got, err := ParseJobID(text)
		if got != want || (err == nil) != (want != JobID{}) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
		if err == nil && got.String() != text {
			t.Errorf("%q is written %q", text, got.String())
		}
	}
}

func TestParseStepID(t *testing.T) {
	for text, want := range map[string]StepID{
		"123":          {Job: JobID{Number: 123}},
		"123.batch":    {Job: JobID{Number: 123}, Step: "batch"},
		"123.0":        {Job: JobID{Number: 123}, Step: "0"},
		"123_4.extern": {Job: JobID{Number: 123, Suffix: "_4"}, Step: "extern"},
		"123+1.0":      {Job: JobID{Number: 123, Suffix: "+1"}, Step: "0"},
		"123.0+1":      {Job: JobID{Number: 123}, Step: "0+1"},
		"123.":         {},
		".batch":       {},
		"123.a b":      {},
		"batch":        {},
	} {
		got, err := ParseStepID(text)
		if got != want || (err == nil) != (want != StepID{}) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
		if err == nil && got.String() != text {
			t.Errorf("%q is written %q", text, got.String())
		}
	}
}

func TestJobIDInJSON(t *testing.T) {
	type record struct{ A, B JobID }
	want := record{A: JobID{Number: 12, Suffix: "_3"}}
	text, err := json.Marshal(want)
	if err != nil || string(text) != `{"A":"12_3","B":""}` {
		t.Errorf("%s, %v", text, err)
	}
	var got record
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"A":"x"}`), &got); err == nil {
		t.Error("x is not a job")
	}
}

func FuzzParseStepID(f *testing.F) {
	for _, seed := range []string{"123", "123_[1-9%2]", "123+0.batch", "1.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseStepID(text); err == nil {
			if again, err := ParseStepID(id.String()); err != nil || again != id {
				t.Errorf("%q is %+v, then %+v, %v", text, id, again, err)
			}
		}
	})
}

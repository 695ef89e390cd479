package spec

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestValidateGivesTheShapeOfADryRun(t *testing.T) {
	v, err := Validate("testdata/good/everything.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	v.Summary.JobNames, v.Warnings = v.Summary.JobNames[:2], v.Warnings[:0]
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"valid":true,"errors":[],"warnings":[],"summary":{"workflow_name":"everything","workflow_description":"all keys: at once",` +
		`"job_count":10,"job_count_before_expansion":5,"file_count":5,"file_count_before_expansion":3,"user_data_count":2,` +
		`"resource_requirements_count":2,"slurm_scheduler_count":2,"action_count":4,"has_schedule_nodes_action":true,` +
		`"job_names":["prepare","part_1"],"scheduler_names":["cpu","gpu"]}}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
}

func TestValidateOfNothing(t *testing.T) {
	v, err := Validate("-", Options{Stdin: strings.NewReader("name: w")})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"errors":["\u003cstdin\u003e:1:1: the key \"jobs\" is missing"]`) || strings.Contains(string(text), "job_names\":null") {
		t.Errorf("%s", text)
	}
}

func TestDoubtsAreWarningsOfLoadAndErrorsOfValidate(t *testing.T) {
	const file = "testdata/bad/no-room.yaml"
	r := load(t, file)
	if !slices.ContainsFunc(r.Warnings, func(w *Warning) bool { return w.NeedsConfirmation }) {
		t.Errorf("%v", r.Warnings)
	}
	v, err := Validate(file, Options{})
	if err != nil || v.Valid {
		t.Error("valid", err)
	}
	v, err = Validate(file, Options{SkipChecks: true})
	if err != nil || !v.Valid {
		t.Error("not valid", err)
	}
}

func TestWalltime(t *testing.T) {
	for text, want := range map[string]int64{
		"30": 1800, "30:15": 1815, "04:00:00": 14400, "1-12": 129600, "1-12:30": 131400, "1-00:00:01": 86401, "UNLIMITED": -1, " 10 ": 600,
	} {
		if got, ok := parseWalltime(text); !ok || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "x", "1:2:3:4", "-5", "1-", "4h", "PT4H", "99999999999999"} {
		if got, ok := parseWalltime(text); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestGres(t *testing.T) {
	for text, want := range map[string]int64{
		"gpu": 1, "gpu:4": 4, "gpu:a100:2": 2, "gpu:a100": 1, "gres/gpu:3": 3, "gpu:2,gpu:v100:1,nvme": 3, "GPU:1": 1, "gpu:2(S:0-1)": 2, "license:4": 0, "": 0, "gpus:4": 0,
	} {
		if got := gresGPUs(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestSlurmMemory(t *testing.T) {
	for text, want := range map[string]int64{"4G": 4 << 30, "4096": 4 << 30, "4GB": 4 << 30, "0": -1, "100M": 100 << 20, "1T": 1 << 40} {
		if got, ok := parseSlurmMemory(text); !ok || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "lots", "4.5G", "-1"} {
		if got, ok := parseSlurmMemory(text); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"command", "name", "depends_on", "num_cpus", "trigger_type", "jobs"}
	for word, want := range map[string]string{
		"comand": "command", "naem": "name", "Name": "name", "dependson": "depends_on", "cpus": "num_cpus", "trigger": "trigger_type", "job": "jobs",
		"zebra": "", "": "", "x": "", strings.Repeat("command", 100): "",
	} {
		if got := workflow.Nearest(word, keys); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

package siteconfigs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestShipped: the shipped sites are what their files say, and nothing is lost when they
// are written and read again.
func TestShipped(t *testing.T) {
	for name, partitions := range map[string]int{"kestrel": 15, "dane": 6} {
		s := site(t, name)
		if len(s.Partitions) != partitions {
			t.Errorf("%s has %d partitions, want %d", name, len(s.Partitions), partitions)
		}
		text, err := Format(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("%s -want +got:\n%s", name, diff)
		}
	}
}

// TestCopies: changing a returned site does not change the shipped one.
func TestCopies(t *testing.T) {
	site(t, "kestrel").Partitions[0].Name = "mine"
	if got := site(t, "kestrel").Partitions[0].Name; got != "debug" {
		t.Errorf("the shipped site has changed: %s", got)
	}
}

func TestProblems(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":                    {"", "f.yaml:1:1: the file is empty"},
		"syntax":                   {"name: [", "f.yaml:1:1: "},
		"two documents":            {"name: a\n---\nname: b\n", "one document"},
		"a list":                   {"- a", "f.yaml:1:1: expected a map"},
		"unknown key":              {"name: a\npartition: []", "f.yaml:2:1: unknown key partition (did you mean partitions?)"},
		"unknown in a partition":   {"name: a\npartitions:\n  - {name: p, cpus: 3}", "f.yaml:3:15: unknown key cpus (did you mean cpus_per_node?)"},
		"twice":                    {"name: a\nname: b\npartitions: []", "f.yaml:2:1: duplicate key name"},
		"no name":                  {"partitions: [{name: p, cpus_per_node: 1, memory_mb: 1}]", "f.yaml:1:1: the site has no name"},
		"no partitions":            {"name: a", "the site has no partitions"},
		"not a list":               {"name: a\npartitions: 3", "f.yaml:2:13: expected a list of partitions"},
		"not a map":                {"name: a\npartitions: [3]", "f.yaml:2:14: expected a partition"},
		"nameless":                 {"name: a\npartitions: [{cpus_per_node: 1}]", "f.yaml:2:14: the partition has no name"},
		"duplicate partition":      {"name: a\npartitions: [{name: p}, {name: p}]", "f.yaml:2:32: duplicate partition p"},
		"invalid time for holds":   {"name: a\nclassify_timeout: {on_timeout: fail}", "f.yaml:2:19: classify_timeout.after: write a time"},
		"invalid outcome of holds": {"name: a\nclassify_timeout: {after: 48h, on_timeout: hold}", `f.yaml:2:19: classify_timeout.on_timeout: "hold" is not fail or retry`},
		"no CPUs":                  {"name: a\npartitions:\n  - {name: p, memory_mb: 1}", "f.yaml:3:5: the partition p has no cpus_per_node"},
		"no memory":                {"name: a\npartitions:\n  - {name: p, cpus_per_node: 1}", "f.yaml:3:5: the partition p has no memory_mb"},
		"nodes":                    {"name: a\npartitions:\n  - {name: p, cpus_per_node: 1, memory_mb: 1, min_nodes: 3, max_nodes: 2}", "more min_nodes than max_nodes"},
		"time":                     {"name: a\npartitions: [{name: p, max_walltime: soon}]", `f.yaml:2:38: max_walltime: "soon" is not a time`},
		"negative time":            {"name: a\nkill_wait: -3s", `"-3s" is not a time`},
		"number":                   {"name: a\naccounts: [{name: b, max_jobs: many}]", `f.yaml:2:32: max_jobs: "many" is not a whole number`},
		"negative":                 {"name: a\naccounts: [{name: b, max_jobs: -1}]", "not negative"},
		"fraction":                 {"name: a\ncharge_factor_cpu: NaN", "is not a number"},
		"bool":                     {"name: a\nrequeue: perhaps", "is not true or false"},
		"list instead of text":     {"name: [a]", "f.yaml:1:7: name: expected one value"},
		"text instead of list":     {"name: a\naccounts: b", "accounts: expected a list"},
		"empty rule":               {"name: a\ndetection: [{}]", "f.yaml:2:13: a detection rule needs env"},
		"invalid expression":       {"name: a\ndetection: [{hostname: '('}]", "not a regular expression"},
		"several problems":         {"nam: a\nrequeue: 2\npartitions: []", "f.yaml:2:10: requeue"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) || workflow.CodeOf(err) != workflow.CodeInvalid {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kestrel.yaml": "default_account: proj\npartitions:\n  - {name: short, max_walltime: 2h, only_by_name: true}\n  - {name: new, cpus_per_node: 8, memory_mb: 16000, max_walltime: UNLIMITED}\n",
		"lab.yaml":     "display_name: Our lab\ndetection: [{hostname: 'lab\\d+'}]\npartitions: [{name: all, cpus_per_node: 8, memory_mb: 16000}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sites, err := Known(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, s := range sites {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"dane", "kestrel", "lab"}, names); diff != "" {
		t.Fatal(diff)
	}
	kestrel := sites[1]
	short := kestrel.Partition("short")
	if kestrel.DefaultAccount != "proj" || kestrel.ChargeFactorGPU != 100 || len(kestrel.Partitions) != 16 ||
		short.MaxWalltime != 2*time.Hour || short.CPUsPerNode != 104 || !short.OnlyByName || kestrel.Partition("new").MaxWalltime != 0 {
		t.Errorf("%+v", kestrel)
	}
	if s := Recognize(sites, Host{Getenv: func(string) string { return "" }, Hostname: "lab17"}); s == nil || s.Title() != "Our lab" {
		t.Errorf("recognized %v", s)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("partitions: 1"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Known(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "bad.yaml")+":1:13: ") {
		t.Errorf("got %v", err)
	}
}

func TestRecognize(t *testing.T) {
	sites, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	sites = append(sites, &Site{Name: "both", Detection: []DetectionRule{{Env: "X", Hostname: "login.*"}}}, &Site{Name: "c", Detection: []DetectionRule{{Cluster: "big"}}}, &Site{Name: "none", Detection: []DetectionRule{{}}})
	for _, tc := range []struct {
		env, value, hostname, cluster string
		want                          string
	}{
		{"NLR_CLUSTER", "kestrel", "", "", "kestrel"},
		{"NREL_CLUSTER", "kestrel", "", "", "kestrel"},
		{"NLR_CLUSTER", "other", "", "", ""},
		{"CLUSTER", "dane", "", "", "dane"},
		{"X", "1", "login3", "", "both"},
		{"X", "1", "mylogin3", "", ""},
		{"", "", "login3", "", ""},
		{"", "", "", "big", "c"},
	} {
		getenv := func(name string) string {
			if name == tc.env {
				return tc.value
			}
			return ""
		}
		got := ""
		if s := Recognize(sites, Host{Getenv: getenv, Hostname: tc.hostname, Cluster: tc.cluster}); s != nil {
			got = s.Name
		}
		if got != tc.want {
			t.Errorf("%+v: got %q", tc, got)
		}
	}
}

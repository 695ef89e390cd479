package sbatchtemplates

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSplit has lines as sbatch 22.05 reads them.
func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		line string
		want []string
		ok   bool
	}{
		{` --nice --hold`, []string{"--nice", "--hold"}, true},
		{` --job-name=a#b --hold`, []string{"--job-name=a"}, true},
		{` --job-name="a#b" # why`, []string{"--job-name=a#b"}, true},
		{` --comment='a "b"'`, []string{`--comment=a "b"`}, true},
		{` --comment='a\'b'`, []string{`--comment=a'b`}, true},
		{` --comment=a\ b`, []string{`--comment=a b`}, true},
		{` --comment=""`, []string{"--comment="}, true},
		{` --comment="a`, []string{"--comment=a"}, false},
	} {
		got, ok := split(tc.line)
		if diff := cmp.Diff(tc.want, got); diff != "" || ok != tc.ok {
			t.Errorf("%s: %t, -want +got:\n%s", tc.line, ok, diff)
		}
	}
}

// TestQuote: a quoted value is one argument, whatever surrounds it.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		got, ok := split("--a " + quote(value) + " --b")
		if diff := cmp.Diff([]string{"--a", value, "--b"}, got); diff != "" || !ok {
			t.Fatalf("%t -want +got:\n%s", ok, diff)
		}
	})
}

// TestRefusedOptions has the spellings in which sbatch 22.05 accepts an option.
func TestRefusedOptions(t *testing.T) {
	for line, want := range map[string]string{
		"--array=1-3":                       "array",
		"--arr=1-3":                         "array",
		"--nice -a 1-3":                     "array",
		"-Ha 1-3":                           "array",
		"-HOa1-3":                           "array",
		"-HW":                               "wait",
		"--wai":                             "wait",
		"--parsa":                           "parsable",
		"--test":                            "test-only",
		"--wra=true":                        "wrap",
		"-M other":                          "clusters",
		"-HMother":                          "clusters",
		"--cluster=other":                   "clusters",
		"--clusters other":                  "clusters",
		"--account=a --wait-all-nodes=1":    "",
		"-Ja -Aaccount -CaW -pMany -k -H":   "",
		"-n 2 -N1 --cluster-constraint=MW":  "",
		"--comment 'a --array' --exclusive": "",
	} {
		err := checkExtra(line)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), "--"+want+" is not allowed in extra")) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestParseDefaults(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []Option
		bad  bool
	}{
		{"", nil, false},
		{"{}", nil, false},
		{`{"qos":"high","mail_type":"END","nice":1e2,"exclusive":true,"hold":false,"x":null,"y":[1]}`,
			[]Option{{Name: "exclusive", Bare: true}, {Name: "mail-type", Value: "END"}, {Name: "nice", Value: "1e2"}, {Name: "qos", Value: "high"}}, false},
		{`{"Job_Name":"x"}`, nil, true},
		{`{"mem":"4g"}`, nil, true},
		{`{"array":"1-3"}`, nil, true},
		{`{"arr":"1-3"}`, nil, true},
		{`{"clusters":"other"}`, nil, true},
		{`{"mail_type":"END","mail-type":"END"}`, nil, true},
		{`[]`, nil, true},
	} {
		got, err := ParseDefaults([]byte(tc.text))
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.bad {
			t.Errorf("%s: %v, -want +got:\n%s", tc.text, err, diff)
		}
	}
}

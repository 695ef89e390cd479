package workflow

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"":                                   "",
		"train_1.5 [ü] \"x\" / 日本":           "",
		strings.Repeat("x", MaxName):         "",
		strings.Repeat("x", MaxName+1):       "has 513 bytes, the limit is 512",
		strings.Repeat("日", MaxName/3) + "日": "the limit is 512",
		"a\nb":                               `the name "a\nb" of a job contains the control character U+000A`,
		"a\x00":                              `contains the control character U+0000`,
		"\x1b[2J":                            `the name "\x1b[2J" of a job contains the control character U+001B`,
		"a\x7f":                              "U+007F",
		"a\u0085b":                           "U+0085",
		"a\xff":                              "not UTF-8",
	} {
		err := CheckName("job", name)
		if err == nil != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || CodeOf(err) != CodeInvalid) {
			t.Errorf("%.60q: %v, want %q", name, err, want)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x00\x1b") {
			t.Errorf("%.60q: the refusal contains what it refuses", name)
		}
	}
	if _, err := NormalizeLabels([]string{"a\nb"}); err == nil {
		t.Error("a label with a new line was taken")
	}
}

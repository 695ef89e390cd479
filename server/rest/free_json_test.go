package rest

import (
	"strings"
	"testing"
)

func TestCheckFreeJSON(t *testing.T) {
	for text, want := range map[string]string{
		`null`:                         "",
		`{"a": [1, -2.5e-3, 1e308]}`:   "",
		`1e-400`:                       "", // is 0
		`123456789012345678901234567`:  "",
		`"1e400 \" \\ud800 \u0041"`:    "",
		`"\ud83d\ude00 \\"`:            "",
		`{"a": [1e400]}`:               "the number 1e400 is out of range",
		`-` + strings.Repeat("9", 400): "is out of range",
		`"\ud800"`:                     "half of a surrogate pair",
		`"\ud800x\udc00"`:              "half of a surrogate pair",
		`"\udc00\ud800"`:               "half of a surrogate pair",
		`{"\ud83d\\": 1}`:              "half of a surrogate pair",
		"\"\xff\"":                     "not UTF-8",
	} {
		err := CheckFreeJSON([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}

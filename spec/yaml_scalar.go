package spec

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isPlain reports whether a scalar was written without quotes and without a tag.
func isPlain(v *yaml.Node) bool {
	const marked = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	return v.Kind == yaml.ScalarNode && v.Style&marked == 0
}

// scalar resolves a scalar by the core schema of YAML 1.2. The library resolves some texts
// differently (yes, 1_000, 010, 12:30), so only its text is used.
func scalar(n *node, v *yaml.Node) {
	if v.Style&^yaml.TaggedStyle != 0 {
		n.kind, n.text = kindString, v.Value
		return
	}
	plain(n, v.Value)
}

// plain resolves a scalar without quotes.
func plain(n *node, text string) {
	n.text, n.plain = text, true
	switch text {
	case "", "~", "null", "Null", "NULL":
		n.kind, n.text = kindNull, "null"
		return
	case "true", "True", "TRUE":
		n.kind, n.text = kindBool, "true"
		return
	case "false", "False", "FALSE":
		n.kind, n.text = kindBool, "false"
		return
	}
	n.kind = kindString
	sign, digits := "", text
	switch text[0] {
	case '-':
		sign, digits = "-", text[1:]
	case '+':
		digits = text[1:]
	}
	if digits == "" || !strings.ContainsAny(digits[:1], ".0123456789") {
		return
	}
	for prefix, base := range map[string]int{"0x": 16, "0o": 8, "0b": 2} {
		if rest, ok := strings.CutPrefix(digits, prefix); ok {
			if v, ok := new(big.Int).SetString(rest, base); ok && len(rest) < 100 && !strings.ContainsAny(rest, "+-_") {
				n.kind, n.text = kindInt, sign+v.String()
			}
			return
		}
	}
	if strings.Trim(digits, "0123456789") == "" {
		if len(digits) == 1 || digits[0] != '0' { // 007 is a text, not a number
			n.kind, n.text = kindInt, sign+digits
		}
		return
	}
	if strings.ContainsAny(digits, "xXpP_") {
		return
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(v, 0) {
		n.kind, n.text = kindFloat, jsonFloat(v)
	}
}

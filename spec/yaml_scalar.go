package spec

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// scalar resolves a scalar by the core schema of YAML 1.2. The library's own
// reading differs in places (1_000, 010, 1e3), so its text is taken.
func (r *yamlReader) scalar(n *node, v ast.ScalarNode) {
	t := v.GetToken()
	switch t.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
		n.kind, n.text = kindString, t.Value
		return
	case token.ImplicitNullType:
		n.text = "null"
		return
	}
	plain(n, t.Value)
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

package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// valueKind is the type of a parameter's value.
type valueKind uint8

const (
	intValue valueKind = iota
	floatValue
	stringValue
)

// Value is one value of a parameter: an integer, a float or a string.
type Value struct {
	kind valueKind
	i    int64
	f    float64
	s    string
}

// IntValue returns an integer value.
func IntValue(i int64) Value { return Value{kind: intValue, i: i} }

// FloatValue returns a float value.
func FloatValue(f float64) Value { return Value{kind: floatValue, f: f} }

// StringValue returns a string value.
func StringValue(s string) Value { return Value{kind: stringValue, s: s} }

// inferValue returns a text as an integer, or else as a float, or else as a string.
func inferValue(text string) Value {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return IntValue(i)
	}
	if f, ok := parseFloat(text); ok {
		return FloatValue(f)
	}
	return StringValue(text)
}

// parseFloat parses a decimal float, including infinity and NaN. Hexadecimal floats and digits
// grouped by underscores are strings.
func parseFloat(text string) (float64, bool) {
	if strings.ContainsAny(text, "_xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// String returns the value as a placeholder without format shows it: floats in the shortest
// exact form, never with an exponent.
func (v Value) String() string { return string(v.append(nil)) }

func (v Value) append(b []byte) []byte {
	switch v.kind {
	case intValue:
		return strconv.AppendInt(b, v.i, 10)
	case stringValue:
		return append(b, v.s...)
	}
	switch {
	case math.IsNaN(v.f):
		return append(b, "NaN"...)
	case math.IsInf(v.f, 1):
		return append(b, "inf"...)
	case math.IsInf(v.f, -1):
		return append(b, "-inf"...)
	}
	return strconv.AppendFloat(b, v.f, 'f', -1, 64)
}

// json returns the value as JSON; infinity and NaN are strings.
func (v Value) json() []byte {
	switch {
	case v.kind == intValue:
		return strconv.AppendInt(nil, v.i, 10)
	case v.kind == floatValue && !math.IsInf(v.f, 0) && !math.IsNaN(v.f):
		return []byte(jsonFloat(v.f))
	}
	return jsonString(v.String())
}

// maxInstances is the maximum number of instances of a specification. More are probably a typing
// error.
const maxInstances = 10_000_000

// axis has the values of one parameter. Integer ranges are not stored as lists.
type axis struct {
	values      []Value
	start, step int64
	count       int // of a range
}

func (a *axis) len() int {
	if a.values != nil {
		return len(a.values)
	}
	return a.count
}

func (a *axis) value(i int) Value {
	if a.values != nil {
		return a.values[i]
	}
	return IntValue(a.start + int64(i)*a.step)
}

// badValue is the error of a parameter with an invalid text.
type badValue struct{ message, hint string }

func (e *badValue) Error() string { return e.message }

func bad(hint, format string, args ...any) error {
	return &badValue{fmt.Sprintf(format, args...), hint}
}

// parseAxis parses the text of a parameter: a range, a list, @file or a value.
func parseAxis(text string, read func(path string) ([]byte, error)) (*axis, error) {
	t := strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(t, "{"); ok && strings.HasSuffix(inner, "}") && !strings.Contains(t, ",") {
		t = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	switch {
	case strings.HasPrefix(t, "@"):
		return parseFileList(strings.TrimSpace(t[1:]), read)
	case strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]"):
		return parseList(t[1 : len(t)-1]), nil
	case strings.Contains(t, ":"):
		return parseRange(t)
	}
	return &axis{values: []Value{inferValue(t)}}, nil
}

// parseList parses the inside of a list, without nesting and escapes.
func parseList(inner string) *axis {
	a := &axis{values: []Value{}}
	if strings.TrimSpace(inner) == "" {
		return a
	}
	for item := range strings.SplitSeq(inner, ",") {
		item = strings.TrimSpace(item)
		v := inferValue(item)
		if v.kind == stringValue {
			v.s = unquote(item)
		}
		a.values = append(a.values, v)
	}
	return a
}

// unquote removes the quotes of a list element.
func unquote(s string) string {
	return strings.Trim(s, `"'`)
}

// parseFileList reads one value per line; blank lines and # lines are skipped.
func parseFileList(path string, read func(string) ([]byte, error)) (*axis, error) {
	if path == "" {
		return nil, bad("write @ and a path, for example @values.txt", "the name of the file is missing")
	}
	data, err := read(path)
	if err != nil {
		return nil, bad("paths are relative to the folder in which the command runs", "cannot read the values: %v", err)
	}
	a := &axis{values: []Value{}}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if a.values = append(a.values, inferValue(line)); len(a.values) > maxInstances {
			return nil, bad("split it into several workflows", "%s has more than %d values", path, maxInstances)
		}
	}
	return a, nil
}

const rangeHint = "write start:end or start:end:step, for example 1:100 or 0.0:1.0:0.1; write a text with a colon as a list: ['a:b']"

// parseRange parses start:end or start:end:step; the end is part of the range.
func parseRange(text string) (*axis, error) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return nil, bad(rangeHint, "%s is not a range: it has %d parts", clip(text), len(parts))
	}
	values := make([]Value, len(parts))
	allInts := true
	for i, p := range parts {
		values[i] = inferValue(strings.TrimSpace(p))
		if values[i].kind == stringValue {
			return nil, bad(rangeHint, "%s is not a range: %s is not a number", clip(text), clip(strings.TrimSpace(p)))
		}
		allInts = allInts && values[i].kind == intValue
	}
	if allInts {
		step := int64(1)
		if len(values) == 3 {
			step = values[2].i
		}
		return intRange(values[0].i, values[1].i, step)
	}
	step := FloatValue(1)
	if len(values) == 3 {
		step = values[2]
	}
	return floatRange(values[0].float(), values[1].float(), step.float())
}

func (v Value) float() float64 {
	if v.kind == intValue {
		return float64(v.i)
	}
	return v.f
}

func intRange(start, end, step int64) (*axis, error) {
	if step == 0 {
		return nil, bad("use a step such as 1 or -1", "the step of a range cannot be 0")
	}
	if step > 0 && start > end || step < 0 && start < end {
		return &axis{}, nil
	}
	// The distance of two int64 always fits into a uint64, and so does -step.
	distance, stride := uint64(end)-uint64(start), uint64(step)
	if step < 0 {
		distance, stride = uint64(start)-uint64(end), -uint64(step)
	}
	if distance/stride >= maxInstances {
		return nil, bad("split it into several workflows", "the range has more than %d values", maxInstances)
	}
	return &axis{start: start, step: step, count: int(distance/stride) + 1}, nil
}

// floatRange multiplies the step and rounds to the number of decimals of start and step, so that
// 0.1:1.0:0.1 contains 0.9 and not 0.8999999999999999.
func floatRange(start, end, step float64) (*axis, error) {
	for _, v := range []float64{start, end, step} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, bad(rangeHint, "a range needs finite numbers")
		}
	}
	if step == 0 {
		return nil, bad("use a step such as 0.1", "the step of a range cannot be 0")
	}
	// The end is part of the range, even if rounding errors miss it.
	tolerance := min(1e-10, math.Abs(step)/1000)
	last := math.Floor((end-start)/step + tolerance/math.Abs(step))
	switch {
	case last >= maxInstances:
		return nil, bad("split it into several workflows", "the range has more than %d values", maxInstances)
	case last >= 0 && start+step == start:
		return nil, bad("use a larger step", "the step %v is too small for the range", step)
	}
	a := &axis{values: []Value{}}
	digits := max(decimals(start), decimals(step))
	for i := 0.0; i <= last; i++ {
		a.values = append(a.values, FloatValue(roundTo(start+i*step, digits)))
	}
	return a, nil
}

// decimals returns the number of digits after the point in the shortest text of v.
func decimals(v float64) int {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	return len(fraction)
}

// roundTo returns the float nearest to v with a number of digits after the point.
func roundTo(v float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	if err != nil {
		return v // infinite
	}
	return rounded
}

package usage

import "strings"

// FamilyOf returns the name that jobs have in common which differ only in numbers: each number of
// the name is replaced by *. Members of a sweep are a family.
func FamilyOf(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		if !isDigit(name[i]) {
			b.WriteByte(name[i])
			i++
			continue
		}
		b.WriteByte('*')
		i = numberEnd(name, i)
	}
	return b.String()
}

// numberEnd returns where the number ends that begins at i: digits, a fraction, and an exponent.
func numberEnd(s string, i int) int {
	digits := func(i int) int {
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return i
	}
	i = digits(i)
	if i+1 < len(s) && s[i] == '.' && isDigit(s[i+1]) {
		i = digits(i + 1)
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if j < len(s) && isDigit(s[j]) {
			return digits(j)
		}
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

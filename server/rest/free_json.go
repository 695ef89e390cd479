package rest

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// CheckFreeJSON returns an error for valid JSON that some clients cannot read. Free JSON
// is stored as it was written, so one such record would make all lists with it unreadable.
func CheckFreeJSON(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("a text is not UTF-8")
	}
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; {
		case c == '"':
			n = stringEnd(text[i:])
			if !pairedSurrogates(text[i : i+n]) {
				return errors.New(`a text has half of a surrogate pair, such as \ud800`)
			}
		case c == '-' || '0' <= c && c <= '9':
			n = numberEnd(text[i:])
			if _, err := strconv.ParseFloat(string(text[i:i+n]), 64); err != nil {
				return fmt.Errorf("the number %.40s is out of range", text[i:i+n])
			}
		}
		i += n
	}
	return nil
}

// stringEnd returns the length of the string at the beginning of a text.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// numberEnd returns the length of the number at the beginning of a text.
func numberEnd(text []byte) int {
	for i, c := range text {
		switch c {
		case '+', '-', '.', 'e', 'E', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			return i
		}
	}
	return len(text)
}

// pairedSurrogates reports whether all surrogates in the escapes of a string are paired.
func pairedSurrogates(text []byte) bool {
	high := rune(0) // of a pair whose second half is still missing
	for i := 0; i < len(text); i++ {
		unit := rune(0)
		if text[i] == '\\' {
			i++
			if text[i] == 'u' {
				n, err := strconv.ParseUint(string(text[i+1:i+5]), 16, 16)
				if err != nil {
					return false
				}
				unit = rune(n)
				i += 4
			}
		}
		switch {
		case high != 0:
			if utf16.DecodeRune(high, unit) == utf8.RuneError {
				return false
			}
			high = 0
		case utf16.IsSurrogate(unit):
			high = unit
		}
	}
	return high == 0
}

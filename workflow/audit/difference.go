package audit

import (
	"reflect"
	"strings"
	"unicode"
)

// Differences returns the names of the fields in which two structs of one type differ, in
// snake case.
func Differences(before, after any) (names []string) {
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for _, f := range reflect.VisibleFields(b.Type()) {
		if !f.Anonymous && f.IsExported() && !reflect.DeepEqual(b.FieldByIndex(f.Index).Interface(), a.FieldByIndex(f.Index).Interface()) {
			names = append(names, snake(f.Name))
		}
	}
	return names
}

// snake returns a name of Go in snake case: ResourceRequirementsID is
// resource_requirements_id.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(runes[i-1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

package setting

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Withheld is a setting of a file that is ignored.
type Withheld struct {
	Key     string
	Decides string // what the key decides, as text
}

// Withhold removes from the content of a configuration file, as a TOML decoder returns it, the
// settings that a file in an untrusted folder may not have, and returns them. Settings that
// would not change the present values, which have the same form, are kept.
func Withhold(content, present map[string]any) []Withheld { return withhold("", content, present) }

func withhold(prefix string, content, present map[string]any) (all []Withheld) {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		key, value := prefix+name, content[name]
		if table, ok := value.(map[string]any); ok && !isWhole(key) {
			now, _ := present[name].(map[string]any)
			all = append(all, withhold(key+".", table, now)...)
			continue
		}
		if ok, decides := Allows(key, value); !ok && !same(value, present[name]) {
			all = append(all, Withheld{key, decides})
			delete(content, name)
		}
	}
	return all
}

// isWhole reports whether one rule applies to all keys of a table.
func isWhole(key string) bool {
	_, ok := rules[key+".*"]
	return ok
}

// same reports whether a value is equal to the present one. An empty value is equal to none.
func same(value, present any) bool {
	return reflect.DeepEqual(value, present) || present == nil && isEmpty(value)
}

func isEmpty(value any) bool {
	switch fmt.Sprint(value) {
	case "", "false", "0", "[]", "map[]":
		return true
	}
	return false
}

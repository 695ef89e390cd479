package server

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"
)

// decodeBody reads a JSON body into dest, a pointer. The error is a textError:
// 400 for text that is no JSON, 422 for JSON of another shape.
func decodeBody(text []byte, dest any) error {
	if err := json.Unmarshal(text, dest); err != nil {
		return bodyError(err)
	}
	t := reflect.TypeOf(dest).Elem()
	kind, s := shapeIn(t)
	if s == nil {
		return nil
	}
	if err := check(gjson.ParseBytes(text), kind, s, nil); err != nil {
		return bodyError(err)
	}
	return nil
}

func bodyError(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return textErrorf(400, "Json deserialize error: %v", err)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		at := ""
		if mismatch.Field != "" {
			at = " for field `" + mismatch.Field + "`"
		}
		return textErrorf(422, "Json deserialize error: invalid type: %s%s, expected %s", mismatch.Value, at, jsonType(mismatch.Type))
	}
	return textErrorf(422, "Json deserialize error: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// jsonType is what a client has to send for a Go type.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

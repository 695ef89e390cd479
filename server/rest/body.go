package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/jsonbody"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// decodeBody decodes a JSON body into dest, a pointer. Its error is a TextError: 400 for
// invalid JSON, 422 for JSON of another shape.
func decodeBody(text []byte, dest any) error {
	if err := CheckCost(text, reflect.TypeOf(dest).Elem()); err != nil {
		return err
	}
	if err := json.Unmarshal(text, dest); err != nil {
		return BodyError(err)
	}
	t := reflect.TypeOf(dest).Elem()
	kind, s := shapeIn(t)
	if s == nil {
		return nil
	}
	if err := check(gjson.ParseBytes(text), kind, s, nil); err != nil {
		return BodyError(err)
	}
	return nil
}

// CheckCost returns a TextError with 413 if the text would take too much memory to decode.
func CheckCost(text []byte, into reflect.Type) error {
	if jsonbody.Small(text) {
		return nil
	}
	_, err := jsonbody.Cost(text, into, api.MaxLimit)
	var costly *jsonbody.TooCostly
	var many *jsonbody.TooMany
	switch {
	case err == nil:
		return nil
	case !json.Valid(text): // takes precedence
		return BodyError(json.Unmarshal(text, new(json.RawMessage)))
	case errors.As(err, &costly):
		return TextErrorf(http.StatusRequestEntityTooLarge, "Json deserialize error: %v", err)
	case errors.As(err, &many):
		return workflow.Errorf(workflow.CodeInvalid, "%v", err).WithHint("send them in several requests")
	}
	return TextErrorf(http.StatusUnprocessableEntity, "Json deserialize error: %v", err)
}

// BodyError returns the TextError for an error of json.Unmarshal.
func BodyError(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return TextErrorf(400, "Json deserialize error: %v", err)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		at := ""
		if mismatch.Field != "" {
			at = " for field `" + mismatch.Field + "`"
		}
		return TextErrorf(422, "Json deserialize error: invalid type: %s%s, expected %s", mismatch.Value, at, jsonType(mismatch.Type))
	}
	return TextErrorf(422, "Json deserialize error: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// jsonType returns the JSON type that a client has to send for a Go type.
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

//go:build deps

// Package deps pins the modules while packages are being written.
package deps

import (
	_ "github.com/dustin/go-humanize"
	_ "github.com/getkin/kin-openapi/openapi3"
	_ "github.com/goccy/go-yaml"
	_ "github.com/gofrs/flock"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/hashicorp/go-retryablehttp"
	_ "github.com/mattn/go-sqlite3"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/prometheus/procfs"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/sosodev/duration"
	_ "github.com/spf13/cobra"
	_ "github.com/titanous/json5"
	_ "go.uber.org/goleak"
	_ "golang.org/x/crypto/bcrypt"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "mvdan.cc/sh/v3/syntax"
	_ "pgregory.net/rapid"
	_ "github.com/BurntSushi/toml"
	_ "github.com/invopop/jsonschema"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/prometheus/client_golang/prometheus/testutil"
	_ "github.com/spf13/cobra/doc"
)

# `make` prints the targets. They need Go, a C compiler (SQLite is compiled in)
# and a POSIX shell; `make lint` fetches its linter through the Go module proxy.

GO      ?= go
CC      ?= cc
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMITTED ?= $(shell git log -1 --format=%cI 2>/dev/null)
LDFLAGS  = -X main.linked=$(VERSION) -X main.linkedTime=$(COMMITTED)
BIN      = bin/torc-slurm
EXAMPLE  = examples/outbreak

# Packages with goroutines, sockets or processes are tested under the race
# detector. Pure packages do not need it, and the simulation runs one goroutine
# at a time. go test starts them in this order: first those that use the test
# cluster exclusively, as internal/faults does meanwhile.
CONCURRENT = ./slurm/... ./store/... ./server/... ./allocation/... ./cmd/... ./runner/... ./client/... ./metricsdb/... ./internal/failpoint/...

# These tests mostly wait for a real Slurm.
WAITING = ./internal/faults

.DEFAULT_GOAL := help

##@ Use

.PHONY: help
help: ## this text
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: tools ## compile bin/torc-slurm
	$(GO) build -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/torc-slurm
	@ln -sf torc-slurm bin/torc

.PHONY: run
run: build ## build, then run the example workflow to its end
	cd $(EXAMPLE) && rm -rf results torc_output && $(CURDIR)/$(BIN) -s run workflow.yaml
	@cat $(EXAMPLE)/results/report.txt

.PHONY: dist
dist: tools ## a static binary for other machines, in dist/
	CGO_ENABLED=1 $(GO) build -trimpath -tags 'netgo osusergo sqlite_omit_load_extension' \
		-ldflags '-s -w $(LDFLAGS) -linkmode external -extldflags "-static"' \
		-o dist/torc-slurm ./cmd/torc-slurm
	@if ldd dist/torc-slurm >/dev/null 2>&1; then \
		echo 'dist/torc-slurm is not static:'; ldd dist/torc-slurm; exit 1; fi
	@dist/torc-slurm --version
	@ls -lh dist/torc-slurm

##@ Develop

# Property tests use a fixed seed, so that a change does not fail for a bug that it
# did not cause. `make properties` uses new ones.
test: export RAPID_SEED ?= 1

.PHONY: test
test: tools ## all tests, under the race detector where it is useful
	@$(MAKE) --no-print-directory --keep-going --jobs=2 test-waiting test-concurrent test-others

# The parts of test, two at a time: while one waits, the other has the processors.
.PHONY: test-waiting test-concurrent test-others
# They build the program themselves, so that a result in go's cache may be of an
# earlier one.
test-waiting:
	$(GO) test -count=1 -timeout 40m $(TESTFLAGS) $(WAITING)

test-concurrent:
	$(GO) test -race -timeout 40m $(TESTFLAGS) $(CONCURRENT)

test-others:
	$(GO) test -timeout 40m $(TESTFLAGS) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(WAITING) $(CONCURRENT))")

.PHONY: cover
cover: tools ## tests with the coverage of each package
	$(GO) test -cover ./...

.PHONY: check
check: fmt vet generated lint test ## what CI runs: format, vet, lint, generated files, tests

.PHONY: fmt
fmt: ## fail if a file is not formatted by gofmt
	@files=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$files" ]; then echo 'run gofmt -w on:'; echo "$$files"; exit 1; fi

.PHONY: vet
vet: ## go vet
	$(GO) vet ./...

.PHONY: lint
lint: ## golangci-lint, in the version that tools/go.mod names
	@$(GO) tool -modfile=tools/go.mod golangci-lint version >/dev/null || { \
		echo 'cannot fetch or build golangci-lint (tools/go.mod); check that the Go module proxy can be reached'; exit 1; }
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...

.PHONY: generate
generate: ## rewrite the generated files (docs/reference, api/openapi.yaml, …)
	$(GO) generate ./...

.PHONY: generated
generated: ## fail if a generated file is out of date
	.ci/generated

.PHONY: slurm-up
slurm-up: ## a real Slurm for tests on this machine (root, Debian): up, or repaired
	slurm/slurmtest/cluster/cluster.sh up

.PHONY: slurm-down
slurm-down: ## stop that Slurm; `cluster.sh purge` also removes its state
	slurm/slurmtest/cluster/cluster.sh down

.PHONY: fuzz
fuzz: tools ## each fuzz test with FUZZTIME inputs (200000x)
	.ci/fuzz $(FUZZTIME)

.PHONY: properties
properties: tools ## property tests with CHECKS (1000) new histories
	RAPID_SEED=0 RAPID_CHECKS=$(or $(CHECKS),1000) $(GO) test -count=1 -timeout 2h \
		$$(grep -rl --include='*_test.go' '"pgregory.net/rapid"' . | xargs -n1 dirname | sort -u)

.PHONY: simulate
simulate: tools ## SEEDS (500) histories with faults, under a virtual clock
	.ci/simulate $(SEEDS)

.PHONY: bench
bench: build ## measure against the baselines; BENCHFLAGS=-help lists the workloads
	$(GO) run ./bench $(BENCHFLAGS)

.PHONY: bench-slurm
bench-slurm: build ## the same on the test cluster, about half an hour a round
	$(GO) run ./bench -slurm -rounds 1 $(BENCHFLAGS)

.PHONY: bench-queue
bench-queue: tools ## compare plans of allocations on a simulated cluster; BENCHFLAGS=-quick
	$(GO) run ./bench/queue $(BENCHFLAGS)

.PHONY: examples
examples: build ## run every example to its end and check its results
	.ci/examples

.PHONY: clean
clean: ## remove all built files
	rm -rf bin dist torc_output coverage.out examples/torc_output examples/*/torc_output examples/*/results

.PHONY: tools
tools:
	@command -v $(GO) >/dev/null || { echo 'torc-slurm needs Go 1.26 or later: https://go.dev/dl'; exit 1; }
	@command -v $(CC) >/dev/null || { echo 'torc-slurm needs a C compiler for SQLite (for instance: apt-get install gcc libc6-dev)'; exit 1; }

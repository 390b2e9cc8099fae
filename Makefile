# Hawser: build, install, demonstrate, test. `make demo` and `make test` install what is missing first.
PREFIX ?= /usr/local
BUILD := build
STAGE := $(BUILD)/prefix
# Cargo counts cores itself: it cannot have job slots of a make that runs several recipes at once.
CARGO ?= env -u MAKEFLAGS -u MFLAGS cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
# RUST=FOLDER: the Rust in FOLDER/bin instead of the one in the PATH. The folder where rustup puts cargo comes before the
# distribution's: rustup is installed where the distribution's Rust is too old.
ifneq ($(RUST),)
override RUST := $(abspath $(RUST))
endif
export RUST
export PATH := $(if $(RUST),$(RUST)/bin:)$(HOME)/.cargo/bin:$(PATH)
# The libraries and tools that are installed, and nothing else.
PACKAGES := --lib --bin mpiexec --bin hawser-info --bin hawser-bench \
	-p hawser-abi-std -p hawser-abi-mpich -p hawser-fortran-std -p hawser-fortran-mpich -p hawser-launch -p hawser-bench

# The names of the test programs of the crates that a pattern matches.
tests = $(sort $(basename $(notdir $(wildcard crates/$(1)/tests/*.rs) $(patsubst %/main.rs,%.rs,\
	$(wildcard crates/$(1)/tests/*/main.rs)))))
# Runs the test programs of these names. They are named one by one because `-p` would compile some crates again with
# fewer features.
run_tests = $(CARGO) test --workspace --no-fail-fast $(addprefix --test ,$(1))

.PHONY: all setup setup-build setup-demo build stage install portable wheel deb dist demo demo-fetch demo-stage lab test
.PHONY: tidy loom sim e2e e2e-tools check-long bench measure drawing machines fmt lint clean
.PHONY: unit unit-devices unit-protocol unit-programs unit-abis unit-libraries unit-documents

all: build

# Each installs what it needs beyond the one below it: building, the demonstration, everything else.
setup-build:
	@scripts/setup.sh build

setup-demo: setup-build
	@scripts/setup.sh demo

setup: setup-demo
	@scripts/setup.sh test

build: setup-build
	$(CARGO) build --release $(PACKAGES)
	scripts/bench-workers.sh $(TARGET)/release

install: build
	packaging/install.sh $(TARGET)/release $(PREFIX)

# An installation of our own, which the demonstration and the end-to-end tests run from.
stage: build
	@rm -rf $(STAGE)
	packaging/install.sh $(TARGET)/release $(STAGE)

# A Python wheel, in build/dist. Its files are linked for this glibc and all newer ones, in a build of their own;
# `make wheel GLIBC=` takes the libraries of `make build`, for this machine's.
GLIBC ?= 2.17
portable: setup-demo
	@rm -rf $(BUILD)/portable
	packaging/portable.sh $(GLIBC) $(BUILD)/portable $(PACKAGES)

wheel: $(if $(GLIBC),portable,setup-demo stage)
	packaging/wheel.sh $(if $(GLIBC),$(BUILD)/portable,$(STAGE)) $(BUILD)/dist

# Debian packages, in build/dist.
deb: stage
	packaging/deb.sh $(STAGE) $(BUILD)/dist

# The sources of HEAD with those of all crates, which build without a network.
dist: setup-build
	packaging/dist.sh $(BUILD)/dist

# The demonstration builds and installs what it runs, and no more; its programs are fetched beside.
demo: setup-demo
	$(MAKE) --jobs 2 demo-fetch demo-stage
	scripts/demo.sh $(BUILD)/demo

demo-fetch: setup-demo
	scripts/demo-fetch.sh

demo-stage: setup-demo
	$(CARGO) build --release --lib --bin mpiexec -p hawser-abi-mpich -p hawser-launch
	@rm -rf $(BUILD)/demo
	packaging/install.sh $(TARGET)/release $(BUILD)/demo lib-mpich include wrappers mpiexec man

# Jobs on four hosts, in network namespaces of this machine (docs/lab.md).
lab: setup stage
	scripts/demo-lab.sh $(STAGE)

# In stages, the quickest to fail first. Unit tests wait more than they compute, so their parts, the release build and
# the fetching of what the end-to-end tests need run beside each other.
test: setup tidy
	$(CARGO) test --workspace --no-run
	$(MAKE) --keep-going --jobs 6 --output-sync=target unit-abis unit-libraries unit-devices unit-protocol unit-programs \
		unit-documents e2e-tools
	$(MAKE) e2e

# Layout, warnings, and the tests that read sources and documents alone: layers, imports, names, comments, machines.
tidy: lint
	$(CARGO) test --quiet -p hawser-base -p hawser-imports --test documents --test floors \
		--test comments --test cycles --test drawing --test names --test machines

unit: setup
	$(CARGO) test --workspace --no-fail-fast

# The same in six parts. Tests of the ABIs take the libraries and tools in the folder that ARTEFACTS_UNDER_TEST names;
# without it they build them.
ABI_TESTS := $(call tests,abi*)
# The devices' tests wait for the network, those of the protocol and of matching compute, most others wait for ranks.
DEVICE_TESTS := $(call tests,dev-*)
PROTOCOL_TESTS := $(filter-out $(DEVICE_TESTS),$(call tests,link) $(call tests,p2p))
PROGRAM_TESTS := $(filter-out $(ABI_TESTS) $(DEVICE_TESTS) $(PROTOCOL_TESTS),$(call tests,*))

unit-abis: setup stage
	ARTEFACTS_UNDER_TEST=$(abspath $(TARGET)/release) $(call run_tests,$(ABI_TESTS))

# Nothing in them is installed: they need not wait for the release build.
unit-devices: setup
	$(call run_tests,$(DEVICE_TESTS))

unit-protocol: setup
	$(call run_tests,$(PROTOCOL_TESTS))

unit-programs: setup
	$(call run_tests,$(PROGRAM_TESTS))

unit-libraries: setup
	$(CARGO) test --workspace --no-fail-fast --lib --bins

unit-documents: setup
	$(CARGO) test --workspace --no-fail-fast --doc

# Rings, doorbells, flags: every interleaving that the model checker finds. They are among the unit tests.
loom: setup
	$(CARGO) test -p hawser-job -p hawser-dev-shm -p hawser-mpi --test 'loom*' --test '*loom'

# The protocol over a faulty network: `make sim SEED=N` repeats a failure, `make sim SEED=N SEEDS=K` runs K seeds from N.
sim: setup
	SIM_SEED=$(or $(SEED),1) SIM_SEEDS=$(or $(SEEDS),1) $(if $(PLANTED),SIM_PLANTED=$(PLANTED)) $(CARGO) test --release -p hawser-link --test simulation --test outage

e2e-tools: setup
	scripts/e2e-tools.sh

e2e: setup stage
	scripts/e2e.sh $(STAGE)

check-long: setup stage
	scripts/check-long.sh $(STAGE)

bench: setup stage
	scripts/bench.sh $(STAGE)

# Makes the reports in docs/examples anew, on an idle machine, as root.
measure: setup stage
	scripts/measure.sh $(STAGE)

# Which crate and which module uses which, from the sources (crates/imports).
drawing: setup
	$(CARGO) run --quiet -p hawser-imports -- crates $(BUILD)/drawing

# Draws the state machines of the sources into docs/protocol.md.
machines: setup
	$(CARGO) run --quiet -p hawser-imports -- machines

fmt:
	$(CARGO) fmt --all

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

clean:
	$(CARGO) clean
	rm -rf $(BUILD)

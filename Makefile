# make demo     the main job on real data, end to end
# make test     the tests
# make check    formatting, lint, types, layers
# make format   formats Python and C++
# make stubs    regenerates the stub of the native module
# make sanitize mutated input and bounds of inflated output under AddressSanitizer and UBSan, threads under ThreadSanitizer
# make fuzz     libFuzzer on frames, records and their copies, header walks, salvage, inflating, images, episodes, for SECONDS_EACH each (clang)
# make reliability  damage, kills, losses of power, faults of the disk and hostile input: one table of figures
# make interop  the tests against heavy peers (TensorFlow, torch, JAX, data frames), each in an environment of its own
# make engines  penstock.ray, penstock.spark, penstock.beam and docs/clusters.md, on the real engines (1.3 GB, and Java; not part of CI)
# make bench    speed, side by side with the peers
# make clean    removes the environments and the build
# Every target makes the virtual environment that it needs; there is no step before.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
QUIET := -qq --disable-pip-version-check
NATIVE := $(shell find cpp -type f -not -path 'cpp/tests/*' -not -path 'cpp/fuzz/*') CMakeLists.txt pyproject.toml

CLANG ?= clang++
FUZZERS := entry_rewrite frames header_walk images inflate records salvage_scan value_locations
SECONDS_EACH ?= 60

.PHONY: demo test check format stubs sanitize fuzz reliability interop engines bench clean

demo: $(VENV)/.native $(VENV)/.with-demo
	@$(BIN)/python examples/digits.py

test: $(VENV)/.native $(VENV)/.with-test
	$(BIN)/python -m pytest -n auto tests

check: $(VENV)/.native $(VENV)/.with-check $(VENV)/.with-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	find cpp reliability -name '*.c' -o -name '*.cc' -o -name '*.h' -o -name '*.inl' | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/python -m pytest tests/codebase

format: $(VENV)/.with-check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	find cpp reliability -name '*.c' -o -name '*.cc' -o -name '*.h' -o -name '*.inl' | xargs $(BIN)/clang-format -i

stubs: $(VENV)/.native
	$(BIN)/python -m nanobind.stubgen -q -D -m penstock._core -o src/penstock/_core.pyi

# A million inputs in two processes with different seeds, then the fuzzers' corpus.
sanitize: build/sanitize/mutate build/sanitize/output_bounds build/sanitize/threads $(FUZZERS:%=build/sanitize/replay_%)
	@$(if $(HAS_JPEG),,echo "libjpeg-turbo is not installed: JPEG is not checked")
	build/sanitize/mutate 500000 1 & other=$$!; build/sanitize/mutate 500000 2 && wait $$other
	$(foreach fuzzer,$(FUZZERS),build/sanitize/replay_$(fuzzer) cpp/fuzz/corpus/$(fuzzer)/* &&) true
	build/sanitize/output_bounds
	build/sanitize/threads 50

# Without libjpeg-turbo, PNG alone is checked.
HAS_JPEG := $(shell printf '\043include <cstdio>\n\043include <jpeglib.h>\n' | $(CXX) -x c++ -fsyntax-only - 2>/dev/null && echo yes)
ifdef HAS_JPEG
JPEG := -DPENSTOCK_JPEG
LIBRARIES := -ljpeg
endif

SANITIZE := -std=c++20 -O1 -g -Wall -Wextra -Icpp $(JPEG)
ADDRESS := $(SANITIZE) -fsanitize=address,undefined -fno-sanitize-recover=all
THREAD := $(SANITIZE) -fsanitize=thread
CORE := $(wildcard cpp/core/*.cc cpp/core/*/*.cc) cpp/tests/columns.cc cpp/tests/odd_messages.cc
IO_CHECKED := $(addprefix cpp/io/,file_posix.cc file_region.cc frame_probe.cc header_walk.cc header_window.cc nested_records.cc salvage_scan.cc workers.cc)
CHECKS := $(CORE) $(IO_CHECKED) $(addprefix cpp/tests/,checks.cc deflate_streams.cc inflate_check.cc locations_check.cc memory.cc rewrite_check.cc salvage_scan_check.cc)
THREADS := $(CORE) $(wildcard cpp/io/*.cc) cpp/tests/threads.cc
HEADERS := $(shell find cpp -name '*.h' -o -name '*.inl')

build/sanitize/mutate: $(patsubst cpp/%.cc,build/sanitize/address/%.o,$(CHECKS) cpp/tests/mutate.cc)
	$(CXX) $(ADDRESS) $^ $(LIBRARIES) -o $@

build/sanitize/replay_%: $(patsubst cpp/%.cc,build/sanitize/address/%.o,$(CHECKS) cpp/fuzz/replay.cc) build/sanitize/address/fuzz/%.o
	$(CXX) $(ADDRESS) $^ $(LIBRARIES) -o $@

build/sanitize/output_bounds: $(patsubst cpp/%.cc,build/sanitize/address/%.o,$(CHECKS) cpp/tests/output_bounds.cc)
	$(CXX) $(ADDRESS) $^ $(LIBRARIES) -o $@

build/sanitize/threads: $(THREADS:cpp/%.cc=build/sanitize/thread/%.o)
	$(CXX) $(THREAD) $^ $(LIBRARIES) -o $@

build/sanitize/address/%.o: cpp/%.cc $(HEADERS)
	@mkdir -p $(@D)
	$(CXX) $(ADDRESS) -c $< -o $@

build/sanitize/thread/%.o: cpp/%.cc $(HEADERS)
	@mkdir -p $(@D)
	$(CXX) $(THREAD) -c $< -o $@

# Guided by coverage. Findings go to build/fuzz; minimize one before you add it to the corpus.
# Inputs are long enough for speculative decoding, which needs 6 KiB.
fuzz: $(FUZZERS:%=build/fuzz/%)
	$(foreach fuzzer,$(FUZZERS),mkdir -p build/fuzz/found/$(fuzzer) && build/fuzz/$(fuzzer) -max_total_time=$(SECONDS_EACH) \
	    -max_len=16384 -artifact_prefix=build/fuzz/ build/fuzz/found/$(fuzzer) cpp/fuzz/corpus/$(fuzzer) &&) true

# Without alignment checks: an input that ends at a guard page may start anywhere.
FUZZ := $(ADDRESS) -fno-sanitize=alignment

build/fuzz/%: $(CHECKS:cpp/%.cc=build/fuzz/objects/%.o) build/fuzz/objects/fuzz/%.o
	$(CLANG) $(FUZZ) -fsanitize=fuzzer $^ $(LIBRARIES) -o $@

build/fuzz/objects/%.o: cpp/%.cc $(HEADERS)
	@command -v $(CLANG) >/dev/null || { echo "make fuzz needs clang with libFuzzer: apt-get install clang, or CLANG=..."; exit 1; }
	@mkdir -p $(@D)
	$(CLANG) $(FUZZ) -fsanitize=fuzzer-no-link -c $< -o $@

.PRECIOUS: build/fuzz/objects/%.o build/sanitize/address/%.o  # they serve several programs

interop: $(VENV)/.native $(VENV)/.with-test .venvs/tensorflow/.penstock .venvs/columns/.penstock
	$(BIN)/python -m pytest interop --ignore interop/columns --ignore interop/training --ignore interop/engines --ignore interop/tfds
	.venvs/columns/bin/python -m pytest interop/columns --confcutdir interop/columns
	.venvs/columns/bin/python -m pytest interop/training/with_torch --confcutdir interop/training
	.venvs/columns/bin/python -m pytest interop/training/with_jax --confcutdir interop/training
	.venvs/tensorflow/bin/python -m pytest interop/training/with_tensorflow --confcutdir interop/training
	.venvs/tensorflow/bin/python -m pytest interop/tfds --confcutdir interop/tfds -W default

engines: .venvs/engines/.penstock
	.venvs/engines/bin/python -m pytest interop/engines --confcutdir interop/engines -W default

# The small form takes about two minutes; LONG=1 has forty times as many trials.
reliability: $(VENV)/.native $(VENV)/.with-test .venvs/tensorflow/.installed build/sanitize/mutate
	PYTHONPATH=tests/support:interop LONG=$(LONG) $(BIN)/python -m reliability

bench: $(VENV)/.native $(VENV)/.with-demo $(VENV)/.with-bench $(foreach peer,tensorflow tfrecord tfrecords tfx_bsl grain,.venvs/$(peer)/.installed)
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf build $(VENV) .venvs

$(VENV)/.environment: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11")'
	@echo "making the environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(QUIET) --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install $(QUIET) --group build
	@touch $@

# Compiles only when something native changed: Python files are used in place.
$(VENV)/.native: $(VENV)/.environment $(NATIVE)
	@echo "building the native module"
	@$(BIN)/python -m pip install $(QUIET) -e . --no-build-isolation
	@touch $@

# The dependency groups of pyproject.toml, each when a target first needs it.
$(VENV)/.with-%: $(VENV)/.environment
	@echo "installing what make $* needs"
	@$(BIN)/python -m pip install $(QUIET) --group $*
	@touch $@

# Peers live in environments of their own, one requirements file each.
.venvs/%/.installed: peers/%.txt
	@echo "making the environment in $(@D)"
	@$(PYTHON) -m venv $(@D)
	@$(@D)/bin/python -m pip install $(QUIET) -r $<
	@touch $@

.PRECIOUS: .venvs/%/.installed  # or make would remove it as a step on the way to .penstock

# Where the peers are libraries that share our memory, the package is installed beside them, as a wheel.
.venvs/%/.penstock: .venvs/%/.installed $(VENV)/.native $(shell find src -name '*.py')
	@echo "installing penstock in $(@D)"
	@rm -rf build/wheels
	@$(BIN)/python -m pip wheel $(QUIET) --no-deps --no-build-isolation -w build/wheels .
	@$(@D)/bin/python -m pip uninstall $(QUIET) -y penstock
	@$(@D)/bin/python -m pip install $(QUIET) build/wheels/penstock-*.whl
	@touch $@

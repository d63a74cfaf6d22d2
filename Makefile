# Every command sets up what it needs in .venv; only Python, a C++20 compiler and make have to be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ENGINE := $(wildcard cpp/include/bcart/*.hpp cpp/src/*.cpp cpp/src/*/*.cpp)
SOURCES := pyproject.toml CMakeLists.txt $(ENGINE) $(wildcard bindings/*)
CXX_FILES := $(ENGINE) $(wildcard cpp/tests/*.hpp cpp/tests/*.cpp bindings/* benchmarks/*.cpp)
PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: demo test test-slow lint format docs cpp-test fuzz sanitize tsan bench machine_limit peers stubs clean

demo: $(VENV)/.installed
	$(BIN)/python -m bcart.demo build/demo/tree.png

test: lint cpp-test $(VENV)/.installed
	$(BIN)/python -m pytest

test-slow: $(VENV)/.installed
	$(BIN)/python -m pytest --slow

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

# Shell commands and pictures of the pages are run by Sphinx, examples in Python by pytest.
docs: $(VENV)/.installed
	$(PIP_INSTALL) -e ".[docs]" --no-build-isolation -C build-dir=build/core
	$(BIN)/python -m pytest -q docs
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs build/docs
	@echo "The pages are in build/docs/index.html"

cpp-test: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/cpp -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DBCART_PYTHON=OFF -DBCART_TESTS=ON -DBCART_BENCH=ON > /dev/null
	$(BIN)/cmake --build build/cpp
	$(BIN)/ctest --test-dir build/cpp --output-on-failure

# Random tables, parameters and questions for some seconds; FUZZ_SEED=... does the same again.
FUZZ_SECONDS ?= 120
FUZZ := tests/fuzz --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))
fuzz: $(VENV)/.installed
	$(BIN)/python $(FUZZ)

# The C++ tests, then the Python tests and the fuzz target with a core built the same way. Left out are processes whose
# memory and seconds are measured, which are the sanitizer's, and what starts programs without it. To end its workers,
# joblib's loky runs pgrep, which hangs with a sanitizer loaded; and there is no sanitizer without address space.
SANITIZED := LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 $(BIN)/python cpp/tests/run_sanitized.py build/sanitized
SANITIZABLE := not loky and not worker_that_is_ended and not ctrl_c_ends_it_quickly and not threads_that_cannot_be_started
sanitize: $(VENV)/.installed
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DBCART_PYTHON=OFF -DBCART_TESTS=ON \
	  -DBCART_SANITIZE=address,undefined > /dev/null
	$(BIN)/cmake --build build/sanitize
	$(BIN)/ctest --test-dir build/sanitize --output-on-failure
	$(PIP_INSTALL) --no-build-isolation --no-deps --upgrade --target build/sanitized -C build-dir=build/sanitize-core \
	  -C cmake.define.BCART_SANITIZE=address,undefined .
	$(SANITIZED) -m pytest tests --ignore tests/processes --ignore tests/cli --ignore tests/test_benchmarks.py -k "$(SANITIZABLE)"
	$(SANITIZED) $(FUZZ)

# The C++ tests with every access to shared memory watched.
tsan: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/tsan -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DBCART_PYTHON=OFF -DBCART_TESTS=ON \
	  -DBCART_SANITIZE=thread > /dev/null
	$(BIN)/cmake --build build/tsan
	TSAN_OPTIONS=halt_on_error=1 $(BIN)/ctest --test-dir build/tsan --output-on-failure

bench: machine_limit
	$(BIN)/python -m benchmarks.machine
	$(BIN)/python -m benchmarks.regression_defaults

# What the machine's memory can do.
machine_limit: $(VENV)/.installed
	$(BIN)/cmake -S . -B build/bench -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DBCART_PYTHON=OFF -DBCART_BENCH=ON > /dev/null
	$(BIN)/cmake --build build/bench --target machine_limit

# DL8.5 comes as source, whose build needs packages of its own; ours is built with those that are there.
peers: $(VENV)/.installed
	$(PIP_INSTALL) --prefer-binary "pydl8.5>=0.1.8; python_version < '3.14'"
	$(PIP_INSTALL) --no-build-isolation -C build-dir=build/core -e ".[bench]"
	$(BIN)/python -m benchmarks.peers
	$(BIN)/python -m benchmarks.short

stubs: $(VENV)/.installed
	$(BIN)/python -m nanobind.stubgen -m bcart._core -o src/bcart/_core.pyi

clean:
	rm -rf build $(VENV)

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) "pip>=23.1" "cmake>=3.18" ninja nanobind==3.1.0 "scikit-build-core>=0.10"
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	$(PIP_INSTALL) --no-build-isolation -C build-dir=build/core -e ".[test,lint]"
	touch $@

# zester: one Makefile, no configure step.
#
# Objects live in build/<variant>/, one folder for each set of flags, so that
# variants never disturb each other. `make help` lists what there is to do.

VERSION := 0.1.0
V       ?= release
CC      ?= cc
ifeq ($(origin CC),default)
CC      := gcc
endif
B       := build/$(V)$(if $(findstring clang,$(CC)),-clang)
PREFIX  ?= /usr/local
DESTDIR ?=
PY      := /usr/bin/python3
JOBS    := $(shell nproc)

# --- flags ------------------------------------------------------------------

LIBS     := yaml-0.1 jansson msgpack libsodium libuv libpcre2-8
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
            -Wformat=2 -Wvla -Wcast-qual -Wundef -Werror

FLAGS_release := -O2 -g -fPIE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
LINK_release  := -pie -Wl,-z,relro,-z,now
FLAGS_asan    := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan    := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
FLAGS_fuzz    := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all

CFLAGS_ALL = -std=gnu17 -D_GNU_SOURCE -DZESTER_VERSION='"$(VERSION)"' -Isrc -Itests/unit -Ibuild/generated $(WARNINGS) \
             $(FLAGS_$(V)) $(PKG_CFLAGS) $(CFLAGS)
LINK_ALL   = $(FLAGS_$(V)) $(LINK_$(V)) -Wl,--as-needed $(LDFLAGS)

# pkg-config is asked once, and only by rules that compile: it may not be installed yet.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(LIBS)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(shell pkg-config --libs $(LIBS)) -lpthread -lm)$(PKG_LIBS)

# --- what there is ------------------------------------------------------------

SOURCES  := $(sort $(wildcard src/*/*.c))
PROGRAMS := $(patsubst src/programs/%.c,%,$(wildcard src/programs/*.c))
CORE     := $(patsubst %.c,$(B)/%.o,$(filter-out src/programs/%,$(SOURCES)))
UNITS    := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/unit/*/test_*.c)))
FUZZERS  := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
BINARIES := $(addprefix $(B)/,$(PROGRAMS))

.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

all: $(BINARIES) compile_commands.json ## build the programs into build/release

$(B)/libcore.a: $(CORE)
	@rm -f $@
	@$(AR) rcs $@ $^

$(BINARIES): $(B)/%: $(B)/src/programs/%.o $(B)/libcore.a
	$(CC) $(LINK_ALL) -o $@ $^ $(PKG_LIBS)

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/tests/unit/test.o $(B)/libcore.a
	$(CC) $(LINK_ALL) -o $@ $^ $(PKG_LIBS) -lcmocka

$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/libcore.a
	$(CC) $(LINK_ALL) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

units: $(UNITS)
fuzzers: $(FUZZERS)

compile_commands.json: Makefile $(SOURCES)
	@tools/compile-commands $(CC) $(CFLAGS_ALL) -- $(SOURCES) $(wildcard tests/*/*.c tests/*/*/*.c) > $@

# --- the two commands -----------------------------------------------------------

demo: ## install packages, build, and show what it does
	@tools/install-packages build
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tools/demo build/release

test: ## install packages, build with sanitizers, run every test
	@tools/install-packages build test
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(MAKE) --no-print-directory -j$(JOBS) V=asan all units
	@$(MAKE) --no-print-directory -j$(JOBS) V=tsan units
	@$(MAKE) --no-print-directory -j$(JOBS) V=fuzz CC=clang fuzzers
	@$(PY) tools/run-tests

# --- variants and tools -----------------------------------------------------------

asan: ## build programs and unit tests with address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory V=asan all units
tsan: ## build programs and unit tests with the thread sanitizer
	@$(MAKE) --no-print-directory V=tsan all units
fuzz: ## build the fuzzers and run each for FUZZ_SECONDS (60)
	@$(MAKE) --no-print-directory -j$(JOBS) V=fuzz CC=clang fuzzers
	@$(PY) tools/run-tests --only fuzz --fuzz-seconds $${FUZZ_SECONDS:-60}

lint: compile_commands.json ## layers, layout, banned calls, sizes, clang-tidy on what changed
	@tools/lint

bench: all ## side-by-side benchmarks, as ratios of one run
	@$(PY) bench/run $(BENCH)

install: all ## install below $(DESTDIR)$(PREFIX)
	@tools/install-files install "$(B)" "$(DESTDIR)$(PREFIX)" $(PROGRAMS)
uninstall: ## remove what install put there
	@tools/install-files uninstall "$(B)" "$(DESTDIR)$(PREFIX)" $(PROGRAMS)
deb: all ## build/zester_VERSION_ARCH.deb
	@tools/make-deb $(VERSION) "$(B)" build

clean: ## remove everything that was built
	rm -rf build compile_commands.json

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: all units fuzzers demo test asan tsan fuzz lint bench install uninstall deb clean help

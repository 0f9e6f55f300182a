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
# Objects of two compilers do not mix.
SUFFIX  := $(if $(findstring clang,$(CC)),-clang)
B       := build/$(V)$(SUFFIX)
PREFIX  ?= /usr/local
DESTDIR ?=
DEBS    ?= build
PY      := /usr/bin/python3
# `make VERBOSE=1` shows whole command lines.
Q       := $(if $(VERBOSE),,@)
say      = $(if $(VERBOSE),,@echo "  $(1) $@")
comma   := ,
# Parallel by default, within the limits of an outer `make -j`.
SUBMAKE  = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# --- flags ------------------------------------------------------------------

# MessagePack has another name in Debian 13.
LIBS      = yaml-0.1 jansson $(shell pkg-config --exists msgpack-c && echo msgpack-c || echo msgpack) libsodium libpcre2-8 lua5.4 libxxhash libssl libcrypto libmicrohttpd
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
            -Wformat=2 -Wvla -Wcast-qual -Wundef -Werror
# Macros may be called with nothing for their last parameter; gcc does not mind, and C23 allows it.
ifneq ($(SUFFIX),)
WARNINGS += -Wno-gnu-zero-variadic-macro-arguments
endif

FLAGS_release := -O2 -g -fPIE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection
# Addresses in tables are a tenth of the program unless they are packed; GNU ld can do so for this processor.
PACKED        := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),$(comma)-z$(comma)pack-relative-relocs)
LINK_release  := -pie -Wl,-z,relro,-z,now$(PACKED)
FLAGS_asan    := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_tsan    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread
FLAGS_fuzz    := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all

CFLAGS_COMMON = -std=gnu17 -D_GNU_SOURCE -DZESTER_VERSION='"$(VERSION)"' -Isrc -Itests/unit -Ibuild/generated \
                $(WARNINGS) $(PKG_CFLAGS)
CFLAGS_ALL    = $(CFLAGS_COMMON) $(FLAGS_$(V)) $(CFLAGS)
LINK_ALL      = $(FLAGS_$(V)) $(LINK_$(V)) -Wl,--as-needed $(LDFLAGS)

# pkg-config is asked once, and only by rules that compile: it may not be installed yet.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(LIBS)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(shell pkg-config --libs $(LIBS)) -lpthread -lm)$(PKG_LIBS)

# --- what there is ------------------------------------------------------------

SOURCES  := $(sort $(wildcard $(foreach depth,*/* */*/* */*/*/* */*/*/*/*,src/$(depth).c)))
PROGRAMS := $(patsubst src/commands/programs/%.c,%,$(wildcard src/commands/programs/*.c))
# Tables that are made from the names of files: modules, beacons, and each kind of managers.
TABLES   := $(addprefix build/generated/,modules.c $(patsubst src/fleet/beacons/kind.h,beacons.c,$(wildcard src/fleet/beacons/kind.h)) \
              $(patsubst src/states/provider/%/manager.h,%_managers.c,$(wildcard src/states/provider/*/manager.h)))
# Folders, and tables, that a variant does without, because none of its tests is linked with them: compiling takes longer
# than running. A test that needs one of them fails to link; then take it out of the list.
WITHOUT_fuzz := core/http fleet/beacons fleet/master fleet/peel fleet/watchdog kepler/engine states/facts states/local states/modules states/settings
WITHOUT_tsan := commands/cli commands/migrate fleet/master fleet/watchdog
WITHOUT  := $(if $(filter threaded-units fuzzers,$(MAKECMDGOALS)),$(WITHOUT_$(V)))
CORE     := $(patsubst %.c,$(B)/%.o,$(filter-out src/commands/programs/% $(WITHOUT:%=src/%/%) $(addsuffix .c,$(addprefix build/generated/,$(notdir $(WITHOUT)))),$(SOURCES) $(TABLES)))
UNITS    := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/unit/*/*/test_*.c)))
# Folders with threads, or single tests, which run under the thread sanitizer too. tools/run-tests reads this line.
THREADED := core/sys states/run kepler/supervise fleet/bus kepler/daemon fleet/nats/test_conn fleet/nats/test_object fleet/peel/test_peel fleet/peel/test_files
FAULTS   := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/faults/*.c)))
FUZZERS  := $(patsubst tests/%.c,$(B)/tests/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
BINARIES := $(addprefix $(B)/,$(PROGRAMS))
# Drivers of a peer need its library, and are left out where it is not installed.
DRIVERS  := $(patsubst %.c,$(B)/%,$(sort $(filter-out bench/driver_uv.c,$(wildcard bench/driver_*.c))))

.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

all: $(BINARIES) compile_commands.json ## build the programs into build/release

# Two small files that change only when what they hold changes: the command line of the compiler,
# and the list of sources. Whoever depends on them is made again when it must be, and only then.
define keep
@$(shell mkdir -p $(@D))$(file >$@.new,$(1))cmp -s $@.new $@ && rm $@.new || mv $@.new $@
endef

$(B)/flags: FORCE
	$(call keep,$(CC) $(CFLAGS_ALL) $(LINK_ALL) $(PKG_LIBS))
$(B)/sources: FORCE
	$(call keep,$(CORE))

# The table of modules, from the families in src/states/modules.
build/generated/modules.c: FORCE
	@tools/gen-modules $@ src/states/modules
build/generated/beacons.c: FORCE
	@tools/gen-beacons $@ src/fleet/beacons
build/generated/%_managers.c: FORCE
	@tools/gen-providers $@ src/states/provider/$*

# Which commit this is. Only programs are linked with it, so that a new commit compiles one file.
build/generated/build.c: FORCE
	@tools/gen-build $@

$(B)/libcore.a: $(CORE) $(B)/sources
	@rm -f $@
	@$(AR) qcs $@ $(CORE)

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,cc)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# Programs for tests have steps at which they can be made to crash; see src/core/sys/crash_point.h.
POINTS := $(if $(filter asan,$(V)),$(patsubst %.c,$(B)/%.o,$(wildcard tests/faults/points/*.c)))
$(BINARIES): $(B)/%: $(B)/src/commands/programs/%.o $(B)/build/generated/build.o $(POINTS) $(B)/libcore.a
	$(call say,link)
	$(Q)$(CC) $(LINK_ALL) -o $@ $^ $(PKG_LIBS)

$(UNITS): $(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/tests/unit/test.o $(B)/libcore.a
	$(call say,link)
	$(Q)$(CC) $(LINK_ALL) -o $@ $^ $(PKG_LIBS) $(ORACLE) -lcmocka
$(B)/tests/unit/fleet/nats/test_oracle $(B)/bench/driver_libnats: ORACLE := -lnats

$(FAULTS): $(B)/tests/faults/%: $(B)/tests/faults/%.o
	$(call say,link)
	$(Q)$(CC) $(LINK_ALL) -o $@ $^

$(FUZZERS): $(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/libcore.a
	$(call say,link)
	$(Q)$(CC) $(LINK_ALL) -fsanitize=fuzzer -o $@ $^ $(PKG_LIBS)

# These share a connection.
$(addprefix $(B)/bench/driver_,nats raw reactor fleet floor): $(B)/bench/session.o
$(DRIVERS): $(B)/bench/%: $(B)/bench/%.o $(B)/libcore.a
	$(call say,link)
	$(Q)$(CC) $(LINK_ALL) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(PKG_LIBS) $(ORACLE)

$(B)/bench/driver_uv: $(B)/bench/driver_uv.o
	$(call say,link)
	$(Q)$(CC) $(LINK_ALL) -o $@ $^ $$(pkg-config --libs libuv)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

units: $(UNITS) $(FAULTS)
threaded-units: $(filter $(THREADED:%=$(B)/tests/unit/%/%) $(THREADED:%=$(B)/tests/unit/%),$(UNITS))
fuzzers: $(FUZZERS)

# For editors and clang-tidy: always the flags of the release build, whatever is being built.
TEST_SOURCES := $(sort $(wildcard tests/unit/*.c tests/unit/*/*/*.c tests/fuzz/*.c tests/faults/*.c tests/faults/points/*.c))
compile_commands.json: Makefile tools/compile-commands $(B)/sources
	@$(PY) tools/compile-commands $@ $(CC) $(CFLAGS_COMMON) $(FLAGS_release) -- $(SOURCES) $(TEST_SOURCES)

# --- the two commands -----------------------------------------------------------

demo: ## install packages, build, and show what it does; KEEP=1 leaves the fleet up, VERBOSE=1 shows all output
	@tools/install-packages build fleet
	@$(SUBMAKE) all
	@tools/demo $(B)
	@$(PY) tools/demo-fleet $(B) $(if $(KEEP),--keep)

test: ## install packages, build with sanitizers, run every test
	@tools/install-packages build fleet test
	@$(SUBMAKE) all
	@$(SUBMAKE) V=asan all units
	@$(SUBMAKE) V=tsan threaded-units
	@$(SUBMAKE) V=fuzz CC=clang fuzzers
	@$(PY) tools/run-tests --suffix="$(SUFFIX)"

# --- variants and tools -----------------------------------------------------------

asan: ## build programs and unit tests with address and undefined-behaviour sanitizers
	@$(SUBMAKE) V=asan all units
tsan: ## build programs and unit tests with the thread sanitizer
	@$(SUBMAKE) V=tsan all units
fuzz: ## build the fuzzers and run each for T seconds (60)
	@$(SUBMAKE) V=fuzz CC=clang fuzzers
	@$(PY) tools/run-tests --only fuzz --fuzz-seconds $(or $(T),60)

faults: ## every fault test whole: a fault at each system call, hundreds of kills; minutes
	@tools/install-packages build fleet test
	@$(SUBMAKE) V=asan all units
	@FAULTS=all $(PY) tools/run-tests --only e2e -k faults --seconds 7200
	@FAULTS=all $(PY) tools/run-tests --only e2e -k test_export --seconds 7200
	@FAULTS=all $(PY) tools/run-tests --only e2e -k test_bus_border --seconds 7200
	@KEPLER_CRASHES=100 $(PY) tools/run-tests --only e2e -k test_kepler_recovery --seconds 7200
	@KEPLER_ROUNDS=5000 KEPLER_SEED=$$(date +%s) $(PY) tools/run-tests --only e2e -k test_kepler_model --seconds 14400
	@KEPLER_EDITS=1000 KEPLER_SEED=$$(date +%s) $(PY) tools/run-tests --only e2e -k test_kepler_apply --seconds 7200
	@UNDO_ROUNDS=1000 $(PY) tools/run-tests --only e2e -k test_undo --seconds 7200
	@FAULTS=all $(PY) tools/run-tests --only e2e -k test_deb --seconds 7200
	@ZESTER_RACE_SECONDS=10 $(PY) tools/run-tests --only e2e -k test_paths --seconds 7200
	@ZESTER_CASES=5000 $(PY) tools/run-tests --only e2e -k jinja_differential --seconds 7200
	@ZESTER_CASES=20000 $(PY) tools/run-tests --only e2e -k test_state_model --seconds 14400
	@$(SUBMAKE) V=release build/release/tests/unit/fleet/nats/test_fault
	@NATS_FAULT="1000000 50" build/release/tests/unit/fleet/nats/test_fault

soak: all ## a fleet in a box under jobs, events and kills for N minutes (5); fails when something grows
	@$(PY) tools/soak --build $(B) --minutes $(or $(N),5)

elsewhere: ## build and test in Debian 13, with clang, and for arm64; LEG=name runs one
	@tools/install-packages build fleet test
	@$(PY) tools/elsewhere $(LEG)

lint: all ## layers, links, layout, banned calls, sizes, clang-tidy on what changed
	@$(PY) tools/lint

lint-all: all ## the same, with clang-tidy on every file
	@$(PY) tools/lint --all

bench: all $(DRIVERS) ## side-by-side benchmarks, as ratios of one run; BENCH=name runs one
	@if pkg-config --exists libuv; then $(SUBMAKE) $(B)/bench/driver_uv; fi
	@$(PY) bench/run --build $(B) $(BENCH)

docs: all ## write again what is generated in docs/reference: packages, modules, kepler-file, fleet-keys
	@$(PY) tools/gen-docs --build $(B)
man: all ## the manual pages in build/release/man, from packaging/man and the command tables
	@$(PY) tools/gen-docs --build $(B) --man $(VERSION)

INSTALL_FILES = $(PY) tools/install-files --version $(VERSION) --build $(B)
install: all ## install below $(DESTDIR)$(PREFIX)
	@$(INSTALL_FILES) --bin "$(PREFIX)/bin" install "$(DESTDIR)$(PREFIX)" $(PROGRAMS)
uninstall: ## remove what install put there
	@$(INSTALL_FILES) uninstall "$(DESTDIR)$(PREFIX)"
deb: all ## Debian packages in build/: zester, zester-master, zester-peel, zester-watchdog, kepler
	@$(PY) tools/make-deb --version $(VERSION) --build $(B) --output $(DEBS) $(PROGRAMS)
deb-source: ## Debian source package (.dsc and tarball) in build/
	@mkdir -p $(DEBS)
	@$(PY) tools/make-deb --version $(VERSION) --output $(DEBS) --source

clean: ## remove everything that was built
	rm -rf build compile_commands.json

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

version: ## the version of this tree
	@echo $(VERSION)

.PHONY: FORCE all units threaded-units fuzzers demo test faults soak elsewhere asan tsan fuzz lint lint-all bench docs man install uninstall deb deb-source clean help \
        version

# Makefile -- builds ./dlrepl; `make start` and `make test` do all the set-up.
#
#   make            build, and the CUDA plugin where nvcc is (CUDA=0: without; ARCHS=90: for one)
#   make start      install what is missing, build, open the prompt
#   make notebook   the same for notebooks: install the kernel for you, open JupyterLab
#   make test       everything CI runs   make test-full   the long versions
#   make asan       a build with ASan and UBSan in build-asan/
#   make bench      ours beside PyTorch  make docs   make install PREFIX=/usr/local
#   make cuda       the CUDA plugin alone: here it is an error if it cannot be built
#   make dist       a tarball that runs elsewhere, with that plugin (DIST_CUDA=0: without)
#
# Variables: CC, WERROR=1 (CI), SAN=1 (used by asan), PREFIX, DESTDIR, ONEDNN=0 (build without
# oneDNN), NVCC (another nvcc, "nvcc -ccbin g++-12"), LUA_CFLAGS and LUA_LIBS (where pkg-config
# does not know Lua 5.4).

CC      ?= cc
PREFIX  ?= /usr/local
BUILD   ?= build
BIN     ?= dlrepl
PLUGIN  ?= $(BUILD)/dl_cuda.so
OPT     ?= -O2
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)

# Lua 5.4 under the names that distributions give it
LUA_PC  := $(shell for p in lua5.4 lua-5.4 lua54 lua; do \
             pkg-config --exists "$$p >= 5.4" "$$p < 5.5" 2>/dev/null && { echo $$p; break; }; done)
ifneq ($(LUA_PC),)
LUA_CFLAGS ?= $(shell pkg-config --cflags $(LUA_PC))
LUA_LIBS   ?= $(shell pkg-config --libs $(LUA_PC))
endif
LUA_CFLAGS ?= -I/usr/include/lua5.4
LUA_LIBS   ?= -llua5.4

WARN    := -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
ifdef WERROR
WARN    += -Werror
endif
BASE    := -std=c11 -g -fPIC -D_GNU_SOURCE -Isrc -Ikernels -Ijupyter -fno-math-errno \
           $(WARN) -MMD -MP
ifeq ($(ONEDNN),0)
BASE    += -DDL_ONEDNN=0
endif
ifdef SAN
BASE    += -fsanitize=address,undefined -fno-sanitize-recover=undefined \
           -fno-omit-frame-pointer -DDL_SAN=1
LDSAN   := -fsanitize=address,undefined
OPT     := -O1
endif
KFLAGS  := -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math
ifdef SAN
KFLAGS  := -O1 -ffp-contract=off -fno-math-errno -fno-trapping-math
endif
# Kernels are compiled once for each instruction set that the compiler knows; the machine picks.
ISA_base :=
ISA_v3   := -march=x86-64-v3
ISA_v4   := -march=x86-64-v4 -mprefer-vector-width=512
ISAS     := base
ifeq ($(shell uname -m),x86_64)
KNOWS    = $(shell $(CC) $(ISA_$(1)) -E -x c /dev/null >/dev/null 2>&1 && echo $(1))
ISAS     += $(foreach i,$(if $(SAN),v3,v3 v4),$(call KNOWS,$(i)))
endif
BASE     += $(ISAS:%=-DDL_HAVE_%=1)

ENGINE  := $(wildcard $(addsuffix /*.c,$(addprefix src/,base mem io tensor graph op grad)))
ONCE    := $(wildcard kernels/cpu/once/*.c)
KERN    := $(wildcard kernels/cpu/*.c)
SIM     := $(wildcard kernels/sim/*.c)
FRONT   := $(wildcard src/bind/*.c src/repl/*.c jupyter/*.c)

ENGINE_O := $(ENGINE:%.c=$(BUILD)/%.o) $(ONCE:%.c=$(BUILD)/%.o) $(SIM:%.c=$(BUILD)/%.o) \
            $(foreach i,$(ISAS),$(KERN:kernels/cpu/%.c=$(BUILD)/kernels/$(i)/%.o))
FRONT_O  := $(FRONT:%.c=$(BUILD)/%.o)
LIBS     := -lm -ldl -lpthread -lz -fopenmp
# The kernel's: JSON and signatures. libzmq is looked up when a kernel starts (jupyter/zmqlib.h).
FRONT_LIBS := -ljansson -lsodium

all: program
ifneq ($(wildcard src/bind/bind.h),)
program: $(BIN)
else
program: $(BUILD)/libdl.a
endif

# Objects depend on how they are compiled, libraries on which objects there are: these files change
# only when that does. (A target that calls make again leaves it to that make.)
FLAGS   := $(strip $(CC) $(BASE) $(OPT) | $(KFLAGS) | $(LUA_CFLAGS) | $(LDSAN) $(LUA_LIBS))
OBJECTS := $(sort $(ENGINE_O) $(FRONT_O))
ifeq ($(filter clean start notebook test test-full asan cuda cuda-why cuda-two \
  $(PLUGIN),$(MAKECMDGOALS)),)
$(shell mkdir -p $(BUILD))
ifneq ($(FLAGS),$(strip $(file <$(BUILD)/flags)))
$(file >$(BUILD)/flags,$(FLAGS))
endif
ifneq ($(OBJECTS),$(strip $(file <$(BUILD)/objects)))
$(file >$(BUILD)/objects,$(OBJECTS))
endif
endif
$(BUILD)/flags $(BUILD)/objects: ;

$(BIN): $(FRONT_O) $(BUILD)/libdl.a $(BUILD)/objects
	@mkdir -p $(@D)
	$(CC) $(LDSAN) -rdynamic -o $@ $(FRONT_O) -Wl,--whole-archive $(BUILD)/libdl.a -Wl,--no-whole-archive $(LUA_LIBS) $(FRONT_LIBS) $(LIBS)

$(BUILD)/libdl.a: $(ENGINE_O) $(BUILD)/objects
	@rm -f $@
	ar rcs $@ $(ENGINE_O)

$(BUILD)/src/bind/%.o: src/bind/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(LUA_CFLAGS) -c -o $@ $<
$(BUILD)/src/repl/%.o: src/repl/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(LUA_CFLAGS) -c -o $@ $<
$(BUILD)/jupyter/%.o: jupyter/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(LUA_CFLAGS) -c -o $@ $<
$(BUILD)/src/%.o: src/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) -c -o $@ $<
$(BUILD)/kernels/cpu/once/%.o: kernels/cpu/once/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) -fopenmp -ffp-contract=off -c -o $@ $<
$(BUILD)/kernels/sim/%.o: kernels/sim/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) -ffp-contract=off -c -o $@ $<
define isa_rule
$(BUILD)/kernels/$(1)/%.o: kernels/cpu/%.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(CC) $$(BASE) $$(KFLAGS) $$(ISA_$(1)) -DDL_ISA=$(1) -DDL_ISA_$(1)=1 -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

# ---- the CUDA plugin ---------------------------------------------------------------------------
# dl_cuda.so, made after the program where nvcc 12 or 13 is; .ci/cuda.sh looks, and says in a line
# why there is none. For every architecture of CUDA_ALL that this nvcc knows, and as PTX for those
# to come; ARCHS=90 for one, CUDA=0 or NVCC= for none. Kernels are kernels/cuda/*.cu; what only the
# plugin has (its driver) is in kernels/cuda/driver. The program's own functions are found at load
# time.
ifeq ($(origin NVCC),undefined)
NVCC      := $(shell PATH="$$PATH:/usr/local/cuda/bin" && command -v nvcc)
CUDA      ?= 1
else
CUDA      ?= $(if $(NVCC),1,0)
endif
CUDA_DIR  ?= $(BUILD)/cuda
CUDA_ALL  := 75 80 86 89 90 100 120
NVCC_KNOWS = $(eval NVCC_KNOWS := $(if $(NVCC),$(shell $(NVCC) --list-gpu-code 2>/dev/null | \
               sed -n 's/^sm_//p' | sort -n)))$(NVCC_KNOWS)
ARCHS     ?= $(filter $(CUDA_ALL),$(NVCC_KNOWS))
# nvcc translates to PTX in three ways: without bfloat16's instructions before 80, and with another
# translator from 100 on. The oldest PTX of each gives every card the very code that its own would
# (compile.t compares), and costs once.
CUDA_OF    = $(filter $(1),$(filter $(ARCHS),$(NVCC_KNOWS)))
CUDA_7     = $(call CUDA_OF,7%)
CUDA_8     = $(call CUDA_OF,8% 9%)
CUDA_1     = $(call CUDA_OF,1%)
comma     := ,
join_with  = $(subst $() $(),$(comma),$(strip $(1)))
# $(1) are the architectures of a group, $(2) those after it: where there are none, PTX goes along
FROM_PTX   = $(if $(1),-gencode 'arch=compute_$(firstword $(1))$(comma)code=[$(call \
               join_with,$(1:%=sm_%) $(if $(strip $(2)),,compute_$(firstword $(1))))]')
GENCODE    = $(call FROM_PTX,$(CUDA_7),$(CUDA_8) $(CUDA_1)) $(call FROM_PTX,$(CUDA_8),$(CUDA_1)) \
             $(call FROM_PTX,$(CUDA_1))
NVCC_HOST := -O2
NVCC_OPT   = -std=c++17 $(NVCC_HOST) --fmad=false --Werror all-warnings -Isrc -Ikernels \
             -Ikernels/cuda -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wno-unused-function \
             $(if $(WERROR),-Xcompiler -Werror) -Xfatbin -compress-all
CUDA_O    := $(patsubst kernels/cuda/%,$(CUDA_DIR)/%.o,$(wildcard kernels/cuda/*.cu \
             kernels/cuda/driver/*.cu kernels/cuda/driver/*.cc)) $(CUDA_DIR)/old_glibc.o
CUDA_SH    = +@NVCC='$(NVCC)' ARCHS='$(ARCHS)' NVCC_KNOWS='$(NVCC_KNOWS)' PLUGIN='$(PLUGIN)' \
             CUDA_DIR='$(CUDA_DIR)' sh .ci/cuda.sh
MAKE_CUDA  = $(MAKE) --no-print-directory $(PLUGIN)

ifneq ($(CUDA),0)
all: plugin
endif
plugin: | program
	$(CUDA_SH) try $(MAKE_CUDA)

cuda:
	$(CUDA_SH) must $(MAKE_CUDA)

cuda-why:
	$(CUDA_SH) why

# Every kernel for two architectures, which is what `make test` can wait for.
CUDA_LOW   = $(filter-out 1%,$(filter $(CUDA_ALL),$(NVCC_KNOWS)))
CUDA_TWO   = $(sort $(firstword $(CUDA_LOW)) $(lastword $(CUDA_LOW)))
cuda-two:
	@$(MAKE) --no-print-directory cuda CUDA_DIR='$(BUILD)/cuda-two' \
	  PLUGIN='$(BUILD)/cuda-two/dl_cuda.so' ARCHS='$(CUDA_TWO)' NVCC_HOST=-O1

# As with $(BUILD)/flags above.
ifneq ($(filter $(PLUGIN),$(MAKECMDGOALS)),)
CUDA_FLAGS := $(strip $(shell $(NVCC) --version 2>/dev/null | tail -n 1) $(NVCC_OPT) $(GENCODE))
$(shell mkdir -p $(CUDA_DIR)/driver)
ifneq ($(CUDA_FLAGS),$(strip $(file <$(CUDA_DIR)/flags)))
$(file >$(CUDA_DIR)/flags,$(CUDA_FLAGS))
$(file >$(CUDA_DIR)/archs,$(ARCHS))
endif
endif
$(CUDA_DIR)/flags: ;

$(PLUGIN): $(CUDA_O)
	@echo 'nvcc -shared $@'
	@$(NVCC) -shared -cudart static -o $@ $(CUDA_O) -Xcompiler -fPIC,-static-libstdc++,-static-libgcc -Xlinker --exclude-libs=ALL,--gc-sections
$(CUDA_DIR)/%.o: kernels/cuda/% $(CUDA_DIR)/flags
	@echo 'nvcc $<$(if $(filter %.cu,$<), ($(ARCHS)))'
	@$(NVCC) $(NVCC_OPT) $(GENCODE) -Xptxas -v -MD -MT $@ -MF $(@:.o=.d) -c -o $@ $< >$(@:.o=.log) 2>&1 || { grep -v '^ptxas info\|bytes stack frame' $(@:.o=.log); exit 1; }
$(CUDA_DIR)/old_glibc.o: .ci/dist/old_glibc.c $(CUDA_DIR)/flags
	@$(CC) -std=c11 -O2 -fPIC -w -c -o $@ $<

# ---- a tarball for other machines ----------------------------------------------------------------
VERSION := $(shell sed -n 's/^.define DL_VERSION "\(.*\)"/\1/p' src/repl/session.h)
OPS_O   := $(BUILD)/tests/c/ops_gpu.o $(BUILD)/tests/c/recipe.o $(BUILD)/tests/c/tap.o

DIST_CUDA ?= $(if $(NVCC),$(CUDA),0)
dist: $(BIN) $(OPS_O)
ifneq ($(DIST_CUDA),0)
	$(CUDA_SH) must $(MAKE_CUDA)
endif
	@CC='$(CC)' BUILD='$(BUILD)' VERSION='$(VERSION)' FRONT_O='$(FRONT_O)' OPS_O='$(OPS_O)' \
	  LUA_LIBS='$(LUA_LIBS)' FRONT_LIBS='$(FRONT_LIBS)' LIBS='$(LIBS)' DIST_CUDA='$(DIST_CUDA)' \
	  PLUGIN='$(PLUGIN)' sh .ci/dist.sh

# ---- the two commands --------------------------------------------------------------------------
start:
	@sh .ci/setup.sh start
	@sh .ci/build.sh $(MAKE) -j$(JOBS) program
ifneq ($(CUDA),0)
	$(CUDA_SH) cards $(MAKE_CUDA) -j$(JOBS)
endif
	@if [ -t 0 ]; then ./dlrepl; else ./dlrepl lessons/tour.lua; fi

test:
	@sh .ci/setup.sh test
	@sh .ci/build.sh $(MAKE) -j$(JOBS) program test-c-build
	@$(MAKE) --no-print-directory check

test-full:
	@sh .ci/setup.sh test
	@sh .ci/build.sh $(MAKE) -j$(JOBS) program test-c-build
	@$(MAKE) --no-print-directory check FULL=1

notebook:
	@sh .ci/setup.sh start
	@sh .ci/build.sh $(MAKE) -j$(JOBS) program
ifneq ($(CUDA),0)
	$(CUDA_SH) cards $(MAKE_CUDA) -j$(JOBS)
endif
	@sh .ci/notebook.sh

# ---- further targets -----------------------------------------------------------------------------
# On a busy machine a terminal's answer can come too late for a test that waits for it: what failed
# is asked once more, and said.
test-cli: $(BIN)
	@rm -f .prove
	$(PROVE) --state=save tests/cli || \
	  { echo '# once more, what failed:'; $(PROVE) --state=failed tests/cli; }
	@rm -f .prove

asan:
	@$(MAKE) --no-print-directory SAN=1 BUILD=build-asan BIN=build-asan/dlrepl program

bench: $(BIN) $(BUILD)/tests/c/sim_cases $(BUILD)/tests/c/mem_speed
	@$(BUILD)/tests/c/sim_cases --table
	@$(BUILD)/tests/c/mem_speed
	python3 tests/bench/run.py
	-@v=$$(sh tests/jupyter/venv.sh) && $$v/bin/python tests/bench/kernel.py

docs: $(BIN)
	mkdir -p docs/completion docs/annotations
	./$(BIN) docs/make/all.lua docs
	DLREPL_LANG=en ./$(BIN) docs/make/notebooks.lua jupyter/notebooks

SHARE   := $(DESTDIR)$(PREFIX)/share/dlrepl
LIBDIR  := $(DESTDIR)$(PREFIX)/lib/dlrepl
MANDIR  := $(DESTDIR)$(PREFIX)/share/man/man1
BASHDIR := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSHDIR  := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
install: $(BIN)
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(SHARE)"
	install -m 755 $(BIN) "$(DESTDIR)$(PREFIX)/bin/dlrepl"
	cp -R lua lessons docs README.md LICENSE "$(SHARE)/"
	install -d "$(SHARE)/jupyter"
	cp -R jupyter/kernelspec jupyter/notebooks "$(SHARE)/jupyter/"
ifneq ($(CUDA),0)
	@if [ -f $(PLUGIN) ]; then install -d "$(LIBDIR)" && \
	  install -m 644 $(PLUGIN) "$(LIBDIR)/dl_cuda.so"; fi
endif
	install -d "$(MANDIR)" "$(BASHDIR)" "$(ZSHDIR)"
	install -m 644 docs/dlrepl.1 "$(MANDIR)/dlrepl.1"
	install -m 644 docs/completion/dlrepl.bash "$(BASHDIR)/dlrepl"
	install -m 644 docs/completion/_dlrepl "$(ZSHDIR)/_dlrepl"

# tests.mk adds its own sets to TEST_SETS
TEST_SETS := test-style test-c test-lua test-cli
-include tests/tests.mk
-include $(ENGINE_O:.o=.d) $(FRONT_O:.o=.d)

check: $(TEST_SETS)

clean:
	rm -rf build build-* dlrepl

-include $(CUDA_O:.o=.d)

.PHONY: all program plugin cuda cuda-why cuda-two dist start notebook test test-full \
        test-cli check asan bench docs install clean

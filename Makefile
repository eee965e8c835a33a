# Makefile -- builds ./dlrepl; `make start` and `make test` do all the set-up.
#
#   make            build            make start    install what is missing, build, open the prompt
#   make test       everything CI runs   make test-full   the long versions
#   make asan       a build with ASan and UBSan in build-asan/
#   make bench      ours beside PyTorch  make docs   make install PREFIX=/usr/local
#
# Variables: CC, WERROR=1 (CI), SAN=1 (used by asan), PREFIX, ONEDNN=0 (build without oneDNN).

CC      ?= cc
PREFIX  ?= /usr/local
BUILD   ?= build
BIN     ?= dlrepl
OPT     ?= -O2

LUA_CFLAGS := $(shell pkg-config --cflags lua5.4 2>/dev/null || pkg-config --cflags lua-5.4 2>/dev/null)
LUA_LIBS   := $(shell pkg-config --libs lua5.4 2>/dev/null || pkg-config --libs lua-5.4 2>/dev/null)

WARN    := -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
ifdef WERROR
WARN    += -Werror
endif
BASE    := -std=c11 -g -fPIC -D_GNU_SOURCE -DDL_PARTIAL -Isrc -Ikernels -fno-math-errno $(WARN) -MMD -MP
ifeq ($(ONEDNN),0)
BASE    += -DDL_ONEDNN=0
endif
ifdef SAN
BASE    += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DDL_SAN=1
LDSAN   := -fsanitize=address,undefined
OPT     := -O1
endif
KFLAGS  := -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math
ifdef SAN
KFLAGS  := -O1 -ffp-contract=off -fno-math-errno -fno-trapping-math
endif
MACHINE := $(shell uname -m)
ifeq ($(MACHINE),x86_64)
ISAS    := base v3 v4
endif
ISAS    ?= base
ISA_base :=
ISA_v3   := -march=x86-64-v3
ISA_v4   := -march=x86-64-v4 -mprefer-vector-width=512

ENGINE  := $(wildcard src/base/*.c src/mem/*.c src/tensor/*.c src/graph/*.c src/op/*.c src/grad/*.c)
ONCE    := $(wildcard kernels/cpu/once/*.c)
KERN    := $(wildcard kernels/cpu/*.c)
FRONT   := $(wildcard src/bind/*.c src/repl/*.c)

ENGINE_O := $(ENGINE:%.c=$(BUILD)/%.o) $(ONCE:%.c=$(BUILD)/%.o) \
            $(foreach i,$(ISAS),$(KERN:kernels/cpu/%.c=$(BUILD)/kernels/$(i)/%.o))
FRONT_O  := $(FRONT:%.c=$(BUILD)/%.o)
LIBS     := -lm -ldl -lpthread -lz -fopenmp

all: $(BIN)

$(BIN): $(FRONT_O) $(BUILD)/libdl.a
	$(CC) $(LDSAN) -rdynamic -o $@ $(FRONT_O) -Wl,--whole-archive $(BUILD)/libdl.a -Wl,--no-whole-archive $(LUA_LIBS) $(LIBS)

$(BUILD)/libdl.a: $(ENGINE_O)
	@rm -f $@
	ar rcs $@ $(ENGINE_O)

$(BUILD)/src/bind/%.o: src/bind/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(LUA_CFLAGS) -c -o $@ $<
$(BUILD)/src/repl/%.o: src/repl/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) $(LUA_CFLAGS) -c -o $@ $<
$(BUILD)/src/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) -c -o $@ $<
$(BUILD)/kernels/cpu/once/%.o: kernels/cpu/once/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) $(OPT) -fopenmp -ffp-contract=off -c -o $@ $<
define isa_rule
$(BUILD)/kernels/$(1)/%.o: kernels/cpu/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(BASE) $$(KFLAGS) $$(ISA_$(1)) -DDL_ISA=$(1) -DDL_ISA_$(1)=1 -c -o $$@ $$<
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

-include tests/tests.mk
-include $(ENGINE_O:.o=.d) $(FRONT_O:.o=.d)

clean:
	rm -rf build build-* dlrepl

.PHONY: all clean

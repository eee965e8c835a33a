# tests.mk -- builds and runs the tests; included by the Makefile
#
#   make test-c      C tests, compiled with no Lua on the include path
#   make test-lua    Lua tests through ./dlrepl
#   make test-style  size caps, line width, layers
#   make test-fuzz   random calls, refused allocations, a forced collector (FULL=1: all of them)
#   make test-clang  clang's warnings
#   make test-jupyter the kernel and its clients; makes build/venv first
#   make test-cuda   CUDA kernels on the CPU, compared with the CPU's own (FULL=1: every way)
#   make test-lessons lessons are played, and tested as code is (FULL=1: on 200 seeds)
#   make test-asan   a sample of all of these in a build with ASan and UBSan
#
# A C test is tests/c/<area>_<what>.c with a main(); a Lua test is tests/lua/<area>_<what>.lua.

PROVE     ?= prove
# A plugin that was built here is not what the tests are about; tests/cuda/plugin.t asks for one.
export DLREPL_CUDA := 0
TEST_C    := $(sort $(foreach f,$(wildcard tests/c/*_*.c),$(f)))
TEST_BIN  := $(TEST_C:tests/c/%.c=$(BUILD)/tests/c/%)
TEST_LUA  := $(sort $(filter-out tests/lua/tap.lua,$(wildcard tests/lua/*.lua))) \
             $(wildcard tests/parity/run.lua)
TEST_PATH := tests/lua/?.lua;;

$(BUILD)/tests/c/%.o: tests/c/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) -Itests/c -O1 -c -o $@ $<

# base_* link what they name and no more, which proves that the lower rooms stand alone.
$(BUILD)/tests/c/base_%: $(BUILD)/tests/c/base_%.o $(BUILD)/tests/c/tap.o $(BUILD)/libdl.a
	$(CC) $(LDSAN) -o $@ $< $(BUILD)/tests/c/tap.o $(BUILD)/libdl.a $(LIBS)

$(BUILD)/tests/c/ops_%: $(BUILD)/tests/c/ops_%.o $(BUILD)/tests/c/tap.o \
                       $(BUILD)/tests/c/recipe.o $(BUILD)/libdl.a
	$(CC) $(LDSAN) -rdynamic -o $@ $(filter %.o,$^) -Wl,--whole-archive $(BUILD)/libdl.a -Wl,--no-whole-archive $(LIBS)

$(BUILD)/tests/c/%: $(BUILD)/tests/c/%.o $(BUILD)/tests/c/tap.o $(BUILD)/libdl.a
	$(CC) $(LDSAN) -rdynamic -o $@ $< $(BUILD)/tests/c/tap.o -Wl,--whole-archive $(BUILD)/libdl.a -Wl,--no-whole-archive $(LIBS)

.SECONDARY: $(TEST_BIN:%=%.o) $(BUILD)/tests/c/tap.o $(BUILD)/tests/c/recipe.o

test-c-build: $(TEST_BIN)

test-c: $(TEST_BIN)
	$(PROVE) --exec '' $(TEST_BIN)

test-lua: $(BIN)
	LUA_PATH='$(TEST_PATH)' $(PROVE) --exec './$(BIN)' $(TEST_LUA)

# Sampled for every run; FULL=1 refuses each allocation and makes a million calls.
CALLS     := $(if $(FULL),1000000,20000)
SAMPLES   := $(if $(FULL),0,200)
FILES     := $(if $(FULL),100000,3000)
WIRE_O    := $(addprefix $(BUILD)/,tests/fuzz/wire.o tests/c/tap.o jupyter/wire.o jupyter/json.o \
               src/repl/width.o)
$(BUILD)/tests/fuzz/wire.o: tests/fuzz/wire.c
	@mkdir -p $(@D)
	$(CC) $(BASE) -Itests/c $(LUA_CFLAGS) -O1 -c -o $@ $<
$(BUILD)/tests/fuzz/wire: $(WIRE_O) $(BUILD)/libdl.a
	$(CC) $(LDSAN) -o $@ $^ $(LUA_LIBS) $(FRONT_LIBS) $(LIBS)

test-fuzz: $(BIN) $(BUILD)/tests/fuzz/wire
	$(PROVE) --exec '' $(BUILD)/tests/fuzz/wire :: $(CALLS) 1
	$(PROVE) --exec './$(BIN)' tests/fuzz/calls.lua :: $(CALLS) 1
	$(PROVE) --exec './$(BIN)' tests/fuzz/calls.lua :: $(CALLS) 1 cuda
	$(PROVE) --exec './$(BIN)' tests/fuzz/calls.lua :: $(CALLS) 1 dry
	$(PROVE) --exec './$(BIN)' tests/fuzz/checkpoint.lua :: $(FILES) 1
	$(PROVE) --exec './$(BIN)' tests/fuzz/refuse.lua :: $(SAMPLES)
	$(PROVE) --exec './$(BIN)' tests/fuzz/refuse.lua :: $(SAMPLES) cuda
	LUA_PATH='$(TEST_PATH)' $(PROVE) --exec './$(BIN) tests/fuzz/collect.lua' $(COLLECTED)

COLLECTED := $(wildcard tests/lua/bind_*.lua tests/lua/rich_*.lua tests/lua/module_*.lua \
               tests/lua/smoke.lua)

ASAN_SKIP := ops_loop ops_grad ops_paths pw_% nn_%
ASAN_C    := $(filter-out $(ASAN_SKIP:%=$(BUILD)/tests/c/%),$(TEST_BIN))
ASAN_C    := $(if $(FULL),$(TEST_BIN),$(ASAN_C))
# Without oneDNN: the leak checker stumbles over thread-local data of libraries loaded late.
ASAN_ENV  := DLREPL_ONEDNN=0 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
ASAN_MAKE := $(MAKE) --no-print-directory SAN=1 BUILD=build-asan BIN=build-asan/dlrepl
test-asan:
	@$(ASAN_MAKE) program $(ASAN_C:$(BUILD)/%=build-asan/%) build-asan/tests/fuzz/wire
	$(ASAN_ENV) $(PROVE) --exec '' $(ASAN_C:$(BUILD)/%=build-asan/%)
	$(ASAN_ENV) $(PROVE) --exec '' build-asan/tests/fuzz/wire :: $(CALLS) 2
	$(ASAN_ENV) LUA_PATH='$(TEST_PATH)' $(PROVE) --exec build-asan/dlrepl \
	  $(if $(FULL),$(filter-out %fashion_mlp.lua %fashion_amp.lua,$(TEST_LUA)),$(COLLECTED))
	$(ASAN_ENV) $(PROVE) --exec build-asan/dlrepl tests/fuzz/calls.lua :: \
	  $(if $(FULL),100000,3000) 2
	$(ASAN_ENV) $(PROVE) --exec build-asan/dlrepl tests/fuzz/calls.lua :: \
	  $(if $(FULL),100000,3000) 2 cuda
	$(ASAN_ENV) $(PROVE) --exec build-asan/dlrepl tests/fuzz/checkpoint.lua :: \
	  $(if $(FULL),50000,1500) 2
	$(ASAN_ENV) LUA_PATH='$(TEST_PATH)' $(PROVE) --exec build-asan/dlrepl \
	  tests/lua/save_hostile.lua tests/lua/gpu_dry.lua tests/lua/gpu_gone.lua tests/lua/gpu_two.lua
	$(if $(FULL),DLREPL=$(CURDIR)/build-asan/dlrepl $(ASAN_ENV) $(PROVE) tests/jupyter/protocol.t \
	  tests/jupyter/hostile.t)

# CUDA kernels without a GPU: compiled by g++ with kernels/cuda/fiber.h, run under the address
# sanitizer, compared with the CPU's.
CUDA_SRC  := $(wildcard kernels/cuda/*.cu)
FIBER_O   := $(CUDA_SRC:kernels/cuda/%.cu=$(BUILD)/cuda-fiber/%.o) \
             $(patsubst tests/cuda/%.cc,$(BUILD)/cuda-fiber/%.o,$(wildcard tests/cuda/*.cc))
# calls to the sanitizer instead of code in place: a third of the time to compile
FIBER_SAN := $(if $(SAN),-fsanitize=address --param asan-instrumentation-with-call-threshold=0)
FIBER_OPT := -x c++ -std=c++17 -fPIC -g1 $(if $(SAN),-Og,-O1) -D_GNU_SOURCE -Isrc -Ikernels \
             -Ikernels/cuda -Itests/cuda -ffp-contract=off -fno-math-errno $(WARN) -MMD -MP \
             $(FIBER_SAN)
TEST_CUDA := $(patsubst tests/cuda/%.c,$(BUILD)/tests/cuda/%,$(wildcard tests/cuda/cuda_*.c))

$(BUILD)/cuda-fiber/%.o: kernels/cuda/%.cu
	@mkdir -p $(@D)
	$(CXX) $(FIBER_OPT) -c -o $@ $<
$(BUILD)/cuda-fiber/%.o: tests/cuda/%.cc
	@mkdir -p $(@D)
	$(CXX) $(FIBER_OPT) -c -o $@ $<
$(BUILD)/tests/cuda/%.o: tests/cuda/%.c
	@mkdir -p $(@D)
	$(CC) $(BASE) -Itests/c -Itests/cuda -O1 -c -o $@ $<
$(BUILD)/tests/cuda/%: $(BUILD)/tests/cuda/%.o $(BUILD)/tests/cuda/run.o $(FIBER_O) \
                       $(BUILD)/tests/c/tap.o $(BUILD)/tests/c/recipe.o $(BUILD)/libdl.a
	$(CXX) $(LDSAN) -rdynamic -o $@ $(filter %.o,$^) -Wl,--whole-archive $(BUILD)/libdl.a -Wl,--no-whole-archive $(LIBS)

# The real driver's own code, without a GPU: compiled beside those kernels over a CUDA runtime of
# the tests, it makes a plugin that the program loads as it loads the true one.
FAKE_CC   := $(wildcard kernels/cuda/driver/*.cc)
FAKE_O    := $(FAKE_CC:kernels/cuda/driver/%.cc=$(BUILD)/cuda-fiber/driver/%.o)
$(BUILD)/cuda-fiber/driver/%.o: kernels/cuda/driver/%.cc tests/cuda/fake/cuda_runtime.h
	@mkdir -p $(@D)
	$(CXX) -Itests/cuda/fake $(FIBER_OPT) -c -o $@ $<
$(BUILD)/dl_cuda_fake.so: $(FAKE_O) $(FIBER_O)
	$(CXX) $(LDSAN) -shared -o $@ $^ -ldl -lpthread

test-cuda:
	@$(ASAN_MAKE) -j$(JOBS) $(TEST_CUDA:$(BUILD)/%=build-asan/%)
	$(ASAN_ENV) FULL=$(FULL) $(PROVE) --exec '' $(TEST_CUDA:$(BUILD)/%=build-asan/%)
	@$(ASAN_MAKE) -j$(JOBS) program build-asan/dl_cuda_fake.so build-asan/tests/c/ops_gpu
	$(ASAN_ENV) FULL=$(FULL) DLREPL=$(CURDIR)/build-asan/dlrepl $(PROVE) -j$(JOBS) tests/cuda/plugin.t tests/cuda/driver
	FULL=$(FULL) NVCC='$(if $(filter 0,$(CUDA)),,$(NVCC))' $(PROVE) tests/cuda/compile.t

.SECONDARY: $(FIBER_O) $(TEST_CUDA:%=%.o) $(BUILD)/tests/cuda/run.o

# The second compiler's opinion, where it is installed: no code is made, warnings are errors.
CLANG     := $(shell command -v clang 2>/dev/null)
CLANG_OPT := -fsyntax-only -Werror -fopenmp $(filter-out -MMD -MP -Werror,$(BASE)) $(LUA_CFLAGS)
test-clang:
ifneq ($(CLANG),)
	$(CLANG) $(CLANG_OPT) $(ENGINE) $(ONCE) $(SIM) $(FRONT)
	$(CLANG) $(CLANG_OPT) $(KFLAGS) $(ISA_v3) -DDL_ISA=v3 -DDL_ISA_v3=1 $(KERN)
else
	@echo "# no clang here: its warnings are not checked"
endif

# Tests that drive the kernel through Jupyter's own programs, in a virtual environment.
TEST_JUPYTER := $(sort $(wildcard tests/jupyter/*.t))
test-jupyter: $(BIN)
	-@sh tests/jupyter/venv.sh >/dev/null
	$(PROVE) -j2 $(TEST_JUPYTER)

# Lessons are played, and tested as code is: see tests/lessons.
test-lessons: $(BIN)
	FULL=$(FULL) $(PROVE) -j$(JOBS) tests/lessons

TEST_SETS += test-clang test-fuzz test-asan test-cuda test-lessons \
             $(if $(TEST_JUPYTER),test-jupyter)

test-style:
	$(PROVE) tests/style.t

-include $(TEST_BIN:=.d) $(FIBER_O:.o=.d) $(FAKE_O:.o=.d) $(TEST_CUDA:=.d)
-include $(BUILD)/tests/c/tap.d $(BUILD)/tests/c/recipe.d

.PHONY: test-c test-c-build test-lua test-style test-jupyter test-lessons test-clang test-fuzz \
        test-asan test-cuda

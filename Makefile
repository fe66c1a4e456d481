# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# bpfleet: builds into build/; V=1 shows commands; SAN=1 builds into build/san
# with the address and undefined-behaviour sanitizers.

VERSION := 0.1.0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
SYSCONFDIR ?= /etc
DESTDIR ?=
CC ?= gcc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
B := build$(if $(SAN),/san)
GEN := build/gen
Q := $(if $(V),,@)
comma := ,

WARN := -Wall -Wextra -Wpedantic -Wformat=2 -Wshadow -Wpointer-arith \
	-Wcast-qual -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wundef -Wvla -Wimplicit-fallthrough \
	-Wconversion -Wsign-conversion -Wnull-dereference
ifneq ($(findstring clang,$(CC)),)
WARN += -Wno-gnu-statement-expression
endif
ifneq ($(CI),)
WARN += -Werror
endif
HARDEN := -fstack-protector-strong -fstack-clash-protection -fcf-protection \
	-fno-strict-aliasing -fvisibility=hidden -fno-common
ifeq ($(SAN),)
OPT := -O2 -g -D_FORTIFY_SOURCE=3
else
OPT := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer
endif
CPPFLAGS := -D_GNU_SOURCE -I. -Iclient/include -isystem $(GEN)
CFLAGS := -std=gnu11 $(OPT) $(HARDEN) $(WARN) -fPIC -MMD -MP
LDFLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined) -pie \
	-Wl,-z,relro,-z,now -Wl,--as-needed
SERVER_LIBS := -lbpf -linih -lseccomp
LIBS := -lnng -lsodium -lprotobuf-c -lpthread

COMMON_O := $(addprefix $(B)/common/,err.o clock.o log.o buf.o keys.o page.o \
	cursor.o mapinfo.o nearest.o lines.o frame.o codec.o noise.o \
	channel.o link.o) $(B)/gen/bpfleet.pb-c.o
SERVER_O := $(addprefix $(B)/server/,settings.o acl.o map.o pins.o \
	broker_msg.o read_walk.o read_batch.o read_select.o dump.o gate.o \
	audit.o metrics.o rpc.o landlock.o seccomp.o sandbox.o \
	broker_maps.o plan.o broker.o worker.o)
LIB_O := $(patsubst client/lib/%.c,$(B)/client/lib/%.o,$(wildcard client/lib/*.c))
CLI_O := $(patsubst client/cli/%.c,$(B)/client/cli/%.o,$(wildcard client/cli/*.c))
UNITS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
KERNEL_TESTS := $(patsubst tests/kernel/%.c,%,$(wildcard tests/kernel/test_*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
PROGRAMS := $(B)/bpfleetd $(B)/bpfleet

.PHONY: all deps build demo check check-fast bench fuzz tidy clean install \
	programs tests
.DELETE_ON_ERROR:
.SECONDARY:

all: build

# ------------------------------------------------------------- what to type
deps:
	$(Q)sh deploy/install-deps.sh

build: deps
	$(Q)$(MAKE) --no-print-directory programs

# The main job on live kernel maps.
demo: build
	$(Q)$(MAKE) --no-print-directory demo-objects
	$(Q)bash deploy/demo/demo.sh

# Every test, plain and under the sanitizers.
check: deps
	$(Q)$(MAKE) --no-print-directory programs tests
	$(Q)$(MAKE) --no-print-directory SAN=1 programs tests
	$(Q)bash tests/run.sh

bench: build
	$(Q)$(MAKE) --no-print-directory $(B)/tests/bulk
	$(Q)$(B)/tests/bulk

programs: $(PROGRAMS) $(B)/libbpfleet.a $(B)/libbpfleet.so $(B)/examples/dump
tests: $(addprefix $(B)/tests/,$(UNITS) $(KERNEL_TESTS) mkmap) \
	$(addprefix $(B)/fuzz/,$(FUZZERS))

# --------------------------------------------------------------- generated
$(GEN)/bpfleet.pb-c.h $(GEN)/bpfleet.pb-c.c &: proto/bpfleet.proto
	$(Q)mkdir -p $(GEN)
	$(Q)protoc-c --proto_path=proto --c_out=$(GEN) $<

$(B)/gen/bpfleet.pb-c.o: $(GEN)/bpfleet.pb-c.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(OPT) $(HARDEN) -fPIC -isystem $(GEN) -c -o $@ $<

# ------------------------------------------------------------------ objects
$(B)/%.o: %.c | $(GEN)/bpfleet.pb-c.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/bpfleetd: $(B)/server/main.o $(B)/server/sendmsg.o $(SERVER_O) $(B)/common/conf.o $(COMMON_O)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(SERVER_LIBS) $(LIBS)

$(B)/bpfleet: $(CLI_O) $(LIB_O) $(COMMON_O)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# One object whose own symbols are hidden: a program that links it statically
# sees the public names alone.
$(B)/libbpfleet.a: $(LIB_O) $(COMMON_O)
	$(Q)$(LD) -r -o $(B)/libbpfleet.o $^
	$(Q)objcopy --localize-hidden $(B)/libbpfleet.o
	$(Q)rm -f $@
	$(Q)ar rcs $@ $(B)/libbpfleet.o

$(B)/libbpfleet.so: $(LIB_O) $(COMMON_O) client/lib/libbpfleet.map
	$(Q)$(CC) $(filter-out -pie,$(LDFLAGS)) -shared \
		-Wl,-soname,libbpfleet.so.0 \
		-Wl,--version-script=client/lib/libbpfleet.map \
		-o $@ $(filter %.o,$^) $(LIBS)
	$(Q)ln -sf libbpfleet.so $(B)/libbpfleet.so.0

$(B)/examples/%: client/examples/%.c $(B)/libbpfleet.so
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c99 -Wall -Wextra -Wpedantic $(if $(SAN),$(OPT)) \
		-Iclient/include -o $@ $< -L$(B) -lbpfleet \
		-Wl,-rpath,$(abspath $(B))

# -------------------------------------------------------------------- tests
TEST_O := $(SERVER_O) $(B)/common/conf.o $(LIB_O) $(COMMON_O) \
	$(filter-out %/main.o,$(CLI_O))
$(B)/tests/test_%: $(B)/tests/unit/test_%.o $(TEST_O)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(SERVER_LIBS) $(LIBS)

$(B)/tests/test_%: $(B)/tests/kernel/test_%.o $(TEST_O)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(SERVER_LIBS) $(LIBS)

$(B)/tests/mkmap: $(patsubst %.c,$(B)/%.o,$(wildcard tests/tools/mkmap*.c))
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lbpf -lpthread

$(B)/tests/bulk: $(patsubst %.c,$(B)/%.o,$(wildcard tests/bench/*.c)) $(B)/libbpfleet.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lbpf $(LIBS)

FUZZ_C := common/err.c common/buf.c common/clock.c common/log.c \
	common/keys.c common/page.c common/cursor.c common/mapinfo.c \
	common/frame.c common/codec.c common/noise.c common/channel.c \
	common/nearest.c common/lines.c common/conf.c server/settings.c \
	server/acl.c client/lib/known.c client/cli/select.c
$(B)/fuzz/%: tests/fuzz/%.c $(FUZZ_C) | $(GEN)/bpfleet.pb-c.h
	@mkdir -p $(@D)
	$(Q)$(CLANG) -std=gnu11 -g -O1 $(CPPFLAGS) \
		-fsanitize=fuzzer,address,undefined -o $@ $^ \
		$(GEN)/bpfleet.pb-c.c -lprotobuf-c -lsodium -linih

# Ten minutes for each target.  New inputs go to the first directory; the
# second has those that are kept.
fuzz: deps
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)for f in $(FUZZERS); do mkdir -p build/corpus/$$f; \
		$(B)/fuzz/$$f -max_total_time=600 build/corpus/$$f \
		$$(ls -d tests/fuzz/corpus/$$f 2>/dev/null) || exit 1; \
	done

TIDY_C := $(wildcard common/*.c server/*.c client/lib/*.c client/cli/*.c)
tidy: deps $(GEN)/bpfleet.pb-c.h
	$(Q)clang-format --dry-run -Werror $(TIDY_C) $(TIDY_C:.c=.h) 2>/dev/null \
		|| clang-format --dry-run -Werror $(TIDY_C) \
		$(wildcard common/*.h server/*.h client/lib/*.h client/cli/*.h)
	$(Q)clang-tidy --quiet $(TIDY_C) -- -std=gnu11 $(CPPFLAGS)
	$(Q)cppcheck --quiet --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability \
		--suppress=missingIncludeSystem -D_GNU_SOURCE -I. \
		'-DLIBBPF_OPTS(t,n,...)=struct t n = {__VA_ARGS__}' \
		-Iclient/include $(TIDY_C)

# --------------------------------------------------------------------- demo
DEMO := build/demo
.PHONY: demo-objects
demo-objects: $(DEMO)/bpfdemo

# bpftool's linker drops the debug sections and keeps the types.
$(DEMO)/%.bpf.o: deploy/demo/%.bpf.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v2 -O2 -g -Wall -Wextra \
		-idirafter /usr/include/$(shell gcc -dumpmachine) \
		-c -o $(@:.bpf.o=.tmp.o) $<
	$(Q)$(BPFTOOL) gen object $@ $(@:.bpf.o=.tmp.o)

$(DEMO)/%.skel.h: $(DEMO)/%.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< > $@

$(DEMO)/bpfdemo: deploy/demo/bpfdemo.c $(addprefix $(DEMO)/,flows.skel.h \
		syscalls.skel.h biolat.skel.h)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(OPT) $(HARDEN) $(WARN) -fPIE \
		-isystem $(DEMO) -o $@ $< $(LDFLAGS) -lbpf

# ------------------------------------------------------------------ install
MAN := $(patsubst deploy/man/%.scd,$(B)/man/%,$(wildcard deploy/man/*.scd))
INSTALL_DIRS := bin sbin include/bpfleet share/man/man1 share/man/man5 \
	share/man/man8 share/doc/bpfleet/examples lib/systemd/system \
	lib/sysusers.d lib/tmpfiles.d
TO := $(DESTDIR)$(PREFIX)
FILL := sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
	-e 's|@VERSION@|$(VERSION)|g'

$(B)/man/%: deploy/man/%.scd
	@mkdir -p $(@D)
	$(Q)scdoc <$< >$@

# Never over the settings that are there.
install: programs $(MAN)
	install -d $(addprefix $(TO)/,$(INSTALL_DIRS)) \
		$(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(SYSCONFDIR)/bpfleet
	install -m 755 $(B)/bpfleet $(TO)/bin/
	install -m 755 $(B)/bpfleetd $(TO)/sbin/
	install -m 644 client/include/bpfleet/bpfleet.h $(TO)/include/bpfleet/
	install -m 644 $(B)/libbpfleet.a $(DESTDIR)$(LIBDIR)/
	install -m 755 $(B)/libbpfleet.so $(DESTDIR)$(LIBDIR)/libbpfleet.so.0
	ln -sf libbpfleet.so.0 $(DESTDIR)$(LIBDIR)/libbpfleet.so
	$(FILL) client/lib/libbpfleet.pc.in | install -m 644 /dev/stdin \
		$(DESTDIR)$(LIBDIR)/pkgconfig/libbpfleet.pc
	for page in $(MAN); do \
		install -m 644 $$page $(TO)/share/man/man$${page##*.}/ || exit; \
	done
	$(FILL) deploy/systemd/bpfleetd.service.in | install -m 644 \
		/dev/stdin $(TO)/lib/systemd/system/bpfleetd.service
	install -m 644 deploy/systemd/sysusers.conf \
		$(TO)/lib/sysusers.d/bpfleet.conf
	install -m 644 deploy/systemd/tmpfiles.conf \
		$(TO)/lib/tmpfiles.d/bpfleet.conf
	$(FILL) deploy/systemd/tcp.conf.in | install -m 644 /dev/stdin \
		$(TO)/share/doc/bpfleet/examples/tcp.conf
	install -m 644 client/examples/dump.c deploy/agent.conf \
		$(TO)/share/doc/bpfleet/examples/
	install -m 644 README.md LICENSE* deploy/NEWS.md deploy/THREATS.md \
		proto/PROTOCOL.md proto/bpfleet.proto $(TO)/share/doc/bpfleet/
	[ -e $(DESTDIR)$(SYSCONFDIR)/bpfleet/agent.conf ] || \
		install -m 644 deploy/agent.conf $(DESTDIR)$(SYSCONFDIR)/bpfleet/

clean:
	rm -rf build

-include $(shell find build -name '*.d' 2>/dev/null)

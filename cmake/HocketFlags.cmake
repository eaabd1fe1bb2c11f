# Compiler flags for all our targets, through one interface library.
#
# -fexceptions: a Lua built as C++ unwinds through our frames with exceptions. Only bind and host
#               have such frames; what no Lua error can pass through has no tables for it in a
#               release, a tenth of the program: targets with the property HOCKET_NO_UNWINDING.
# Compiler and linker make mistakes of ours harder to use: a canary above what a function keeps on its
# stack, checked copies, addresses of the loader that cannot be written to once they are known
# (tests/install/hardening.sh reads the binaries).
#
# -z nodelete:  a lua_close that unloads us under a live thread would crash.
add_library(hocket_flags INTERFACE)
target_compile_features(hocket_flags INTERFACE c_std_11)
target_compile_definitions(hocket_flags INTERFACE _GNU_SOURCE HOCKET_VERSION="${PROJECT_VERSION}"
  HOCKET_STATIC=$<BOOL:${HOCKET_STATIC}>)
target_include_directories(hocket_flags INTERFACE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_compile_options(hocket_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
  -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wno-unused-parameter
  "$<IF:$<AND:$<CONFIG:Release>,$<BOOL:$<TARGET_PROPERTY:HOCKET_NO_UNWINDING>>>,-fno-unwind-tables;-fno-asynchronous-unwind-tables,-fexceptions>"
  -fvisibility=hidden -fno-common -fno-strict-aliasing)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(WIN32) # its printf is MinGW's own, whose formats GCC does not know; they are checked on other systems
  target_compile_options(hocket_flags INTERFACE -Wno-format -Wno-format-security -Wno-format-nonliteral -Wno-format-extra-args)
  target_compile_definitions(hocket_flags INTERFACE __USE_MINGW_ANSI_STDIO=1)
endif()
if(HOCKET_WERROR)
  target_compile_options(hocket_flags INTERFACE -Werror)
endif()
option(HOCKET_HARDEN "Stack canaries, RELRO, in a release checked copies" ON)
if(HOCKET_HARDEN AND NOT HOCKET_SANITIZE AND NOT HOCKET_FUZZ)
  target_compile_options(hocket_flags INTERFACE -fstack-protector-strong)
  # A distribution's build gives it already; without optimising there is none.
  if(CMAKE_BUILD_TYPE STREQUAL "Release"
      AND NOT "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_RELEASE}" MATCHES "_FORTIFY_SOURCE")
    target_compile_options(hocket_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
  if(WIN32) # MinGW has the canary in a library of its own
    target_link_options(hocket_flags INTERFACE -fstack-protector-strong)
  elseif(NOT APPLE)
    target_link_options(hocket_flags INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
  endif()
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_options(hocket_flags INTERFACE -Os -ffunction-sections -fdata-sections)
  if(APPLE)
    target_link_options(hocket_flags INTERFACE LINKER:-dead_strip)
  else()
    target_link_options(hocket_flags INTERFACE -Wl,--gc-sections $<$<NOT:$<BOOL:${WIN32}>>:-Wl,--as-needed>)
  endif()
  # Some 30 KB less of relocations, where the C library can read them: that shows only when a
  # program with such a relocation runs.
  if(NOT CMAKE_CROSSCOMPILING AND NOT APPLE)
    include(CheckCSourceRuns)
    set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
    check_c_source_runs("static int x; int *volatile p = &x; int main(void) { return p != &x; }"
      HOCKET_PACKED_RELOCATIONS)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(HOCKET_PACKED_RELOCATIONS)
      target_link_options(hocket_flags INTERFACE -Wl,-z,pack-relative-relocs)
    endif()
  endif()
endif()
if(HOCKET_SANITIZE)
  target_compile_options(hocket_flags INTERFACE
    -fsanitize=${HOCKET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(hocket_flags INTERFACE -fsanitize=${HOCKET_SANITIZE})
endif()
if(HOCKET_FUZZ)
  target_compile_options(hocket_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined)
  target_link_options(hocket_flags INTERFACE -fsanitize=address,undefined)
endif()

# hocket.so for other Luas (src/module/bridge.c): one for each version whose headers are here. LuaJIT
# takes that of 5.1. It links neither Lua nor hocket: the first is the engine's, the second is loaded.
#
# What is loaded is libhocket-bridge: libhocket and libhocket-serve with a Lua 5.4 inside. The engine's Lua has functions
# of the same names, so ours must be found by nobody else, and find nobody else's: Lua's archive is linked in, and none of
# its names leaves the library. Not RTLD_DEEPBIND, which parts the program's malloc from its free, and which musl and
# macOS have not.

if(LUA_LINK_LIBRARIES MATCHES "[.]a$")
  list(GET LUA_LINK_LIBRARIES 0 bridge_lua_archive)
else()
  string(REGEX REPLACE "^-l" "" bridge_lua_name "${LUA_LIBRARIES}")
  list(GET bridge_lua_name 0 bridge_lua_name)
  find_library(HOCKET_LUA_ARCHIVE NAMES lib${bridge_lua_name}.a HINTS ${LUA_LIBRARY_DIRS} ${LUA_LIBDIR}
    DOC "The static library of Lua 5.4, for the modules of other Luas")
  set(bridge_lua_archive "${HOCKET_LUA_ARCHIVE}")
endif()
if(NOT EXISTS "${bridge_lua_archive}")
  message(STATUS "The static library of Lua 5.4 is missing: the modules for LuaJIT and Lua 5.1 to 5.3 are left out")
  return()
endif()

# Archives of distributions are made for programs, which have a copy of each variable of the C library; a library has not.
# So it is given those of src/module/own_streams.c. On macOS there is no such difference.
set(bridge_lua "${bridge_lua_archive}")
if(NOT APPLE)
  set(bridge_lua "${CMAKE_BINARY_DIR}/lua/liblua-own.a")
  add_custom_command(OUTPUT "${bridge_lua}"
    COMMAND "${CMAKE_OBJCOPY}" --redefine-sym stdin=hocket__own_stdin --redefine-sym stdout=hocket__own_stdout
      --redefine-sym stderr=hocket__own_stderr "${bridge_lua_archive}" "${bridge_lua}"
    DEPENDS "${bridge_lua_archive}" VERBATIM)
endif()
add_custom_target(hocket_bridge_lua DEPENDS "${bridge_lua}")
hocket_shared_library(hocket_bridge_shared libhocket-bridge.map ${hocket_objects} ${hocket_serve_objects}
  src/module/own_streams.c)
add_dependencies(hocket_bridge_shared hocket_bridge_lua)
target_link_libraries(hocket_bridge_shared PRIVATE hocket_flags "${bridge_lua}" PkgConfig::UV PkgConfig::CJSON
  PkgConfig::YAML Threads::Threads ${CMAKE_DL_LIBS} m)
if(HOCKET_LINK_CURL)
  target_link_libraries(hocket_bridge_shared PRIVATE PkgConfig::CURL)
endif()
if(HOCKET_LINK_SSL)
  target_link_libraries(hocket_bridge_shared PRIVATE PkgConfig::SSL)
endif()
# A program may have a libhocket of its own, whose functions would go before these.
target_link_options(hocket_bridge_shared PRIVATE LINKER:-Bsymbolic LINKER:-z,text)
set_target_properties(hocket_bridge_shared PROPERTIES OUTPUT_NAME hocket-bridge)
install(TARGETS hocket_bridge_shared LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT lua NAMELINK_SKIP)

foreach(version 5.1 5.2 5.3)
  find_path(BRIDGE_LUA_${version} lua.h PATH_SUFFIXES lua${version} lua-${version} lua/${version})
  if(NOT EXISTS "${BRIDGE_LUA_${version}}/lua.h" OR NOT BRIDGE_LUA_${version} MATCHES "${version}")
    continue()
  endif()
  string(REPLACE "." "" digits "${version}")
  set(target hocket_bridge${digits})
  add_library(${target} MODULE ${bridge_sources} ${bridge_loader})
  target_include_directories(${target} PRIVATE "${BRIDGE_LUA_${version}}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE
    "BRIDGE_LIBRARY=\"$<TARGET_SONAME_FILE_NAME:hocket_bridge_shared>\"")
  target_compile_options(${target} PRIVATE -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS} Threads::Threads m)
  target_link_options(${target} PRIVATE LINKER:-z,nodelete)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME hocket PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lua/${version}"
    BUILD_RPATH "$ORIGIN/../.." INSTALL_RPATH "$ORIGIN;$ORIGIN/../..") # LuaRocks has all in one folder
  add_dependencies(${target} hocket_bridge_shared)
  install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/lua/${version}" COMPONENT lua)
endforeach()

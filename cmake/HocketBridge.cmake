# hocket.so for other Luas (src/module/bridge.c): one for each version whose headers are here. LuaJIT
# takes that of 5.1. It links neither Lua nor libhocket: the first is the engine's, the second is loaded.
set(bridge_text "${CMAKE_BINARY_DIR}/lua/bridge_lua.c")
add_custom_command(OUTPUT "${bridge_text}"
  COMMAND "${CMAKE_COMMAND}" "-DIN=${PROJECT_SOURCE_DIR}/src/module/bridge.lua" "-DOUT=${bridge_text}"
    -DNAME=bridge_lua -P "${PROJECT_SOURCE_DIR}/cmake/HocketText.cmake"
  DEPENDS src/module/bridge.lua cmake/HocketText.cmake VERBATIM)
# The name that libhocket itself will ask the loader for.
list(GET LUA_LINK_LIBRARIES 0 bridge_lua_file)
execute_process(COMMAND objdump -p "${bridge_lua_file}"
  OUTPUT_VARIABLE bridge_lua_library ERROR_QUIET)
if(bridge_lua_library MATCHES "SONAME +([^ \n]+)")
  set(bridge_lua_library "${CMAKE_MATCH_1}")
else()
  set(bridge_lua_library "")
endif()

foreach(version 5.1 5.2 5.3)
  find_path(BRIDGE_LUA_${version} lua.h PATH_SUFFIXES lua${version} lua-${version} lua/${version}
    NO_CMAKE_FIND_ROOT_PATH)
  if(NOT EXISTS "${BRIDGE_LUA_${version}}/lua.h" OR NOT BRIDGE_LUA_${version} MATCHES "${version}")
    continue()
  endif()
  string(REPLACE "." "" digits "${version}")
  set(target hocket_bridge${digits})
  add_library(${target} MODULE src/module/bridge.c src/module/bridge_json.c src/module/bridge_load.c
    src/module/bridge_options.c src/module/bridge_runs.c src/module/bridge_save.c src/module/bridge_tools.c
    "${bridge_text}")
  target_include_directories(${target} PRIVATE "${BRIDGE_LUA_${version}}" "${PROJECT_SOURCE_DIR}/include")
  target_compile_definitions(${target} PRIVATE "BRIDGE_LUA_LIBRARY=\"${bridge_lua_library}\"")
  target_compile_options(${target} PRIVATE -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS} Threads::Threads m)
  target_link_options(${target} PRIVATE LINKER:-z,nodelete)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME hocket PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lua/${version}"
    BUILD_RPATH "${CMAKE_BINARY_DIR}" INSTALL_RPATH "$ORIGIN/../..")
  add_dependencies(${target} hocket_shared hocket_serve_shared)
  install(TARGETS ${target} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/lua/${version}")
endforeach()
